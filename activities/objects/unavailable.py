"""Writes the memory of what could not be had into the status of the class: offerings, and pauses of all buying."""

import logging
from datetime import datetime, timedelta

from activities.objects.class_status import change_class_status
from activities.ports.cluster import Object
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_request import NodeRequestSpec
from planner.lifecycle.step import shortened
from planner.supply.unavailable import (
    FIRST_PAUSE,
    after_success,
    pause_in_force,
    unavailable_until,
    with_miss,
    with_refusal,
    with_success,
)

log = logging.getLogger(__name__)


async def note_miss(ports: Ports, spec: NodeRequestSpec, ttl: timedelta) -> datetime:
    """Record that the offering has no capacity and return until when it is left out.

    Never raises: without the memory, the request itself leaves the offering out for `ttl`. An error
    here would undo the answer of the provider, and the next attempt would call it again.
    """
    now = ports.now()
    server_type, location = spec.server_type, spec.location

    def miss(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        entries = status.unavailable
        if unavailable_until(entries, server_type, location, now) is not None:
            return status
        entries = with_miss(entries, server_type, location, ttl=ttl, now=now)
        return status.model_copy(update={"unavailable": entries})

    try:
        status = await change_class_status(ports, spec.class_ref, miss)
    except GrowthError as error:
        log.warning("that %s in %s has no capacity was not noted: %s", server_type, location, error)
        return now + ttl
    return unavailable_until(status.unavailable, server_type, location, now) or now + ttl


async def note_pause(ports: Ports, spec: NodeRequestSpec, message: str) -> datetime:
    """Record that the account may not have more, as the provider's `message` says, and return until when it pauses.

    Never raises, as for a miss: without the memory, the request itself waits as long as a first pause.
    """
    now = ports.now()

    def refusal(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        if pause_in_force(status.pause, now) is not None:
            return status
        return status.model_copy(update={"pause": with_refusal(status.pause, shortened(message), now=now)})

    try:
        status = await change_class_status(ports, spec.class_ref, refusal)
    except GrowthError as error:
        log.warning("that the account of %s may not have more was not noted: %s", spec.class_ref, error)
        return now + FIRST_PAUSE
    pause = pause_in_force(status.pause, now)
    return now + FIRST_PAUSE if pause is None else pause.until


async def note_success(ports: Ports, spec: NodeRequestSpec, asked_at: datetime) -> None:
    """Record that the offering has capacity: a miss from before `asked_at` is forgotten, and a pause that was over.

    Never raises: a server that came must not wait for a note about the next one.
    """

    def success(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        entries = with_success(status.unavailable, spec.server_type, spec.location, asked_at=asked_at)
        pause = after_success(status.pause, asked_at=asked_at)
        return status.model_copy(update={"unavailable": entries, "pause": pause})

    try:
        await change_class_status(ports, spec.class_ref, success)
    except GrowthError as error:
        log.warning("that %s in %s has capacity was not noted: %s", spec.server_type, spec.location, error)
