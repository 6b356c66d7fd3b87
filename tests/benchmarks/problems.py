"""Problems made of few numbers, and the instances whose results are known."""

from decimal import Decimal
from functools import cache

from benchmarks.catalogue import HOURS
from benchmarks.generator import Recipe, draw
from benchmarks.instance import problem_of_instance
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_units
from simulator.peers.problem import PeerProblem, Purchase

KNOWN = {
    "100 x 50 mix": Recipe(pods=100, shapes=50, mix=True),
    "1,000 x 50": Recipe(pods=1000, shapes=50),
    "1,000 x 500 mix": Recipe(pods=1000, shapes=500, mix=True),
    "10,000 x 500 mix": Recipe(pods=10_000, shapes=500, mix=True),
}
"""Instances of the study, seed 0: what they cost by each rule was measured there by another implementation."""


@cache
def known(name: str) -> PeerProblem:
    """Return the numbers of an instance of the study."""
    return problem_of_instance(draw(KNOWN[name]))


def per_month(purchase: Purchase) -> str:
    """Return the cost as the study writes it."""
    return f"{purchase.cost_per_hour * HOURS:.2f}"


def problem(
    groups: list[GroupRow],
    machines: list[tuple[str, tuple[int, ...], str]],
    *,
    resources: tuple[str, ...] = ("cpu", "memory"),
    limit: int | None = None,
) -> PeerProblem:
    """Return a problem with machines given by name, capacity and price per hour; `limit` bounds all together."""
    bins = tuple(
        BinRow(capacity, price_units(Decimal(price)), () if limit is None else (0,)) for _, capacity, price in machines
    )
    limits = () if limit is None else (limit,)
    return PeerProblem(
        PackingProblem(tuple(groups), bins, limits), tuple(name for name, *_ in machines), resources, "EUR"
    )


def pods(count: int, *demand: int, bins: set[int], **changes: object) -> GroupRow:
    """Return a class of pods."""
    return GroupRow(demand, count, frozenset(bins), **changes)


def on_machines(purchase: Purchase) -> list[tuple[str, dict[int, int]]]:
    """Return the machines with their pods by group, in the order in which they were bought."""
    return [(purchase.problem.offerings[node.bin], dict(node.counts)) for node in purchase.packing.nodes]
