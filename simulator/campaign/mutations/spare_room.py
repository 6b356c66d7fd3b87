"""Faults planted in headroom, and in what is bought for pods of low priority."""

from dataclasses import replace
from typing import Any, Final

from planner.placement.headroom_room import HeadroomRoom
from planner.policies import emptiness
from planner.policies.expendable import Expendables
from planner.supply.places import Rank
from simulator.campaign.mutations.planting import Change, Mutation


def _nothing_is_coming() -> list[Change]:
    real = HeadroomRoom.fill

    def fill(room: HeadroomRoom, groups: Any, is_open: Any) -> Any:
        return real(room, groups, lambda place: place.rank is not Rank.IN_FLIGHT and is_open(place))

    return [(HeadroomRoom, "fill", fill)]


def _nothing_is_held() -> list[Change]:
    real = emptiness.Emptiness.propose
    return [(emptiness.Emptiness, "propose", lambda policy, view: real(policy, replace(view, held=())))]


def _everybody_buys() -> list[Change]:
    return [(Expendables, "buying", lambda _expendables, _pod, pools: tuple(pools))]


SPARE_ROOM_MUTATIONS: Final = (
    Mutation("headroom has no room on machines that are coming", _nothing_is_coming, first=1015, within=10),
    Mutation("machines that headroom needs go for want of pods", _nothing_is_held, first=100, within=40),
    Mutation("machines are bought for pods of any priority", _everybody_buys, first=100, within=40),
)
"""Each found by histories with headroom, or with pods that wait for free room."""
