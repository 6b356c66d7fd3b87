"""The deletion of a removal's server and Node: repeated until the provider says that the server is gone, or parked.

Before it, load balancers are told to leave the Node out, and people hear of the volumes that the server stays for.

Each answer of the provider is written on the object and as an event; none ends the lifecycle of a removal.
Source: docs/design.md#removal.
"""

import logging

from activities.objects.events import Recorder, tell, tell_on
from activities.objects.kind_activities import TRIES
from activities.objects.kinds import REMOVALS
from activities.objects.nodes import change_node
from activities.objects.record import Record, conditions_with, read_record, still_as_read, write_status, write_step
from activities.ports.cluster import NODES, Object
from activities.ports.errors import Conflict, GrowthError, InvalidConfiguration, NotFound, RateLimited
from activities.ports.ports import Ports
from activities.removals.look import RemovalObjects, is_ours
from api.keys import ANNOTATION_DECISION, EXCLUDED_BY_GROWTH, LABEL_EXCLUDED
from api.meta import format_timestamp
from api.v1alpha1.node_removal_request import NodeRemovalRequest, NodeRemovalRequestStatus, RemovalPhase
from planner.lifecycle.removal import BY_PROVIDER, BY_TIMER, DELETE_FAILED
from planner.lifecycle.step import Act, DecisionKind, shortened

_CAUSE_CHARACTERS = 600
"""Of a provider's answer in an event, whose end says what a person may do."""

log = logging.getLogger(__name__)


async def leave_balancers(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Label the Node for load balancers, then write when that was.

    Raises:
        Conflict: removal or Node have changed since they were read.
        Rejected: the API server refuses the label.
    """
    record = observed.record
    # A cancel is on the object before it takes the label off: an attempt that was given up must not set it again.
    if observed.node is None or not await still_as_read(ports.cluster, record):
        raise Conflict(f"NodeRemovalRequest {record.name} or its Node has changed since it was read")
    await change_node(ports.cluster, observed.node, labels={LABEL_EXCLUDED: EXCLUDED_BY_GROWTH})
    # Afterwards, so that balancers have all of their time also when the label took long.
    now = ports.now()
    await write_status(ports.cluster, record, now=now, event=act.reason, because=act.message, excluded_at=now)
    await tell_on(recorder, NODES, observed.node, act.reason, act.message)


async def tell_volumes(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write for which volumes the server stays, and until when.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    until = observed.seen.status.detach_until
    record = await write_step(ports.cluster, observed.record, act, now=ports.now(), detach_until=until)
    await tell(recorder, record, act.reason, act.message)


async def tell_unseen_volumes(recorder: Recorder, observed: RemovalObjects) -> None:
    """Tell an event if nobody could see what is attached to the machine. Never raises."""
    problem = observed.seen.volumes.problem
    if problem:
        await tell(recorder, observed.record, "VolumesNotSeen", problem, warning=True)


async def delete_server(ports: Ports, recorder: Recorder, observed: RemovalObjects) -> None:
    """Make one delete call. The attempt is on the object before the call, so that none goes uncounted.

    Raises:
        Conflict: the removal has changed since it was read.
        RateLimited: the call was not carried out and does not count; repeat it later.
    """
    attempt = observed.record.model.status.removal_attempts + 1
    now = ports.now()
    record = await write_status(
        ports.cluster,
        observed.record,
        now=now,
        event="DeleteServer",
        because=f"Delete call {attempt}",
        removal_attempts=attempt,
        remove_attempted_at=now,
    )
    try:
        await _call(ports, record.model, observed.node)
    except NotFound:
        return
    except RateLimited as error:
        await _take_back(ports, record, observed.record.model.status, error)
        raise
    except GrowthError as error:
        message = shortened(f"Delete call {attempt}: {error.reason}: {error}")
        await write_status(
            ports.cluster,
            record,
            now=ports.now(),
            event=DELETE_FAILED,
            because=message,
            reason=DELETE_FAILED,
            message=message,
        )
        await tell(recorder, record, DELETE_FAILED, message, warning=True)


async def _take_back(
    ports: Ports, made: Record[NodeRemovalRequest], before: NodeRemovalRequestStatus, error: RateLimited
) -> None:
    """Write that the attempt `made` had no effect: rate limits, however many, must not park the removal.

    Raises:
        Conflict: the removal kept changing.
    """
    message = shortened(str(error))
    record = made
    tries = 0
    while True:
        tries += 1
        try:
            await write_status(
                ports.cluster,
                record,
                now=ports.now(),
                event=error.reason,
                because=message,
                reason=error.reason,
                message=message,
                removal_attempts=before.removal_attempts,
                remove_attempted_at=before.remove_attempted_at,
            )
        except Conflict:
            fresh = await read_record(ports.cluster, REMOVALS, made.name, made.uid)
            if fresh is None or not _shows(fresh, made):
                return
            if tries >= TRIES:
                raise
            record = fresh
        else:
            return


def _shows(record: Record[NodeRemovalRequest], made: Record[NodeRemovalRequest]) -> bool:
    """Return whether the attempt `made` is still the last one."""
    now, then = record.model.status, made.model.status
    is_same = (now.phase, now.removal_attempts) == (then.phase, then.removal_attempts)
    return is_same and now.remove_attempted_at == then.remove_attempted_at


async def _call(ports: Ports, removal: NodeRemovalRequest, node: Object | None) -> None:
    """Ask for the deletion of the server that is this removal's, and of no other one of its name.

    Raises:
        NotFound: it is gone.
        GrowthError: the provider's answer.
    """
    kind = removal.spec.class_ref.kind
    provider = ports.providers.get(kind)
    if provider is None:
        raise InvalidConfiguration(f"no provider serves {kind}: this worker has {', '.join(ports.providers)}")
    server = await provider.get(removal.spec.server_name, removal.spec.class_ref.name)
    if is_ours(ports, removal, server, node):
        await provider.delete(server.name, removal.spec.class_ref.name)


async def delete_node(ports: Ports, observed: RemovalObjects) -> None:
    """Delete the Node object of a server that is gone.

    Raises:
        Conflict: it is another Node of that name meanwhile.
    """
    if observed.node is None or observed.seen.node is None or observed.seen.node.foreign:
        return
    metadata = observed.node["metadata"]
    try:
        # By uid: a Node that has joined under this name since the look is not known to be this machine's.
        await ports.cluster.delete(NODES, metadata["name"], uid=metadata["uid"])
    except NotFound:
        return


async def park(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write that the server could not be removed, and until when the removal waits for a person; tell an event.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    now = ports.now()
    record = observed.record
    retry_at = act.until or now + observed.seen.timings.parked_retry
    await write_step(
        ports.cluster,
        record,
        act,
        now=now,
        phase=RemovalPhase.COULD_NOT_REMOVE,
        times_parked=record.model.status.times_parked + 1,
        retry_at=retry_at,
        conditions=conditions_with(record, "Removed", status=False, reason=act.reason, message=act.message, now=now),
    )
    message = (
        f"{act.message[:_CAUSE_CHARACTERS]}. Retry, skip or abandon it: kubectl annotate noderemovalrequest "
        f"{record.name} {ANNOTATION_DECISION}={DecisionKind.RETRY}. "
        f"By itself it is tried again at {format_timestamp(retry_at.replace(microsecond=0))}"
    )
    await tell(recorder, record, act.reason, message, warning=True)
    if observed.node is not None:
        await tell_on(recorder, NODES, observed.node, act.reason, message, warning=True)


async def resume(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Begin the delete calls anew.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    by = act.by or "Person"
    is_by_itself = by in {BY_TIMER, BY_PROVIDER}
    await write_status(
        ports.cluster,
        observed.record,
        now=ports.now(),
        event=act.reason,
        because=f"By {by}: {act.message}",
        phase=RemovalPhase.DEPROVISIONING,
        reason=act.reason,
        message=act.message,
        removal_attempts=0,
        remove_attempted_at=None,
        times_parked=observed.record.model.status.times_parked if is_by_itself else 0,
        retry_at=None,
    )
    await tell(recorder, observed.record, act.reason, f"By {by}: {act.message}")
