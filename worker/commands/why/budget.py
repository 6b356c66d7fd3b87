"""What the budgets of a pool let go for a reason, and when they next let one go."""

from collections.abc import Iterator

from planner.model.plan import BudgetState
from planner.policies.pace.budgets import budget_reason
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.times import until


def budget_state(pool: str, reason: str, view: ClusterView) -> BudgetState | None:
    """Return how many machines of the pool may go for the reason of a removal, None if its pool reports nothing."""
    states = next((report.budget for report in view.plan.pools if report.name == pool), ())
    return next((state for state in states if state.reason == budget_reason(reason)), None)


def when_it_opens(state: BudgetState | None, view: ClusterView) -> Iterator[str]:
    """Yield when the budget next lets a machine go, where it lets none go now and that is known."""
    if state is not None and state.opens_at is not None:
        yield f"The budget opens at {until(state.opens_at, view.snapshot.now)}."
