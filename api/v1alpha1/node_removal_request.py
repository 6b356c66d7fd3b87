"""NodeRemovalRequest: one machine to remove, from the cool-off to its absence at the provider."""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, model_validator

from api.keys import API_VERSION
from api.meta import Conditions, ObjectMeta, Timestamp
from api.model import Model, Payload
from api.names import LabelValue
from api.rules import Text, rule, rules
from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_pool import ClassRef, PoolName
from api.v1alpha1.node_request import RequestName


class RemovalPhase(StrEnum):
    """Where a removal stands. No phase is terminal: the last step deletes the object."""

    PENDING = "Pending"
    DRAINING = "Draining"
    DEPROVISIONING = "Deprovisioning"
    COULD_NOT_REMOVE = "CouldNotRemove"

    @property
    def is_reversible(self) -> bool:
        """Whether the point of no return is ahead."""
        return self in (RemovalPhase.PENDING, RemovalPhase.DRAINING)


_REASON: Final = Text(
    pattern="^[A-Z][A-Za-z0-9]{0,63}$", longest=64, form='one CamelCase word of at most 64 letters, such as "Requested"'
)
_IMMUTABLE: Final = rule("self == oldSelf", "nothing here may change: delete the removal and make another")
_NAMED_AFTER_SERVER: Final = rule(
    "self.metadata.name == self.spec.serverName",
    "a removal has the name of its server (spec.serverName), so that there is one for each",
    path=".metadata.name",
)
REPLACED_BY_AT_MOST: Final = 10
"""Machines that a removal may wait for."""
MOVES_AT_MOST: Final = 500
"""As many pods as a kubelet is ever set to run, so that each pod of a machine may be named."""
_POD: Final = Text(
    pattern="^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
    longest=317,
    form="the namespace of the pod, a slash and its name",
)
_NODE: Final = Text(
    pattern="^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$", longest=253, form="the name of a Node, as Kubernetes allows it"
)


class PodMove(Model):
    """A pod that leaves the machine for room on another one that exists."""

    pod: Annotated[str, _POD]
    """The pod, as namespace/name."""
    node: Annotated[str, _NODE]
    """The Node that has room for it: rounds count that room as taken until the pod, or the removal, is gone."""
    owner: str | None = Field(default=None, max_length=64)
    """Uid of the pod's controller, whose next pod takes the room. Without it, the pod has no controller."""


class NodeRemovalRequestSpec(Model):
    """The machine that shall go, copied, so that the removal can end also when pool or class have changed."""

    model_config = rules(_IMMUTABLE)

    server_name: RequestName
    """Name of the server at the provider."""
    node_name: str | None = Field(default=None, max_length=253)
    """Name of its Node. Without it, none has joined."""
    provider_id: str | None = Field(default=None, alias="providerID", max_length=253)
    """Id of the server at the provider. Without it, the server is known by its name."""
    pool: PoolName
    """Name of the NodePool that it belongs to."""
    server_type: LabelValue
    """Server type of the machine."""
    location: LabelValue
    """Location of the machine."""
    class_ref: ClassRef
    """The class that the machine comes from."""
    reason: Annotated[str, _REASON] = "Requested"
    """Why it shall go, one CamelCase word."""
    why: str | None = Field(default=None, max_length=512)
    """Why it shall go, a sentence: of machines whose pods move, what that saves. Without it, nothing more is known."""
    immediate: StrictBool = False
    """Whether cool-off and look for pods are left out, as for a machine that never became part of the cluster."""
    create_attempt_at: Timestamp | None = None
    """When the server was last asked for; that there is none is believed only 60 s later. Without it, at once."""
    replaced_by: tuple[RequestName, ...] = Field(default=(), max_length=REPLACED_BY_AT_MOST)
    """The NodeRequests whose machines take its place: its pods stay until all of them are Ready. Without it, none."""
    moves: tuple[PodMove, ...] | None = Field(default=None, max_length=MOVES_AT_MOST)
    """Its pods that other machines have room for. Without it, none is known to."""


class CancelRecord(Payload):
    """That the removal was cancelled, by whom and why; written before anything is undone."""

    at: Timestamp
    """When it was cancelled."""
    by: str = Field(max_length=64)
    """Who: Person, Planner, Delete, a user, what wrote the annotation, or what was seen, such as NotEmpty."""
    reason: str = Field(default="", max_length=512)
    """Why it was cancelled; names the pods that came back for the machine."""


class NodeRemovalRequestStatus(Payload):
    """How far it has come. Together with the spec it holds the whole state of the removal."""

    phase: RemovalPhase = RemovalPhase.PENDING
    """Where it stands: Pending (cool-off), Draining, Deprovisioning or CouldNotRemove (parked; a person may decide)."""
    reason: str = ""
    """Why it stands there, one CamelCase word for programs."""
    message: str = Field(default="", max_length=1024)
    """Why it stands there, a sentence for people."""
    workflow_id: str | None = None
    """Id of the Temporal workflow that carries it out."""
    tainted_at: Timestamp | None = None
    """When the scale-down taint was set."""
    scale_down_at: Timestamp | None = None
    """When the cool-off ends, or the wait for what replaces the machine; until then the removal can be cancelled."""
    drain_started_at: Timestamp | None = None
    """When draining began; hardGrace, terminationGracePeriod and drainTimeout count from here."""
    forced_at: Timestamp | None = None
    """By when the last pods are forced to end, as they and the Node were told. Without it, they were not told."""
    daemons_asked_at: Timestamp | None = None
    """When DaemonSet pods that would not come back were asked to leave. Without it, they were not."""
    evict_attempts: int = 0
    """How many times in a row pods were asked to leave and none was let go. The pause doubles each time, up to 5m."""
    evict_attempted_at: Timestamp | None = None
    """When pods were last asked to leave, written before the calls."""
    excluded_at: Timestamp | None = None
    """When the Node was labelled, so that load balancers leave it out. Without it, it was not."""
    detach_until: Timestamp | None = None
    """Until when the server stays for volumes that are attached to it. Without it, none is waited for."""
    cancel: CancelRecord | None = None
    """Who cancelled the removal, when and why; without it, nobody did in time."""
    removal_attempts: int = 0
    """How many delete calls there were since the deletion was last begun."""
    remove_attempted_at: Timestamp | None = None
    """When the provider was last asked to delete the server, written before the call."""
    times_parked: int = 0
    """How often it parked since a person last had it tried again. Each time it waits twice as long, at most a day."""
    retry_at: Timestamp | None = None
    """When a parked removal tries again by itself."""
    conditions: Conditions = ()
    """Conditions of the removal: Tainted, Drained, Empty and Removed."""
    events: tuple[LifecycleEvent, ...] = ()
    """The last 20 things that happened to it, the oldest first."""


class NodeRemovalRequest(Model):
    """One machine that shall go. It exists exactly as long as its workflow runs.

    In Pending and Draining, the annotation `growth.dev/decision=cancel` keeps the machine; in CouldNotRemove: retry,
    skip, abandon. Data that is on the machine alone keeps it until `growth.dev/delete-local-data=true` lets it go.
    """

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
