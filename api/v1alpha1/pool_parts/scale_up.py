"""How machines of a pool come: what they are kept for, how long they may take, and what waits."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictBool, model_validator

from api.duration import Duration, PositiveDuration
from api.model import Model
from api.names import OptionalLabelValue, TaintKey
from api.rules import rule, rules
from api.v1alpha1.pool_parts.purchase_pace import Breaker, PurchaseLock


class StartupTaint(Model):
    """A taint that others set on new Nodes and take back once these can take pods."""

    key: TaintKey
    """Key of the taint."""
    value: OptionalLabelValue | None = None
    """Value of the taint. Without it, any."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint. Without it, any."""


_BASE_ABOVE_MAX: Final = rule(
    # Guarded, as the API server also checks the default `{}`, before its parts are filled in.
    "!has(self.base) || !has(self.max) || duration(self.base) <= duration(self.max)",
    "base is longer than max",
)


class PodBackoff(Model):
    """How often a pod that no machine can take is looked at again."""

    model_config = rules(_BASE_ABOVE_MAX)

    after_rounds: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3
    """Rounds without a place after which a pod begins to wait for its next one."""
    base: PositiveDuration = timedelta(seconds=30)
    """The first wait; each further one is twice as long."""
    max: PositiveDuration = timedelta(hours=1)
    """The longest wait, not shorter than the first."""

    @model_validator(mode="after")
    def _bounds(self) -> "PodBackoff":
        if self.base > self.max:
            raise ValueError(_BASE_ABOVE_MAX["message"])
        return self


Estimator = Literal["binPack", "threshold"]


def _each_once(names: tuple[Estimator, ...]) -> tuple[Estimator, ...]:
    if len(set(names)) < len(names):
        msg = "each estimator may stand only once"
        raise ValueError(msg)
    return names


Estimators = Annotated[
    tuple[Estimator, ...],
    Field(min_length=1, max_length=2, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(_each_once),
]
USUAL_THRESHOLD: Final = 70
"""In percent, of a pool that grows by a threshold and names none. Source: Escalator's example of a node group."""


class ScaleUp(Model):
    """How machines come."""

    choose: Literal["price", "priority"] | None = None
    """What decides between server types: the price, or first their priority. Without it, the price."""
    reserve: StrictBool = True
    """Whether each new machine is kept for the pods it was bought for until they are bound."""
    provisioning_timeout: PositiveDuration = timedelta(minutes=10)
    """How long a server may take from the create call until it runs; one that takes longer is deleted."""
    join_timeout: PositiveDuration = timedelta(minutes=15)
    """How long a running server may take until its Node can take its pods; one that is not Ready then is deleted."""
    startup_taints: Annotated[tuple[StartupTaint, ...] | None, Field(max_length=32)] = None
    """Taints of a Node's start; until they go, it is coming, for joinTimeout at most. Without it, well-known ones."""
    unavailable_ttl: PositiveDuration = Field(default=timedelta(seconds=120), alias="unavailableTTL")
    """How long plans leave out an offering that had no capacity; twice as long after each further miss."""
    failed_ttl: PositiveDuration = Field(default=timedelta(minutes=30), alias="failedTTL")
    """How long a Failed request stays. Until then its pool buys nothing of its class, unless one of them changes."""
    record_ttl: Duration = Field(default=timedelta(minutes=10), alias="recordTTL")
    """How long a Ready request stays as a record after its reservation has ended."""
    pod_backoff: PodBackoff = PodBackoff()
    """How long pods that no machine can take wait until they are looked at again."""
    expendable_priority: Annotated[int | None, Field(strict=True, ge=-(2**31), le=1_000_000_000)] = None
    """Pods of a lower priority wait for free room: nothing is bought or kept for them. Without it, none do."""
    estimators: Estimators | None = None
    """What says how much is bought, binPack for waiting pods, threshold for thresholdPercent. Without it, binPack."""
    threshold_percent: Annotated[int | None, Field(strict=True, ge=1, le=1000)] = None
    """Above this share of what the pool has, in percent, its pods' requests make it grow. Without it, 70."""
    starvation: StrictBool | None = None
    """Whether threshold also buys for pods that no Node has room for, however much is free. Without it, it does not."""
    batch_max: Annotated[int | None, Field(strict=True, ge=0, le=100_000)] = None
    """Most machines that one round asks for; 0 is any number. Without it, any number."""
    max_in_flight: Annotated[int | None, Field(strict=True, ge=0, le=100_000)] = None
    """Most machines that are asked for and not Ready at any time; 0 is any number. Without it, any number."""
    pod_grace: Duration | None = None
    """How old a waiting pod must be until a machine is bought for it. Without it, any age."""
    cooldown: Duration | None = None
    """How long after a purchase nothing more is bought. Without it, no time."""
    lock: PurchaseLock | None = None
    """After a purchase, when the next one, or a removal by a policy, may begin. Without it, at once."""
    breaker: Breaker | None = None
    """After how many failed purchases in a row nothing is bought for how long. Without it, as failedTTL says."""

    @property
    def packs(self) -> bool:
        """Whether machines are bought for each pod that waits."""
        return self.estimators is None or "binPack" in self.estimators

    @property
    def threshold(self) -> int | None:
        """The share of what the pool has above which it grows, in percent; None if it does not grow by that."""
        if self.estimators is None or "threshold" not in self.estimators:
            return None
        return USUAL_THRESHOLD if self.threshold_percent is None else self.threshold_percent
