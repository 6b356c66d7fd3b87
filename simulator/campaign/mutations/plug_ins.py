"""Faults planted where planner and scheduler see differently, to show that histories with a plug-in find them."""

from typing import Final

from planner.packing import assemble
from planner.supply.lost_places import LostPlaces
from simulator.campaign.mutations.planting import Change, Mutation


def _refused_type_bought_again() -> list[Change]:
    """Buy what the scheduler has refused as if nothing were known of it."""
    return [(assemble, "is_refused", lambda _group, _kind: False)]


def _refused_node_still_counts() -> list[Change]:
    """Plan pods onto the Nodes on which the scheduler does not bind them."""
    return [(LostPlaces, "loses", lambda _self, _machine, **_more: False)]


PLUG_IN_MUTATIONS: Final = (
    Mutation("a type that the scheduler refused is bought again", _refused_type_bought_again, first=12, within=15),
    Mutation("a Node on which pods were refused is still their place", _refused_node_still_counts, first=65, within=15),
)
