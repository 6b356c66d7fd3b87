"""What planner and scheduler saw differently, as a pool's status remembers it."""

from typing import Annotated, Final

from pydantic import Field

from api.meta import Timestamp
from api.model import Payload

MOST_PLACEMENTS: Final = 50
"""That a pool's status has room for."""
MOST_NODES: Final = 20
"""Named in one entry."""


class RefusedPlacement(Payload):
    """Pods of one class that the scheduler did not bind where a plan had room for them."""

    namespace: str = Field(max_length=63)
    """Namespace of the pods: others are not concerned, however alike they are."""
    pod_class: str = Field(alias="class", max_length=64)
    """Hash of all that a plan sees of them; a pod with another template has another one."""
    pod: str = Field(default="", max_length=253)
    """Name of the pod with which it was seen last."""
    pod_uid: str = Field(default="", max_length=128)
    """Uid of that pod."""
    server_type: str | None = Field(default=None, max_length=63)
    """Server type that this pool does not buy for them. Without it, the entry is about Nodes that are there."""
    nodes: Annotated[tuple[str, ...], Field(max_length=MOST_NODES)] = ()
    """Nodes that do not count as a place for them; beside a server type, those on which that was seen."""
    nodes_before: Timestamp | None = None
    """Nodes made before do not count either: there were more than can be named."""
    room_seen_at: Timestamp | None = None
    """Since when the pod waits although a plan sees room for it on a Node; too short yet to conclude anything."""
    failures: int = 0
    """How often in a row; the wait is twice as long after each. 0 while nothing is concluded."""
    last_refused_at: Timestamp | None = None
    """When it was concluded last."""
    until: Timestamp | None = None
    """Holds until then; then one more machine, or the Nodes, are tried."""
    pool_generation: int | None = None
    """Generation of the pool with which its type was refused; a later one may have other machines, and tries again."""
    message: str = Field(default="", max_length=512)
    """What the scheduler said of the pod."""
