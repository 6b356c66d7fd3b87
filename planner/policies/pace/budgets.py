"""Budgets: how many machines of a pool may be under removal at once, for which reasons.

Of the budgets that are open, the strictest holds. Where none is open for a reason, a tenth of the pool goes at once if
its pods must move, and empty machines go freely.
Source: Karpenter, "NodePool Disruption Budgets".
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.keys import LABEL_REQUEST
from api.v1alpha1.disruption_budget import BUDGET_REASONS, BudgetReason, DisruptionBudget
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from planner.lifecycle.removal import FOUND_DEAD
from planner.model.plan import BudgetState
from planner.policies.pace.windows import is_open, next_change
from planner.supply.machines import Machine

REPAIR: Final = "Repair"
EVICTING: Final[tuple[BudgetReason, ...]] = ("Consolidation", "Rotation", "Drift", "Repair", "OverMax")
"""Reasons for which pods must move."""
USUAL: Final = DisruptionBudget(nodes="10%", reasons=EVICTING)
"""What holds where no budget is open for a reason."""
_OPENINGS_LOOKED_AT: Final = 200


@dataclass(frozen=True, slots=True)
class Limit:
    """The strictest budget for a reason, with what it allows and what goes already."""

    budget: DisruptionBudget
    allowed: int
    used: int

    @property
    def left(self) -> int:
        """How many more machines may go."""
        return self.allowed - self.used


def budget_reason(reason: str) -> str:
    """Return the reason under which a removal counts: that of machines with dead Nodes counts as a repair."""
    return REPAIR if reason == FOUND_DEAD else reason


def counted_reason(removal: NodeRemovalRequest) -> str | None:
    """Return the reason under which a removal counts, None if it counts nowhere.

    Parked ones are up to people, those that a person ordered are his, and a machine that never joined carries nobody.
    """
    spec = removal.spec
    is_of_round = removal.metadata.labels.get(LABEL_REQUEST) == spec.server_name
    if not is_of_round or spec.immediate or spec.node_name is None:
        return None
    if removal.status.phase is RemovalPhase.COULD_NOT_REMOVE:
        return None
    reason = budget_reason(spec.reason)
    return reason if reason in BUDGET_REASONS else None


class PoolBudgets:
    """The budgets of a pool in a round. Counts up with each machine that goes, so policies share it."""

    def __init__(self, pool: NodePool, machines: Iterable[Machine], now: datetime) -> None:
        self._now = now
        self._budgets = pool.spec.scale_down.budgets or ()
        self._open = tuple(budget for budget in self._budgets if is_open(budget, now))
        self._size = 0
        self._going: Counter[str] = Counter()
        for machine in machines:
            self._size += machine.node is not None
            if machine.is_leaving and machine.removal is not None:
                reason = counted_reason(machine.removal)
                self._going.update([] if reason is None else [reason])

    def limit(self, reason: str, more: Mapping[str, int]) -> Limit | None:
        """Return the budget with the least room for one more removal of this reason, None if there is no limit.

        Args:
            reason: as a policy proposes it. Machines with dead Nodes wait only for budgets that name repairs.
            more: further removals by reason, which are not counted yet.
        """
        counted = budget_reason(reason)
        holding = [budget for budget in self._open if budget.covers(counted)]
        if reason == FOUND_DEAD:
            holding = [budget for budget in holding if budget.reasons is not None]
        elif not holding and counted in EVICTING:
            holding = [USUAL]
        limits = [Limit(budget, budget.allowed(self._size), self._used(budget, more)) for budget in holding]
        return min(limits, key=lambda limit: (limit.left, limit.allowed), default=None)

    def spend(self, reason: str) -> None:
        """Count a machine that goes."""
        if (counted := budget_reason(reason)) in BUDGET_REASONS:
            self._going[counted] += 1

    def next_change(self, reasons: Collection[str]) -> datetime | None:
        """Return when budgets for one of these reasons next open or close, None if they never do."""
        counted = {budget_reason(reason) for reason in reasons}
        covering = (budget for budget in self._budgets if any(map(budget.covers, counted)))
        changes = (next_change(budget, self._now) for budget in covering)
        return min((change for change in changes if change is not None), default=None)

    def states(self) -> tuple[BudgetState, ...]:
        """Return what holds for each reason."""
        return tuple(self._state(reason) for reason in BUDGET_REASONS)

    def _state(self, reason: str) -> BudgetState:
        limit = self.limit(reason, {})
        if limit is None:
            return BudgetState(reason, None, self._going[reason])
        opens_at = None if limit.allowed else self._opening(reason)
        return BudgetState(reason, limit.allowed, limit.used, opens_at)

    def _opening(self, reason: str) -> datetime | None:
        """Return when one machine may next go for a reason, None if that is not known."""
        covering = [budget for budget in self._budgets if budget.covers(reason)]
        for moment in _changes(covering, self._now):
            holding = [budget for budget in covering if is_open(budget, moment)]
            if all(budget.allowed(self._size) for budget in holding or [USUAL]):
                return moment
        return None

    def _used(self, budget: DisruptionBudget, more: Mapping[str, int]) -> int:
        return sum(self._going[reason] + more.get(reason, 0) for reason in BUDGET_REASONS if budget.covers(reason))


def unknown_zones(budgets: Sequence[DisruptionBudget], known: Collection[str]) -> list[str]:
    """Return the names of time zones that do not exist, with the budgets that name them by number."""
    return [
        f"scaleDown.budgets[{i}].timezone: {budget.timezone}"
        for i, budget in enumerate(budgets)
        if budget.timezone is not None and budget.timezone not in known
    ]


def _changes(budgets: Sequence[DisruptionBudget], now: datetime) -> Iterator[datetime]:
    """Yield the next times at which one of the budgets opens or closes, in their order."""
    upcoming = {i: change for i, budget in enumerate(budgets) if (change := next_change(budget, now)) is not None}
    for _ in range(_OPENINGS_LOOKED_AT):
        if not upcoming:
            return
        moment = min(upcoming.values())
        yield moment
        for i in [i for i, change in upcoming.items() if change == moment]:
            after = next_change(budgets[i], moment)
            del upcoming[i]
            if after is not None:
                upcoming[i] = after
