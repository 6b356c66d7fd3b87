"""Pace: who may go now, of the machines that policies propose and that nothing else keeps.

A step goes whole or not at all. Asked last, after safety checks and minimums.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from api.meta import shown_time
from api.v1alpha1.removal_budget import RemovalBudget
from planner.lifecycle.removal import REMOVE_NOW
from planner.model.plan import BlockedMachine, BudgetState, Reason, Snapshot
from planner.policies.pace.budgets import Limit, PoolBudgets, budget_reason
from planner.policies.pace.cancelled import held_until
from planner.policies.pace.cool_downs import CoolDown, cool_down
from planner.policies.port import Candidate, MachineAction, Proposal
from planner.supply.machines import Machine

BUDGET: Final = "Budget"
CANCELLED_BY_PERSON: Final = "CancelledByPerson"
COOL_DOWN: Final = "CoolDown"
"""Reasons why a machine is held back."""
Step = Sequence[tuple[Candidate, Proposal]]
"""Machines that go together, each with the proposal about it."""


class DisruptionPace:
    """The pace of a round, one for all policies.

    Args:
        snapshot: of the round.
        machines: all there are.
        buying: names of pools for which this round buys.
    """

    def __init__(self, snapshot: Snapshot, machines: Iterable[Machine], buying: Collection[str] = ()) -> None:
        self._now = snapshot.now
        by_pool: defaultdict[str, list[Machine]] = defaultdict(list)
        for machine in machines:
            by_pool[machine.pool].append(machine)
        self._budgets = {
            pool.metadata.name: PoolBudgets(pool, by_pool[pool.metadata.name], snapshot.now)
            for pool in snapshot.pools
            if pool.metadata.deletion_timestamp is None
        }
        self._cool_downs = {
            name: pause
            for name, budgets in self._budgets.items()
            if (pause := cool_down(budgets.pool, snapshot, buying)) is not None
        }
        self._held: dict[str, BlockedMachine] = {}
        self._ends: list[datetime] = []
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)
        """Reasons for which machines are held back by budgets, by pool."""

    def lets_go(self, step: Step) -> bool:
        """Return whether all of the step may go now, and count them if so; if not, remember why not."""
        removals = [(candidate, proposal) for candidate, proposal in step if proposal.action is MachineAction.REMOVE]
        own = [(candidate, proposal) for candidate, proposal in removals if proposal.reason != REMOVE_NOW]
        if self._holds_cancelled(removals) or self._cools_down(own) or self._holds_by_budget(removals):
            return False
        for candidate, proposal in removals:
            self._budgets[candidate.machine.pool].spend(proposal.reason)
            self._held.pop(candidate.machine.name, None)
        return True

    def allowance(self, pool: str, reason: str) -> int | None:
        """Return how many machines of a pool may begin to go now for a reason; None has no bound.

        Where it is none, whoever asks waits for the next change of the budgets.
        """
        if pool in self._cool_downs:
            self._note_end(self._cool_downs[pool])
            return 0
        limit = self._budgets[pool].limit(reason, {}) if pool in self._budgets else None
        if limit is not None and limit.left <= 0:
            self._waiting[pool].add(reason)
        return None if limit is None else max(0, limit.left)

    def lets_some(self, pool: str, reason: str) -> bool:
        """Return whether machines of a pool go for this reason in these hours, be it one after the other."""
        limit = self._budgets[pool].limit(reason, {}) if pool in self._budgets else None
        return limit is None or limit.allowed > 0

    @property
    def blocked(self) -> tuple[BlockedMachine, ...]:
        """The machines that are held back, by name."""
        return tuple(self._held[name] for name in sorted(self._held))

    @property
    def states(self) -> Mapping[str, tuple[BudgetState, ...]]:
        """What holds for each reason, with what goes by now, by pool."""
        return {name: budgets.states() for name, budgets in self._budgets.items()}

    @property
    def faults(self) -> Mapping[str, Reason]:
        """What is wrong with the budgets of a pool, by pool."""
        faults = {name: budgets.fault() for name, budgets in self._budgets.items()}
        return {name: fault for name, fault in faults.items() if fault is not None}

    @property
    def wake_at(self) -> datetime | None:
        """When time alone lets one of them go, or may."""
        changes = (self._budgets[name].next_change(reasons) for name, reasons in self._waiting.items())
        return min((at for at in (*self._ends, *changes) if at is not None), default=None)

    def _holds_cancelled(self, step: Step) -> bool:
        ends = {
            candidate.machine.name: until
            for candidate, _ in step
            if candidate.machine.node is not None
            and (until := held_until(candidate.machine.node.annotations, self._now)) is not None
        }
        for name, until in ends.items():
            why = f"a person cancelled its removal, and until {shown_time(until)} none is begun by itself"
            self._hold(step, CANCELLED_BY_PERSON, why if len(step) == 1 else f"of {name}, which goes with it, {why}")
            self._ends.append(until)
        return bool(ends)

    def _cools_down(self, step: Step) -> bool:
        """Return whether a pool of the step waits after a purchase or a removal."""
        for candidate, _ in step:
            pause = self._cool_downs.get(candidate.machine.pool)
            if pause is not None:
                self._hold(step, COOL_DOWN, pause.why)
                self._note_end(pause)
                return True
        return False

    def _note_end(self, pause: CoolDown) -> None:
        if pause.until is not None:
            self._ends.append(pause.until)

    def _holds_by_budget(self, step: Step) -> bool:
        more: dict[str, dict[str, int]] = {}
        for candidate, proposal in step:
            pool, reason = candidate.machine.pool, budget_reason(proposal.reason)
            of_pool = more.setdefault(pool, {})
            limit = self._budgets[pool].limit(proposal.reason, of_pool)
            if limit is not None and limit.left <= 0:
                self._hold(step, BUDGET, _sentence(pool, reason, limit, sum(c.machine.pool == pool for c, _ in step)))
                self._waiting[pool].add(proposal.reason)
                return True
            of_pool[reason] = of_pool.get(reason, 0) + 1
        return False

    def _hold(self, step: Step, reason: str, why: str) -> None:
        for candidate, proposal in step:
            if candidate.machine.node is not None:
                self._held.setdefault(candidate.machine.name, candidate.blocked(proposal.reason, reason, why))


def _sentence(pool: str, reason: str, limit: Limit, size: int) -> str:
    """Return the rest of a sentence on the budget that holds a step with so many machines for this reason."""
    budget = f"the budget of pool {pool} for {reason}, {_shown(limit.budget)},"
    if not limit.allowed:
        return f"{budget} lets none go now"
    most = "1 machine" if limit.allowed == 1 else f"{limit.allowed} machines"
    if size > limit.allowed:
        return f"{budget} lets {most} go at once, and {size} are to go together or not at all"
    others = f", and {size} are to go together beside others" if size > 1 else ", and so many go already"
    return f"{budget} lets {most} go at once{others}"


def _shown(budget: RemovalBudget) -> str:
    """Return the budget in words, such as "2 on Mon, Tue from 09:00 to 17:00 Europe/Berlin"."""
    days = f" on {', '.join(budget.days)}" if budget.days else ""
    times = f" from {budget.start} to {budget.end}" if budget.start else ""
    zone = f" {budget.timezone or 'UTC'}" if days or times else ""
    return f"{budget.nodes}{days}{times}{zone}"
