"""Faults planted where tenants make trouble for others, to show that histories with such tenants find them."""

from typing import Final

from activities.round import observe
from planner.placement import known_state
from simulator.campaign.mutations.planting import Change, Mutation


def _taken_room_is_not_counted() -> list[Change]:
    """Keep the seats of pods for which others, who have none, have left no room."""
    return [(known_state, "without_lost_seats", lambda seating, _supply, _namespaces: seating)]


def _limit_ranges_not_read() -> list[Change]:
    """Take the pods of a DaemonSet for what its template says, whatever admission adds."""
    return [(observe, "with_limit_ranges", lambda daemon_sets, _items, _ranges: daemon_sets)]


TENANT_MUTATIONS: Final = (
    Mutation("room that pods without a seat took is not counted", _taken_room_is_not_counted, first=510, within=15),
    Mutation("what LimitRanges give DaemonSet pods is not counted", _limit_ranges_not_read, within=30),
)
