"""What keeps a machine that a policy would empty: one reason and one sentence."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from planner.objects.stays import StayReason


class BlockedBy(StrEnum):
    """Why a machine is not emptied, in the order in which it is asked; those of pods are a drain's reasons, too."""

    POOL_PAUSED = "PoolPaused"
    POOL_FROZEN = "PoolFrozen"
    DRY_RUN = "DryRun"
    WANTED = "WantedByPods"
    REMOVAL_CANCELLED = "RemovalCancelled"
    REQUEST_OPEN = "RequestOpen"
    FOREIGN = "NotBoughtByGrowth"
    CARRIES_GROWTH = "CarriesGrowth"
    CORDON = "Cordoned"
    NODE_TERMINATING = "NodeTerminating"
    LOCAL_DATA = "HasLocalData"
    MODE = "ModeNotDrain"
    ANNOTATION = StayReason.ANNOTATION.value
    BARE_POD = StayReason.BARE_POD.value
    LOCAL_STORAGE = StayReason.LOCAL_STORAGE.value
    TERMINATING = StayReason.TERMINATING.value
    SYSTEM_POD = "BlockedBySystemPod"
    BUDGET = "BlockedByBudget"
    BUDGETS_UNREAD = "BlockedByUnreadBudgets"
    DRAIN_TIMED_OUT = "DrainTimedOut"
    MOVE_FAILED = "MoveFailed"
    MOVES_FAIL = "MovesFail"
    MISFIT = "BlockedByMisfit"
    MINIMUM = "BlockedByMinimum"
    PURCHASE = "BlockedByPurchase"
    LOCK = "PurchaseLockClosed"
    REMAINING = "BlockedByRemainingUse"
    USAGE = "UsageUnknown"


@dataclass(frozen=True, slots=True)
class Blocked:
    """What keeps a machine."""

    by: BlockedBy
    why: str
    """The rest of a sentence about the machine."""
    until: datetime | None = None
    """When it is over by itself; None where nobody knows."""
