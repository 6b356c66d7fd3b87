"""The cheapest way to give a few pods new machines, found by trying all: for the checker, from raw objects."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import product

from planner.model.plan import Plan, PlanResult
from tests.planner import checker_topology, checker_volumes
from tests.planner.checker import Checker
from tests.planner.lookups import attach_limits
from tests.planner.reading import Json
from tests.planner.scenes import Scene
from tests.planner.world import Spot, World

Looks = tuple[dict[str, str], list[Json], dict[str, int]]


def cheapest(scene: Scene, uids: list[str]) -> Decimal:
    """Return the least cost per hour of new machines for these pods of the first pool, who are no matter to others."""
    checker, looks = _start(scene)
    known: dict[frozenset[str], Decimal | None] = {}

    def price(part: list[Json]) -> Decimal | None:
        names = frozenset(p["metadata"]["name"] for p in part)
        if names not in known:
            fitting = [cost for cost, look in looks if not list(checker.misfits("", part, look, []))]
            known[names] = min(fitting, default=None)
        return known[names]

    costs: list[Decimal] = []
    for parts in partitions([checker.by_uid[uid] for uid in uids]):
        prices = [price(part) for part in parts]
        if None not in prices:
            costs.append(sum((p for p in prices if p is not None), Decimal(0)))
    return min(costs)


def cheapest_among_others(scene: Scene, uids: list[str]) -> Decimal:
    """Return the least cost per hour of new machines for these pods, who ask something of each other."""
    checker, looks = _start(scene)
    ways: list[tuple[Decimal, list[list[Json]], tuple[tuple[Decimal, Looks], ...]]] = []
    for parts in partitions([checker.by_uid[uid] for uid in uids]):
        fitting = [
            [o for o in looks if not list(checker.misfits(f"m{k}", part, o[1], []))] for k, part in enumerate(parts)
        ]
        ways += [(sum((cost for cost, _ in way), Decimal(0)), parts, way) for way in product(*fitting)]
    for cost, parts, way in sorted(ways, key=lambda w: w[0]):
        spots = [
            Spot(f"m{k}", labels | {"kubernetes.io/hostname": f"m{k}"}, taints, newcomers=part)
            for k, (part, (_, (labels, taints, _))) in enumerate(zip(parts, way, strict=True))
        ]
        world = World(tuple(spots), scene.namespaces, attach_limits(scene.csi_nodes))
        broken = (*checker_topology.violations(world), *checker_volumes.violations(world, checker.storage()))
        if not broken:
            return cost
    raise AssertionError("no way at all")


def _start(scene: Scene) -> tuple[Checker, list[tuple[Decimal, Looks]]]:
    checker = Checker(scene, Plan(result=PlanResult.NO_DEMANDS))
    first = scene.pools[0]
    return checker, [
        (Decimal(kind["pricePerHour"]), checker.looks(first["metadata"]["name"], kind, place, "new"))
        for kind, place in checker.catalogue(first)
    ]


def partitions(pods: list[Json]) -> Iterator[list[list[Json]]]:
    """Yield every way to split pods into groups."""
    if not pods:
        yield []
        return
    for rest in partitions(pods[1:]):
        yield [[pods[0]], *rest]
        for k, part in enumerate(rest):
            yield [*rest[:k], [pods[0], *part], *rest[k + 1 :]]
