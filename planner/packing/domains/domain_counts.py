"""Running counts for each class of a round: of the pods that exist, and of those decided so far.

One class after the other is given its domains, and every decision is counted at once, so that the
order of deciding is an order in which the scheduler can bind the pods.
Source: kube-scheduler's plugins PodTopologySpread and InterPodAffinity.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from planner.objects.kinds import Pod, Spread
from planner.packing.domains.pod_counts import Host, PodCounts, domain_rules, host_counts
from planner.scheduling.affinity import Domain, meets_all
from planner.scheduling.label_index import LabelIndex
from planner.scheduling.spread import is_counted, own_count

SPREAD: Final = "SpreadUnsatisfiable"
APART: Final = "AntiAffinity"
NEAR: Final = "AffinityUnsatisfiable"
WAITS: Final = "WaitsForPods"


@dataclass(slots=True)
class SpreadCount:
    """A spread constraint with its counts."""

    spread: Spread
    own: int
    """1 if a pod of the class counts for it."""
    counts: dict[str, int]
    """Matching pods by domain; every domain that counts is in it."""

    @property
    def is_short(self) -> bool:
        """Whether there are fewer domains than wanted, so that the emptiest counts as empty."""
        return not self.counts or len(self.counts) < self.spread.min_domains

    @property
    def least(self) -> int:
        """Pods in the emptiest domain."""
        return 0 if self.is_short else min(self.counts.values())

    def over(self, value: str) -> bool:
        """Return whether one more pod in this domain makes the skew too large."""
        return self.counts.get(value, 0) + self.own - self.least > self.spread.max_skew


@dataclass(slots=True)
class GroupCounts:
    """All counts of one class."""

    spreads: list[SpreadCount]
    near: Counter[Domain]
    """Pods that meet all affinity terms, by domain of each term."""
    apart: dict[str, Counter[str]]
    """Pods that the class keeps away from, or that keep away from it, by topology key and value."""
    meets_itself: bool
    """Whether it meets its own affinity terms, so that the first pod may begin a group anywhere."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The counts of one class that a pod of another class changes."""

    on: int
    spreads: tuple[int, ...]
    near: tuple[str, ...]
    """Topology keys."""
    apart: tuple[str, ...]


@dataclass(slots=True)
class _Changed:
    """An effect in the making."""

    spreads: list[int] = field(default_factory=list)
    near: tuple[str, ...] = ()
    of_other: dict[str, None] = field(default_factory=dict)
    """Topology keys over which the other class keeps away."""
    of_pod: dict[str, None] = field(default_factory=dict)


class DomainCounts:
    """Counts for classes of pods, given by one example each.

    Args:
        pods: one of each class.
        pod_counts: the pods that exist.
        more: machines to come without pods, which make domains for a class, by class.
        hidden: topology keys that are judged elsewhere; existing pods are counted for them, too.
        effects: those that other counts of the same classes have worked out, to save doing it twice.
    """

    def __init__(
        self,
        pods: Sequence[Pod],
        pod_counts: PodCounts,
        more: Sequence[Sequence[Host]],
        hidden: Collection[str] = (),
        effects: dict[int, tuple[Effect, ...]] | None = None,
    ) -> None:
        self._pods = pods
        self._pod_counts = pod_counts
        self._hidden = frozenset(hidden)
        self.namespaces = pod_counts.namespaces
        self.known: dict[int, tuple[Effect, ...]] = {} if effects is None else effects
        self._active = [i for i, pod in enumerate(pods) if pod.spread or pod.pod_affinity or pod.pod_anti_affinity]
        self._counting: dict[object, dict[int, bool]] = {}
        self.group_counts = [self._group_counts(pod, hosts) for pod, hosts in zip(pods, more, strict=True)]
        for term, hosts in pod_counts.refusals.items():
            kept_off = list(self.index.meant_by(term))
            domains = pod_counts.by_domain(term.topology_key, hosts) if kept_off else {}
            for i in kept_off:
                self.group_counts[i].apart.setdefault(term.topology_key, Counter()).update(domains)

    @cached_property
    def index(self) -> LabelIndex:
        """The classes by the labels of their examples."""
        return LabelIndex(self._pods, self.namespaces)

    def obstacle(self, i: int, labels: Mapping[str, str]) -> str | None:
        """Return the code of the first rule that one more pod of class `i` on a machine of these labels breaks."""
        pod, group_counts = self._pods[i], self.group_counts[i]
        for spread_count in group_counts.spreads:
            key = spread_count.spread.topology_key
            if key not in self._hidden and (key not in labels or spread_count.over(labels[key])):
                return SPREAD
        wanted = [
            (t.topology_key, labels.get(t.topology_key)) for t in pod.pod_affinity if t.topology_key not in self._hidden
        ]
        is_first = not group_counts.near and group_counts.meets_itself
        if any(value is None or not (is_first or group_counts.near[key, value]) for key, value in wanted):
            return NEAR
        for key, counts in group_counts.apart.items():
            if key not in self._hidden and counts.get(labels.get(key, ""), 0):
                return APART
        return None

    def add(self, j: int, labels: Mapping[str, str], counted: Collection[int] | None = None) -> None:
        """Count a pod of class `j` on a machine of these labels.

        `counted` are the classes whose spread counts the machine; None means all that know its domain.
        """
        self._count(j, labels, counted, 1)

    def remove(self, j: int, labels: Mapping[str, str], counted: Collection[int] | None = None) -> None:
        """Undo `add` with the same arguments."""
        self._count(j, labels, counted, -1)
        for effect in self.effects(j):
            if effect.near:
                # Whether there is any such pod at all, an empty counter tells.
                self.group_counts[effect.on].near = +self.group_counts[effect.on].near

    def _count(self, j: int, labels: Mapping[str, str], counted: Collection[int] | None, number: int) -> None:
        for effect in self.effects(j):
            group_counts = self.group_counts[effect.on]
            if counted is None or effect.on in counted:
                for k in effect.spreads:
                    spread_count = group_counts.spreads[k]
                    value = labels.get(spread_count.spread.topology_key)
                    if value is not None and value in spread_count.counts:
                        spread_count.counts[value] += number
            for key in effect.near:
                if key in labels:
                    group_counts.near[key, labels[key]] += number
            for key in effect.apart:
                if key in labels:
                    group_counts.apart.setdefault(key, Counter())[labels[key]] += number

    def counting(self, j: int, host: Host) -> frozenset[int]:
        """Return the classes for whose spread a pod of class `j` on this host counts."""
        return frozenset(
            effect.on
            for effect in self.effects(j)
            if any(
                host_counts(self._pods[effect.on], self.group_counts[effect.on].spreads[k].spread, host)
                for k in effect.spreads
            )
        )

    def spread_alone(self, i: int) -> SpreadCount | None:
        """Return the spread over domains of class `i`; None unless it is the only rule of domains about its pods."""
        pod, group_counts = self._pods[i], self.group_counts[i]
        spreads = [k for k, one in enumerate(group_counts.spreads) if one.spread.topology_key not in self._hidden]
        apart = [key for key in group_counts.apart if key not in self._hidden]
        if len(spreads) != 1 or apart or pod.pod_affinity:
            return None
        for effect in self.effects(i):
            counted = [self.group_counts[effect.on].spreads[k] for k in effect.spreads]
            is_of_others = any(
                one is not group_counts.spreads[spreads[0]] and one.spread.topology_key not in self._hidden
                for one in counted
            )
            if is_of_others or effect.near or not self._hidden.issuperset(effect.apart):
                return None
        spread_count = group_counts.spreads[spreads[0]]
        return spread_count if spread_count.own else None

    def effects(self, j: int) -> tuple[Effect, ...]:
        """Return the effects of a pod of class `j` on other classes and its own."""
        if not self.known:
            self.known.update(self._effects())
        return self.known[j]

    def _effects(self) -> dict[int, tuple[Effect, ...]]:
        """Return the effects of each class: each rule names the classes that it is about, of all that there are."""
        changed: list[dict[int, _Changed]] = [{} for _ in self._pods]
        for i in self._active:
            pod = self._pods[i]
            for k, spread in enumerate(pod.spread):
                for j in self.index.selected(pod.namespace, spread.selector or ()):
                    if is_counted(spread, self._pods[j]):
                        changed[j].setdefault(i, _Changed()).spreads.append(k)
            for j in self.index.meeting(pod.pod_affinity):
                changed[j].setdefault(i, _Changed()).near = tuple(term.topology_key for term in pod.pod_affinity)
            for term in pod.pod_anti_affinity:
                for j in self.index.meant_by(term):
                    changed[j].setdefault(i, _Changed()).of_other[term.topology_key] = None
                    changed[i].setdefault(j, _Changed()).of_pod[term.topology_key] = None
        return {
            j: tuple(
                Effect(i, tuple(one.spreads), one.near, tuple({**one.of_other, **one.of_pod}))
                for i, one in sorted(on.items())
            )
            for j, on in enumerate(changed)
        }

    def _group_counts(self, pod: Pod, more: Sequence[Host]) -> GroupCounts:
        pod_counts = self._pod_counts
        group_counts = GroupCounts(
            spreads=[self._spread_count(pod, spread, more) for spread in pod.spread],
            near=Counter(),
            apart={},
            meets_itself=meets_all(pod.pod_affinity, pod, self.namespaces),
        )
        if pod.pod_affinity:
            for position in pod_counts.index.meeting(pod.pod_affinity):
                if pod_counts.kinds[position].is_moving:
                    continue
                for term in pod.pod_affinity:
                    domains = pod_counts.pods_in(term.topology_key, position)
                    group_counts.near.update({(term.topology_key, value): n for value, n in domains.items()})
        for term in pod.pod_anti_affinity:
            for position in pod_counts.index.meant_by(term):
                domains = pod_counts.pods_in(term.topology_key, position)
                group_counts.apart.setdefault(term.topology_key, Counter()).update(domains)
        return group_counts

    def _spread_count(self, pod: Pod, spread: Spread, more: Sequence[Host]) -> SpreadCount:
        pod_counts = self._pod_counts
        domains = pod_counts.domains(pod, spread)
        counts = dict.fromkeys(domains.values(), 0)
        judged = self._counting.setdefault(domain_rules(pod, spread), {}) if more else {}
        for host in more:
            value = host.labels.get(spread.topology_key)
            # Thousands of classes may each have thousands of machines to come: most are in a domain that counts.
            if value is None or value in counts:
                continue
            alike = id(host.model or host)
            if alike not in judged:
                judged[alike] = host_counts(pod, spread, host)
            if judged[alike]:
                counts[value] = 0
        if spread.selector:
            for position in pod_counts.index.selected(pod.namespace, spread.selector):
                kind = pod_counts.kinds[position]
                if not (kind.example.is_terminating or kind.is_moving):
                    for index, number in kind.hosts.items():
                        if index in domains:
                            counts[domains[index]] += number
        return SpreadCount(spread, own_count(pod, spread), counts)
