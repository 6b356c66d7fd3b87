"""The ways out of a removal's lifecycle: done, cancelled, skipped or abandoned by a person, or forgotten."""

import logging
from contextlib import suppress

from activities.objects.events import Recorder, tell, tell_on
from activities.objects.node_classes import note_freed
from activities.objects.nodes import change_node, taints_of, without_exclusion
from activities.objects.record import drop_finalizer, let_go
from activities.objects.removal_cancels import can_cancel, cancel
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.errors import Conflict, GrowthError, NotFound, ProviderError
from activities.ports.ports import Ports
from activities.removals.look import RemovalObjects, is_ours, request_uid
from activities.removals.server import delete_node
from api.keys import ANNOTATION_DO_NOT_REMOVE, LABEL_ABANDONED, LABEL_STEP, TAINT_SCALE_DOWN
from api.meta import shown_time
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.decision import refusal
from planner.lifecycle.departure.replacement import STEP_CANCELLED
from planner.lifecycle.removal import REMOVED, is_by_person
from planner.lifecycle.step import Act, DecisionKind
from planner.policies.pace.cancelled import held_until, marks_of_cancel

log = logging.getLogger(__name__)


async def finish(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """End the removal.

    Raises:
        Conflict: it has changed since it was read.
    """
    spec = observed.record.model.spec
    if act.reason == REMOVED and not spec.immediate:
        # One that never became a machine may have failed for want of the very thing.
        await note_freed(ports, spec.class_ref, spec.server_type, spec.location)
    await _mark_cancelled(ports, recorder, observed)
    await _end_step(ports, observed)
    await tell(recorder, observed.record, act.reason, act.message)
    await let_go(ports.cluster, observed.record)


async def _mark_cancelled(ports: Ports, recorder: Recorder, observed: RemovalObjects) -> None:
    """Write on the Node of a removal that a person cancelled that none is begun by itself for a while, and tell.

    Raises:
        Conflict: the Node has changed since it was read.
    """
    record, node, seen = observed.record.model.status.cancel, observed.node, observed.seen.node
    if record is None or not is_by_person(record.by) or node is None or seen is None or seen.foreign:
        return
    marks = marks_of_cancel(node["metadata"].get("annotations") or {}, record.at)
    if not marks:
        return
    marked = await change_node(ports.cluster, node, annotations=marks)
    until = held_until(marks, ports.now())
    if until is not None:
        message = f"Cancelled by {record.by}: until {shown_time(until)} no removal of it is begun by itself"
        await tell_on(recorder, NODES, marked, "RemovalPaused", message)


async def _end_step(ports: Ports, observed: RemovalObjects) -> None:
    """Cancel what has not begun of the step of a cancelled removal: it was to save as a whole.

    Before the removal ends: killed in between, the next attempt finds those that are left.

    Raises:
        Conflict: one of them changes at the moment; repeat.
    """
    removal = observed.record.model
    cancelled, label = removal.status.cancel, removal.metadata.labels.get(LABEL_STEP)
    if cancelled is None or not label:
        return
    why = f"{observed.record.name} of the same step stays: {cancelled.reason or f'cancelled by {cancelled.by}'}"
    for other in (await ports.cluster.list(NODE_REMOVAL_REQUESTS, labels=f"{LABEL_STEP}={label}")).items:
        is_pending = (other.get("status") or {}).get("phase", RemovalPhase.PENDING) == RemovalPhase.PENDING
        if is_pending and can_cancel(other):
            with suppress(NotFound):
                await cancel(ports.cluster, other, why, ports.now(), by=STEP_CANCELLED)


async def tell_late_deletion(recorder: Recorder, observed: RemovalObjects) -> None:
    """Tell an event if the removal was deleted too late to cancel it. Never raises.

    Without it, `kubectl delete` would only hang. Source: docs/design.md#deleting.
    """
    seen = observed.seen
    why = refusal(seen, DecisionKind.CANCEL)
    if seen.deleting and not seen.crds_going and why is not None:
        await tell(
            recorder, observed.record, "NotCancelled", f"The deletion of this object has no effect: {why}", warning=True
        )


async def skip(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Treat the server as gone, as a person decided: delete its Node and end.

    A server that still exists is labelled abandoned, so that no sweep takes it for an orphan. A provider that gives no
    answer does not stop that: it may be the reason for the skip.

    Raises:
        Conflict: the removal or the Node have changed since they were read, or the machine's record still ends.
    """
    await _end_record(ports, observed.record.model)
    with suppress(ProviderError):
        await _mark_server(ports, recorder, observed)
    message = f"By {act.by or 'Person'}: {act.message}"
    log.warning("server %s is treated as gone: %s", observed.record.model.spec.server_name, message)
    await tell(recorder, observed.record, act.reason, message, warning=True)
    # The removal goes last: killed before that, it is still there to delete the Node.
    await delete_node(ports, observed)
    await let_go(ports.cluster, observed.record)


async def _end_record(ports: Ports, removal: NodeRemovalRequest) -> None:
    """End the NodeRequest of a machine that came lately before its Node goes.

    Else its workflow sees a server without a Node, and orders the removal that was just skipped.

    Raises:
        Conflict: it is not gone yet; repeat.
    """
    name, uid = removal.spec.server_name, request_uid(removal)
    try:
        record = await ports.cluster.get(NODE_REQUESTS, name)
        metadata = record["metadata"]
        if metadata["uid"] != uid or record.get("status", {}).get("phase") != RequestPhase.READY:
            return
        if not metadata.get("deletionTimestamp"):
            await ports.cluster.delete(NODE_REQUESTS, name, uid=uid)
    except NotFound:
        return
    raise Conflict(f"NodeRequest {name} still ends: the record of the machine goes before its Node")


async def abandon(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Leave the server to its people: lift the taint, mark server and Node so that nothing removes them, and end.

    A server that cannot be marked, because the provider refuses for good, is left all the same and
    an event tells that a sweep may find it: such a refusal may be the very reason for leaving it.

    Raises:
        UnknownOutcome: the provider does not answer; repeat.
        Conflict: the removal or the Node have changed since they were read.
    """
    message = f"By {act.by or 'Person'}: {act.message}"
    # Server and Node are marked before the removal ends: without it, a sweep takes an unmarked server for an orphan.
    await _mark_server(ports, recorder, observed)
    if observed.node is not None:
        taints = [taint for taint in taints_of(observed.node) if taint["key"] != TAINT_SCALE_DOWN]
        await change_node(
            ports.cluster,
            observed.node,
            taints=taints,
            labels=without_exclusion(observed.node),
            annotations={ANNOTATION_DO_NOT_REMOVE: "abandoned"},
        )
        await tell_on(recorder, NODES, observed.node, act.reason, message, warning=True)
    await tell(recorder, observed.record, act.reason, message, warning=True)
    await let_go(ports.cluster, observed.record)


async def _mark_server(ports: Ports, recorder: Recorder, observed: RemovalObjects) -> None:
    removal = observed.record.model
    name = removal.spec.server_name
    provider = ports.providers.get(removal.spec.class_ref.kind)
    if provider is None:
        return
    try:
        if is_ours(ports, removal, await provider.get(name, removal.spec.class_ref.name), observed.node):
            await provider.label(name, {LABEL_ABANDONED: "true"}, removal.spec.class_ref.name)
    except NotFound:
        return
    except GrowthError as error:
        if error.retryable:
            raise
        message = f"Server {name} could not be labelled {LABEL_ABANDONED}: {error}"
        await tell(recorder, observed.record, "NotLabelled", message, warning=True)


async def forget(ports: Ports, observed: RemovalObjects) -> None:
    """Drop the finalizer and nothing else: our definitions are being removed.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    await drop_finalizer(ports.cluster, observed.record.resource, observed.record.object)
