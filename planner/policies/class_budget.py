"""The budget of classes of pods: how often a round compares them with other pods and with machines.

Rules that mean everybody, on thousands of classes, are millions of pairs: what is too much waits for a later round,
the classes with the most work first, so that whoever asks for little is planned in any case.
Source: measured, 600,000 comparisons take about six seconds of the 45 that a round has.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from planner.model.plan import TOO_MUCH, Reason
from planner.objects.kinds import Pod
from planner.packing.domains.pod_counts import PodCounts
from planner.policies.admission import Refused
from planner.scheduling.label_index import LabelIndex
from planner.supply.pod_group import PodGroup

MOST_OF_CLASS: Final = 50_000
MOST_OF_ROUND: Final = 600_000
_HOSTS_A_PAIR: Final = 8
"""A machine that is looked at costs less than a pod that is compared."""
_RULES_A_PAIR: Final = 50
"""So does a requirement, or as many values of one."""


def within_budget(
    groups: Sequence[PodGroup], pod_counts: PodCounts, *, most_of_round: int
) -> tuple[list[PodGroup], list[Refused]]:
    """Return the groups that one round can compare with all others, in their order, and the rest with reasons."""
    pairs = _pairs(groups, pod_counts)
    left = most_of_round
    refused: dict[int, Refused] = {}
    # Of those with as much work, the first in the order of pods is the first here.
    for i in sorted(range(len(groups)), key=pairs.__getitem__):
        left -= pairs[i]
        if pairs[i] > MOST_OF_CLASS:
            refused[i] = _refused(groups[i], pairs[i], f"at most {MOST_OF_CLASS:,} of a class are judged")
        elif left < 0:
            message = (
                f"beside those of other classes more than the {most_of_round:,} of a round: it waits for a later one"
            )
            refused[i] = _refused(groups[i], pairs[i], message)
    return [group for i, group in enumerate(groups) if i not in refused], [refused[i] for i in sorted(refused)]


def _refused(group: PodGroup, pairs: int, message: str) -> Refused:
    text = f"it is to be compared {pairs:,} times with pods and machines, by affinity, spread and host ports; {message}"
    return Refused(group, (Reason(TOO_MUCH, text),), group.pods)


def _pairs(groups: Sequence[PodGroup], pod_counts: PodCounts) -> list[int]:
    """Return for each group how often it is compared."""
    examples = [group.example for group in groups]
    takers = Counter((port.port, port.protocol) for pod in examples for port in pod.host_ports)
    machines = len(pod_counts.hosts)
    pairs = [
        (1 + len(pod.spread)) * machines // _HOSTS_A_PAIR
        + _rules_of_nodes(pod) * machines // _RULES_A_PAIR
        + sum(takers[port.port, port.protocol] for port in pod.host_ports)
        for pod in examples
    ]
    if pod_counts.refusals:
        # Pods that run cost, too: each of their rules looks for the pods that it keeps away.
        looked_at = LabelIndex(examples, pod_counts.namespaces).looked_at(pod_counts.refusals)
        pairs = [own + of_others for own, of_others in zip(pairs, looked_at, strict=True)]
    if any(pod.pod_affinity or pod.pod_anti_affinity or pod.spread for pod in examples):
        for index in (LabelIndex(examples, pod_counts.namespaces), pod_counts.index):
            for i, pod in enumerate(examples):
                pairs[i] += sum(index.reach(term) for term in (*pod.pod_affinity, *pod.pod_anti_affinity))
                pairs[i] += sum(index.reach_of(pod.namespace, spread.selector) for spread in pod.spread)
    return pairs


def _rules_of_nodes(pod: Pod) -> int:
    terms = (pod.node_selector, *pod.node_affinity, *(term for terms in pod.volume_terms for term in terms))
    return sum(1 + len(requirement.values) // _RULES_A_PAIR for term in terms for requirement in term)
