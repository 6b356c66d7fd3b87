"""NodeRemovalRequests as a round creates them, for machines that go."""

from dataclasses import dataclass
from typing import Final

from activities.objects.record import UNKNOWN, removal_body
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, Cluster, Object
from activities.ports.errors import AlreadyExists, NotFound
from api.keys import LABEL_REQUEST_UID
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec, PodMove
from planner.model.plan import PlannedRemoval

_WHY_CHARACTERS: Final = 512


@dataclass(frozen=True, slots=True)
class Together:
    """What a removal is to know of the rest of its step."""

    replaced_by: tuple[str, ...] = ()
    """The requests whose machines take its place."""
    moves: tuple[PodMove, ...] = ()
    """Its pods that other machines have room for."""
    step: str = ""
    """Value of the label by which removals of one step know each other; empty for one that is alone."""


ALONE: Final = Together()


async def create_removal(
    cluster: Cluster, planned: PlannedRemoval, node: Object | None, together: Together = ALONE
) -> Object:
    """Create the NodeRemovalRequest, named after its server, and return it, or the one that exists.

    It learns from the `node` which request made the machine: names are given again, uids are not,
    and the server of a later machine must not go in its stead.

    Raises:
        NotFound: the node is gone or another one of that name: the cache is behind. Without this look, rounds
            would order the removal again and again until it has caught up.
    """
    # Live: the cache may still show a machine that is gone.
    if node is not None:
        live = await cluster.get(NODES, planned.node)
        if live["metadata"]["uid"] != node["metadata"]["uid"]:
            raise NotFound(f"Node {planned.node} is another one than the one that is to be removed")
    labels = {} if node is None else node["metadata"].get("labels") or {}
    spec = NodeRemovalRequestSpec(
        server_name=planned.server,
        node_name=planned.node,
        providerID=planned.provider_id,
        pool=planned.pool,
        server_type=planned.server_type or UNKNOWN,
        location=planned.location or UNKNOWN,
        class_ref=planned.class_ref,
        reason=planned.reason,
        # Of others the reason says it all.
        why=planned.why[:_WHY_CHARACTERS] if together.moves or together.replaced_by else None,
        replaced_by=together.replaced_by,
        moves=together.moves or None,
    )
    body = removal_body(spec, request_uid=labels.get(LABEL_REQUEST_UID), step=together.step)
    try:
        return await cluster.create(NODE_REMOVAL_REQUESTS, body)
    except AlreadyExists:
        return await cluster.get(NODE_REMOVAL_REQUESTS, planned.server)
