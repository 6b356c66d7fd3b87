"""Running counts: what the pods that are there, and those decided so far, mean for each class of a round.

One class after the other is given its domains, and every decision is counted at once, so that the
order of deciding is an order in which the scheduler can bind the pods.
Source: kube-scheduler's plugins PodTopologySpread and InterPodAffinity.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.objects.kinds import Pod, PodTerm, Spread
from planner.packing.domains.census import Census, Host
from planner.scheduling.affinity import Domain, meets_all, term_matches
from planner.scheduling.spread import is_counted, makes_domain, own_count

SPREAD: Final = "SpreadUnsatisfiable"
APART: Final = "AntiAffinity"
NEAR: Final = "AffinityUnsatisfiable"


@dataclass(slots=True)
class Even:
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
class Standing:
    """All counts of one class."""

    even: list[Even]
    near: Counter[Domain]
    """Pods that meet all affinity terms, by domain of each term."""
    apart: dict[str, Counter[str]]
    """Pods that the class keeps away from, or that keep away from it, by topology key and value."""
    is_own_friend: bool
    """Whether it meets its own affinity terms, so that the first pod may begin a group anywhere."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one pod of a class changes for another."""

    on: int
    even: tuple[int, ...]
    near: tuple[str, ...]
    """Topology keys."""
    apart: tuple[str, ...]


class Tally:
    """Counts for classes of pods, given by one example each.

    Args:
        pods: one of each class.
        census: what is there.
        more: machines to come without pods, which make domains for a class, by class.
        hidden: topology keys that are judged elsewhere; what is there is counted for them, too.
        effects: what another tally of the same classes has found out, so that it is not found out twice.
    """

    def __init__(
        self,
        pods: Sequence[Pod],
        census: Census,
        more: Sequence[Sequence[Host]],
        hidden: Collection[str] = (),
        effects: dict[int, tuple[Effect, ...]] | None = None,
    ) -> None:
        self._pods = pods
        self._census = census
        self._hidden = frozenset(hidden)
        self.namespaces = census.namespaces
        self.known: dict[int, tuple[Effect, ...]] = {} if effects is None else effects
        self._active = [i for i, pod in enumerate(pods) if pod.spread or pod.pod_affinity or pod.pod_anti_affinity]
        self.standings = [self._standing(pod, hosts) for pod, hosts in zip(pods, more, strict=True)]

    def obstacle(self, i: int, labels: Mapping[str, str]) -> str | None:
        """Return the code of the first rule that one more pod of class `i` on a machine of these labels breaks."""
        pod, standing = self._pods[i], self.standings[i]
        for even in standing.even:
            key = even.spread.topology_key
            if key not in self._hidden and (key not in labels or even.over(labels[key])):
                return SPREAD
        wanted = [
            (t.topology_key, labels.get(t.topology_key)) for t in pod.pod_affinity if t.topology_key not in self._hidden
        ]
        is_first = not standing.near and standing.is_own_friend
        if any(value is None or not (is_first or standing.near[key, value]) for key, value in wanted):
            return NEAR
        for key, counts in standing.apart.items():
            if key not in self._hidden and counts.get(labels.get(key, ""), 0):
                return APART
        return None

    def add(self, j: int, labels: Mapping[str, str], counted: Collection[int] | None = None) -> None:
        """Count a pod of class `j` on a machine of these labels.

        `counted` are the classes whose spread counts the machine; None means all that know its domain.
        """
        for effect in self.effects(j):
            standing = self.standings[effect.on]
            if counted is None or effect.on in counted:
                for k in effect.even:
                    even = standing.even[k]
                    value = labels.get(even.spread.topology_key)
                    if value is not None and value in even.counts:
                        even.counts[value] += 1
            for key in effect.near:
                if key in labels:
                    standing.near[key, labels[key]] += 1
            for key in effect.apart:
                if key in labels:
                    standing.apart.setdefault(key, Counter())[labels[key]] += 1

    def counting(self, j: int, host: Host) -> frozenset[int]:
        """Return the classes for whose spread a pod of class `j` on this host counts."""
        return frozenset(
            effect.on
            for effect in self.effects(j)
            if any(
                _makes_domain(self._pods[effect.on], self.standings[effect.on].even[k].spread, host)
                for k in effect.even
            )
        )

    def effects(self, j: int) -> tuple[Effect, ...]:
        """Return what a pod of class `j` changes for other classes and its own."""
        if j not in self.known:
            others = range(len(self._pods)) if self._pods[j].pod_anti_affinity else self._active
            found = (self._effect(j, i) for i in others)
            self.known[j] = tuple(e for e in found if e.even or e.near or e.apart)
        return self.known[j]

    def _effect(self, j: int, i: int) -> Effect:
        pod, other, spaces = self._pods[j], self._pods[i], self._census.namespaces
        even = tuple(
            k
            for k, e in enumerate(self.standings[i].even)
            if pod.namespace == other.namespace and is_counted(e.spread, pod)
        )
        terms = other.pod_affinity
        near = tuple(t.topology_key for t in terms) if meets_all(terms, pod, spaces) else ()
        mine = [t.topology_key for t in other.pod_anti_affinity if term_matches(t, pod, spaces)]
        theirs = [t.topology_key for t in pod.pod_anti_affinity if term_matches(t, other, spaces)]
        return Effect(i, even, near, tuple(dict.fromkeys((*mine, *theirs))))

    def _standing(self, pod: Pod, more: Sequence[Host]) -> Standing:
        census, spaces = self._census, self._census.namespaces
        standing = Standing(
            even=[self._even(pod, spread, more) for spread in pod.spread],
            near=Counter(),
            apart={},
            is_own_friend=meets_all(pod.pod_affinity, pod, spaces),
        )
        for kind in census.kinds if pod.pod_affinity or pod.pod_anti_affinity else ():
            if meets_all(pod.pod_affinity, kind.example, spaces):
                for term in pod.pod_affinity:
                    key = term.topology_key
                    standing.near.update({(key, v): n for v, n in self._domains(key, kind.hosts).items()})
            for term in pod.pod_anti_affinity:
                if term_matches(term, kind.example, spaces):
                    self._keep_off(standing, term, kind.hosts)
        for term, hosts in census.refusals.items():
            if term_matches(term, pod, spaces):
                self._keep_off(standing, term, hosts)
        return standing

    def _keep_off(self, standing: Standing, term: PodTerm, hosts: Mapping[int, int]) -> None:
        key = term.topology_key
        standing.apart.setdefault(key, Counter()).update(self._domains(key, hosts))

    def _domains(self, key: str, hosts: Mapping[int, int]) -> Counter[str]:
        found: Counter[str] = Counter()
        for index, number in hosts.items():
            value = self._census.hosts[index].labels.get(key)
            if value is not None:
                found[value] += number
        return found

    def _even(self, pod: Pod, spread: Spread, more: Sequence[Host]) -> Even:
        even = Even(spread, own_count(pod, spread), {})
        hosts = [*self._census.hosts, *more]
        domains: dict[int, str] = {}
        for index, host in enumerate(hosts):
            if _makes_domain(pod, spread, host):
                domains[index] = host.labels[spread.topology_key]
                even.counts.setdefault(domains[index], 0)
        for kind in self._census.kinds:
            if kind.example.namespace == pod.namespace and is_counted(spread, kind.example):
                for index, number in kind.hosts.items():
                    if index in domains:
                        even.counts[domains[index]] += number
        return even


def _makes_domain(pod: Pod, spread: Spread, host: Host) -> bool:
    return all(other.topology_key in host.labels for other in pod.spread) and makes_domain(
        pod, spread, host.labels, host.taints
    )
