"""How a machine leaves whole: its Node is labelled for load balancers, and people hear what it waits for."""

from activities.objects.events import Recorder, tell, tell_on
from activities.objects.nodes import change_node
from activities.objects.record import still_as_read, write_status, write_step
from activities.ports.cluster import NODES
from activities.ports.errors import Conflict
from activities.ports.ports import Ports
from activities.removals.look import RemovalObjects
from api.keys import EXCLUDED_BY_GROWTH, LABEL_EXCLUDED
from planner.lifecycle.step import Act


async def leave_balancers(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write when load balancers are told to leave the Node out, then label it.

    Raises:
        Conflict: removal or Node have changed since they were read.
    """
    if observed.node is None:
        return
    record, now = observed.record, ports.now()
    if record.model.status.excluded_at is None:
        record = await write_status(
            ports.cluster, record, now=now, event=act.reason, because=act.message, excluded_at=now
        )
    # A cancel is on the object before it takes the label off: an attempt that was given up must not set it again.
    if not await still_as_read(ports.cluster, record):
        raise Conflict(f"NodeRemovalRequest {record.name} has changed since it was read")
    await change_node(ports.cluster, observed.node, labels={LABEL_EXCLUDED: EXCLUDED_BY_GROWTH})
    await tell_on(recorder, NODES, observed.node, act.reason, act.message)


async def tell_volumes(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write for which volumes the server stays, and until when.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    record = await write_step(ports.cluster, observed.record, act, now=ports.now())
    await tell(recorder, record, act.reason, act.message)


async def tell_unseen_volumes(recorder: Recorder, observed: RemovalObjects) -> None:
    """Tell an event if nobody could see what is attached to the machine. Never raises."""
    problem = observed.seen.volumes.problem
    if problem:
        await tell(recorder, observed.record, "VolumesNotSeen", problem, warning=True)
