"""What people are told of pods that no domain can take."""

from collections.abc import Sequence

from planner.objects.kinds import Pod
from planner.packing.domains.domain_counts import NEAR, SPREAD, GroupCounts

WAITS = "WaitsForPods"
_NAMED = 3
"""Pods and domains named in one message."""


def message_of(
    code: str, group_counts: GroupCounts, pod: Pod, *, beside: Sequence[str] = (), waits_for: Sequence[str] = ()
) -> tuple[str, str]:
    """Return the final code and one sentence.

    Args:
        code: what stands in the way.
        group_counts: what the pods that are there mean for it.
        pod: one of those that no domain can take.
        beside: pods of this round that its affinity looks for and that have a machine.
        waits_for: those that have none.
    """
    if code == SPREAD:
        return code, _spread(group_counts)
    if code == NEAR:
        keys = ", ".join(dict.fromkeys(term.topology_key for term in pod.pod_affinity))
        if beside:
            return code, f"no machine has room for it beside {beside[0]}, which its pod affinity over {keys} looks for"
        if waits_for and not group_counts.near:
            return WAITS, f"its pod affinity over {keys} looks for {waits_for[0]}, which has no machine yet"
        return NEAR, f"no machine that may take it has a pod beside it, by {keys}, that its pod affinity looks for"
    keys = ", ".join(dict.fromkeys(term.topology_key for term in pod.pod_anti_affinity)) or "that of other pods"
    return code, f"pod anti-affinity ({keys}) leaves no machine and no domain for it"


def _spread(group_counts: GroupCounts) -> str:
    parts: list[str] = []
    for spread_count in group_counts.spreads:
        fullest = sorted(spread_count.counts.items(), key=lambda item: (item[1], item[0]))[:_NAMED]
        counts = ", ".join(f"{value} has {n}" for value, n in fullest) or "there is no domain"
        wanted = spread_count.spread.min_domains
        few = (
            f" and minDomains {wanted}, of which {len(spread_count.counts)} are there"
            if len(spread_count.counts) < wanted
            else ""
        )
        parts.append(f"{spread_count.spread.topology_key} with maxSkew {spread_count.spread.max_skew}{few} ({counts})")
    return f"one more pod breaks the topology spread over {' and '.join(parts)}"
