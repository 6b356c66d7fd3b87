"""Rules over the host name: which machines may take a class, how many of its pods, and beside whom.

Source: kube-scheduler's plugins PodTopologySpread, InterPodAffinity and NodePorts, for the topology
key kubernetes.io/hostname, of which every machine is a domain of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import Pod
from planner.packing.domains.domain_counts import APART, NEAR, SPREAD, DomainCounts, GroupCounts, SpreadCount
from planner.packing.domains.domains import Option, Ration, Wish
from planner.scheduling.affinity import Namespaces, meets_all
from planner.scheduling.conflicts import keep_apart, repel_each_other


@dataclass(slots=True)
class MachineRules:
    """What the host name means for one class."""

    bins: list[int]
    """Those of its bins that may take a pod."""
    per_node: int | None = None
    shuns_itself: bool = False
    """Whether two of its pods can never share a machine."""
    is_bundle: bool = False
    """All its pods must share one machine."""
    obstacle: str | None = None
    """Code of what closed bins."""
    most: Mapping[int, int] | None = None
    """By bin, where it is less than `per_node`."""
    beside: frozenset[int] = frozenset()
    """Bins that may take a pod of it beside those of this round that its affinity looks for."""


def machine_rules(
    i: int, wish: Wish, bins: Sequence[int], options: Sequence[Option], domain_counts: DomainCounts
) -> MachineRules:
    """Return the rules of class `i`, which `bins` may hold as far as labels, taints, room and volumes go."""
    pod, group_counts = wish.pod, domain_counts.group_counts[i]
    rules = MachineRules(list(bins))
    apart = group_counts.apart.get(LABEL_HOSTNAME)
    if apart:
        _close(rules, [b for b in rules.bins if not apart.get(options[b].labels.get(LABEL_HOSTNAME, ""), 0)], APART)
    shunned = {b for b in rules.bins if _shuns_daemons(pod, options[b], domain_counts.namespaces)}
    if shunned:
        _close(rules, [b for b in rules.bins if b not in shunned], APART)
    for spread_count in group_counts.spreads:
        if spread_count.spread.topology_key == LABEL_HOSTNAME:
            _limit(rules, spread_count, options)
    if any(term.topology_key == LABEL_HOSTNAME for term in pod.pod_affinity):
        rules.beside = frozenset(rules.bins)
        near = [b for b in rules.bins if _is_near(pod, options[b], domain_counts, group_counts)]
        if near or group_counts.near:
            _close(rules, near, NEAR)
        elif group_counts.meets_itself:
            rules.is_bundle = True
        else:
            _close(rules, [], NEAR)
    if pod.host_ports or keep_apart(pod, pod, domain_counts.namespaces):
        rules.per_node, rules.shuns_itself = 1, True
    return rules


def _shuns_daemons(pod: Pod, option: Option, namespaces: Namespaces) -> bool:
    """Return whether the machine comes with a pod that may not be beside it: one machine is one domain of every key."""
    return any(repel_each_other(pod, daemon, option.labels, namespaces) for daemon in option.daemons)


def _is_near(pod: Pod, option: Option, domain_counts: DomainCounts, group_counts: GroupCounts) -> bool:
    """Return whether a pod that its affinity looks for is on the machine, or comes with it."""
    if group_counts.near.get((LABEL_HOSTNAME, option.labels.get(LABEL_HOSTNAME, "")), 0):
        return True
    return any(meets_all(pod.pod_affinity, daemon, domain_counts.namespaces) for daemon in option.daemons)


def _close(rules: MachineRules, left: list[int], code: str) -> None:
    if len(left) < len(rules.bins) or not left:
        rules.obstacle = code
    rules.bins = left


def _limit(rules: MachineRules, spread_count: SpreadCount, options: Sequence[Option]) -> None:
    """Keep the skew between machines; a machine that can be bought counts as an empty one."""
    room = spread_count.spread.max_skew + spread_count.least
    left = {b: room - spread_count.counts.get(options[b].labels.get(LABEL_HOSTNAME, ""), 0) for b in rules.bins}
    _close(rules, [b for b, n in left.items() if n >= spread_count.own], SPREAD)
    if spread_count.own:
        highest = max((left[b] for b in rules.bins), default=1)
        rules.per_node = highest if rules.per_node is None else min(highest, rules.per_node)
        before = {} if rules.most is None else rules.most
        rules.most = {b: min(left[b], before.get(b, left[b])) for b in rules.bins}


def apart(wishes: Sequence[Wish], namespaces: Namespaces) -> list[set[int]]:
    """Return for each class the other ones of which no pod may share a machine with it."""
    found: list[set[int]] = [set() for _ in wishes]
    for i, wish in enumerate(wishes):
        if any(t.topology_key == LABEL_HOSTNAME for t in wish.pod.pod_anti_affinity) or wish.pod.host_ports:
            for j, other in enumerate(wishes):
                if i != j and keep_apart(wish.pod, other.pod, namespaces):
                    found[i].add(j)
                    found[j].add(i)
    return found


def rations(rules: Sequence[MachineRules], domain_counts: DomainCounts) -> Iterable[Ration]:
    """Yield the counts that a machine must keep beyond one number per class.

    That is where machines differ in how many they may take, and where classes that are spread over
    machines count each other.
    """
    spread = {i for i, rule in enumerate(rules) if rule.most is not None}
    for i in sorted(spread):
        most = rules[i].most or {}
        counting = {i, *(j for j in spread if _counts(domain_counts, i, j))}
        if len(counting) > 1 or len(set(most.values())) > 1:
            yield Ration(frozenset(counting), most)


def keep_counted_away(
    found: list[set[int]], wishes: Sequence[Wish], rules: Sequence[MachineRules], domain_counts: DomainCounts
) -> None:
    """Keep a class that is spread over machines off those with pods that it counts and that are not spread so.

    Such pods may land first, and as many as fit.
    """
    for i, wish in enumerate(wishes):
        if any(spread.topology_key == LABEL_HOSTNAME for spread in wish.pod.spread):
            for j in range(len(wishes)):
                is_shared = rules[i].most is not None and rules[j].most is not None
                if i != j and not is_shared and _counts(domain_counts, i, j):
                    found[i].add(j)
                    found[j].add(i)


def _counts(domain_counts: DomainCounts, i: int, j: int) -> bool:
    """Return whether class `i` counts pods of class `j` on a machine."""
    spreads = domain_counts.group_counts[i].spreads
    return any(
        spreads[k].spread.topology_key == LABEL_HOSTNAME
        for effect in domain_counts.effects(j)
        if effect.on == i
        for k in effect.spreads
    )
