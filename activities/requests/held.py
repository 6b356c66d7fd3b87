"""The removal that a machine is bought and kept for: the pods of a machine that it replaces have not all come yet."""

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, PODS, Object, ObjectList, find_object
from activities.ports.ports import Ports
from api.keys import LABEL_STEP
from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.json_predicates import is_terminating, is_waiting
from planner.supply.replacement.steps import step_size


async def removal_held_for(ports: Ports, request: str) -> str:
    """Return the name of a removal that names the request in `replacedBy` and goes on; empty if none does.

    Read from the cache: one that is a moment old only delays the end of the reservation. A parked removal has none of
    its pods any more.

    Raises:
        Unreachable: the cache has not been filled yet.
    """
    return _first_held(await ports.reader.list(NODE_REMOVAL_REQUESTS), request)


async def is_unneeded(ports: Ports, request: NodeRequest) -> bool:
    """Return whether the request was to replace a machine and nobody waits for it: no whole step, and no pod.

    So a round that dies between its request and its last removal buys nothing, whoever starts the request's workflow.
    Read live: what is asked for now cannot be taken back.
    """
    label = request.metadata.labels.get(LABEL_STEP)
    if label is None:
        return False
    removals = await ports.cluster.list(NODE_REMOVAL_REQUESTS)
    of_step = [each for each in removals.items if (each["metadata"].get("labels") or {}).get(LABEL_STEP) == label]
    if len(of_step) >= step_size(label) and _first_held(removals, request.metadata.name):
        return False
    for seat in request.spec.reserved_for:
        pod = await find_object(ports.cluster, PODS, seat.name, namespace=seat.namespace)
        if pod is not None and pod["metadata"]["uid"] == seat.uid and is_waiting(pod):
            return False
    return True


def _first_held(removals: ObjectList, request: str) -> str:
    return min((each["metadata"]["name"] for each in removals.items if _holds(each, request)), default="")


def _holds(removal: Object, request: str) -> bool:
    spec, status = removal.get("spec") or {}, removal.get("status") or {}
    if request not in (spec.get("replacedBy") or ()) or spec.get("immediate") or "cancel" in status:
        return False
    phase = RemovalPhase(status.get("phase", RemovalPhase.PENDING))
    return phase is not RemovalPhase.COULD_NOT_REMOVE and not (phase.is_reversible and is_terminating(removal))
