"""NodePool: which machines may be bought for which pods, and how they come and go."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from api.conditions import Condition
from api.duration import Duration
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model
from api.money import Price

PoolName = Annotated[str, Field(max_length=40, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
Count = Annotated[int, Field(ge=0, le=100_000)]


class PoolServerType(Model):
    """A server type that the pool may buy."""

    name: str = Field(min_length=1, max_length=63)
    """Name of the type in its class; matched in lower case, so CAX11 and cax11 are the same."""
    min: Count = 0
    """Machines of this type kept even without load."""
    max: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Most machines of this type at any time. Without it, only the pool's limit holds."""
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    """Between equally cheap choices the higher one wins."""

    @field_validator("name")
    @classmethod
    def _lower(cls, name: str) -> str:
        return name.lower()

    @model_validator(mode="after")
    def _bounds(self) -> "PoolServerType":
        if self.max is not None and self.min > self.max:
            msg = f"min {self.min} is above max {self.max}"
            raise ValueError(msg)
        return self


class PoolLimits(Model):
    """Bounds over all server types of the pool."""

    min: Count = 0
    """Machines kept even without load, whatever their type."""
    max: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Most machines at any time, over all types."""

    @model_validator(mode="after")
    def _bounds(self) -> "PoolLimits":
        if self.max is not None and self.min > self.max:
            msg = f"min {self.min} is above max {self.max}"
            raise ValueError(msg)
        return self


class ClassRef(Model):
    """The node class that the machines come from."""

    kind: Literal["KwokNodeClass"] = "KwokNodeClass"
    """Kind of the class."""
    name: str = Field(default="default", min_length=1, max_length=63)
    """Name of the class."""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class PoolTaint(Model):
    """A taint on every machine of the pool."""

    key: str = Field(min_length=1, max_length=316)
    """Key of the taint."""
    value: str = Field(default="", max_length=63)
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What it does to pods that do not tolerate it."""


class NodeTemplate(Model):
    """What every machine of the pool looks like."""

    class_ref: ClassRef = ClassRef()
    """Where the machines come from; without it, the class named default."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the Node."""
    taints: tuple[PoolTaint, ...] = Field(default=(), max_length=32)
    """Taints of the Node."""


class PodBackoff(Model):
    """How often a pod that no machine can take is looked at again."""

    after_rounds: Annotated[int, Field(ge=1, le=1000)] = 3
    """Rounds without a place after which waiting begins."""
    base: Duration = timedelta(seconds=30)
    """First wait; each further one is twice as long."""
    max: Duration = timedelta(hours=1)
    """Longest wait."""


class ScaleUp(Model):
    """How machines come."""

    reserve: bool = True
    """Keep each new machine for the pods it was bought for until they are bound."""
    provisioning_timeout: Duration = timedelta(minutes=10)
    """From the create call until the server must be running."""
    join_timeout: Duration = timedelta(minutes=15)
    """From running until the Node must be Ready."""
    unavailable_ttl: Duration = Field(default=timedelta(seconds=120), alias="unavailableTTL")
    """How long an offering without capacity is left out, doubled with each further miss."""
    failed_ttl: Duration = Field(default=timedelta(minutes=30), alias="failedTTL")
    """How long a failed request stays, and with it the pause for its pool and class."""
    record_ttl: Duration = Field(default=timedelta(minutes=10), alias="recordTTL")
    """How long a Ready request stays as a record after its reservation ended."""
    pod_backoff: PodBackoff = PodBackoff()
    """Waits for pods that no machine can take."""


class Removal(Model):
    """How a refused deletion is repeated."""

    max_attempts: Annotated[int, Field(ge=1, le=100)] = 5
    """Delete calls before the removal parks as CouldNotRemove."""
    retry: Duration = timedelta(seconds=30)
    """Wait between two delete calls."""
    parked_retry: Duration = timedelta(hours=4)
    """A parked removal tries again by itself after this."""


class ScaleDown(Model):
    """How machines go."""

    mode: Literal["empty", "none"] = "empty"
    """empty removes nodes without pods; none removes nothing."""
    idle_after: Duration = timedelta(minutes=10)
    """How long a node must have been without pods before its cool-off begins."""
    soft_grace: Duration = timedelta(minutes=1)
    """The cool-off: from the scale-down taint to the deletion. Until its end it can be cancelled."""
    removal: Removal = Removal()
    """Repeated deletion."""


class NodePoolSpec(Model):
    """What the pool may buy and how it behaves."""

    server_types: tuple[PoolServerType, ...] = Field(min_length=1, max_length=100)
    """The server types that may be bought."""
    limits: PoolLimits = PoolLimits()
    """Bounds over all types."""
    match_unselected_pods: bool | None = None
    """Take pods that select no pool. Default: true for the pool named default, else false."""
    template: NodeTemplate = NodeTemplate()
    """What the machines look like."""
    scale_up: ScaleUp = ScaleUp()
    """How machines come."""
    scale_down: ScaleDown = ScaleDown()
    """How machines go."""

    @model_validator(mode="after")
    def _consistent(self) -> "NodePoolSpec":
        names = [t.name for t in self.server_types]
        if len(set(names)) != len(names):
            msg = "serverTypes: each name may stand only once (upper and lower case are the same)"
            raise ValueError(msg)
        if self.limits.max is None and any(t.max is None for t in self.server_types):
            msg = "the pool has no max: set limits.max, or max on every server type"
            raise ValueError(msg)
        if self.limits.max is not None and sum(t.min for t in self.server_types) > self.limits.max:
            msg = "serverTypes: the sum of min is above limits.max"
            raise ValueError(msg)
        return self


class PoolCounts(Model):
    """Machines of the pool by state."""

    ready: int = 0
    """Ready nodes that take pods."""
    in_flight: int = 0
    """Machines asked for and not yet Ready."""
    removing: int = 0
    """Machines under removal, cool-off included."""
    total: int = 0
    """Distinct machines that count towards max."""


class NodePoolStatus(Model):
    """What the last round saw."""

    observed_generation: int | None = None
    """Generation of the spec that the last round used."""
    nodes: PoolCounts = PoolCounts()
    """Machines by state."""
    price_per_hour: Price | None = None
    """What the machines of the pool cost per hour."""
    currency: str | None = None
    """Currency of the price."""
    conditions: tuple[Condition, ...] = ()
    """Ready, AtMax and Blocked, each with its reason."""


class NodePool(Model):
    """A set of server types that Growth may buy, for the pods that select it."""

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["NodePool"] = "NodePool"
    metadata: ObjectMeta
    spec: NodePoolSpec
    status: NodePoolStatus = NodePoolStatus()

    @property
    def takes_unselected_pods(self) -> bool:
        """Whether pods that select no pool belong here."""
        wish = self.spec.match_unselected_pods
        return self.metadata.name == "default" if wish is None else wish
