"""The memory of what could not be had: each is left out for a time that doubles with every further miss.

An offering without capacity is left out. A limit of the account, or a closed location, pauses what it stops: all of a
class, or a part of it, as a limit of dedicated cores must not keep ordinary machines waiting. Kept in the class's
status, so that the doubling survives the request that found the miss.
Source: docs/design.md#unmet.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_class_status import BuyingPause, FailedPurchases, PartialPause, UnavailableOffering

LONGEST: Final = timedelta(hours=1)
"""Clouds get capacity back within hours; a longer pause would outlast the shortage."""
REMEMBERED_FOR: Final = timedelta(hours=1)
"""A miss that long after the last wait has nothing to do with it: the doubling begins anew."""
FIRST_PAUSE: Final = timedelta(minutes=5)
"""A limit of an account is raised by people, or when a machine goes: not within seconds."""

MOST_FAILED: Final = 3
"""Purchases in a row that failed after their creation: a fourth would fail as well, and each costs an hour."""
_TYPES_REMEMBERED: Final = 20
"""Server types of failed purchases that a class's status has room for."""
MOST_PARTS: Final = 50
"""That a class's status has room for; beyond it, the ones that end first are forgotten."""

PartialPauses = tuple[PartialPause, ...]

Entries = tuple[UnavailableOffering, ...]


@dataclass(frozen=True, slots=True)
class PartRefused:
    """What was refused, and what of the class that stops."""

    limit: str
    message: str
    server_types: tuple[str, ...] = ()
    """None is all."""
    locations: tuple[str, ...] = ()
    """None is everywhere."""
    may_be_all_types: bool = False
    """Once another type is refused for the same, it stops all types."""
    is_of_account: bool = True
    first: timedelta = FIRST_PAUSE
    """How long a first one lasts."""


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
        until=now + wait_after(ttl, failures),
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


def with_refusal(pause: BuyingPause | None, message: str, *, now: datetime, is_of_account: bool = True) -> BuyingPause:
    """Return the pause after the account was refused a machine: `FIRST_PAUSE`, doubled for each one before.

    One refusal per pause counts, as for offerings: requests that were under way together met the same limit.
    """
    if pause is not None and now < pause.until:
        return pause.model_copy(update={"last_failure_at": now})
    failures = 1 if pause is None or now >= pause.until + REMEMBERED_FOR else pause.failures + 1
    return BuyingPause(
        message=message,
        failures=failures,
        last_failure_at=now,
        until=now + wait_after(FIRST_PAUSE, failures),
        is_of_account=None if is_of_account else False,
    )


def after_success(pause: BuyingPause | None, *, asked_at: datetime) -> BuyingPause | None:
    """Return the pause after a server was had: it is forgotten if that was asked for when it was over.

    One that was asked for earlier took what the account still had.
    """
    return None if pause is not None and pause.until <= asked_at else pause


def with_failed_purchase(failed: FailedPurchases | None, server_type: str, *, now: datetime) -> FailedPurchases:
    """Return the row of failures after another server was created and never became a machine."""
    if failed is None or now >= failed.last_failure_at + LONGEST + REMEMBERED_FOR:
        return FailedPurchases(in_a_row=1, server_types=(server_type,), last_failure_at=now)
    types = tuple(dict.fromkeys((*failed.server_types, server_type)))[-_TYPES_REMEMBERED:]
    return FailedPurchases(in_a_row=failed.in_a_row + 1, server_types=types, last_failure_at=now)


def after_removal(pause: BuyingPause | None, *, now: datetime) -> BuyingPause | None:
    """Return the pause after a machine went: it ends, and one is tried, if the account may have one in its place."""
    if pause is None or pause.is_of_account is False or pause.until <= now:
        return pause
    return pause.model_copy(update={"until": now})


def stops(pause: PartialPause, server_type: str, location: str) -> bool:
    """Return whether the pause is about the offering."""
    is_of_type = not pause.server_types or server_type.lower() in {each.lower() for each in pause.server_types}
    return is_of_type and (not pause.locations or location in pause.locations)


def part_in_force(
    pauses: Iterable[PartialPause], server_type: str, location: str, now: datetime
) -> PartialPause | None:
    """Return the pause that keeps the offering from being bought now, the longest of several."""
    in_force = [pause for pause in pauses if now < pause.until and stops(pause, server_type, location)]
    return max(in_force, key=lambda pause: pause.until, default=None)


def with_part_refused(pauses: Sequence[PartialPause], refused: PartRefused, *, now: datetime) -> PartialPauses:
    """Return the pauses after a refusal: it lasts `first`, doubled for each one of the same limit before.

    One refusal per pause counts, as for offerings. One that reaches further than the pause widens it.
    """
    remembered = [pause for pause in pauses if now < pause.until + REMEMBERED_FOR]
    known = next((pause for pause in remembered if pause.limit == refused.limit), None)
    others = [pause for pause in remembered if pause is not known]
    if known is None:
        reach = (refused.server_types, refused.locations)
    else:
        reach = (_types(known, refused), _both(known.locations, refused.locations))
    if known is not None and now < known.until:
        changed = known.model_copy(
            update={"server_types": reach[0], "locations": reach[1], "last_failure_at": now},
        )
        return (*others, changed)
    failures = 1 if known is None else known.failures + 1
    paused = PartialPause(
        limit=refused.limit,
        server_types=reach[0],
        locations=reach[1],
        is_of_account=refused.is_of_account,
        message=refused.message,
        failures=failures,
        last_failure_at=now,
        until=now + wait_after(refused.first, failures),
    )
    return tuple(sorted((*others, paused), key=lambda pause: pause.until)[-MOST_PARTS:])


def without_parts_had(
    pauses: Sequence[PartialPause], server_type: str, location: str, *, asked_at: datetime
) -> PartialPauses:
    """Return the pauses after a machine of the offering was had: of it, none that was over by then is left."""
    return tuple(pause for pause in pauses if asked_at < pause.until or not stops(pause, server_type, location))


def with_parts_freed(
    pauses: Sequence[PartialPause], server_type: str, location: str, *, now: datetime
) -> PartialPauses:
    """Return the pauses after a machine of the offering went: of what it has freed, one machine may be tried."""
    return tuple(
        pause.model_copy(update={"until": now})
        if pause.is_of_account and now < pause.until and stops(pause, server_type, location)
        else pause
        for pause in pauses
    )


def parts_over(
    pauses: Iterable[PartialPause], server_type: str, location: str, now: datetime
) -> Iterator[PartialPause]:
    """Yield the pauses of the offering that are over and were not disproved: one machine is tried first."""
    return (pause for pause in pauses if pause.until <= now and stops(pause, server_type, location))


def _types(known: PartialPause, refused: PartRefused) -> tuple[str, ...]:
    is_another = bool(set(refused.server_types) - set(known.server_types))
    if refused.may_be_all_types and is_another:
        return ()
    return _both(known.server_types, refused.server_types)


def _both(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Return what either names; nothing is all."""
    return tuple(dict.fromkeys((*some, *others))) if some and others else ()


def wait_after(ttl: timedelta, failures: int) -> timedelta:
    """Return how long nothing is asked for after so many misses in a row, of which the first one waits `ttl`."""
    longest = max(ttl, LONGEST)
    # The factor is bounded too, as a timedelta overflows.
    return min(longest, ttl * min(2 ** min(failures - 1, 64), longest // ttl + 1))


def _find(entries: Sequence[UnavailableOffering], server_type: str, location: str) -> UnavailableOffering | None:
    return next((e for e in entries if e.server_type == server_type and e.location == location), None)
