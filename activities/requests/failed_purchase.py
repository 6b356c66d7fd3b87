"""What a machine that came to nothing says of the next ones: its offering waits, after several in a row its class."""

import logging

from activities.objects.node_classes import change_class_status, note_limit, note_miss, note_pause, note_shortage
from activities.ports.cluster import Object
from activities.ports.errors import (
    AuthenticationFailed,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    QuotaExceeded,
)
from activities.ports.ports import Ports
from activities.requests.look import RequestObjects
from api.v1alpha1.node_class_status import NodeClassStatus
from planner.lifecycle.request import SERVER_BROKEN
from planner.lifecycle.step import Act, shortened
from planner.supply.unavailable import (
    FIRST_PAUSE,
    MOST_FAILED,
    PartRefused,
    pause_in_force,
    with_failed_purchase,
    with_part_refused,
    with_refusal,
)

log = logging.getLogger(__name__)


async def note_failed_purchase(ports: Ports, observed: RequestObjects, act: Act) -> None:
    """Record what a server that never became a machine says of the next ones.

    What failed after its creation is read as a refused call is. After `MOST_FAILED` in a row, whatever they failed for,
    the class pauses; where all were of one type, that type pauses for longer, so that it is another one that is tried.
    """
    spec, status = observed.record.model.spec, observed.record.model.status
    unavailable_ttl = observed.seen.timings.unavailable_ttl
    failure = observed.server_failure if act.reason == SERVER_BROKEN else None
    match failure:
        case QuotaExceeded() as error:
            await note_limit(ports, spec, error)
        case InsufficientCapacity() as error:
            await note_shortage(ports, spec, error, unavailable_ttl)
        case InvalidConfiguration() | AuthenticationFailed() as error:
            await note_pause(ports, spec, str(error), is_of_account=False)
        case _:
            await note_miss(ports, spec, unavailable_ttl)
    if status.provider_id is None or isinstance(failure, QuotaExceeded):
        # Perhaps it was never made; or its limit pauses what it stops by itself.
        return
    now = ports.now()

    def failed(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        row = with_failed_purchase(status.failed_purchases, spec.server_type, now=now)
        status = status.model_copy(update={"failed_purchases": row})
        if row.in_a_row < MOST_FAILED or pause_in_force(status.pause, now) is not None:
            return status
        message = shortened(f"{row.in_a_row} servers in a row were created and failed, the last one so: {act.message}")
        pause = with_refusal(status.pause, message, now=now, is_of_account=False)
        parts = status.partial_pauses
        if len(row.server_types) == 1:
            refused = PartRefused(
                f"type {spec.server_type}",
                message,
                server_types=row.server_types,
                is_of_account=False,
                first=pause.until - now + FIRST_PAUSE,
            )
            parts = with_part_refused(parts, refused, now=now)
        return status.model_copy(update={"pause": pause, "partial_pauses": parts})

    try:
        await change_class_status(ports, spec.class_ref, failed)
    except GrowthError as error:
        log.warning("that a server of %s failed was not noted: %s", spec.class_ref, error)
