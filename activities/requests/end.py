"""The ways out of a request's lifecycle: given up, handed over, finished, or forgotten with its definition.

Every way out opens the Node first. Source: docs/design.md#request, and docs/design.md#deleting.
"""

import logging
from typing import Final

from activities.objects.events import Recorder, tell
from activities.objects.nodes import change_node, has_taint, lift_taint, scale_down, taints_of
from activities.objects.pods import occupants_of
from activities.objects.record import (
    Record,
    conditions_with,
    drop_finalizer,
    let_go,
    still_as_read,
    write_status,
    write_step,
)
from activities.ports.cluster import Object
from activities.ports.errors import (
    Conflict,
)
from activities.ports.ports import Ports
from activities.requests.failed_purchase import note_failed_purchase
from activities.requests.look import RequestObjects
from activities.requests.node import lift_reservation
from activities.requests.removal_order import is_ordered, order_removal
from activities.requests.scale_up_failed import tell_scale_up_failed
from api.keys import TAINT_RESERVED, TAINT_SCALE_DOWN
from api.meta import READY
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.json_predicates import is_ready
from planner.lifecycle.request import BY_DELETION, TIMEOUTS, USELESS
from planner.lifecycle.step import Act

_HANDED_OVER: Final = "HandedOver"
"""Reason of the condition Ready that says so for good."""

log = logging.getLogger(__name__)


async def give_up(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Write that the machine is given up, and why.

    Raises:
        Conflict: the request has changed since it was read.
    """
    now = ports.now()
    await write_step(
        ports.cluster,
        observed.record,
        act,
        now=now,
        phase=RequestPhase.DEPROVISIONING,
        conditions=conditions_with(
            observed.record, READY, status=False, reason=act.reason, message=act.message, now=now
        ),
    )
    if act.reason in USELESS:
        # Without a memory of it, the same offering would be bought again after each time-out.
        await note_failed_purchase(ports, observed, act)
        await tell_scale_up_failed(recorder, observed.record, act.reason, act.message)
    await tell(recorder, observed.record, act.reason, act.message, warning=act.reason not in BY_DELETION)


async def hand_over(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Order the server's removal and end the request, unless its Node came just in time.

    Raises:
        Conflict: something has changed since it was read, or another removal has to end first.
    """
    record = observed.record
    node = observed.node
    if node is not None:
        # Closed before the last look at its pods: one that is bound after that look would be lost with the machine.
        node = await _seal(ports, observed, node)
    if act.reason in TIMEOUTS and not _is_decided(record):
        came = "" if node is None or await is_ordered(ports, record.model) else await _in_time(ports, node)
        if node is not None and came:
            await lift_taint(ports.cluster, node, TAINT_SCALE_DOWN)
            await _take_back(ports, recorder, observed, came)
            return
        record = await _decide(ports, record)
    # Before the request ends: killed in between, the next attempt finds its own order, and no server lacks an owner.
    await order_removal(ports, record.model)
    if node is not None:
        await lift_taint(ports.cluster, node, TAINT_RESERVED, record.name)
    await tell(recorder, record, _HANDED_OVER, f"NodeRemovalRequest {record.name} deletes the server")
    await let_go(ports.cluster, record)


async def finish(ports: Ports, observed: RequestObjects, act: Act) -> None:
    """End the request; the machine stays, if there is one.

    Raises:
        Conflict: request or Node have changed since they were read.
    """
    await lift_reservation(ports, observed)
    log.info("NodeRequest %s ends: %s", observed.record.name, act.message)
    await let_go(ports.cluster, observed.record)


async def forget(ports: Ports, observed: RequestObjects) -> None:
    """Drop the finalizer and nothing else: our definitions are being removed.

    Raises:
        Conflict: the request has changed since it was read.
    """
    await drop_finalizer(ports.cluster, observed.record.resource, observed.record.object)


async def _seal(ports: Ports, observed: RequestObjects, node: Object) -> Object:
    """Return the Node as it is with the scale-down taint on it: no further pod is bound to it."""
    if has_taint(node, TAINT_SCALE_DOWN):
        return node
    if not await still_as_read(ports.cluster, observed.record):
        raise Conflict(f"NodeRequest {observed.record.name} has changed since it was read")
    taint = scale_down(int(ports.now().timestamp()))
    return await change_node(ports.cluster, node, taints=[*taints_of(node), taint])


async def _in_time(ports: Ports, node: Object) -> str:
    """Return the reason why the machine stays, or an empty text."""
    name = node["metadata"]["name"]
    if is_ready(node):
        return f"Node {name} became Ready at the last moment"
    occupants = await occupants_of(ports.cluster, name)
    return f"{len(occupants)} pods are bound to Node {name}" if occupants else ""


def _is_decided(record: Record[NodeRequest]) -> bool:
    return any(one.type == READY and one.reason == _HANDED_OVER for one in record.model.status.conditions)


async def _decide(ports: Ports, record: Record[NodeRequest]) -> Record[NodeRequest]:
    """Write that the machine goes, whatever its Node says from now on.

    The order of a removal cannot be made conditional on the request. Without this write, which is,
    an attempt that was given up and wakes up here would order the removal of a machine that a later
    attempt has taken back.

    Raises:
        Conflict: the request has changed since it was read.
    """
    now = ports.now()
    message = "The machine has not come in time and goes"
    return await write_status(
        ports.cluster,
        record,
        now=now,
        event=_HANDED_OVER,
        because=message,
        conditions=conditions_with(record, READY, status=False, reason=_HANDED_OVER, message=message, now=now),
    )


async def _take_back(ports: Ports, recorder: Recorder, observed: RequestObjects, why: str) -> None:
    await write_status(
        ports.cluster,
        observed.record,
        now=ports.now(),
        event="InTime",
        because=why,
        phase=RequestPhase.PROVISIONING,
        reason="InTime",
        message=why,
    )
    await tell(recorder, observed.record, "InTime", why)
