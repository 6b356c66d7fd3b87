"""NodeRemovalRequest: one machine that shall go, from the cool-off to its absence at the provider."""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, model_validator

from api.conditions import Conditions
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model, Payload
from api.names import LabelValue
from api.rules import Text, rule, rules
from api.timestamp import Timestamp
from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_pool import ClassRef, PoolName
from api.v1alpha1.node_request import RequestName


class RemovalPhase(StrEnum):
    """Where a removal stands. No phase is terminal: the last step deletes the object."""

    PENDING = "Pending"
    DEPROVISIONING = "Deprovisioning"
    COULD_NOT_REMOVE = "CouldNotRemove"


_REASON: Final = Text(
    pattern="^[A-Z][A-Za-z0-9]{0,63}$", longest=64, form='one CamelCase word of at most 64 letters, such as "Requested"'
)
_IMMUTABLE: Final = rule("self == oldSelf", "nothing here may change: delete the removal and make another")
_NAMED_AFTER_SERVER: Final = rule(
    "self.metadata.name == self.spec.serverName",
    "a removal has the name of its server (spec.serverName), so that there is one for each",
    path=".metadata.name",
)


class NodeRemovalRequestSpec(Model):
    """The machine that shall go, copied so that it can end its work when pool or class have changed."""

    model_config = rules(_IMMUTABLE)

    server_name: RequestName
    """Name of the server at the provider."""
    node_name: str | None = Field(default=None, max_length=253)
    """Name of its Node, if one joined."""
    provider_id: str | None = Field(default=None, alias="providerID", max_length=253)
    """The server, as the provider names it."""
    pool: PoolName
    """The pool it belongs to."""
    server_type: LabelValue
    """Its server type."""
    location: LabelValue
    """Its location."""
    class_ref: ClassRef
    """The class it comes from."""
    reason: Annotated[str, _REASON] = "Requested"
    """One CamelCase word on why it shall go."""
    immediate: StrictBool = False
    """No cool-off and no look for pods: the machine never became part of the cluster."""
    create_attempt_at: Timestamp | None = None
    """When the server was asked for: its absence is believed only 60 s later."""
    replaced_by: tuple[RequestName, ...] = Field(default=(), max_length=10)
    """Requests whose machines take its place."""


class CancelRecord(Payload):
    """That the removal was cancelled, by whom and why; written before anything is undone."""

    at: Timestamp
    """When."""
    by: str = Field(max_length=64)
    """Person, Planner, Delete, NotEmpty or NotOurs."""
    reason: str = Field(default="", max_length=512)
    """Why; names the pods when demand returned."""


class NodeRemovalRequestStatus(Payload):
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
    conditions: Conditions = ()
    """Tainted, Empty, Removed."""
    events: tuple[LifecycleEvent, ...] = ()
    """The last 20 things that happened."""


class NodeRemovalRequest(Model):
    """One machine that shall go. It exists exactly as long as its workflow runs."""

    model_config = rules(_NAMED_AFTER_SERVER)

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["NodeRemovalRequest"] = "NodeRemovalRequest"
    metadata: ObjectMeta
    spec: NodeRemovalRequestSpec
    status: NodeRemovalRequestStatus = NodeRemovalRequestStatus()

    @model_validator(mode="after")
    def _named(self) -> "NodeRemovalRequest":
        if self.metadata.name != self.spec.server_name:
            msg = f"metadata.name: {_NAMED_AFTER_SERVER['message']}"
            raise ValueError(msg)
        return self
