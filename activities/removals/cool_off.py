"""The cool-off of a removal, up to its point of no return: everything here can still be undone.

A cancel is written on the object before the taint is lifted, and the point of no return is a write
on the version that showed no cancel: one order of events for all. Source: docs/design.md#removal.
"""

from typing import Final

from activities.objects.events import Recorder, tell, tell_on
from activities.objects.nodes import change_node, has_taint, scale_down, taints_of, without_exclusion
from activities.objects.record import conditions_with, hold, still_as_read, write_status, write_step
from activities.ports.cluster import NODES
from activities.ports.errors import Conflict
from activities.ports.ports import Ports
from activities.removals.evictions import ask_to_leave
from activities.removals.look import RemovalObjects
from api.keys import (
    ANNOTATION_DRAIN_PAUSE,
    ANNOTATION_IDLE_SINCE,
    ANNOTATION_MOVE_FAILED,
    ANNOTATION_MOVE_FAILED_BY,
    ANNOTATION_SPARED_AT,
    TAINT_SCALE_DOWN,
)
from api.meta import format_timestamp, set_condition
from api.v1alpha1.node_removal_request import CancelRecord, RemovalPhase
from planner.lifecycle.clocks.drain_limits import TIMED_OUT
from planner.lifecycle.departure.replacement import MOVE_FAILED, NOT_REPLACED, first_wait
from planner.lifecycle.leaving import VOLUMES_DETACH_WITHIN
from planner.lifecycle.removal import FOUND_DEAD, NOT_DEAD, NOT_EMPTY
from planner.lifecycle.step import Act
from planner.objects.pauses import next_pause, read_pause, written

_CANCEL_REASON_CHARACTERS = 512
_PAUSES: Final = {
    TIMED_OUT: ANNOTATION_DRAIN_PAUSE,
    NOT_REPLACED: ANNOTATION_MOVE_FAILED,
    MOVE_FAILED: ANNOTATION_MOVE_FAILED,
}
"""The annotation that tells how long nothing of the kind is begun again, by who cancelled."""


async def taint_node(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Begin the cool-off: write its end, taint the Node, write when it was tainted.

    The time of tainting is unset first if the taint has to be set again, so that a kill in between
    never leaves an old time with a new taint: pods get their time to settle from the new one.

    Raises:
        Conflict: removal or Node have changed since they were read.
    """
    record = await hold(ports.cluster, observed.record)
    # What was looked at, without times that are to come: it was read from this record.
    status = observed.seen.status
    tainted = observed.node is None or has_taint(observed.node, TAINT_SCALE_DOWN)
    if status.scale_down_at is None or (status.tainted_at is not None and not tainted):
        record = await write_step(
            ports.cluster,
            record,
            act,
            now=ports.now(),
            scale_down_at=status.scale_down_at or act.until or ports.now() + first_wait(observed.seen),
            tainted_at=None,
        )
    if observed.node is not None and not tainted:
        # A cancel is on the object before it lifts the taint: an attempt that was given up and wakes up here must not
        # set the taint again.
        if not await still_as_read(ports.cluster, record):
            raise Conflict(f"NodeRemovalRequest {record.name} has changed since it was read")
        taint = scale_down(int(ports.now().timestamp()))
        await change_node(ports.cluster, observed.node, taints=[*taints_of(observed.node), taint])
    now = ports.now()
    ends_at = record.model.status.scale_down_at
    if ends_at is not None:
        # A clock that was set back since the first write must not prolong it.
        ends_at = min(ends_at, now + first_wait(observed.seen))
    await write_status(
        ports.cluster,
        record,
        now=now,
        event="Tainted",
        because=act.message,
        tainted_at=now,
        scale_down_at=ends_at,
        conditions=conditions_with(record, "Tainted", status=True, reason=act.reason, message=act.message, now=now),
    )
    message = act.message if ends_at is None or ends_at <= now else f"{act.message} by {ends_at:%H:%M:%S} UTC"
    await tell(recorder, record, act.reason, message)
    if observed.node is not None:
        await tell_on(recorder, NODES, observed.node, act.reason, message)


async def cancel(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Record the cancel. From here on the removal can only end.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    now = ports.now()
    by = act.by or "Person"
    changes = {
        "cancel": CancelRecord(at=now, by=by, reason=act.message[:_CANCEL_REASON_CHARACTERS]),
        "reason": act.reason,
        "message": act.message,
    }
    if by == NOT_EMPTY:
        changes["conditions"] = conditions_with(
            observed.record, "Empty", status=False, reason=by, message=act.message, now=now
        )
    await write_status(
        ports.cluster, observed.record, now=now, event="Cancelled", because=f"By {by}: {act.message}", **changes
    )
    await tell(recorder, observed.record, "Cancelled", f"By {by}: {act.message}")


async def untaint_node(ports: Ports, observed: RemovalObjects) -> None:
    """Take what a cancelled removal has put on its Node off again, and begin the Node's idle time anew.

    With the old idle time, the next cool-off of a Node that is still empty would begin at once; so would that of a dead
    one which a person has spared.

    Raises:
        Conflict: the Node has changed since it was read.
    """
    if observed.node is not None:
        taints = [taint for taint in taints_of(observed.node) if taint["key"] != TAINT_SCALE_DOWN]
        now, removal = format_timestamp(ports.now()), observed.record.model
        annotations = {ANNOTATION_IDLE_SINCE: now}
        cancel_record = removal.status.cancel
        if removal.spec.reason == FOUND_DEAD and cancel_record is not None and cancel_record.by != NOT_DEAD:
            annotations[ANNOTATION_SPARED_AT] = now
        if cancel_record is not None and (key := _PAUSES.get(cancel_record.by)) is not None:
            before = read_pause(observed.node["metadata"].get("annotations") or {}, key)
            annotations[key] = written(next_pause(before, cancel_record.at))
            if key == ANNOTATION_MOVE_FAILED:
                annotations[ANNOTATION_MOVE_FAILED_BY] = (
                    " ".join(sorted(removal.spec.replaced_by)) or removal.metadata.name
                )
        await change_node(
            ports.cluster,
            observed.node,
            taints=taints,
            labels=without_exclusion(observed.node),
            annotations=annotations,
        )


async def commit(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Pass the point of no return, on the version that showed no cancel and before which the pods were listed.

    Pods that belong to the node are asked to leave first: they have until its server goes.

    Raises:
        Conflict: the removal has changed since it was read, perhaps by a cancel: look again.
    """
    # Before the write: a refusal leaves the machine as it is, and the next look tells of it.
    refused = await ask_to_leave(ports.cluster, observed.per_node_pods)
    if refused:
        raise Conflict(f"a pod that belongs to the node may not be evicted: {refused[0].why}")
    now = ports.now()
    record = await hold(ports.cluster, observed.record)
    # Of an immediate removal nobody has looked for pods; those on a dead Node are there as long as its server.
    is_empty = None if record.model.spec.immediate or observed.seen.gone_pods else True
    conditions = conditions_with(record, "Empty", status=is_empty, reason=act.reason, message=act.message, now=now)
    if record.model.status.phase is RemovalPhase.DRAINING:
        generation = record.model.metadata.generation
        conditions = set_condition(
            conditions, "Drained", status=True, reason=act.reason, message=act.message, now=now, generation=generation
        )
    await write_step(
        ports.cluster,
        record,
        act,
        now=now,
        phase=RemovalPhase.DEPROVISIONING,
        detach_until=now + VOLUMES_DETACH_WITHIN,
        conditions=conditions,
    )
    await tell(recorder, observed.record, "Deprovisioning", act.message)
