"""Budgets: how many machines of a pool may be under removal at once, for which reasons.

Of the budgets that are open, the strictest holds. Where none is open for a reason, a tenth of the pool goes at once if
its pods must move, and empty machines go freely.
Source: Karpenter, "NodePool Disruption Budgets".
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.keys import LABEL_REQUEST
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.removal_budget import BUDGET_REASONS, EVICTING_REASONS, BudgetReason, RemovalBudget
from planner.lifecycle.removal import FOUND_DEAD
from planner.lifecycle.step import shortened
from planner.model.plan import BudgetState, Reason
from planner.policies.pace.never_open import never_open
from planner.policies.pace.time_zones import time_zone
from planner.policies.pace.windows import changes, is_open, next_change
from planner.report.pool_report import OVER_MAX
from planner.supply.machines import Machine

REPAIR: Final = "Repair"
UNDERUSED: Final = "Underused"
"""Reasons of removals."""
UNKNOWN_TIME_ZONE: Final = "UnknownTimeZone"
"""Reason of the condition on a pool whose budget is read without its zone."""
USUAL: Final = RemovalBudget(nodes="10%", reasons=EVICTING_REASONS)
"""What holds where no budget is open for a reason."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The strictest budget for a reason, with what it allows and what goes already."""

    budget: RemovalBudget
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
        self._pool = pool
        self._now = now
        self._budgets = pool.spec.scale_down.budgets or ()
        self._open = tuple(budget for budget in self._budgets if is_open(budget, now))
        self._holding: dict[str, list[tuple[RemovalBudget, int, tuple[BudgetReason, ...]]]] = {}
        self._size = 0
        self._going: Counter[str] = Counter()
        for machine in machines:
            self._size += machine.node is not None
            if machine.is_leaving and machine.removal is not None:
                reason = counted_reason(machine.removal)
                self._going.update([] if reason is None else [reason])

    @property
    def pool(self) -> NodePool:
        """The pool that they are of."""
        return self._pool

    def limit(self, reason: str, more: Mapping[str, int]) -> Limit | None:
        """Return the budget with the least room for one more removal of this reason, None if there is no limit.

        Args:
            reason: as a policy proposes it. Machines with dead Nodes wait only for budgets that name repairs.
            more: further removals by reason, which are not counted yet.
        """
        if reason not in self._holding:
            self._holding[reason] = self._holding_for(reason)
        limits = [Limit(budget, most, self._used(reasons, more)) for budget, most, reasons in self._holding[reason]]
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

    def fault(self) -> Reason | None:
        """Return which time zones of budgets do not exist, or for what they never open, None if all is well."""
        unknown = [
            f"scaleDown.budgets[{i}].timezone: {budget.timezone}"
            for i, budget in enumerate(self._budgets)
            if budget.timezone is not None and time_zone(budget.timezone) is None
        ]
        if not unknown:
            return never_open(self._pool, self._now) if self._budgets else None
        verb = "is no time zone" if len(unknown) == 1 else "are no time zones"
        why = f"{', '.join(unknown)} {verb} of the IANA database: until it is set right, such a budget is always open"
        return Reason(UNKNOWN_TIME_ZONE, shortened(why))

    def states(self) -> tuple[BudgetState, ...]:
        """Return what holds for each reason."""
        # Most budgets hold for several reasons: when they open is looked for once.
        openings: dict[tuple[RemovalBudget, ...], datetime | None] = {}
        return tuple(self._state(reason, openings) for reason in BUDGET_REASONS)

    def _state(self, reason: str, openings: dict[tuple[RemovalBudget, ...], datetime | None]) -> BudgetState:
        limit = self.limit(reason, {})
        if limit is None:
            return BudgetState(reason, None, self._going[reason])
        if limit.allowed:
            return BudgetState(reason, limit.allowed, limit.used)
        covering = tuple(budget for budget in self._budgets if budget.covers(reason))
        if covering not in openings:
            openings[covering] = self._opening(covering) if covering else None
        return BudgetState(reason, limit.allowed, limit.used, openings[covering])

    def _opening(self, covering: Sequence[RemovalBudget]) -> datetime | None:
        """Return when these budgets, which let none go, next let one go, None if that is not known."""
        for moment in changes(covering, self._now):
            holding = [budget for budget in covering if is_open(budget, moment)]
            if all(budget.allowed(self._size) for budget in holding or [USUAL]):
                return moment
        return None

    def _holding_for(self, reason: str) -> list[tuple[RemovalBudget, int, tuple[BudgetReason, ...]]]:
        """Return the budgets that hold for a reason now, each with what it allows and what it counts."""
        counted = budget_reason(reason)
        holding = [budget for budget in self._open if budget.covers(counted)]
        if reason == FOUND_DEAD:
            holding = [budget for budget in holding if budget.reasons is not None]
        elif not holding and counted in EVICTING_REASONS and not self._only_waits(counted):
            holding = [USUAL]
        return [(budget, budget.allowed(self._size), budget.reasons or BUDGET_REASONS) for budget in holding]

    def _only_waits(self, reason: str) -> bool:
        """Return whether no pod must move for it: where machines wait for their pods to end, rates alone pace them."""
        return reason in (UNDERUSED, OVER_MAX) and self._pool.spec.scale_down.mode == "wait"

    def _used(self, reasons: Iterable[str], more: Mapping[str, int]) -> int:
        return sum(self._going[reason] + more.get(reason, 0) for reason in reasons)
