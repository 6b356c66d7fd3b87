"""The memory of offerings without capacity: each is left out for a time that doubles with every further miss.

An offering without capacity is left out; an account that may not have more buys nothing at all of
the class. Kept in the class's status, so that the doubling survives the request that found the miss.
Source: docs/design.md#unmet.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_class_status import BuyingPause, UnavailableOffering

LONGEST: Final = timedelta(hours=1)
"""Clouds get capacity back within hours; a longer pause would outlast the shortage."""
REMEMBERED_FOR: Final = timedelta(hours=1)
"""A miss that long after the last wait has nothing to do with it: the doubling begins anew."""
FIRST_PAUSE: Final = timedelta(minutes=5)
"""A limit of an account is raised by people, or when a machine goes: not within seconds."""

Entries = tuple[UnavailableOffering, ...]


def unavailable_until(
    entries: Sequence[UnavailableOffering], server_type: str, location: str, now: datetime
) -> datetime | None:
    """Return the time until which the offering is left out, or None if it may be tried."""
    entry = _find(entries, server_type, location)
    return entry.until if entry is not None and now < entry.until else None


def with_miss(
    entries: Sequence[UnavailableOffering], server_type: str, location: str, *, ttl: timedelta, now: datetime
) -> Entries:
    """Return the entries after a miss of the offering: `ttl`, doubled for each miss before, at most `LONGEST`.

    One miss per wait counts: requests that were under way together found the same shortage.
    """
    entry = _find(entries, server_type, location)
    others = tuple(e for e in entries if e is not entry and now < e.until + REMEMBERED_FOR)
    if entry is not None and now < entry.until:
        return (*others, entry.model_copy(update={"last_failure_at": now}))
    failures = 1 if entry is None or now >= entry.until + REMEMBERED_FOR else entry.failures + 1
    missed = UnavailableOffering(
        server_type=server_type,
        location=location,
        failures=failures,
        last_failure_at=now,
        until=now + _wait(ttl, failures),
    )
    return (*others, missed)


def with_success(
    entries: Sequence[UnavailableOffering], server_type: str, location: str, *, asked_at: datetime
) -> Entries:
    """Return the entries after a server of the offering was had: a miss from before the call is forgotten."""
    entry = _find(entries, server_type, location)
    if entry is None or entry.last_failure_at > asked_at:
        return tuple(entries)
    return tuple(e for e in entries if e is not entry)


def pause_in_force(pause: BuyingPause | None, now: datetime) -> BuyingPause | None:
    """Return the pause if nothing is bought now because of it."""
    return pause if pause is not None and now < pause.until else None


def with_refusal(pause: BuyingPause | None, message: str, *, now: datetime) -> BuyingPause:
    """Return the pause after the account was refused a machine: `FIRST_PAUSE`, doubled for each one before.

    One refusal per pause counts, as for offerings: requests that were under way together met the same limit.
    """
    if pause is not None and now < pause.until:
        return pause.model_copy(update={"last_failure_at": now})
    failures = 1 if pause is None or now >= pause.until + REMEMBERED_FOR else pause.failures + 1
    return BuyingPause(
        message=message, failures=failures, last_failure_at=now, until=now + _wait(FIRST_PAUSE, failures)
    )


def after_success(pause: BuyingPause | None, *, asked_at: datetime) -> BuyingPause | None:
    """Return the pause after a server was had: it is forgotten if that was asked for when it was over.

    One that was asked for earlier took what the account still had.
    """
    return None if pause is not None and pause.until <= asked_at else pause


def _wait(ttl: timedelta, failures: int) -> timedelta:
    longest = max(ttl, LONGEST)
    # The factor is bounded too, as a timedelta overflows.
    return min(longest, ttl * min(2 ** min(failures - 1, 64), longest // ttl + 1))


def _find(entries: Sequence[UnavailableOffering], server_type: str, location: str) -> UnavailableOffering | None:
    return next((e for e in entries if e.server_type == server_type and e.location == location), None)
