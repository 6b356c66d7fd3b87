"""Faults planted in what priorities and bounds of namespaces let be bought: `simulator.campaign.mutations.planting`."""

from typing import Final

from planner.packing import assemble
from planner.placement.shares.namespace_bounds import NamespaceBounds
from simulator.campaign.mutations.planting import Change, Mutation


def _price_alone() -> list[Change]:
    return [(assemble, "with_turns", lambda bins, _kinds, _groups: tuple(bins))]


def _cpu_not_counted() -> list[Change]:
    return [(NamespaceBounds, "bar_by_cpu", lambda _bounds, _groups: None)]


CHOICE_MUTATIONS: Final = (
    Mutation("price decides before priorities", _price_alone, first=322, within=6),
    Mutation("the cpu of a namespace bounds nothing", _cpu_not_counted, first=8, within=6),
)
"""Each found by histories with priorities, or with bounds of namespaces."""
