"""Faults planted where times are read, to show that histories with a clock that is an hour ahead find them."""

from typing import Any, Final

from activities.removals import look as removals_look
from activities.requests import look as requests_look
from planner.policies import emptiness
from simulator.campaign.mutations.planting import Change, Mutation


def _times_to_come_believed() -> list[Change]:
    """Take what a clock that was ahead has written for true."""

    def as_written(status: Any, *_: Any) -> Any:
        return status

    return [
        (removals_look, "removal_as_of", as_written),
        (requests_look, "request_as_of", as_written),
        (emptiness, "is_to_come", lambda _written, _now: False),
    ]


CLOCK_MUTATIONS: Final = (Mutation("times to come are believed", _times_to_come_believed, within=30),)
