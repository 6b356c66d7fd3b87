"""NodeRequest: one machine that shall come, from the wish to the Ready node."""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from api.conditions import Conditions
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model, Payload
from api.names import LabelValue, dns_label
from api.rules import rule, rules
from api.timestamp import Timestamp
from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_pool import ClassRef, PoolName

REQUEST_NAME: Final = dns_label(63)
RequestName = Annotated[str, REQUEST_NAME]
"""Also the name of the server and of its Node."""


class RequestPhase(StrEnum):
    """Where a request stands. No phase is terminal: the last step deletes the object."""

    PENDING = "Pending"
    PROVISIONING = "Provisioning"
    READY = "Ready"
    UNMET = "Unmet"
    DEPROVISIONING = "Deprovisioning"
    FAILED = "Failed"


class Seat(Model):
    """A pod that the machine is kept for."""

    namespace: str
    """Namespace of the pod."""
    name: str
    """Name of the pod."""
    uid: str
    """Uid of the pod: a later pod of the same name is another pod."""
    owner: str = ""
    """Uid of its controller, empty without one: a successor takes the seat."""
    pod_class: str = Field(default="", alias="class")
    """Hash of what the planner sees of the pod: equal pods are interchangeable."""


_IMMUTABLE: Final = rule(
    "self.pool == oldSelf.pool && self.serverType == oldSelf.serverType"
    " && self.location == oldSelf.location && self.classRef == oldSelf.classRef",
    "only reservedFor may change: for another machine, make another NodeRequest",
)


class NodeRequestSpec(Model):
    """The machine that is wanted."""

    model_config = rules(_IMMUTABLE)

    pool: PoolName
    """The pool it belongs to."""
    server_type: LabelValue
    """The server type to buy."""
    location: LabelValue
    """Where to buy it."""
    class_ref: ClassRef
    """The class it comes from."""
    reserved_for: tuple[Seat, ...] = Field(default=(), max_length=1000)
    """The pods it was bought for; nobody else may land until they have or gave up."""


class NodeRequestStatus(Payload):
    """How far it came. Together with the spec it holds the whole state of the lifecycle."""

    phase: RequestPhase = RequestPhase.PENDING
    """Pending, Provisioning, Ready, Unmet, Deprovisioning or Failed."""
    reason: str = ""
    """One CamelCase word on why it stands there."""
    message: str = Field(default="", max_length=1024)
    """A sentence on why it stands there."""
    workflow_id: str | None = None
    """The Temporal workflow that drives it."""
    attempts: int = 0
    """Create calls so far."""
    pool_generation: int | None = None
    """Generation of the pool that the create call was made with; a later one lifts the pause of a failure."""
    class_generation: int | None = None
    """Generation of the class that the create call was made with."""
    create_attempt_at: Timestamp | None = None
    """Written before each create call; absence of the server is believed only well after it."""
    provider_id: str | None = Field(default=None, alias="providerID")
    """The server, as the provider names it."""
    node_name: str | None = None
    """The Node that joined."""
    provisioning_deadline: Timestamp | None = None
    """The server must be running by then."""
    running_at: Timestamp | None = None
    """When the server was first seen running."""
    join_deadline: Timestamp | None = None
    """The Node must be Ready by then."""
    registered_at: Timestamp | None = None
    """When the Node was labelled and its reservation set."""
    ready_at: Timestamp | None = None
    """When the Node was first seen Ready."""
    settled_at: Timestamp | None = None
    """When all its pods were bound or gone; it stays reserved while others of its pool wait for theirs."""
    release_by: Timestamp | None = None
    """The reservation ends by then at the latest."""
    released_at: Timestamp | None = None
    """When the reservation ended."""
    expires_at: Timestamp | None = None
    """When the record goes."""
    conditions: Conditions = ()
    """Launched, Registered, Ready."""
    events: tuple[LifecycleEvent, ...] = ()
    """The last 20 things that happened."""


class NodeRequest(Model):
    """One machine that shall come. It exists exactly as long as its workflow runs."""

    model_config = rules(REQUEST_NAME.rule("self.metadata.name", field=".metadata.name"))

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["NodeRequest"] = "NodeRequest"
    metadata: ObjectMeta
    spec: NodeRequestSpec
    status: NodeRequestStatus = NodeRequestStatus()

    @model_validator(mode="after")
    def _named(self) -> "NodeRequest":
        self.metadata.check_name(REQUEST_NAME)
        return self
