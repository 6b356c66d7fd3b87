"""The best set of machines, by trying every set and every place of every pod; with none of the planner's code.

It knows amounts, zones, anti-affinity by host name, and limits: what the worlds drawn beside it ask for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations


@dataclass(frozen=True)
class SmallPod:
    """A pod of a small world."""

    name: str
    cpu: int
    """In millicores."""
    node: str
    zone: str = ""
    """Where it must be, if anywhere."""
    app: str = ""
    """No two of the same app share a machine; empty: it shares with all."""


@dataclass(frozen=True)
class SmallType:
    """A type of machine, in one zone."""

    name: str
    zone: str
    cpu: int
    price: Decimal


@dataclass(frozen=True)
class SmallWorld:
    """Machines, their pods, and what can be bought."""

    types: tuple[SmallType, ...]
    machines: dict[str, SmallType]
    pods: tuple[SmallPod, ...]
    most: int
    """Machines at any time."""
    move_price: Decimal


@dataclass
class _Spot:
    zone: str
    free: int
    apps: set[str] = field(default_factory=set)
    type: SmallType | None = None

    def takes(self, pod: SmallPod) -> bool:
        return pod.cpu <= self.free and pod.zone in {"", self.zone} and (not pod.app or pod.app not in self.apps)

    def put(self, pod: SmallPod) -> None:
        self.free -= pod.cpu
        self.apps |= {pod.app} - {""}

    def take(self, pod: SmallPod) -> None:
        self.free += pod.cpu
        self.apps -= {pod.app}


def best(world: SmallWorld) -> Decimal:
    """Return the most that a set of machines saves per hour, less the price of moves; 0 if none is worth it.

    Machines without pods go by themselves.
    """
    with_pods = sorted({pod.node for pod in world.pods})
    return max((_saving(world, set(names)) for names in _sets(with_pods)), default=Decimal(0))


def _sets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for number in range(len(names) + 1):
        yield from combinations(names, number)


def _saving(world: SmallWorld, going: set[str]) -> Decimal:
    movers = sorted((pod for pod in world.pods if pod.node in going), key=lambda pod: -pod.cpu)
    spots = []
    for name, kind in world.machines.items():
        if name not in going and any(pod.node == name for pod in world.pods):
            spot = _Spot(kind.zone, kind.cpu)
            for pod in (each for each in world.pods if each.node == name):
                spot.put(pod)
            spots.append(spot)
    price = sum((world.machines[name].price for name in going), Decimal(0))
    moves = world.move_price * len(movers)
    cost = _cheapest(world, movers, spots, world.most - len(world.machines), price - moves)
    return Decimal(0) if cost is None else max(Decimal(0), price - moves - cost)


def _cheapest(
    world: SmallWorld, movers: list[SmallPod], spots: list[_Spot], left: int, below: Decimal
) -> Decimal | None:
    """Return the least that must be bought for these pods, None where it is not below a price."""
    if below <= 0:
        return None
    if not movers:
        return Decimal(0)
    pod, *rest = movers
    least: Decimal | None = None
    for spot in spots:
        if spot.takes(pod):
            spot.put(pod)
            cost = _cheapest(world, rest, spots, left, below)
            spot.take(pod)
            if cost is not None and cost < below:
                least, below = cost, cost
                if not cost:
                    return cost
    for kind in world.types if left else ():
        spot = _Spot(kind.zone, kind.cpu, type=kind)
        if spot.takes(pod) and kind.price < below:
            spot.put(pod)
            cost = _cheapest(world, rest, [*spots, spot], left - 1, below - kind.price)
            if cost is not None and cost + kind.price < below:
                least = below = cost + kind.price
    return least
