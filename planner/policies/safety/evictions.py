"""Safety of removals that evict: what keeps a machine from being emptied, asked in one order and answered once a round.

Machines are judged when somebody asks, as most rounds would empty few of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from planner.model.plan import Snapshot
from planner.policies.port import Candidate, EvictionCheck
from planner.policies.safety.annotations import DrainedPool, WordOnNode
from planner.policies.safety.blocked import Blocked
from planner.policies.safety.disruption_budgets import BudgetIndex, ExhaustedBudgets
from planner.policies.safety.failed_moves import MovesFail, failed_moves
from planner.policies.safety.pauses import Paused
from planner.policies.safety.pods import StayingPods, SystemPods
from planner.policies.safety.purchases import PurchaseInFlight
from planner.supply.machines import Machine


def eviction_checks(
    snapshot: Snapshot, machines: Mapping[str, Machine], buying: Collection[str] = ()
) -> tuple[EvictionCheck, ...]:
    """Return the checks by the machine's own pods and words, in the order in which they are asked."""
    budgets = BudgetIndex(snapshot.disruption_budgets or ())
    return (
        DrainedPool(),
        WordOnNode(),
        StayingPods(snapshot.now),
        SystemPods(machines.values(), budgets),
        ExhaustedBudgets(budgets, are_read=snapshot.disruption_budgets is not None),
        Paused(snapshot.now),
        MovesFail(failed_moves(machines.values(), snapshot.now)),
        PurchaseInFlight(machines, buying, snapshot.now),
    )


@dataclass
class EvictionSafety:
    """What keeps candidates from being emptied."""

    refused: Mapping[str, Blocked]
    """What keeps candidates from any removal, by the machine's name."""
    make_checks: Callable[[], Sequence[EvictionCheck]]
    """Returns the further ones of removals that evict; asked once, and only if there is such a removal."""
    _known: dict[str, Blocked | None] = field(default_factory=dict)

    def blocker(self, candidate: Candidate) -> Blocked | None:
        """Return the first thing that keeps the machine, None if its pods may be asked to leave."""
        name = candidate.machine.name
        if name not in self._known:
            self._known[name] = self.refused.get(name) or next(
                (blocked for check in self._checks if (blocked := check.blocks(candidate)) is not None), None
            )
        return self._known[name]

    @cached_property
    def _checks(self) -> Sequence[EvictionCheck]:
        return self.make_checks()
