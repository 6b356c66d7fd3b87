"""Heals a piece of garbage: makes a removal for a machine, or lifts a taint."""

import logging
from typing import Final

from activities.objects.events import Recorder, tell_on
from activities.objects.nodes import change_node, taints_of, without_exclusion
from activities.objects.record import UNKNOWN, removal_body
from activities.objects.related import find_pool
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, Object
from activities.ports.errors import AlreadyExists
from activities.ports.ports import Ports
from api.keys import (
    ANNOTATION_IDLE_SINCE,
    TAINT_RESERVED,
    TAINT_SCALE_DOWN,
    TAINT_UNREGISTERED,
)
from api.meta import format_timestamp
from api.v1alpha1.node_pool import ClassRef
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec
from planner.lifecycle.garbage import Finding, Garbage

ORPHAN: Final = "Orphan"
"""Why a machine goes that nobody knows of: `spec.reason` of its removal."""
_TAINTS: Final = {
    Garbage.RESERVED: TAINT_RESERVED,
    Garbage.SCALE_DOWN: TAINT_SCALE_DOWN,
    Garbage.UNREGISTERED: TAINT_UNREGISTERED,
}

log = logging.getLogger(__name__)


async def remove(ports: Ports, recorder: Recorder, finding: Finding, node: Object | None) -> bool:
    """Make the removal of the machine, and return whether it was made now.

    A machine whose Node is there goes the way of all machines with a Node, with a cool-off and a look
    for pods at its end; one without, or without a server, goes at once.

    Raises:
        Rejected: the API server refuses the removal.
        Unreachable: unknown outcome; the next sweep finds it or makes it.
    """
    try:
        spec = await _spec(ports, finding)
    except ValueError as error:
        # Such a name or label was never Growth's.
        log.warning("%s %s is left: no NodeRemovalRequest can be made of it: %s", finding.kind, finding.name, error)
        return False
    marks = finding.server or finding.node
    body = removal_body(spec, request_uid=None if marks is None else marks.request_uid)
    try:
        made = await ports.cluster.create(NODE_REMOVAL_REQUESTS, body)
    except AlreadyExists:
        return False
    log.warning("%s %s: %s", finding.kind, finding.name, finding.why)
    await tell_on(recorder, NODE_REMOVAL_REQUESTS, made, finding.kind, finding.why, warning=True)
    if node is not None:
        await tell_on(recorder, NODES, node, finding.kind, finding.why, warning=True)
    return True


async def lift(ports: Ports, recorder: Recorder, finding: Finding, node: Object) -> bool:
    """Take the taint off the Node, and return whether it was there.

    After a cool-off that nobody ended, its idle time begins anew, as after a cancelled one.

    Raises:
        Conflict: the Node has changed since it was read.
        NotFound: it is gone.
    """
    key = _TAINTS[finding.kind]
    value = finding.value if finding.kind is Garbage.RESERVED else None
    taints = [t for t in taints_of(node) if t["key"] != key or (value is not None and t.get("value", "") != value)]
    if taints == taints_of(node):
        return False
    is_back = finding.kind is Garbage.SCALE_DOWN and finding.node is not None and finding.node.is_growths
    idle = {ANNOTATION_IDLE_SINCE: format_timestamp(ports.now())} if is_back else None
    # What a removal put on its Node beside the taint, if none is there to take it off.
    labels = without_exclusion(node) if finding.kind is Garbage.SCALE_DOWN else None
    await change_node(ports.cluster, node, taints=taints, labels=labels, annotations=idle)
    log.warning("%s %s: %s", finding.kind, finding.name, finding.why)
    await tell_on(recorder, NODES, node, finding.kind, finding.why, warning=True)
    return True


async def _spec(ports: Ports, finding: Finding) -> NodeRemovalRequestSpec:
    """Return the spec of the removal.

    Raises:
        ValueError: the machine's name or a label of it is none that Growth gives.
    """
    server, node = finding.server, finding.node
    of_server = ("", "", "") if server is None else (server.pool, server.server_type, server.location)
    of_node = ("", "", "") if node is None else (node.pool, node.server_type, node.location)
    pool, server_type, location = (one or other or UNKNOWN for one, other in zip(of_server, of_node, strict=True))
    kind = next(iter(ports.providers)) if server is None else server.class_kind
    known = await find_pool(ports.cluster, pool)
    ref = None if known is None else known.spec.template.class_ref
    made_by = "" if server is None else server.class_name
    if made_by or ref is None or ref.kind != kind:
        ref = ClassRef.model_validate({"kind": kind} | ({"name": made_by} if made_by else {}))
    provider_id = (None if server is None else server.provider_id) or (None if node is None else node.provider_id)
    return NodeRemovalRequestSpec(
        server_name=finding.name,
        node_name=None if node is None else node.name,
        providerID=provider_id or None,
        pool=pool,
        server_type=server_type,
        location=location,
        class_ref=ref,
        reason=Garbage.SERVER_GONE if finding.kind is Garbage.SERVER_GONE else ORPHAN,
        immediate=finding.kind is not Garbage.STRAY,
    )
