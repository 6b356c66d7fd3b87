"""NodePool: which machines may be bought for which pods, and how they come and go."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, model_validator

from api.keys import ANNOTATION_PAUSED, ANNOTATION_PAUSED_UNTIL, API_VERSION
from api.meta import Conditions, ObjectMeta, Timestamp, format_timestamp, read_moment
from api.model import Model, Payload
from api.names import Annotations, Labels, OptionalLabelValue, TaintKey, dns_label
from api.quantity import Price
from api.rules import Text, distinct, rule, rules
from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.pool_parts.choice import ChoiceStatus
from api.v1alpha1.pool_parts.headroom import MOST_ENTRIES, Headroom
from api.v1alpha1.pool_parts.health import PoolHealth
from api.v1alpha1.pool_parts.pool_limits import PoolLimits
from api.v1alpha1.pool_parts.purchase_pace import BreakerStatus, LockStatus
from api.v1alpha1.pool_parts.scale_up import USUAL_THRESHOLD, ScaleUp
from api.v1alpha1.pool_parts.schedule import MOST_WINDOWS, ScheduledLimits
from api.v1alpha1.pool_server_type import Locations, PoolServerType, Priority
from api.v1alpha1.refused_placement import MOST_PLACEMENTS, RefusedPlacement
from api.v1alpha1.rotation import Rotation
from api.v1alpha1.scale_down import ScaleDown

POOL_NAME: Final = dns_label(40)
"""Shorter than a label value, as the names of requests begin with it."""
CLASS_NAME: Final = dns_label(63)
CLASS_KIND: Final = Text(
    pattern="^[A-Z][A-Za-z0-9]{0,62}$",
    longest=63,
    form="the name of a kind, such as HetznerNodeClass: letters and digits, at most 63, starting with a capital",
)
"""Any: which kinds there are is known to who runs Growth, with which providers, and not to the definitions."""
PoolName = Annotated[str, POOL_NAME]


class ClassRef(Model):
    """The node class that the machines come from."""

    kind: Annotated[str, CLASS_KIND] = "KwokNodeClass"
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
    """Value of the taint. Without it, the value is empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What happens to pods that do not tolerate it."""


class NodeTemplate(Model):
    """What every machine of the pool looks like."""

    class_ref: ClassRef = ClassRef()
    """The class that the machines come from. Without it, the class named default."""
    labels: Labels = Field(default_factory=dict)
    """Further labels of each Node. Without it, none."""
    annotations: Annotations = Field(default_factory=dict)
    """Further annotations of each Node, set once when it joins. Without it, none."""
    taints: Annotated[tuple[PoolTaint, ...], Field(max_length=32), distinct("key", "effect")] = ()
    """Taints of each Node, one for each key and effect. Without it, none."""


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


_NEVER_AT_MIN: Final = rule(
    "!has(self.rotation) || !has(self.rotation.onlyAtMin) || !self.rotation.onlyAtMin"
    " || (has(self.limits) && has(self.limits.min) && self.limits.min > 0)"
    " || self.serverTypes.exists(t, has(t.min) && t.min > 0)",
    "rotation.onlyAtMin is true and the pool has no minimum: set limits.min, or min on a server type",
)


_GROWS_AND_SHRINKS: Final = rule(
    "!has(self.scaleDown) || !has(self.scaleDown.group) || !has(self.scaleUp) || !has(self.scaleUp.estimators)"
    " || !('threshold' in self.scaleUp.estimators) || self.scaleDown.group.upperPercent"
    f" < (has(self.scaleUp.thresholdPercent) ? self.scaleUp.thresholdPercent : {USUAL_THRESHOLD})",
    "scaleDown.group.upperPercent must be below scaleUp.thresholdPercent: else what is bought goes again",
)


class NodePoolSpec(Model):
    """What the pool may buy and how it behaves."""

    model_config = rules(_NO_MAX, _MINS_ABOVE_MAX, _MIN_ABOVE_MAXES, _NEVER_AT_MIN, _GROWS_AND_SHRINKS)

    server_types: Annotated[
        tuple[PoolServerType, ...],
        Field(min_length=1, max_length=100),
        distinct("name", ignore_case=True, optional=True),
    ]
    """The server types that may be bought, at least one entry; of several that match a type, the first one holds."""
    locations: Locations | None = None
    """Names of the locations where machines may be bought. Without it, wherever the class has them."""
    priority: Priority | None = None
    """Before pools of a lower priority, machines of this one are bought, whatever they cost. Without it, 0."""
    limits: PoolLimits = PoolLimits()
    """Bounds over all server types of the pool."""
    match_unselected_pods: StrictBool | None = None
    """Whether pods that select no pool may use this one. Default: true for the pool named default, else false."""
    paused: StrictBool | None = None
    """Whether nothing is bought and no removal begins. Without it, the annotation growth.dev/paused says so."""
    template: NodeTemplate = NodeTemplate()
    """What each machine of the pool looks like."""
    scale_up: ScaleUp = ScaleUp()
    """How machines come."""
    scale_down: ScaleDown = ScaleDown()
    """How machines go."""
    rotation: Rotation | None = None
    """When machines go because of their age. Without it, never."""
    headroom: Annotated[tuple[Headroom, ...] | None, Field(max_length=MOST_ENTRIES)] = None
    """Room for further pods that is bought and kept free, and that waiting pods have first. Without it, none."""

    schedule: Annotated[tuple[ScheduledLimits, ...] | None, Field(max_length=MOST_WINDOWS)] = None
    """Other bounds in certain hours. Without it, limits hold at all times."""
    health: PoolHealth | None = None
    """When the pool neither buys nor removes by itself, as many new Nodes are not Ready. Without it, never."""
    dry_run: StrictBool | None = None
    """Whether rounds only tell what they would buy and remove here. Without it, they do it."""

    @property
    def minimum(self) -> int:
        """The number of machines that are kept even without load, whatever their type."""
        return max(self.limits.min, sum(t.min for t in self.server_types))

    @model_validator(mode="after")
    def _consistent(self) -> "NodePoolSpec":
        most = [t.max for t in self.server_types if t.max is not None]
        if self.limits.max is None and len(most) < len(self.server_types):
            raise ValueError(_NO_MAX["message"])
        if self.limits.max is not None and sum(t.min for t in self.server_types) > self.limits.max:
            raise ValueError(_MINS_ABOVE_MAX["message"])
        if len(most) == len(self.server_types) and self.limits.min > sum(most):
            raise ValueError(_MIN_ABOVE_MAXES["message"])
        if self.rotation is not None and self.rotation.only_at_min and not self.minimum:
            raise ValueError(_NEVER_AT_MIN["message"])
        group, threshold = self.scale_down.group, self.scale_up.threshold
        if group is not None and threshold is not None and group.upper_percent >= threshold:
            raise ValueError(_GROWS_AND_SHRINKS["message"])
        return self


class PoolCounts(Payload):
    """The machines of the pool by state."""

    ready: int = 0
    """Ready nodes that take pods."""
    in_flight: int = 0
    """Machines that were asked for and are not yet Ready."""
    removing: int = 0
    """Machines under removal, those in their cool-off included."""
    total: int = 0
    """Machines that count towards max, each once."""


class NodePoolStatus(Payload):
    """What the last round saw."""

    observed_generation: int | None = None
    """Generation of the spec that the last round used."""
    nodes: PoolCounts = PoolCounts()
    """The machines of the pool by state."""
    price_per_hour: Price | None = None
    """What the machines of the pool cost per hour together."""
    currency: str | None = None
    """Currency of that price."""
    conditions: Conditions = ()
    """Conditions of the pool: Ready, AtMax, Blocked; HeadroomShort, NearPriceLimit and others as there is cause."""
    refused_placements: Annotated[tuple[RefusedPlacement, ...], Field(max_length=MOST_PLACEMENTS)] = ()
    """Pods that the scheduler did not bind where a plan had room for them, each while that is remembered."""
    lock: LockStatus | None = None
    """The lock after purchases, in a pool that has one."""
    breaker: BreakerStatus | None = None
    """The breaker after failed purchases, in a pool that has one."""
    last_growth_at: Timestamp | None = None
    """When a machine was last asked for, in a pool that waits after that."""
    last_shrink_at: Timestamp | None = None
    """When a removal last began by itself, in a pool that waits after that."""
    consolidation: ConsolidationStatus | None = None
    """What consolidation came to in a pool that consolidates; in others, when it was looked what it would come to."""
    choice: ChoiceStatus | None = None
    """What priorities cost more than price alone in the last round that bought for the pool. Without it, nothing."""


@dataclass(frozen=True, slots=True)
class PoolPause:
    """Why a pool is paused, and until when: nothing is bought, no removal begins, and what is under way ends."""

    why: str = ""
    """In the words of whoever paused it; perhaps none."""
    until: datetime | None = None
    """None until somebody ends it."""

    def sentence(self, pool: str) -> str:
        """Return a sentence on it, without its end."""
        until = "" if self.until is None else f" until {format_timestamp(self.until)}"
        because = f": {self.why}" if self.why else ""
        return f"pool {pool} is paused{until}, so it buys nothing and no removal begins{because}"


class NodePool(Model):
    """A set of server types that Growth may buy, for the pods that select it by their node selector growth.dev/pool."""

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
    def consolidates(self) -> bool:
        """Whether pods are moved to save: how is said, and the mode lets them be moved."""
        return self.spec.scale_down.mode == "drain" and self.spec.scale_down.consolidate is not None

    def pause_at(self, now: datetime) -> PoolPause | None:
        """Return the pause of the pool, by its spec or by an annotation; None if it has none at that time.

        An end that cannot be read ends nothing, and is told: whoever pauses wants no surprise.
        """
        annotations = self.metadata.annotations
        why = annotations.get(ANNOTATION_PAUSED)
        if why is None or why.strip().lower() == "false":
            return PoolPause("spec.paused is true") if self.spec.paused else None
        why = "" if why.strip().lower() == "true" else " ".join(why.split())
        if self.spec.paused:
            return PoolPause(why or "spec.paused is true")
        text = annotations.get(ANNOTATION_PAUSED_UNTIL)
        if not text:
            return PoolPause(why)
        until = read_moment(text.strip())
        if until is None:
            unread = (
                f"{ANNOTATION_PAUSED_UNTIL} is no time such as 2026-01-31T18:00:00Z, so it ends nothing: {text[:40]}"
            )
            return PoolPause(f"{why} ({unread})" if why else unread)
        return PoolPause(why, until) if now < until else None

    @property
    def takes_unselected_pods(self) -> bool:
        """Whether pods that select no pool belong here."""
        wish = self.spec.match_unselected_pods
        return self.metadata.name == "default" if wish is None else wish
