"""NodeRemovalRequest: one machine that shall go, from the cool-off to its absence at the provider."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from api.conditions import Condition
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model
from api.timestamp import Timestamp
from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_pool import ClassRef, PoolName
from api.v1alpha1.node_request import RequestName


class RemovalPhase(StrEnum):
    """Where a removal stands. No phase is terminal: the last step deletes the object."""

    PENDING = "Pending"
    DEPROVISIONING = "Deprovisioning"
    COULD_NOT_REMOVE = "CouldNotRemove"


class NodeRemovalRequestSpec(Model):
    """The machine that shall go, copied so that it can end its work when pool or class have changed."""

    server_name: RequestName
    """Name of the server at the provider."""
    node_name: str | None = None
    """Name of its Node, if one joined."""
    provider_id: str | None = Field(default=None, alias="providerID")
    """The server, as the provider names it."""
    pool: PoolName
    """The pool it belongs to."""
    server_type: str = Field(min_length=1, max_length=63)
    """Its server type."""
    location: str = Field(min_length=1, max_length=63)
    """Its location."""
    class_ref: ClassRef
    """The class it comes from."""
    reason: str = Field(default="Requested", max_length=64, pattern=r"^[A-Z][A-Za-z0-9]*$")
    """One CamelCase word on why it shall go."""
    immediate: bool = False
    """No cool-off and no look for pods: the machine never became part of the cluster."""
    create_attempt_at: Timestamp | None = None
    """When the server was asked for: its absence is believed only 60 s later."""
    replaced_by: tuple[str, ...] = Field(default=(), max_length=10)
    """Requests whose machines take its place."""


class CancelRecord(Model):
    """That the removal was cancelled, by whom and why; written before anything is undone."""

    at: Timestamp
    """When."""
    by: str = Field(max_length=64)
    """Person, Planner, Delete or NotEmpty."""
    reason: str = Field(default="", max_length=512)
    """Why; names the pods when demand returned."""


class NodeRemovalRequestStatus(Model):
    """How far it came. Together with the spec it holds the whole state of the lifecycle."""

    phase: RemovalPhase = RemovalPhase.PENDING
    """Pending, Deprovisioning or CouldNotRemove."""
    reason: str = ""
    """One CamelCase word on why it stands there."""
    message: str = Field(default="", max_length=1024)
    """A sentence on why it stands there."""
    workflow_id: str | None = None
    """The Temporal workflow that drives it."""
    tainted_at: Timestamp | None = None
    """When the scale-down taint was set."""
    scale_down_at: Timestamp | None = None
    """End of the cool-off."""
    cancel: CancelRecord | None = None
    """Set when the removal was cancelled in time."""
    removal_attempts: int = 0
    """Delete calls so far, since the last retry by a person."""
    remove_attempted_at: Timestamp | None = None
    """Written before each delete call."""
    retry_at: Timestamp | None = None
    """A parked removal tries again by itself then."""
    conditions: tuple[Condition, ...] = ()
    """Tainted, Empty, Removed."""
    events: tuple[LifecycleEvent, ...] = ()
    """The last 20 things that happened."""


class NodeRemovalRequest(Model):
    """One machine that shall go. It exists exactly as long as its workflow runs."""

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["NodeRemovalRequest"] = "NodeRemovalRequest"
    metadata: ObjectMeta
    spec: NodeRemovalRequestSpec
    status: NodeRemovalRequestStatus = NodeRemovalRequestStatus()
