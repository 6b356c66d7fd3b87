"""Why rules about other pods leave no place: which rule, by the pods that are there and those of the plan.

Machines that may hold a pod by itself are looked at one by one, as they are once the plan is carried out. A rule that
closes all of them is the reason; else two that do so together, as where one leaves only what the other one closes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.model.plan import Reason
from planner.objects.kinds import Pod
from planner.objects.predicates import NEW_HOST, untolerated
from planner.packing.assemble import Assembly
from planner.packing.domains.domain_counts import APART, NEAR, SPREAD, WAITS, DomainCounts, GroupCounts, SpreadCount
from planner.packing.domains.domains import Unplaceable, host_of, taken
from planner.packing.domains.landing import machines_of
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.packing.problem import Packing
from planner.supply.limits import Limits
from planner.supply.places import Place

_NAMED: Final = 3
"""Pods and domains named in one message."""
_LOOKS: Final = 200_000
"""Machines looked at in a round, for all pods: half a second. Others are told the rule alone."""
_ROOM: Final = "no machine has room for it"


@dataclass(frozen=True, slots=True)
class _Spot:
    """A machine that may hold the pod by itself, one to buy among them."""

    labels: Mapping[str, str]
    has_room: bool


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of the pod, and what it says of each spot."""

    code: str
    name: str
    """As the subject of a sentence."""
    closes: str
    """A clause on a machine that it closes."""
    keys: tuple[str, ...]
    closed: frozenset[int]
    """Spots by position."""


class NeighbourReasons:
    """Tells of pods that rules about other pods leave without a place.

    Args:
        assembly: the problem that was packed.
        packing: the answer, checked.
        pod_counts: the pods that are there.
        limits: as they are left after the plan.
    """

    def __init__(self, assembly: Assembly, packing: Packing, pod_counts: PodCounts, limits: Limits) -> None:
        self._given, self._split, self._packing = assembly.given, assembly.split, packing
        self._pod_counts, self._limits = pod_counts, limits
        self._looks = _LOOKS

    def reason(self, i: int, miss: Unplaceable) -> Reason:
        """Return why one more pod of group `i` has no place; the code is that of the miss, or of the rule told."""
        pod = self._given.groups[i].example
        if miss.code == WAITS:
            keys = _keys(term.topology_key for term in pod.pod_affinity)
            return Reason(WAITS, f"its pod affinity over {keys} looks for {miss.others[0]}, which has no machine yet")
        spots = self._spots(i)
        rules = self._rules(i, spots)
        if alone := [rule for rule in rules if rule.code and spots and len(rule.closed) == len(spots)]:
            rule = min(alone, key=lambda rule: rule.code != miss.code)
            return Reason(rule.code, self._alone(i, rule, spots))
        return Reason(miss.code, _together(rules, miss, spots) or _general(rules, miss))

    @cached_property
    def _loads(self) -> list[tuple[int, Mapping[str, str], Counter[int]]]:
        """The machines of the plan: bin, labels, and pods by group."""
        shares, loads = self._split.shares, list[tuple[int, Mapping[str, str], Counter[int]]]()
        for k, node in enumerate(self._packing.nodes):
            pods: Counter[int] = Counter()
            for share, items in node.counts.items():
                for i, number in shares[share].pods:
                    pods[i] += items * number
            loads.append((node.bin, self._machines[k].labels, pods))
        return loads

    @cached_property
    def _machines(self) -> list[Host]:
        return machines_of(self._given, self._packing.nodes)

    @cached_property
    def _domain_counts(self) -> DomainCounts:
        given = self._given
        bought = [self._machines[k] for k, node in enumerate(self._packing.nodes) if given.is_new(node.bin)]
        hosts = {b: host_of(kind) for b, kind in enumerate(given.kinds) if given.is_new(b) and given.copies[b]}
        pods = [group.example for group in given.groups]
        more = [
            [*bought, *(hosts[b] for b in bins if b in hosts)] if pod.spread else []
            for pod, bins in zip(pods, given.holders, strict=True)
        ]
        known = None if self._split.domain_counts is None else self._split.domain_counts.known
        domain_counts = DomainCounts(pods, self._pod_counts, more, effects=known)
        for group_counts in domain_counts.group_counts:
            for spread_count in group_counts.spreads:
                # A machine that is not bought is no host: as a zone it counts, as one of its own it does not.
                spread_count.counts.pop(NEW_HOST, None)
        for k, (_, labels, counts) in enumerate(self._loads):
            for i, number in counts.items():
                counted = domain_counts.counting(i, self._machines[k])
                for _ in range(number if domain_counts.effects(i) else 0):
                    domain_counts.add(i, labels, counted)
        return domain_counts

    def _spots(self, i: int) -> list[_Spot]:
        """Return the machines of which any could hold the pod if it were alone; none where too many were looked at."""
        given, demand = self._given, self._given.demands[i]
        holders = set(given.holders[i])
        size = len(holders) + len(self._loads)
        if size > self._looks:
            return []
        self._looks -= size
        spots: list[_Spot] = []
        for b, labels, pods in self._loads:
            if b in holders:
                loads = taken(tuple(pods.items()), given.demands, ())
                room = zip(given.bins[b].capacity, loads, demand, strict=True)
                spots.append(_Spot(labels, all(load + d <= c for c, load, d in room)))
        used = {b for b, _, _ in self._loads}
        for b in sorted(holders):
            kind = given.kinds[b]
            if isinstance(kind, Place):
                if b not in used:
                    spots.append(_Spot(kind.labels, has_room=True))
            elif given.copies[b]:
                spots.append(_Spot(kind.labels, not self._limits.exhausted(kind)))
        return spots

    def _rules(self, i: int, spots: Sequence[_Spot]) -> list[_Rule]:
        """Return the rules about other pods, affinity first, and room as one without a code."""
        pod, group_counts = self._given.groups[i].example, self._domain_counts.group_counts[i]
        rules: list[_Rule] = []

        def add(code: str, name: str, closes: str, keys: Sequence[str], closed: Iterable[bool]) -> None:
            closed_spots = frozenset(k for k, is_closed in enumerate(closed) if is_closed)
            rules.append(_Rule(code, name, closes, tuple(dict.fromkeys(keys)), closed_spots))

        if pod.pod_affinity:
            keys = [term.topology_key for term in pod.pod_affinity]
            name = f"its pod affinity over {_keys(keys)}"
            closes = f"no pod is that {name} looks for"
            add(NEAR, name, closes, keys, (not _is_near(spot, keys, group_counts) for spot in spots))
        for spread_count in group_counts.spreads:
            key, text = spread_count.spread.topology_key, _spread(spread_count)
            closed = [key not in s.labels or spread_count.over(s.labels[key]) for s in spots]
            add(SPREAD, f"its {text}", f"one more pod breaks the {text}{_counts(spread_count)}", [key], closed)
        if group_counts.apart:
            apart = group_counts.apart
            closed = [any(counts.get(s.labels.get(key, ""), 0) for key, counts in apart.items()) for s in spots]
            keeping = self._kept_off(i)
            closes = f"pod anti-affinity over {_keys(apart)} keeps it away from {_listed(keeping)}"
            add(APART, f"pod anti-affinity over {_keys(apart)}", closes, list(apart), closed)
        add("", "", _ROOM, (), (not spot.has_room for spot in spots))
        return rules

    def _kept_off(self, i: int) -> list[str]:
        """Return names of pods that the group keeps away from or that keep away from it, those of the plan first."""
        placed = sorted({j for _, _, pods in self._loads for j in pods})
        names = [
            self._given.groups[j].example.key
            for j in placed
            if any(effect.on == i and effect.apart for effect in self._domain_counts.effects(j))
        ]
        return names or ["pods that are there"]

    def _alone(self, i: int, rule: _Rule, spots: Sequence[_Spot]) -> str:
        """Return a sentence on a rule that closes every spot."""
        pod, group_counts = self._given.groups[i].example, self._domain_counts.group_counts[i]
        missing = [key for key in rule.keys if not any(key in spot.labels for spot in spots)]
        if missing and rule.code in (SPREAD, NEAR):
            return (
                f"{rule.name} needs Nodes with the label {_keys(missing)}, and no machine that may take it has it: "
                "label the Nodes, or a pool's machines by spec.template.labels"
            )
        if rule.code == SPREAD:
            counts = group_counts.spreads
            spread_count = next(one for one in counts if rule.name == f"its {_spread(one)}")
            return rule.closes + self._what_to_do(pod, spread_count, spots)
        if rule.code == NEAR:
            return _nobody_near(pod, rule, group_counts)
        where = _listed(_values(counts for key, counts in group_counts.apart.items() if key != LABEL_HOSTNAME))
        return f"pod anti-affinity ({_keys(rule.keys)}) leaves no machine and no domain for it" + (
            f": pods that it keeps away from are in {where}" if where else ""
        )

    def _what_to_do(self, pod: Pod, spread_count: SpreadCount, spots: Sequence[_Spot]) -> str:
        """Return the end of a sentence about a spread that closes every machine."""
        spread, counts = spread_count.spread, spread_count.counts
        if len(counts) < spread.min_domains:
            why = self._left_out(pod, spread_count)
            return f": with fewer domains than minDomains none may have more than maxSkew{why}"
        reached = {spot.labels.get(spread.topology_key) for spot in spots}
        emptiest = [value for value, n in sorted(counts.items()) if n == spread_count.least and value not in reached]
        if not emptiest:
            return ""
        hosts = [h for h in self._pod_counts.hosts if h.labels.get(spread.topology_key) in emptiest]
        tainted = bool(hosts) and all(untolerated(pod.tolerations, host.taints) for host in hosts)
        hint = "; nodeTaintsPolicy: Honor would not count Nodes whose taints it does not tolerate" if tainted else ""
        return f": {_listed(map(_shown, emptiest))} would have to get one first, and no machine there can take it{hint}"

    def _left_out(self, pod: Pod, spread_count: SpreadCount) -> str:
        """Return the end of a sentence about too few domains, with those that the pod itself leaves out."""
        key, spread = spread_count.spread.topology_key, spread_count.spread
        labels = [each.labels for each in (*self._given.kinds, *self._pod_counts.hosts)]
        others = sorted({one[key] for one in labels if key in one} - spread_count.counts.keys())
        if others and spread.honors_node_affinity and (pod.node_selector or pod.node_affinity):
            return f", and its nodeSelector or node affinity leaves out {_listed(others)}"
        return "; lower it, or let the pod use more domains"


def _together(rules: Sequence[_Rule], miss: Unplaceable, spots: Sequence[_Spot]) -> str:
    """Return a sentence on two rules that close every spot together, an empty text where no two do."""
    for leading in (rule for rule in rules if rule.code):
        left = [k for k in range(len(spots)) if k not in leading.closed]
        for other in rules if left else ():
            if other is leading or not other.closed.issuperset(left):
                continue
            if leading.code == NEAR and not other.code and miss.others:
                return f"{_ROOM} beside {miss.others[0]}, which {leading.name} looks for"
            names = _listed(_place(spots[k].labels, leading.keys) for k in left)
            return f"{leading.name} leaves only {names}, where {other.closes}{_unlabelled(leading, spots)}"
    return ""


def _is_near(spot: _Spot, keys: Sequence[str], group_counts: GroupCounts) -> bool:
    is_first = not group_counts.near and group_counts.meets_itself
    return all(key in spot.labels and (is_first or group_counts.near[key, spot.labels[key]] > 0) for key in keys)


def _nobody_near(pod: Pod, rule: _Rule, group_counts: GroupCounts) -> str:
    if group_counts.near:
        where = _listed(_shown(value) for (_, value), n in sorted(group_counts.near.items()) if n)
        return f"the pods that {rule.name} looks for are in {where}, and no machine there can take it"
    if len(pod.pod_affinity) > 1:
        return (
            f"there is no pod that meets all {len(pod.pod_affinity)} terms of its pod affinity over {_keys(rule.keys)} "
            "at once, as the scheduler asks"
        )
    return f"there is no pod that {rule.name} looks for, and none waits: its labelSelector and namespaces say which"


def _general(rules: Sequence[_Rule], miss: Unplaceable) -> str:
    """Return a sentence on the rule of the miss, where it is not known which machines it closes."""
    named = next((rule.name for rule in rules if rule.code == miss.code), "a rule about other pods")
    return f"{named} leaves no place for it beside the pods that have one"


def _unlabelled(rule: _Rule, spots: Sequence[_Spot]) -> str:
    lacking = any(key not in spot.labels for key in rule.keys for spot in spots)
    return "; other machines lack that label" if lacking else ""


def _spread(spread_count: SpreadCount) -> str:
    spread = spread_count.spread
    # Without one it counts as 1: no words of it, as nobody has set it.
    few = (
        f" and minDomains {spread.min_domains}, of which {len(spread_count.counts)} are there"
        if 1 < spread.min_domains > len(spread_count.counts)
        else ""
    )
    return f"topology spread over {spread.topology_key} with maxSkew {spread.max_skew}{few}"


def _counts(spread_count: SpreadCount) -> str:
    fullest = sorted(spread_count.counts.items(), key=lambda item: (item[1], item[0]))[:_NAMED]
    return f" ({', '.join(f'{_shown(value)} has {n}' for value, n in fullest) or 'there is no domain'})"


def _place(labels: Mapping[str, str], keys: Sequence[str]) -> str:
    return ", ".join(_shown(labels.get(key, "none")) for key in keys)


def _shown(value: str) -> str:
    return "a new machine" if value.startswith(NEW_HOST) else value


def _values(counters: Iterable[Mapping[str, int]]) -> Iterator[str]:
    for counts in counters:
        yield from (value for value, n in sorted(counts.items()) if n)


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(distinct[:_NAMED]) + more


def _keys(keys: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(keys))
