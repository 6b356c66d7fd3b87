"""Running counts for each class of a round: of the pods that exist, and of those decided so far.

One class after the other is given its domains, and every decision is counted at once, so that the
order of deciding is an order in which the scheduler can bind the pods.
Source: kube-scheduler's plugins PodTopologySpread and InterPodAffinity.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.objects.kinds import Pod, PodTerm, Spread
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.scheduling.affinity import Domain, meets_all, term_matches
from planner.scheduling.spread import is_counted, makes_domain, own_count

SPREAD: Final = "SpreadUnsatisfiable"
APART: Final = "AntiAffinity"
NEAR: Final = "AffinityUnsatisfiable"
WAITS: Final = "WaitsForPods"
_NAMED: Final = 3
"""Pods and domains named in one message."""


@dataclass(slots=True)
class SpreadCount:
    """A spread constraint with its counts."""

    spread: Spread
    own: int
    """1 if a pod of the class counts for it."""
    counts: dict[str, int]
    """Matching pods by domain; every domain that counts is in it."""

    @property
    def least(self) -> int:
        """Pods in the emptiest domain, 0 while there are fewer domains than wanted."""
        enough = self.counts and len(self.counts) >= self.spread.min_domains
        return min(self.counts.values()) if enough else 0

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
        self.group_counts = [self._group_counts(pod, hosts) for pod, hosts in zip(pods, more, strict=True)]

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
        for effect in self.effects(j):
            group_counts = self.group_counts[effect.on]
            if counted is None or effect.on in counted:
                for k in effect.spreads:
                    spread_count = group_counts.spreads[k]
                    value = labels.get(spread_count.spread.topology_key)
                    if value is not None and value in spread_count.counts:
                        spread_count.counts[value] += 1
            for key in effect.near:
                if key in labels:
                    group_counts.near[key, labels[key]] += 1
            for key in effect.apart:
                if key in labels:
                    group_counts.apart.setdefault(key, Counter())[labels[key]] += 1

    def counting(self, j: int, host: Host) -> frozenset[int]:
        """Return the classes for whose spread a pod of class `j` on this host counts."""
        return frozenset(
            effect.on
            for effect in self.effects(j)
            if any(
                _makes_domain(self._pods[effect.on], self.group_counts[effect.on].spreads[k].spread, host)
                for k in effect.spreads
            )
        )

    def effects(self, j: int) -> tuple[Effect, ...]:
        """Return the effects of a pod of class `j` on other classes and its own."""
        if j not in self.known:
            others = range(len(self._pods)) if self._pods[j].pod_anti_affinity else self._active
            effects = (self._effect(j, i) for i in others)
            self.known[j] = tuple(e for e in effects if e.spreads or e.near or e.apart)
        return self.known[j]

    def _effect(self, j: int, i: int) -> Effect:
        pod, other, spaces = self._pods[j], self._pods[i], self._pod_counts.namespaces
        spreads = tuple(
            k
            for k, e in enumerate(self.group_counts[i].spreads)
            if pod.namespace == other.namespace and is_counted(e.spread, pod)
        )
        terms = other.pod_affinity
        near = tuple(t.topology_key for t in terms) if meets_all(terms, pod, spaces) else ()
        of_other = [t.topology_key for t in other.pod_anti_affinity if term_matches(t, pod, spaces)]
        of_pod = [t.topology_key for t in pod.pod_anti_affinity if term_matches(t, other, spaces)]
        return Effect(i, spreads, near, tuple(dict.fromkeys((*of_other, *of_pod))))

    def _group_counts(self, pod: Pod, more: Sequence[Host]) -> GroupCounts:
        pod_counts, spaces = self._pod_counts, self._pod_counts.namespaces
        group_counts = GroupCounts(
            spreads=[self._spread_count(pod, spread, more) for spread in pod.spread],
            near=Counter(),
            apart={},
            meets_itself=meets_all(pod.pod_affinity, pod, spaces),
        )
        for kind in pod_counts.kinds if pod.pod_affinity or pod.pod_anti_affinity else ():
            if meets_all(pod.pod_affinity, kind.example, spaces):
                for term in pod.pod_affinity:
                    key = term.topology_key
                    group_counts.near.update({(key, v): n for v, n in self._domains(key, kind.hosts).items()})
            for term in pod.pod_anti_affinity:
                if term_matches(term, kind.example, spaces):
                    self._keep_off(group_counts, term, kind.hosts)
        for term, hosts in pod_counts.refusals.items():
            if term_matches(term, pod, spaces):
                self._keep_off(group_counts, term, hosts)
        return group_counts

    def _keep_off(self, group_counts: GroupCounts, term: PodTerm, hosts: Mapping[int, int]) -> None:
        key = term.topology_key
        group_counts.apart.setdefault(key, Counter()).update(self._domains(key, hosts))

    def _domains(self, key: str, hosts: Mapping[int, int]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for index, number in hosts.items():
            value = self._pod_counts.hosts[index].labels.get(key)
            if value is not None:
                counts[value] += number
        return counts

    def _spread_count(self, pod: Pod, spread: Spread, more: Sequence[Host]) -> SpreadCount:
        spread_count = SpreadCount(spread, own_count(pod, spread), {})
        hosts = [*self._pod_counts.hosts, *more]
        domains: dict[int, str] = {}
        for index, host in enumerate(hosts):
            if _makes_domain(pod, spread, host):
                domains[index] = host.labels[spread.topology_key]
                spread_count.counts.setdefault(domains[index], 0)
        for kind in self._pod_counts.kinds:
            if kind.example.namespace == pod.namespace and is_counted(spread, kind.example):
                for index, number in kind.hosts.items():
                    if index in domains:
                        spread_count.counts[domains[index]] += number
        return spread_count


def _makes_domain(pod: Pod, spread: Spread, host: Host) -> bool:
    return all(other.topology_key in host.labels for other in pod.spread) and makes_domain(
        pod, spread, host.labels, host.taints
    )


def message_of(
    code: str, group_counts: GroupCounts, pod: Pod, *, beside: Sequence[str] = (), waits_for: Sequence[str] = ()
) -> tuple[str, str]:
    """Return the final code and one sentence.

    Args:
        code: of the obstacle.
        group_counts: the counts of the pods that exist.
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
            # Without one it counts as 1: no words of it, as nobody has set it.
            if 1 < wanted > len(spread_count.counts)
            else ""
        )
        parts.append(f"{spread_count.spread.topology_key} with maxSkew {spread_count.spread.max_skew}{few} ({counts})")
    return f"one more pod breaks the topology spread over {' and '.join(parts)}"
