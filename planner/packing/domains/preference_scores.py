"""Scores of machines by the preferences of pods, as the scheduler scores nodes.

The scores of each kind of preference are brought to one scale over the machines to choose from, and
all kinds weigh alike, as they do by default. Preferences over the host name are left out: they tell
between machines of a plan, and here only the kind of a machine is chosen.
Source: kube-scheduler's plugins NodeAffinity, InterPodAffinity and PodTopologySpread, Score and NormalizeScore.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import Pod, PodTerm, PreferredNodes, Requirement, Spread
from planner.objects.predicates import selects
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.scheduling.affinity import Namespaces, term_matches
from planner.scheduling.spread import is_counted, makes_domain
from planner.supply.pod_group import PodGroup

_FULL: Final = 10**6
"""The best score. The scheduler rounds to hundredths of it, which would make ties of small differences."""


@dataclass(slots=True, eq=False)
class _WantedPods:
    """Pods that some preference looks for, by domain."""

    selector: tuple[Requirement, ...]
    finds: Callable[[Pod], bool]
    domain: Callable[[Host], str | None]
    pods: Counter[str | None] = field(default_factory=Counter)
    domains: dict[int, str | None] = field(default_factory=dict)
    """By bin, where it is known."""


_Row = tuple[int, Counter[str | None], list[str | None]]
"""A weight, below zero for pods to keep away from, the pods by domain, and the domain of each bin."""


@dataclass(slots=True)
class _Terms:
    """The scores of some bins for a kind of pods."""

    nodes: list[int]
    """Scores; empty if all are alike."""
    affinity: list[_Row]
    spreads: list[_Row]
    more: int
    """What is added to the number of pods: the more skew is allowed, the less a difference matters."""
    lacking: list[int]
    """Positions of bins without a label that spread constraints need."""


@dataclass(slots=True, eq=False)
class PodPreference:
    """Pods with the same preferences that no selector of others tells apart."""

    nodes: tuple[PreferredNodes, ...] = ()
    affinity: Sequence[tuple[int, _WantedPods]] = ()
    spreads: Sequence[_WantedPods] = ()
    more: int = 0
    """By how much the constraints of `spreads` allow more skew than 1."""
    counts: Sequence[_WantedPods] = ()
    """Where its pods are found."""
    known: dict[tuple[int, ...], _Terms] = field(default_factory=dict)
    """By the bins to choose from."""

    @property
    def prefers(self) -> bool:
        """Whether it prefers some machines to others."""
        return bool(self.nodes or self.affinity or self.spreads)


class PreferenceScores:
    """What the pods of a round prefer, with running counts of the pods that they look for.

    Args:
        groups: all pods of the round.
        hosts: a machine of each bin.
        pod_counts: the pods that are there; they are counted.
    """

    def __init__(self, groups: Iterable[PodGroup], hosts: Sequence[Host], pod_counts: PodCounts) -> None:
        self._hosts = hosts
        self._namespaces: Namespaces = pod_counts.namespaces
        self._preferences: dict[object, PodPreference] = {}
        self._wanted: dict[object, _WantedPods] = {}
        for group in groups:
            for pod in group.pods:
                self._preference(group.key, pod)
        self._by_label: dict[tuple[str, str], list[_WantedPods]] = {}
        self._by_none: list[_WantedPods] = []
        for wanted_pods in self._wanted.values():
            self._index(wanted_pods)
        self._keys = sorted({r.key for wanted_pods in self._wanted.values() for r in wanted_pods.selector})
        self._kinds: dict[object, PodPreference] = {}
        for kind in pod_counts.kinds if self._wanted else ():
            if kind.is_moving:
                continue
            for wanted_pods in self._finding(kind.example):
                for index, number in kind.hosts.items():
                    value = wanted_pods.domain(pod_counts.hosts[index])
                    if value is not None:
                        wanted_pods.pods[value] += number

    def preference_of(self, key: str, pod: Pod) -> PodPreference:
        """Return the preference of a pod of the round, given the key of its group."""
        # By identity: to hash its terms anew for each pod would take longer than all else.
        identity = (id(pod.preferences), key, pod.namespace, *map(pod.labels.get, self._keys))
        preference = self._kinds.get(identity)
        if preference is None:
            preference = replace(self._preference(key, pod), counts=tuple(self._finding(pod)))
            self._kinds[identity] = preference
        return preference

    def count(self, kinds: Iterable[tuple[PodPreference, int]], b: int) -> None:
        """Count pods on a machine of a bin, given by kind with their numbers."""
        for kind, number in kinds:
            for wanted_pods in kind.counts:
                value = wanted_pods.domains[b] if b in wanted_pods.domains else self._domain(wanted_pods, b)
                if value is not None:
                    wanted_pods.pods[value] += number

    def scores(self, kinds: Iterable[tuple[PodPreference, int]], bins: tuple[int, ...]) -> list[int]:
        """Return the score of a machine of each bin for these pods, given by kind with their numbers."""
        total = [0] * len(bins)
        for kind, number in kinds:
            if kind.prefers:
                terms = kind.known.get(bins) or self._terms(kind, bins)
                for scores in (terms.nodes, _affinity_scores(terms), _spread_scores(terms)):
                    if scores:
                        total = [before + number * score for before, score in zip(total, scores, strict=True)]
        return total

    def _preference(self, key: str, pod: Pod) -> PodPreference:
        identity = (id(pod.preferences), key, pod.namespace)
        preference = self._preferences.get(identity)
        if preference is None:
            preference = self._preferences[identity] = (
                self._new(pod) if pod.preferences.chooses_kinds else PodPreference()
            )
        return preference

    def _new(self, pod: Pod) -> PodPreference:
        wanted = pod.preferences
        keys = tuple(spread.topology_key for spread in wanted.spread)
        rules = (pod.namespace, pod.node_selector, pod.node_affinity, pod.tolerations)
        spreads = [one for one in wanted.spread if one.topology_key != LABEL_HOSTNAME and one.selector]
        affinity = [(one.weight, one.term) for one in wanted.near] + [(-one.weight, one.term) for one in wanted.apart]
        return PodPreference(
            nodes=wanted.nodes,
            affinity=[
                (weight, self._wanted.setdefault(term, _of_term(term, self._namespaces)))
                for weight, term in affinity
                if term.topology_key != LABEL_HOSTNAME and term.selector is not None
            ],
            spreads=[
                self._wanted.setdefault((spread, keys, rules), _of_spread(pod, spread, keys)) for spread in spreads
            ],
            more=sum(spread.max_skew - 1 for spread in spreads),
        )

    def _terms(self, kind: PodPreference, bins: tuple[int, ...]) -> _Terms:
        raw = [sum(one.weight for one in kind.nodes if selects(one.term, self._hosts[b].labels)) for b in bins]
        most = max(raw)

        def row(weight: int, wanted_pods: _WantedPods) -> _Row:
            return weight, wanted_pods.pods, [self._domain(wanted_pods, b) for b in bins]

        spreads = [row(1, wanted_pods) for wanted_pods in kind.spreads]
        kind.known[bins] = _Terms(
            nodes=[] if min(raw) == most else [_FULL * one // most for one in raw],
            affinity=[row(*term) for term in kind.affinity],
            spreads=spreads,
            more=kind.more,
            lacking=[k for k in range(len(bins)) if any(domains[k] is None for _, _, domains in spreads)],
        )
        return kind.known[bins]

    def _domain(self, wanted_pods: _WantedPods, b: int) -> str | None:
        if b not in wanted_pods.domains:
            wanted_pods.domains[b] = wanted_pods.domain(self._hosts[b])
        return wanted_pods.domains[b]

    def _index(self, wanted_pods: _WantedPods) -> None:
        """File it under labels of which a pod that it finds has one: few pods are looked for by all."""
        named = next((r for r in wanted_pods.selector if r.operator == "In"), None)
        if named is None:
            self._by_none.append(wanted_pods)
        else:
            for value in named.values:
                self._by_label.setdefault((named.key, value), []).append(wanted_pods)

    def _finding(self, pod: Pod) -> Iterator[_WantedPods]:
        for candidates in (self._by_none, *(self._by_label.get(label, ()) for label in pod.labels.items())):
            yield from (wanted_pods for wanted_pods in candidates if wanted_pods.finds(pod))


def _of_term(term: PodTerm, namespaces: Namespaces) -> _WantedPods:
    return _WantedPods(
        selector=term.selector or (),
        finds=lambda pod: term_matches(term, pod, namespaces),
        domain=lambda host: host.labels.get(term.topology_key),
    )


def _of_spread(owner: Pod, spread: Spread, keys: Sequence[str]) -> _WantedPods:
    def domain(host: Host) -> str | None:
        counts = all(key in host.labels for key in keys) and makes_domain(owner, spread, host.labels, host.taints)
        return host.labels[spread.topology_key] if counts else None

    return _WantedPods(
        selector=spread.selector or (),
        finds=lambda pod: pod.namespace == owner.namespace and is_counted(spread, pod),
        domain=domain,
    )


def _affinity_scores(terms: _Terms) -> list[int]:
    """Return scores by how many pods, times their weights, are in the domains; empty if all are alike."""
    raw = _sums(terms.affinity)
    least, most = min(raw, default=0), max(raw, default=0)
    return [] if least == most else [_FULL * (one - least) // (most - least) for one in raw]


def _spread_scores(terms: _Terms) -> list[int]:
    """Return scores by how few pods are in the domains; empty if all are alike."""
    raw = _sums(terms.spreads)
    known = [one for k, one in enumerate(raw) if k not in terms.lacking] if terms.lacking else raw
    least, most = min(known, default=0) + terms.more, max(known, default=0) + terms.more
    if least == most and not terms.lacking:
        return []
    scores = [_FULL * (most + least - one - terms.more) // most if most else _FULL for one in raw]
    for k in terms.lacking:
        scores[k] = 0
    return scores


def _sums(rows: Sequence[_Row]) -> list[int]:
    if not rows:
        return []
    weight, pods, domains = rows[0]
    # No pod counts for a bin without a domain.
    sums = [weight * pods.get(domain, 0) for domain in domains]
    for weight, pods, domains in rows[1:]:
        sums = [before + weight * pods.get(domain, 0) for before, domain in zip(sums, domains, strict=True)]
    return sums
