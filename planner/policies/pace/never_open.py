"""Budgets that never let a machine go for something that the pool asks for: the one or the other is not meant.

A single budget that is closed for all at all times is refused at admission; several together are seen here.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.removal_budget import BUDGET_REASONS, RemovalBudget
from planner.model.plan import Reason
from planner.policies.pace.windows import CHANGES_LOOKED_AT, changes, is_open

NEVER_OPEN: Final = "NeverOpen"
"""Reason of the condition on a pool whose budgets let no machine go for something that it asks for."""
_A_WEEK: Final = timedelta(days=8)
"""Windows are the same in each week; a change of clocks moves them by an hour or two."""


def never_open(pool: NodePool, now: datetime) -> Reason | None:
    """Return for what the pool's budgets never let a machine go although it asks for it, None if there is nothing."""
    budgets = pool.spec.scale_down.budgets or ()
    closed = [reason for reason in BUDGET_REASONS if _never_lets_go([b for b in budgets if b.covers(reason)], now)]
    if len(closed) == len(BUDGET_REASONS):
        return Reason(
            NEVER_OPEN,
            "scaleDown.budgets let no machine go at any time: say scaleDown.mode: none for that, or pause the pool",
        )
    fields = [field for reason, field in _asked_for(pool) if reason in closed]
    if not fields:
        return None
    verb = "has" if len(fields) == 1 else "have"
    never = "scaleDown.budgets let no machine go for that at any time; drop either"
    return Reason(NEVER_OPEN, f"{' and '.join(fields)} {verb} no effect: {never}")


def _asked_for(pool: NodePool) -> Iterator[tuple[str, str]]:
    """Yield the reasons for which the pool wants machines to go that need not, each with the field that says so."""
    if pool.consolidates:
        yield "Consolidation", "scaleDown.consolidate"
    if pool.spec.rotation is not None:
        yield "Rotation", "rotation"
    repair = pool.spec.scale_down.repair
    if repair is not None and repair.conditions:
        yield "Repair", "scaleDown.repair.conditions"


def _never_lets_go(covering: Sequence[RemovalBudget], now: datetime) -> bool:
    """Return whether one of the budgets is closed at each time; False also where nobody can tell."""
    closing = [budget for budget in covering if not budget.allowed(1)]
    moments = 0
    for moment in chain((now,), changes(closing, now)):
        if moment > now + _A_WEEK:
            return True
        if not any(is_open(budget, moment) for budget in closing):
            return False
        moments += 1
    return moments <= CHANGES_LOOKED_AT
