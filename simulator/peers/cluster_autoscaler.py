"""What Cluster Autoscaler's rules would buy. Its rules as published, not its program.

It plans with one kind of machine at a time: for each it estimates how many the pods would need, lets
an expander choose one kind, buys those, and begins again with the pods that are left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Final, Literal

from planner.packing.problem import GroupRow, PackedNode, Packing
from simulator.peers.problem import PeerProblem, Purchase
from simulator.peers.spreading import ZoneCounts, per_machine, refill

Expander = Literal["price", "least-waste", "most-pods"]
EXPANDERS: Final[tuple[Expander, ...]] = ("price", "least-waste", "most-pods")


@dataclass(slots=True)
class _Alike:
    """Machines with the same pods, one after the other in the order in which they were opened."""

    machines: int
    free: list[int]
    counts: dict[int, int]


@dataclass(frozen=True, slots=True)
class _Option:
    """Machines of one offering, as the estimator fills them."""

    offering: int
    filled: Sequence[_Alike]

    @property
    def machines(self) -> int:
        return sum(alike.machines for alike in self.filled)

    def placed(self) -> dict[int, int]:
        """Return the pods it has a place for, by group."""
        total: dict[int, int] = {}
        for alike in self.filled:
            for i, n in alike.counts.items():
                total[i] = total.get(i, 0) + n * alike.machines
        return total


def cluster_autoscaler(problem: PeerProblem, *, expander: Expander = "least-waste") -> Purchase:
    """Return the purchase of Cluster Autoscaler's rules with this expander; the default is its own.

    Of equally good offerings it takes the first, where the program draws one. Its cut-offs (1,000
    machines, 10 s) are not applied, and priorities are not looked at.

    Pods that must be spread over zones are bought for zone by zone, loop by loop (`simulator.peers.spreading`).

    Source: Cluster Autoscaler 1.36, core/scaleup/orchestrator (one option a loop), estimator:
    decreasing_pod_orderer.go and binpacking_estimator.go (first fit), expander: price, waste, mostpods.
    """
    problem = replace(problem, packing=replace(problem.packing, groups=per_machine(problem)))
    packing, zone_counts = problem.packing, ZoneCounts(problem)
    score = _score(problem, expander)
    left, room = [group.count for group in packing.groups], list(packing.limits)
    nodes: list[PackedNode] = []
    while True:
        refill(problem, nodes, left, zone_counts)
        options = [
            option
            for b in range(len(packing.bins))
            if (option := _estimate(problem, b, _open(zone_counts, b, left), room)).filled
        ]
        if not options:
            return Purchase(problem, Packing(tuple(nodes), {i: n for i, n in enumerate(left) if n}))
        best = min(options, key=score)
        for limit, amount in packing.bins[best.offering].taken:
            room[limit] -= amount * best.machines
        for i, n in best.placed().items():
            left[i] -= n
        bought = [PackedNode(best.offering, alike.counts) for alike in best.filled for _ in range(alike.machines)]
        zone_counts.buy(bought)
        nodes += bought


def _open(zone_counts: ZoneCounts, offering: int, left: Sequence[int]) -> list[int]:
    """Return the pods of each class that the zone of an offering takes."""
    rooms = (zone_counts.room(i, offering) for i in range(len(left)))
    return [n if room is None else min(n, room) for n, room in zip(left, rooms, strict=True)]


def _estimate(problem: PeerProblem, offering: int, left: Sequence[int], room: Sequence[int]) -> _Option:
    """Return the new machines of one offering that first fit needs, as far as the bounds allow them."""
    packing = problem.packing
    bought = packing.bins[offering]
    most = min((room[limit] // amount for limit, amount in bought.taken), default=sum(left))
    filled: list[_Alike] = []
    for i in _largest_first(problem, offering, left):
        pod, wanted = packing.groups[i], left[i]
        filled, wanted = _fill(filled, i, pod, wanted)
        fits = _fitting(pod, bought.capacity, wanted)
        opened = min(wanted // fits if fits else 0, most)
        most -= opened
        wanted -= opened * fits
        new = [(opened, fits)]
        if wanted and most and fits:
            most -= 1
            new.append((1, wanted))
        for machines, pods in new:
            if machines:
                filled.append(_Alike(machines, _less(bought.capacity, pod, pods), {i: pods}))
    return _Option(offering, filled)


def _largest_first(problem: PeerProblem, offering: int, left: Sequence[int]) -> list[int]:
    groups = problem.packing.groups
    here = [i for i, n in enumerate(left) if n and offering in groups[i].bins]
    return sorted(here, key=lambda i: -_share(problem, i, offering, "cpu") - _share(problem, i, offering, "memory"))


def _share(problem: PeerProblem, group: int, offering: int, resource: str) -> Fraction:
    capacity = problem.capacity(offering, resource)
    return Fraction(problem.demand(group, resource), capacity) if capacity else Fraction(0)


def _fill(filled: Sequence[_Alike], group: int, pod: GroupRow, wanted: int) -> tuple[list[_Alike], int]:
    """Put pods onto open machines, first fit; return the machines and how many pods are left."""
    after: list[_Alike] = []
    for k, alike in enumerate(filled):
        if not wanted:
            after.extend(filled[k:])
            break
        fits = _fitting(pod, alike.free, wanted) if pod.apart.isdisjoint(alike.counts) else 0
        if not fits:
            after.append(alike)
            continue
        full = min(wanted // fits, alike.machines)
        rest = wanted - full * fits if full < alike.machines else 0
        after.extend(_with(alike, full, group, pod, fits))
        if rest:
            after.extend(_with(alike, 1, group, pod, rest))
        untouched = alike.machines - full - (rest > 0)
        if untouched:
            after.append(_Alike(untouched, alike.free, alike.counts))
        wanted -= full * fits + rest
    return after, wanted


def _with(alike: _Alike, machines: int, group: int, pod: GroupRow, pods: int) -> list[_Alike]:
    """Return so many of these machines with some pods more; none if they are none."""
    if not machines:
        return []
    return [_Alike(machines, _less(alike.free, pod, pods), {**alike.counts, group: pods})]


def _fitting(pod: GroupRow, free: Sequence[int], wanted: int) -> int:
    most = wanted if pod.per_node is None else min(wanted, pod.per_node)
    for amount, capacity in zip(pod.demand, free, strict=True):
        if amount * most > capacity:
            most = capacity // amount
    return most


def _less(free: Sequence[int], pod: GroupRow, pods: int) -> list[int]:
    return [capacity - amount * pods for capacity, amount in zip(free, pod.demand, strict=True)]


def _score(problem: PeerProblem, expander: Expander) -> Callable[[_Option], Fraction | float]:
    """Return the function whose value an expander minimises."""
    match expander:
        case "price":
            values = [_value(problem, i) for i in range(len(problem.packing.groups))]
            return lambda option: _price(problem, option, values)
        case "least-waste":
            return lambda option: _waste(problem, option)
        case "most-pods":
            return lambda option: -sum(option.placed().values())


def _price(problem: PeerProblem, option: _Option, values: Sequence[Fraction]) -> Fraction | float:
    """Return the price of the machines divided by the worth of their pods."""
    cost = problem.packing.bins[option.offering].price * option.machines
    worth = sum((values[i] * n for i, n in option.placed().items()), Fraction(0))
    if worth:
        return cost / worth
    # Pods that some offering takes for nothing are worth nothing.
    return inf if cost else Fraction(0)


def _value(problem: PeerProblem, group: int) -> Fraction:
    """Return the worth of a pod per hour: its share of the machine where that costs least.

    In place of the pod prices of a cloud's price model, which Cluster Autoscaler has for none of the offerings here.
    """
    pod, bins = problem.packing.groups[group], problem.packing.bins
    shares = [
        bins[b].price * max(Fraction(d, most) for d, most in zip(pod.demand, bins[b].capacity, strict=True) if d)
        for b in sorted(pod.bins)
    ]
    return min(shares, default=Fraction(0))


def _waste(problem: PeerProblem, option: _Option) -> Fraction:
    """Return the unused shares of cpu and memory, half of each."""
    placed, unused = option.placed(), Fraction(1)
    for resource in ("cpu", "memory"):
        capacity = problem.capacity(option.offering, resource) * option.machines
        if capacity:
            used = sum(problem.demand(i, resource) * n for i, n in placed.items())
            unused -= Fraction(used, 2 * capacity)
    return unused
