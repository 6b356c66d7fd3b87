"""NodeRequest: one machine to buy, from the wish to the Ready node."""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from api.keys import API_VERSION
from api.meta import Conditions, ObjectMeta, Timestamp
from api.model import Model, Payload
from api.names import LabelValue, dns_label
from api.quantity import Price, Quantity
from api.rules import rule, rules
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
    """Uid of the pod: a later pod of the same name is another one."""
    owner: str = ""
    """Uid of the controller of the pod, whose next pod takes the place. Without it, the pod has no controller."""
    pod_class: str = Field(default="", alias="class")
    """Hash of all that a plan sees of the pod: equal pods can take each other's place. Without it, none can."""


_IMMUTABLE: Final = rule(
    "self.pool == oldSelf.pool && self.serverType == oldSelf.serverType"
    " && self.location == oldSelf.location && self.classRef == oldSelf.classRef",
    "only reservedFor may change: for another machine, make another NodeRequest",
)


class NodeRequestSpec(Model):
    """The machine that is wanted."""

    model_config = rules(_IMMUTABLE)

    pool: PoolName
    """Name of the NodePool that it belongs to."""
    server_type: LabelValue
    """The server type to buy."""
    location: LabelValue
    """The location to buy it in."""
    class_ref: ClassRef
    """The class that the machine comes from."""
    reserved_for: tuple[Seat, ...] = Field(default=(), max_length=1000)
    """The pods that the machine is bought for, and kept for until they are bound. Without it, kept for nobody."""


PlannedAmounts = Annotated[dict[str, Quantity], Field(max_length=40)]
"""One more than a class may state, as pods are added, and some to spare: a status that is refused stops a lifecycle."""


class NodeRequestStatus(Payload):
    """How far it has come. Together with the spec it holds the whole state of the request."""

    phase: RequestPhase = RequestPhase.PENDING
    """Where it stands: Pending, Provisioning, Ready, Unmet (no capacity), Failed (mend it) or Deprovisioning."""
    reason: str = ""
    """Why it stands there, one CamelCase word for programs."""
    message: str = Field(default="", max_length=1024)
    """Why it stands there, a sentence for people."""
    workflow_id: str | None = None
    """Id of the Temporal workflow that carries it out."""
    attempts: int = 0
    """How many create calls there were so far."""
    refusals: int = 0
    """How many of them were refused for a reason that is not known; each certainly created nothing."""
    pool_generation: int | None = None
    """Generation of the pool that the create call was made with; a later one lifts the pause of a failure."""
    class_generation: int | None = None
    """Generation of the class that the create call was made with."""
    create_attempt_at: Timestamp | None = None
    """When the server was last asked for, written before the call; that there is none is believed only 60 s later."""
    price_per_hour: Price | None = None
    """What the machine cost per hour when the server was last asked for; a later price does not change it."""
    currency: str | None = None
    """Currency of the price."""
    planned_allocatable: PlannedAmounts | None = None
    """What a Node of it was planned to have for pods, as quantities, when the server was last asked for."""
    planned_image: str | None = None
    """What the class calls the image it was planned with; without it, its Node teaches nothing about the next ones."""
    template_hash: Annotated[str | None, Field(max_length=32)] = None
    """Hash of what class and pool ask of a machine, as they were when its server was asked for. Drift goes by it."""
    provider_id: str | None = Field(default=None, alias="providerID")
    """Id of the server at the provider."""
    node_name: str | None = None
    """Name of the Node that joined."""
    provisioning_deadline: Timestamp | None = None
    """When the server must be running at the latest."""
    running_at: Timestamp | None = None
    """When the server was first seen running."""
    join_deadline: Timestamp | None = None
    """When the Node must be able to take its pods at the latest."""
    registered_at: Timestamp | None = None
    """When the Node was labelled and its reservation set."""
    ready_at: Timestamp | None = None
    """When the Node was first seen Ready, without start-up taints, and with all resources that its plan counted on."""
    tried_at: Timestamp | None = None
    """When the scheduler was first seen to have tried its pods since; the time of the reservation begins then."""
    settled_at: Timestamp | None = None
    """When all its pods were bound or gone; it stays reserved while other machines of its pool wait for theirs."""
    release_by: Timestamp | None = None
    """When the reservation ends at the latest."""
    released_at: Timestamp | None = None
    """When the reservation ended."""
    expires_at: Timestamp | None = None
    """When this object is deleted, which by then is only a record."""
    conditions: Conditions = ()
    """Launched, Registered, Ready; NodeAsPlanned names differences; NodeNamesServer is False for another providerID."""
    events: tuple[LifecycleEvent, ...] = ()
    """The last 20 things that happened to it, the oldest first."""


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
