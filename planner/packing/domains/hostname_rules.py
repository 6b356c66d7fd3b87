"""Rules over the host name: which machines may take a group, how many of its pods, and beside whom.

Source: kube-scheduler's plugins PodTopologySpread, InterPodAffinity and NodePorts, for the topology
key kubernetes.io/hostname, of which every machine is a domain of its own.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import Pod
from planner.packing.domains.domain_counts import APART, NEAR, SPREAD, DomainCounts, GroupCounts, SpreadCount
from planner.packing.domains.domains import Ration, daemons_to_come
from planner.scheduling.affinity import Namespaces, meets_all
from planner.scheduling.conflicts import keep_apart, ports_meet, repel_each_other
from planner.scheduling.label_index import LabelIndex
from planner.supply.machine_kind import MachineKind
from planner.supply.places import Place
from planner.supply.pod_group import PodGroup


@dataclass(slots=True)
class MachineRules:
    """The rules over the host name for one group."""

    bins: Sequence[int]
    """Those of its bins that may take a pod: the very object that was given where no rule closes one."""
    per_node: int | None = None
    shuns_itself: bool = False
    """Whether two of its pods can never share a machine."""
    is_bundle: bool = False
    """All its pods must share one machine."""
    obstacle: str | None = None
    """Code of the rule that closed bins."""
    most: Mapping[int, int] | None = None
    """By bin, where it is less than `per_node`."""
    beside: frozenset[int] = frozenset()
    """Bins that may take a pod of it beside those of this round that its affinity looks for."""


def machine_rules(
    i: int,
    pod: Pod,
    bins: Sequence[int],
    kinds: Sequence[MachineKind | Place],
    domain_counts: DomainCounts,
    *,
    level: int = 0,
) -> MachineRules:
    """Return the rules of group `i` for the kinds `bins`, which may hold it otherwise; `pod` is an example of it.

    `level` is how many of its pods each machine with any has at the end.
    """
    group_counts = domain_counts.group_counts[i]
    rules = rules_of_exclusion(i, pod, bins, kinds, domain_counts)
    for spread_count in group_counts.spreads:
        if spread_count.spread.topology_key == LABEL_HOSTNAME:
            _limit(rules, spread_count, kinds, level)
    if any(term.topology_key == LABEL_HOSTNAME for term in pod.pod_affinity):
        rules.beside = frozenset(rules.bins)
        near = [b for b in rules.bins if is_near(pod, kinds[b], domain_counts, group_counts)]
        if near or group_counts.near:
            _close(rules, near, NEAR)
        elif group_counts.meets_itself:
            rules.is_bundle = True
        else:
            _close(rules, [], NEAR)
    if rules.shuns_itself:
        rules.per_node = 1
    return rules


def rules_of_exclusion(
    i: int, pod: Pod, bins: Sequence[int], kinds: Sequence[MachineKind | Place], domain_counts: DomainCounts
) -> MachineRules:
    """Return the rules that hold wherever the other pods of the round go: what is there already, and a pod's own kind.

    The arguments are those of `machine_rules`; bins of machines that are there come first.
    """
    rules = MachineRules(bins)
    apart = domain_counts.group_counts[i].apart.get(LABEL_HOSTNAME)
    if apart:
        _close(rules, [b for b in rules.bins if not apart.get(kinds[b].labels.get(LABEL_HOSTNAME, ""), 0)], APART)
    new = takewhile(lambda b: not isinstance(kinds[b], Place), reversed(rules.bins))
    shunned = {b for b in new if _shuns_daemons(pod, kinds[b], domain_counts.namespaces)}
    if shunned:
        _close(rules, [b for b in rules.bins if b not in shunned], APART)
    if pod.host_ports or keep_apart(pod, pod, domain_counts.namespaces):
        rules.per_node, rules.shuns_itself = 1, True
    return rules


def _shuns_daemons(pod: Pod, kind: MachineKind | Place, namespaces: Namespaces) -> bool:
    """Return whether the machine comes with a pod that may not be beside it: one machine is one domain of every key."""
    return any(repel_each_other(pod, daemon, kind.labels, namespaces) for daemon in daemons_to_come(kind))


def is_near(pod: Pod, kind: MachineKind | Place, domain_counts: DomainCounts, group_counts: GroupCounts) -> bool:
    """Return whether a pod that its affinity looks for is on the machine, or comes with it."""
    if group_counts.near.get((LABEL_HOSTNAME, kind.labels.get(LABEL_HOSTNAME, "")), 0):
        return True
    return any(meets_all(pod.pod_affinity, daemon, domain_counts.namespaces) for daemon in daemons_to_come(kind))


def _close(rules: MachineRules, left: Sequence[int], code: str) -> None:
    if len(left) < len(rules.bins) or not left:
        rules.obstacle = code
    rules.bins = left


def _limit(rules: MachineRules, spread_count: SpreadCount, kinds: Sequence[MachineKind | Place], level: int) -> None:
    """Keep the skew between machines; a machine that can be bought has as many pods as the level says."""
    room = spread_count.spread.max_skew + max(level, spread_count.least)
    left = {b: room - spread_count.counts.get(kinds[b].labels.get(LABEL_HOSTNAME, ""), 0) for b in rules.bins}
    _close(rules, [b for b, n in left.items() if n >= spread_count.own], SPREAD)
    if spread_count.own:
        highest = max((left[b] for b in rules.bins), default=1)
        rules.per_node = highest if rules.per_node is None else min(highest, rules.per_node)
        before = {} if rules.most is None else rules.most
        rules.most = {b: min(left[b], before.get(b, left[b])) for b in rules.bins}


def apart(groups: Sequence[PodGroup], index: LabelIndex) -> list[set[int]]:
    """Return for each group the other ones of which no pod may share a machine with it; `index` is of the examples."""
    shunned: list[set[int]] = [set() for _ in groups]
    by_port: dict[tuple[int, str], list[int]] = {}
    for i, group in enumerate(groups):
        for term in group.example.pod_anti_affinity:
            if term.topology_key == LABEL_HOSTNAME:
                for j in index.meant_by(term):
                    shunned[i].add(j)
                    shunned[j].add(i)
        for port, protocol in {(taken.port, taken.protocol) for taken in group.example.host_ports}:
            by_port.setdefault((port, protocol), []).append(i)
    for i, j in {pair for takers in by_port.values() for pair in combinations(takers, 2)}:
        if ports_meet(groups[i].example, (groups[j].example,)):
            shunned[i].add(j)
            shunned[j].add(i)
    for i, others in enumerate(shunned):
        others.discard(i)
    return shunned


def rations(rules: Sequence[MachineRules], counted: Mapping[int, Collection[int]]) -> Iterable[Ration]:
    """Yield the counts that a machine must keep beyond one number per group; `counted` is of `counted_on_machines`.

    That is where machines differ in how many they may take, and where groups that are spread over
    machines count each other.
    """
    spread = {i for i, rule in enumerate(rules) if rule.most is not None}
    for i in sorted(spread):
        most = rules[i].most or {}
        counting = {i, *(j for j in counted.get(i, ()) if j in spread)}
        if len(counting) > 1 or len(set(most.values())) > 1:
            yield Ration(frozenset(counting), most)


def keep_counted_away(
    shunned: list[set[int]], rules: Sequence[MachineRules], counted: Mapping[int, Collection[int]]
) -> None:
    """Keep a group that is spread over machines off those with pods that it counts and that are not spread so.

    Such pods may land first, and as many as fit.
    """
    for i, others in counted.items():
        for j in others:
            is_shared = rules[i].most is not None and rules[j].most is not None
            if i != j and not is_shared:
                shunned[i].add(j)
                shunned[j].add(i)


def counted_on_machines(groups: Sequence[PodGroup], domain_counts: DomainCounts) -> Mapping[int, Collection[int]]:
    """Return the groups that each group counts on a machine, where it counts pods there."""
    counted: dict[int, list[int]] = {}
    if any(spread.topology_key == LABEL_HOSTNAME for group in groups for spread in group.example.spread):
        for j in range(len(groups)):
            for effect in domain_counts.effects(j):
                spreads = domain_counts.group_counts[effect.on].spreads
                if any(spreads[k].spread.topology_key == LABEL_HOSTNAME for k in effect.spreads):
                    counted.setdefault(effect.on, []).append(j)
    return counted
