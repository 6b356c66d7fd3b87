"""May the scheduler bind one more pod to a machine? Tables of its filters for the few pods of a small round.

Written from the Kubernetes documents "Assigning Pods to Nodes", "Pod Topology Spread Constraints" and "Taints and
Tolerations": a machine is a number, and a workload is one. What a machine may hold alone (room, ports) is told apart
from what other machines matter for (spread, affinity, anti-affinity over a zone).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

from tests.planner.packing.joint.small_round import Limit, SmallRound, Spot, Workload
from tests.planner.reading import Json, tolerates, wants
from tests.planner.selecting import HOSTNAME, labels_of, ports, reaches, same_port, selects, space_of, spreads, terms

Content = tuple[int, ...]
"""Pods on a machine, by workload."""


@dataclass(frozen=True)
class Spread:
    """A constraint that must hold."""

    key: str
    max_skew: int
    min_domains: int
    own: int
    """1 if a pod of the workload counts itself."""
    counted: tuple[int, ...]
    """Workloads that count."""
    eligible: tuple[bool, ...]
    """Whether a machine counts, by spot."""
    residents: tuple[int, ...]
    """Pods that count and are there, by spot."""
    may_come: frozenset[str]
    """Domains in which a machine could be bought for a pod: they count with no pod. None for the host name."""


@dataclass(frozen=True)
class Affinity:
    """All terms of a workload: company must be there in the domain of each."""

    keys: tuple[str, ...]
    met_by: tuple[int, ...]
    """Workloads that meet all terms."""
    residents: tuple[int, ...]
    """Pods that meet all terms, by spot."""
    meets_itself: bool


class Rules:
    """The filters for the workloads of a round; spots are the machines that are there, then the kinds to buy.

    Args:
        given: the round.
        met: limits that allow no further machine, so that no domain is to be had by one; of a single kind of machine,
            an empty pool with its name.
    """

    def __init__(self, given: SmallRound, met: Collection[Limit] = ()) -> None:
        self.given = given
        self._met = frozenset(met)
        self.workloads = given.workloads
        self.spots: tuple[Spot, ...] = (*given.there, *given.kinds)
        self.is_open = [[self._is_open(w, s) for s in self.spots] for w in self.workloads]
        self.spreads = [[self._spread(w, i, c) for c in spreads(w.example)] for i, w in enumerate(self.workloads)]
        self.affinities = [self._affinity(w) for w in self.workloads]
        self._more: dict[tuple[int, Content], tuple[int, ...]] = {}

    # A machine by itself.

    def _is_open(self, workload: Workload, spot: Spot) -> bool:
        """Return whether a pod alone may be on this machine, as long as nobody else of this round is anywhere."""
        pod = workload.example
        cordon = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}] if spot.is_cordoned else []
        needed = [c["topologyKey"] for c in spreads(pod)] + [t["topologyKey"] for t in terms(pod, "podAffinity")]
        return (
            all(tolerates(pod["spec"], taint) for taint in (*spot.taints, *cordon))
            and wants(pod["spec"], dict(spot.labels), spot.name)
            and all(spot.free.get(name, 0) >= amount for name, amount in workload.takes.items())
            and not any(same_port(pod["spec"], other["spec"]) for other in spot.pods)
            and all(key in spot.labels for key in needed)
            and not self._is_kept_off(pod, spot)
        )

    def _is_kept_off(self, pod: Json, spot: Spot) -> bool:
        """Return whether anti-affinity of the pod, or of a pod that is there, keeps it off."""
        return any(
            spot.labels.get(key) == where.labels[key] and (key != HOSTNAME or where is spot)
            for where in self.given.there
            for other in where.pods
            for key in _apart(pod, other, self.given)
            if key in where.labels
        )

    @cached_property
    def apart(self) -> dict[str, set[tuple[int, int]]]:
        """Pairs of workloads that may not share a domain, by topology key."""
        found: dict[str, set[tuple[int, int]]] = {}
        for i, one in enumerate(self.workloads):
            for j, other in enumerate(self.workloads):
                for key in _apart(one.example, other.example, self.given):
                    found.setdefault(key, set()).add((i, j))
        return found

    @cached_property
    def _share_no_machine(self) -> set[tuple[int, int]]:
        specs = [w.example["spec"] for w in self.workloads]
        clashing = {(i, j) for i, a in enumerate(specs) for j, b in enumerate(specs) if ports(a) and same_port(a, b)}
        return clashing | self.apart.get(HOSTNAME, set())

    def more(self, spot: int, content: Content) -> tuple[int, ...]:
        """Return how many more pods of each workload this machine could hold alone, as far as itself matters."""
        known = self._more.get((spot, content))
        if known is None:
            known = self._more[spot, content] = tuple(
                self._more_of(i, spot, content) if self.is_open[i][spot] else 0 for i in range(len(self.workloads))
            )
        return known

    def _more_of(self, i: int, spot: int, content: Content) -> int:
        if any(n and (i, j) in self._share_no_machine for j, n in enumerate(content)):
            return 0
        takes = self.workloads[i].takes
        free = self.spots[spot].free
        left = min(
            (free.get(r, 0) - sum(n * w.takes.get(r, 0) for n, w in zip(content, self.workloads, strict=True))) // a
            for r, a in takes.items()
            if a
        )
        return min(max(0, left), 1) if (i, i) in self._share_no_machine else max(0, left)

    # What other machines matter for.

    def _spread(self, workload: Workload, i: int, constraint: Json) -> Spread:
        pod, key = workload.example, constraint["topologyKey"]
        keys = [c["topologyKey"] for c in spreads(pod)]
        eligible = tuple(
            all(k in spot.labels for k in keys)
            and (constraint.get("nodeAffinityPolicy") == "Ignore" or wants(pod["spec"], dict(spot.labels), spot.name))
            and (constraint.get("nodeTaintsPolicy") != "Honor" or all(tolerates(pod["spec"], t) for t in spot.taints))
            for spot in self.spots
        )
        to_buy = [
            (k, spot)
            for k, spot in enumerate(self.spots)
            if spot.price is not None and self._met.isdisjoint({*spot.limits, ("", spot.name)})
        ]
        return Spread(
            key=key,
            max_skew=constraint["maxSkew"],
            min_domains=max(constraint.get("minDomains") or 1, self._hosts_at_least(i, key, eligible, to_buy)),
            own=int(selects(constraint.get("labelSelector"), labels_of(pod))),
            counted=tuple(j for j, w in enumerate(self.workloads) if _counts(constraint, pod, w.example)),
            eligible=eligible,
            residents=tuple(sum(_counts(constraint, pod, p) for p in spot.pods) for spot in self.spots),
            may_come=frozenset(
                spot.labels[key] for k, spot in to_buy if key != HOSTNAME and eligible[k] and self.is_open[i][k]
            ),
        )

    def _hosts_at_least(self, i: int, key: str, eligible: Sequence[bool], to_buy: Sequence[tuple[int, Spot]]) -> int:
        """Return 2 for the host name where no machine is there and limits allow two: one alone has no skew.

        It is no rule of Kubernetes, but of the product: who spreads pods over hosts does not mean a single one.
        """
        is_any_there = any(is_one for is_one, spot in zip(eligible, self.spots, strict=True) if spot.price is None)
        if key != HOSTNAME or is_any_there:
            return 1
        left = self.given.left
        limits = [
            set(spot.limits) for k, spot in to_buy if self.is_open[i][k] and all(left.get(n, 1) for n in spot.limits)
        ]
        pairs = combinations_with_replacement(limits, 2)
        return 2 if any(all(left.get(name, 2) > 1 for name in a & b) for a, b in pairs) else 1

    def _affinity(self, workload: Workload) -> Affinity | None:
        pod, given = workload.example, self.given
        wanted = terms(pod, "podAffinity")
        if not wanted:
            return None

        def meets(other: Json) -> bool:
            return all(reaches(term, pod, other, given.namespaces) for term in wanted)

        return Affinity(
            keys=tuple(term["topologyKey"] for term in wanted),
            met_by=tuple(j for j, w in enumerate(self.workloads) if meets(w.example)),
            residents=tuple(0 if spot.price is not None else sum(map(meets, spot.pods)) for spot in self.spots),
            meets_itself=meets(pod),
        )

    @cached_property
    def kin(self) -> list[set[int]]:
        """The workloads that can help one to a place: those that it looks at, those that they look at, and itself."""
        seen = [
            {j for spread in self.spreads[i] for j in spread.counted} | set(one.met_by if one else ()) | {i}
            for i, one in enumerate(self.affinities)
        ]
        for _ in seen:
            seen = [set[int]().union(*(seen[j] for j in own)) for own in seen]
        return seen

    @cached_property
    def ordered(self) -> tuple[bool, ...]:
        """Whether it matters when pods of a workload are bound: they look at others that come, or are looked at."""
        looked_at = {j for own in self.spreads for spread in own for j in spread.counted}
        looked_at |= {j for one in self.affinities if one for j in one.met_by}
        return tuple(bool(self.spreads[i] or self.affinities[i] or i in looked_at) for i in range(len(self.workloads)))


def _apart(pod: Json, other: Json, given: SmallRound) -> list[str]:
    """Return the topology keys over which one of two pods keeps away from the other."""
    return [
        term["topologyKey"]
        for one, met in ((pod, other), (other, pod))
        for term in terms(one, "podAntiAffinity")
        if reaches(term, one, met, given.namespaces)
    ]


def _counts(constraint: Json, pod: Json, other: Json) -> bool:
    """Return whether another pod counts for a constraint: one of the namespace that is not on its way out."""
    return (
        space_of(pod) == space_of(other)
        and "deletionTimestamp" not in other["metadata"]
        and selects(constraint.get("labelSelector"), labels_of(other))
    )
