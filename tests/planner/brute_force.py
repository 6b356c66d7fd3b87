"""The cheapest way to give a few pods new machines, found by trying all: for the checker, from raw objects."""

from collections.abc import Iterator
from decimal import Decimal

from planner.model import Plan, PlanResult
from tests.planner.checker import Checker
from tests.planner.reading import Json, offering_node
from tests.planner.scenes import Scene


def cheapest(scene: Scene, uids: list[str]) -> Decimal:
    """Return the least cost per hour of new machines for these pods of the first pool."""
    checker = Checker(scene, Plan(result=PlanResult.NO_DEMANDS))
    first = scene.pools[0]
    looks = [
        (Decimal(kind["pricePerHour"]), offering_node(first, kind, place, "new"))
        for kind, place in checker.catalogue(first)
    ]
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


def partitions(pods: list[Json]) -> Iterator[list[list[Json]]]:
    """Yield every way to split pods into groups."""
    if not pods:
        yield []
        return
    for rest in partitions(pods[1:]):
        yield [[pods[0]], *rest]
        for k, part in enumerate(rest):
            yield [*rest[:k], [pods[0], *part], *rest[k + 1 :]]
