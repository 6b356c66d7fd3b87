"""Safety of removals that evict: what keeps a machine from being emptied, asked in one order and answered once a round.

Machines are judged when somebody asks, as most rounds would empty few of them.
"""

from collections.abc import Callable, Mapping, Sequence

from planner.model.plan import Snapshot
from planner.policies.port import Candidate, EvictionCheck
from planner.policies.safety.annotations import DrainedPool, WordOnNode
from planner.policies.safety.blocked import Blocked
from planner.policies.safety.disruption_budgets import BudgetIndex, ExhaustedBudgets
from planner.policies.safety.pods import StayingPods, SystemPods
from planner.supply.machines import Machine

Misfits = Callable[[Sequence[Machine]], str]
"""Returns why the pods of machines that go together fit nowhere else, as the rest of a sentence; empty if they do."""


def eviction_checks(snapshot: Snapshot, machines: Mapping[str, Machine]) -> tuple[EvictionCheck, ...]:
    """Return the checks by the machine's own pods and words, in the order in which they are asked."""
    budgets = BudgetIndex(snapshot.disruption_budgets or ())
    return (
        DrainedPool(),
        WordOnNode(),
        StayingPods(snapshot.now),
        SystemPods(machines.values(), budgets),
        ExhaustedBudgets(budgets, are_read=snapshot.disruption_budgets is not None),
    )


class EvictionSafety:
    """What keeps candidates from being emptied.

    Args:
        refused: what keeps candidates from any removal, by the machine's name.
        checks: returns the further ones of removals that evict; asked once, and only if there is such a removal.
    """

    def __init__(self, refused: Mapping[str, Blocked], checks: Callable[[], Sequence[EvictionCheck]]) -> None:
        self._refused = refused
        self._make_checks = checks
        self._checks: Sequence[EvictionCheck] | None = None
        self._known: dict[str, Blocked | None] = {}

    def blocker(self, candidate: Candidate) -> Blocked | None:
        """Return the first thing that keeps the machine, None if its pods may be asked to leave."""
        name = candidate.machine.name
        if self._checks is None:
            self._checks = self._make_checks()
        if name not in self._known:
            self._known[name] = self._refused.get(name) or next(
                (blocked for check in self._checks if (blocked := check.blocks(candidate)) is not None), None
            )
        return self._known[name]
