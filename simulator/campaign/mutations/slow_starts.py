"""Faults planted in what waits for machines that start slowly: `simulator.campaign.mutations.planting`."""

from typing import Any, Final

from activities.requests import look as requests_look
from planner.supply import startup
from simulator.campaign.mutations.planting import Change, Mutation


def _taints_of_a_start_unknown() -> list[Change]:
    return [(startup, "startup_taints", lambda _taints, _pool: ())]


def _devices_not_awaited() -> list[Change]:
    return [(startup, "missing_amounts", lambda _allocatable, _planned: {})]


def _untried_counts_as_tried() -> list[Change]:
    """Let the minute of a reservation begin when its Node is Ready, whatever the scheduler does."""

    async def has_been_tried(*_args: Any) -> None:
        return None

    return [(requests_look, "has_been_tried", has_been_tried)]


def _no_grace_after_an_outage() -> list[Change]:
    return [(requests_look, "with_grace", lambda status, _timings, _since: status)]


SLOW_MUTATIONS: Final = (
    Mutation("taints of a start keep nobody waiting", _taints_of_a_start_unknown, within=40),
    Mutation("devices that come later are not waited for", _devices_not_awaited, within=40),
    Mutation("a reservation ends although the scheduler stands still", _untried_counts_as_tried, first=580, within=40),
    Mutation("waits are judged at once after an outage", _no_grace_after_an_outage, within=60),
)
"""Each found by histories with slow starts."""
