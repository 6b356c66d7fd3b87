"""NodePool: which machines may be bought for which pods, and how they come and go."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from api.conditions import Conditions
from api.duration import Duration, PositiveDuration
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model, Payload
from api.money import Price
from api.names import Labels, LabelValue, OptionalLabelValue, TaintKey, dns_label
from api.rules import distinct, rule, rules

POOL_NAME: Final = dns_label(40)
"""Shorter than a label value, as the names of requests begin with it."""
CLASS_NAME: Final = dns_label(63)
PoolName = Annotated[str, POOL_NAME]
Count = Annotated[int, Field(strict=True, ge=0, le=100_000)]
Most = Annotated[int, Field(strict=True, ge=1, le=100_000)]

_MIN_ABOVE_MAX: Final = rule("!has(self.min) || !has(self.max) || self.min <= self.max", "min is above max")


class PoolServerType(Model):
    """A server type that the pool may buy."""

    model_config = rules(_MIN_ABOVE_MAX)

    name: LabelValue
    """Name of the type in its class; matched in lower case, so CAX11 and cax11 are the same."""
    min: Count = 0
    """Machines of this type kept even without load."""
    max: Most | None = None
    """Most machines of this type at any time. Without it, only the pool's limit holds."""
    priority: Annotated[int, Field(strict=True, ge=-1000, le=1000)] = 0
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

    model_config = rules(_MIN_ABOVE_MAX)

    min: Count = 0
    """Machines kept even without load, whatever their type."""
    max: Most | None = None
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
    name: Annotated[str, CLASS_NAME] = "default"
    """Name of the class."""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class PoolTaint(Model):
    """A taint on every machine of the pool."""

    key: TaintKey
    """Key of the taint."""
    value: OptionalLabelValue = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What it does to pods that do not tolerate it."""


class NodeTemplate(Model):
    """What every machine of the pool looks like."""

    class_ref: ClassRef = ClassRef()
    """Where the machines come from; without it, the class named default."""
    labels: Labels = Field(default_factory=dict)
    """Labels of the Node."""
    taints: Annotated[tuple[PoolTaint, ...], Field(max_length=32), distinct("key", "effect")] = ()
    """Taints of the Node, one for each key and effect."""


_BASE_ABOVE_MAX: Final = rule(
    # Guarded, as the API server also checks the default `{}`, before its parts are filled in.
    "!has(self.base) || !has(self.max) || duration(self.base) <= duration(self.max)",
    "base is longer than max",
)


class PodBackoff(Model):
    """How often a pod that no machine can take is looked at again."""

    model_config = rules(_BASE_ABOVE_MAX)

    after_rounds: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3
    """Rounds without a place after which waiting begins."""
    base: PositiveDuration = timedelta(seconds=30)
    """First wait; each further one is twice as long."""
    max: PositiveDuration = timedelta(hours=1)
    """Longest wait, not shorter than the first."""

    @model_validator(mode="after")
    def _bounds(self) -> "PodBackoff":
        if self.base > self.max:
            raise ValueError(_BASE_ABOVE_MAX["message"])
        return self


class ScaleUp(Model):
    """How machines come."""

    reserve: StrictBool = True
    """Keep each new machine for the pods it was bought for until they are bound."""
    provisioning_timeout: PositiveDuration = timedelta(minutes=10)
    """From the create call until the server must be running."""
    join_timeout: PositiveDuration = timedelta(minutes=15)
    """From running until the Node must be Ready."""
    unavailable_ttl: PositiveDuration = Field(default=timedelta(seconds=120), alias="unavailableTTL")
    """How long an offering without capacity is left out, doubled with each further miss."""
    failed_ttl: PositiveDuration = Field(default=timedelta(minutes=30), alias="failedTTL")
    """How long a failed request stays, and with it the pause for its pool and class."""
    record_ttl: Duration = Field(default=timedelta(minutes=10), alias="recordTTL")
    """How long a Ready request stays as a record after its reservation ended."""
    pod_backoff: PodBackoff = PodBackoff()
    """Waits for pods that no machine can take."""


class Removal(Model):
    """How a refused deletion is repeated."""

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=100)] = 5
    """Delete calls before the removal parks as CouldNotRemove."""
    retry: PositiveDuration = timedelta(seconds=30)
    """Wait between two delete calls."""
    parked_retry: PositiveDuration = timedelta(hours=4)
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


_NO_MAX: Final = rule(
    "(has(self.limits) && has(self.limits.max)) || self.serverTypes.all(t, has(t.max))",
    "the pool has no max: set limits.max, or max on every server type",
)
_MINS_ABOVE_MAX: Final = rule(
    "!has(self.limits) || !has(self.limits.max)"
    " || self.serverTypes.map(t, has(t.min) ? t.min : 0).sum() <= self.limits.max",
    "the sum of min over serverTypes is above limits.max",
)
_MIN_ABOVE_MAXES: Final = rule(
    "!has(self.limits) || !has(self.limits.min) || !self.serverTypes.all(t, has(t.max))"
    " || self.limits.min <= self.serverTypes.map(t, t.max).sum()",
    "limits.min is above the sum of max over serverTypes",
)


class NodePoolSpec(Model):
    """What the pool may buy and how it behaves."""

    model_config = rules(_NO_MAX, _MINS_ABOVE_MAX, _MIN_ABOVE_MAXES)

    server_types: Annotated[
        tuple[PoolServerType, ...], Field(min_length=1, max_length=100), distinct("name", ignore_case=True)
    ]
    """The server types that may be bought."""
    limits: PoolLimits = PoolLimits()
    """Bounds over all types."""
    match_unselected_pods: StrictBool | None = None
    """Take pods that select no pool. Default: true for the pool named default, else false."""
    template: NodeTemplate = NodeTemplate()
    """What the machines look like."""
    scale_up: ScaleUp = ScaleUp()
    """How machines come."""
    scale_down: ScaleDown = ScaleDown()
    """How machines go."""

    @model_validator(mode="after")
    def _consistent(self) -> "NodePoolSpec":
        most = [t.max for t in self.server_types if t.max is not None]
        if self.limits.max is None and len(most) < len(self.server_types):
            raise ValueError(_NO_MAX["message"])
        if self.limits.max is not None and sum(t.min for t in self.server_types) > self.limits.max:
            raise ValueError(_MINS_ABOVE_MAX["message"])
        if len(most) == len(self.server_types) and self.limits.min > sum(most):
            raise ValueError(_MIN_ABOVE_MAXES["message"])
        return self


class PoolCounts(Payload):
    """Machines of the pool by state."""

    ready: int = 0
    """Ready nodes that take pods."""
    in_flight: int = 0
    """Machines asked for and not yet Ready."""
    removing: int = 0
    """Machines under removal, cool-off included."""
    total: int = 0
    """Distinct machines that count towards max."""


class NodePoolStatus(Payload):
    """What the last round saw."""

    observed_generation: int | None = None
    """Generation of the spec that the last round used."""
    nodes: PoolCounts = PoolCounts()
    """Machines by state."""
    price_per_hour: Price | None = None
    """What the machines of the pool cost per hour."""
    currency: str | None = None
    """Currency of the price."""
    conditions: Conditions = ()
    """Ready, AtMax and Blocked, each with its reason."""


class NodePool(Model):
    """A set of server types that Growth may buy, for the pods that select it."""

    model_config = rules(POOL_NAME.rule("self.metadata.name", field=".metadata.name"))

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["NodePool"] = "NodePool"
    metadata: ObjectMeta
    spec: NodePoolSpec
    status: NodePoolStatus = NodePoolStatus()

    @model_validator(mode="after")
    def _named(self) -> "NodePool":
        self.metadata.check_name(POOL_NAME)
        return self

    @property
    def takes_unselected_pods(self) -> bool:
        """Whether pods that select no pool belong here."""
        wish = self.spec.match_unselected_pods
        return self.metadata.name == "default" if wish is None else wish
