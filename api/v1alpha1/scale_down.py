"""How machines of a pool go: in which mode, after which times, and how often a refused deletion is repeated."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field

from api.duration import Duration, PositiveDuration
from api.model import Model
from api.rules import Check, Text, distinct
from api.v1alpha1.consolidation import Consolidation
from api.v1alpha1.pool_parts.utilisation import GroupUtilisation, NodeUtilisation, Percent
from api.v1alpha1.removal_budget import MOST_BUDGETS, RemovalBudget

_TYPE: Final = Text(
    pattern="^[A-Za-z0-9]([A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?$",
    longest=128,
    form="the type of a condition, such as KernelDeadlock, at most 128 characters",
)
_NOT_READY: Final = Check(
    lambda name: name != "Ready", "self != 'Ready'", "Ready is what repair.after is about: name another condition"
)


class Removal(Model):
    """How a refused deletion is repeated."""

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=100)] = 5
    """Delete calls before the removal parks as CouldNotRemove, where a person may decide."""
    retry: PositiveDuration = timedelta(seconds=30)
    """How long to wait between two delete calls."""
    parked_retry: PositiveDuration = timedelta(hours=4)
    """How long a parked removal waits before it tries again by itself; then twice as long, at most a day."""


class RepairCondition(Model):
    """A condition of a Node that is Ready all the same."""

    type: Annotated[str, _TYPE, _NOT_READY]
    """Type of the condition, such as KernelDeadlock of node-problem-detector."""
    status: Literal["True", "False", "Unknown"]
    """The status that is bad."""
    after: PositiveDuration
    """How long it must have been so without a break; one that changes begins anew."""


class Repair(Model):
    """When machines with bad Nodes go: at most 20 % of a pool, or one, at a time, and none while most Nodes are bad."""

    after: PositiveDuration = timedelta(minutes=20)
    """How long a Node must have been not Ready, with none but pods that should have ended, until its machine goes."""
    conditions: Annotated[
        tuple[RepairCondition, ...] | None, Field(min_length=1, max_length=20), distinct("type", "status")
    ] = None
    """Conditions of Ready Nodes whose machines are replaced: another is bought, then pods leave. Without it, none."""


class ScaleDown(Model):
    """How machines go."""

    mode: Literal["empty", "wait", "drain", "none"] = "empty"
    """Empty nodes go; with wait, those with pods may, once these have ended; with drain, pods move; with none, none."""
    idle_after: Duration = timedelta(minutes=10)
    """How long a node must have been without pods before its cool-off begins."""
    soft_grace: Duration = timedelta(minutes=1)
    """How long the cool-off lasts, from the scale-down taint to the deletion; until then it can be cancelled."""
    hard_grace: PositiveDuration | None = None
    """How long a person's drain lasts until pods are deleted despite budget, wish or data. Without it, never."""
    drain_timeout: PositiveDuration | None = None
    """How long a drain that Growth began lasts until it is given up; after terminationGracePeriod. Without it, 15m."""
    termination_grace_period: PositiveDuration | None = None
    """How long a drain that Growth began lasts until the last pods have been forced to end. Without it, none is."""
    empty_dir: Literal["evict", "keep"] | None = None
    """What becomes of pods with an emptyDir on disk. Without it, only a drain that a person ordered stops at them."""
    removal: Removal = Removal()
    """How a deletion that does not succeed is repeated."""
    repair: Repair | None = None
    """When machines with dead Nodes go, with the pods that cannot end there. Without it, they are only reported."""
    consolidate: Consolidation | None = None
    """When pods are moved so that fewer or cheaper machines carry them. Without it, never."""
    budgets: Annotated[tuple[RemovalBudget, ...] | None, Field(max_length=MOST_BUDGETS)] = None
    """How many machines go at once, and when. Without it, and while none is open: 10 % if pods must move."""
    group: GroupUtilisation | None = None
    """When machines go as the pool as a whole is little used. Without it, never."""
    node: NodeUtilisation | None = None
    """When a machine goes as it is little used itself. Without it, never."""
    max_remaining_percent: Percent | None = None
    """A machine stays if without it the others would be used more, in percent, or thresholdPercent. Without it, 85."""
    order: Literal["dearest", "oldest", "leastUtilised"] | None = None
    """What goes first after Nodes that are not Ready: dearest, oldest or leastUtilised. Without it, the dearest."""
    cooldown_after_scale_up: Duration | None = None
    """How long after a purchase no removal begins by itself. Without it, no time."""
    cooldown_after_scale_down: Duration | None = None
    """How long after a removal has begun by itself no other one does. Without it, no time."""
