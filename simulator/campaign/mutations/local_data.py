"""Faults planted in what keeps a machine for the data on it."""

from typing import Any

from activities.removals import look
from planner.lifecycle import removal


def not_looked_at() -> list[tuple[Any, str, Any]]:
    """Let removals see no local volume."""

    async def no_volumes(*_args: Any, **_more: Any) -> tuple[()]:
        return ()

    return [(look, "local_data_on", no_volumes)]


def kept_in_rounds_alone() -> list[tuple[Any, str, Any]]:
    """Let data keep the machines that a round removes, and go with those that a person does."""
    real = removal.data_stays
    return [(removal, "data_stays", lambda seen: real(seen) if seen.local_data.ends_removal else None)]
