"""Begun billing periods: an empty machine whose hour is paid stays as room, and is deleted before the next one begins.

Source: Hetzner Cloud docs, "Billing FAQ": each begun hour of a server is billed, from its creation on.
"""

from datetime import datetime, timedelta
from typing import Final

from planner.lifecycle.clocks.future_times import is_to_come
from planner.supply.machines import Machine

BEFORE_THE_END: Final = timedelta(minutes=5)
"""How long before the end of what is paid a machine without pods is deleted: its Node may be younger than its server,
and a refused call is repeated."""
LATEST: Final = timedelta(minutes=1)
"""How long before that end its deletion may begin at the latest: what begins later begins in the next period."""


def created_at(machine: Machine, now: datetime) -> datetime | None:
    """Return when the server of a machine was created, as far as its request or its Node tell."""
    asked = None if machine.request is None else machine.request.status.create_attempt_at
    joined = None if machine.node is None else machine.node.created_at
    return min((at for at in (asked, joined) if at is not None and not is_to_come(at, now)), default=None)


def goes_at(
    machine: Machine, period: timedelta, soft_grace: timedelta, *, ripe_at: datetime, now: datetime
) -> datetime:
    """Return from when on the cool-off of an empty machine begins, not before `ripe_at`.

    Args:
        machine: without pods.
        period: in which it is billed.
        soft_grace: how long the cool-off lasts.
        ripe_at: when it has been empty for long enough.
        now: of the round.
    """
    created = created_at(machine, now)
    if created is None:
        return ripe_at
    earliest = max(ripe_at, now)
    periods = -((created - earliest - soft_grace - LATEST) // period)
    begins_at = created + periods * period - BEFORE_THE_END - soft_grace
    # What is due by now goes at once.
    return ripe_at if begins_at <= now and ripe_at <= now else max(begins_at, ripe_at)
