"""How much pods like a machine: what they prefer, scored as the scheduler scores nodes.

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
from planner.objects.kinds import NO_PREFERENCES, Pod, PodTerm, PreferredNodes, Requirement, Spread
from planner.objects.predicates import selects
from planner.packing.domains.census import Census, Host
from planner.scheduling.affinity import Namespaces, term_matches
from planner.scheduling.spread import is_counted, makes_domain
from planner.supply.pod_class import PodClass

_FULL: Final = 10**6
"""The best score. The scheduler rounds to hundredths of it, which would make ties of small differences."""


def prefers(pod: Pod) -> bool:
    """Return whether the pod prefers some kinds of machines to others."""
    wanted = pod.preferences
    if wanted is NO_PREFERENCES:
        return False
    others = (*(one.term for one in (*wanted.near, *wanted.apart)), *wanted.spread)
    return bool(wanted.nodes) or any(one.topology_key != LABEL_HOSTNAME for one in others)


@dataclass(slots=True, eq=False)
class _Looked:
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
    """What a kind likes among some bins."""

    nodes: list[int]
    """Scores; empty if all are alike."""
    company: list[_Row]
    even: list[_Row]
    more: int
    """What is added to the number of pods: the more skew is allowed, the less a difference matters."""
    lacking: list[int]
    """Positions of bins without a label that pods shall be spread over."""


@dataclass(slots=True, eq=False)
class Kind:
    """Pods that prefer the same and that are the same to whoever looks for pods."""

    nodes: tuple[PreferredNodes, ...] = ()
    company: Sequence[tuple[int, _Looked]] = ()
    even: Sequence[_Looked] = ()
    more: int = 0
    """By how much the constraints of `even` allow more skew than 1."""
    counts: Sequence[_Looked] = ()
    """Where its pods are found."""
    known: dict[tuple[int, ...], _Terms] = field(default_factory=dict)
    """By the bins to choose from."""

    @property
    def prefers(self) -> bool:
        """Whether it prefers some machines to others."""
        return bool(self.nodes or self.company or self.even)


class Likings:
    """What the pods of a round prefer, with running counts of the pods that they look for.

    Args:
        classes: all pods of the round.
        hosts: what a machine of each bin looks like.
        census: the pods that are there; they are counted.
    """

    def __init__(self, classes: Iterable[PodClass], hosts: Sequence[Host], census: Census) -> None:
        self._hosts = hosts
        self._namespaces: Namespaces = census.namespaces
        self._likings: dict[object, Kind] = {}
        self._looked: dict[object, _Looked] = {}
        for one in classes:
            for pod in one.pods:
                self._liking(one.key, pod)
        self._by_label: dict[tuple[str, str], list[_Looked]] = {}
        self._by_none: list[_Looked] = []
        for looked in self._looked.values():
            self._index(looked)
        self._keys = sorted({r.key for looked in self._looked.values() for r in looked.selector})
        self._kinds: dict[object, Kind] = {}
        for kind in census.kinds if self._looked else ():
            for looked in self._finding(kind.example):
                for index, number in kind.hosts.items():
                    value = looked.domain(census.hosts[index])
                    if value is not None:
                        looked.pods[value] += number

    def kind(self, key: str, pod: Pod) -> Kind:
        """Return the kind of a pod of the round, given the key of its class."""
        # By identity: to hash its terms anew for each pod would take longer than all else.
        looks = (id(pod.preferences), key, pod.namespace, *map(pod.labels.get, self._keys))
        found = self._kinds.get(looks)
        if found is None:
            found = replace(self._liking(key, pod), counts=tuple(self._finding(pod)))
            self._kinds[looks] = found
        return found

    def count(self, kinds: Iterable[tuple[Kind, int]], b: int) -> None:
        """Count pods on a machine of a bin, given by kind with their numbers."""
        for kind, number in kinds:
            for looked in kind.counts:
                value = looked.domains[b] if b in looked.domains else self._domain(looked, b)
                if value is not None:
                    looked.pods[value] += number

    def scores(self, kinds: Iterable[tuple[Kind, int]], bins: tuple[int, ...]) -> list[int]:
        """Return how much these pods, given by kind with their numbers, like a machine of each bin."""
        total = [0] * len(bins)
        for kind, number in kinds:
            if kind.prefers:
                terms = kind.known.get(bins) or self._terms(kind, bins)
                for scores in (terms.nodes, _company(terms), _even(terms)):
                    if scores:
                        total = [before + number * score for before, score in zip(total, scores, strict=True)]
        return total

    def _liking(self, key: str, pod: Pod) -> Kind:
        looks = (id(pod.preferences), key, pod.namespace)
        found = self._likings.get(looks)
        if found is None:
            found = self._likings[looks] = self._new(pod) if prefers(pod) else Kind()
        return found

    def _new(self, pod: Pod) -> Kind:
        wanted = pod.preferences
        keys = tuple(spread.topology_key for spread in wanted.spread)
        rules = (pod.namespace, pod.node_selector, pod.node_affinity, pod.tolerations)
        spreads = [one for one in wanted.spread if one.topology_key != LABEL_HOSTNAME and one.selector]
        company = [(one.weight, one.term) for one in wanted.near] + [(-one.weight, one.term) for one in wanted.apart]
        return Kind(
            nodes=wanted.nodes,
            company=[
                (weight, self._looked.setdefault(term, _of_term(term, self._namespaces)))
                for weight, term in company
                if term.topology_key != LABEL_HOSTNAME and term.selector is not None
            ],
            even=[self._looked.setdefault((spread, keys, rules), _of_spread(pod, spread, keys)) for spread in spreads],
            more=sum(spread.max_skew - 1 for spread in spreads),
        )

    def _terms(self, kind: Kind, bins: tuple[int, ...]) -> _Terms:
        raw = [sum(one.weight for one in kind.nodes if selects(one.term, self._hosts[b].labels)) for b in bins]
        most = max(raw)

        def row(weight: int, looked: _Looked) -> _Row:
            return weight, looked.pods, [self._domain(looked, b) for b in bins]

        even = [row(1, looked) for looked in kind.even]
        kind.known[bins] = _Terms(
            nodes=[] if min(raw) == most else [_FULL * one // most for one in raw],
            company=[row(*term) for term in kind.company],
            even=even,
            more=kind.more,
            lacking=[k for k in range(len(bins)) if any(domains[k] is None for _, _, domains in even)],
        )
        return kind.known[bins]

    def _domain(self, looked: _Looked, b: int) -> str | None:
        if b not in looked.domains:
            looked.domains[b] = looked.domain(self._hosts[b])
        return looked.domains[b]

    def _index(self, looked: _Looked) -> None:
        """File it under labels of which a pod that it finds has one: few pods are looked for by all."""
        named = next((r for r in looked.selector if r.operator == "In"), None)
        if named is None:
            self._by_none.append(looked)
        else:
            for value in named.values:
                self._by_label.setdefault((named.key, value), []).append(looked)

    def _finding(self, pod: Pod) -> Iterator[_Looked]:
        for candidates in (self._by_none, *(self._by_label.get(label, ()) for label in pod.labels.items())):
            yield from (looked for looked in candidates if looked.finds(pod))


def _of_term(term: PodTerm, namespaces: Namespaces) -> _Looked:
    return _Looked(
        selector=term.selector or (),
        finds=lambda pod: term_matches(term, pod, namespaces),
        domain=lambda host: host.labels.get(term.topology_key),
    )


def _of_spread(owner: Pod, spread: Spread, keys: Sequence[str]) -> _Looked:
    def domain(host: Host) -> str | None:
        counts = all(key in host.labels for key in keys) and makes_domain(owner, spread, host.labels, host.taints)
        return host.labels[spread.topology_key] if counts else None

    return _Looked(
        selector=spread.selector or (),
        finds=lambda pod: pod.namespace == owner.namespace and is_counted(spread, pod),
        domain=domain,
    )


def _company(terms: _Terms) -> list[int]:
    """Return scores by how many pods, times their weights, are in the domains; empty if all are alike."""
    raw = _sums(terms.company)
    least, most = min(raw, default=0), max(raw, default=0)
    return [] if least == most else [_FULL * (one - least) // (most - least) for one in raw]


def _even(terms: _Terms) -> list[int]:
    """Return scores by how few pods are in the domains; empty if all are alike."""
    raw = _sums(terms.even)
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
