"""The look at a NodeRequest at rest: off the caches, without a call for the one machine.

A cache may be behind, so such a look may say one thing only: that there is still nothing to do. Whatever else it seems
to show, above all that something is gone, is looked at live.
"""

from activities.objects.kinds import REQUESTS
from activities.objects.nodes import is_of, see_node
from activities.objects.record import Record, read_record
from activities.objects.related import find_pool, see_server
from activities.ports.cluster import NODES
from activities.ports.errors import GrowthError, NotFound
from activities.ports.ports import Ports
from activities.requests.look import RequestObjects, is_server_of, see_request
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.request import next_step
from planner.lifecycle.step import Wait


async def rest_of_request(ports: Ports, name: str, uid: str) -> RequestObjects | None:
    """Return the request and what belongs to it as the caches have them, or None: it is to be looked at live."""
    try:
        record = await read_record(ports.reader, REQUESTS, name, uid)
        observed = None if record is None else await _seen(ports, record)
    except GrowthError:
        return None
    if observed is None:
        return None
    step = next_step(observed.seen, ports.now())
    return observed if isinstance(step, Wait) and step.is_rest else None


async def _seen(ports: Ports, record: Record[NodeRequest]) -> RequestObjects | None:
    spec, status = record.model.spec, record.model.status
    pool = await find_pool(ports.reader, spec.pool)
    seen = see_request(ports, record, pool)
    if status.phase in {RequestPhase.UNMET, RequestPhase.FAILED}:
        return RequestObjects(record, seen, pool)
    if status.phase is not RequestPhase.READY or status.released_at is None:
        return None
    try:
        node = await ports.reader.get(NODES, record.name)
    except NotFound:
        return None
    if not is_of(node, request_uid=record.uid, provider_id=status.provider_id):
        return None
    server = await see_server(
        ports,
        spec.class_ref,
        record.name,
        lambda server: is_server_of(ports, server, record.uid),
        get=lambda provider: ports.server_lists.get(provider, ports.cluster_name, record.name, now=ports.now()),
    )
    known = {"server": server.seen, "node": see_node(node, record.name)}
    return RequestObjects(record, seen.model_copy(update=known), pool, None, node)
