"""The gate of a round: whether proposals go, and what keeps those that would evict pods.

Asked in this order: safety checks, locks after purchases, what must remain, minimums, and last the pace. A step goes
whole or not at all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from planner.model.plan import BlockedMachine
from planner.policies.checks import Budget
from planner.policies.pace.pace import DisruptionPace, Step
from planner.policies.port import Candidate, MachineAction, Proposal
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.safety.closed_lock import NO_LOCKS, ClosedLocks
from planner.policies.safety.evictions import EvictionSafety
from planner.policies.safety.remaining import SparedMachines


class Gate:
    """Lets steps go, and notes what keeps those that would evict pods, or that go as too little is used.

    Args:
        refused: what keeps candidates from any removal, by the machine's name.
        safety: what keeps candidates from being emptied.
        minimums: one for all policies, as two of them together must not take what each alone might.
        pace: who may go now.
        locks: those of pools, of which no machine begins to go by itself.
        remaining: what keeps machines that would go as too little is used, beside those; None where none would.
    """

    def __init__(
        self,
        refused: Mapping[str, Blocked],
        safety: EvictionSafety,
        minimums: Budget,
        pace: DisruptionPace,
        *,
        locks: ClosedLocks = NO_LOCKS,
        remaining: SparedMachines | None = None,
    ) -> None:
        self._refused = refused
        self._safety = safety
        self._minimums = minimums
        self._pace = pace
        self._locks = locks
        self._remaining = remaining
        self._granted: Counter[str] = Counter()
        self._blocked: dict[str, BlockedMachine] = {}
        self._ends: list[datetime] = []

    @property
    def pace(self) -> DisruptionPace:
        """Who may go now: the same for all that is asked in this round."""
        return self._pace

    @property
    def blocked(self) -> tuple[BlockedMachine, ...]:
        """The machines that are kept, each once, by name."""
        all_blocked = {each.node: each for each in self._pace.blocked} | self._blocked
        return tuple(all_blocked[name] for name in sorted(all_blocked))

    @property
    def wake_at(self) -> datetime | None:
        """When what keeps machines is over by itself, or may be."""
        ends = [*self._ends, *([] if self._pace.wake_at is None else [self._pace.wake_at])]
        return min(ends, default=None)

    def lets_go(self, step: Step) -> bool:
        """Return whether the machines of the step go, and count them if so."""
        if self._used_up(step):
            return False
        may_go = self._is_safe(step) and self._is_unlocked(step) and self._leaves_room(step)
        if not may_go or not self._takes_from_minimums(step):
            return False
        if self._is_within_quotas(step) and self._pace.lets_go(step):
            self._granted.update(proposal.quota.name for _, proposal in step if proposal.quota is not None)
            for candidate, proposal in step:
                if self._remaining is not None and proposal.action is MachineAction.REMOVE:
                    self._remaining.spend(candidate.machine)
            return True
        self._minimums.refund(candidate for candidate, _ in step)
        return False

    def _used_up(self, step: Step) -> bool:
        """Return whether others have had what a quota lets go: nothing needs to be said of these machines then."""
        return any(p.quota is not None and 0 < p.quota.most <= self._granted[p.quota.name] for _, p in step)

    def _is_within_quotas(self, step: Step) -> bool:
        asked = Counter(p.quota for _, p in step if p.quota is not None)
        return all(self._granted[quota.name] + number <= quota.most for quota, number in asked.items())

    def _leaves_room(self, step: Step) -> bool:
        """Return whether what goes as too little is used leaves the others with no more than they may carry."""
        for candidate, proposal in step:
            keeper = self._remaining.blocks(candidate) if self._remaining is not None and proposal.shrinks else None
            if keeper is not None:
                self._note(candidate, proposal, keeper)
                return False
        return True

    def _is_safe(self, step: Step) -> bool:
        """Return whether safety checks let all of the step go."""
        refused = [(c, p, keeper) for c, p in step if (keeper := self._keeper(c, p)) is not None]
        for candidate, proposal, keeper in refused:
            self._note(candidate, proposal, keeper)
        return not refused

    def _is_unlocked(self, step: Step) -> bool:
        """Return whether no lock keeps any of the step: the idle time of a machine runs on behind it."""
        locked = [(c, p, keeper) for c, p in step if (keeper := self._locks.keeps(c, p)) is not None]
        for candidate, proposal, keeper in locked:
            self._note(candidate, proposal, keeper)
        return not locked

    def _note(self, candidate: Candidate, proposal: Proposal, keeper: Blocked) -> None:
        """Remember what keeps a machine that would be emptied, or that would be closed as too little is used."""
        node = candidate.machine.node
        if not (proposal.evicts or proposal.shrinks) or node is None:
            return
        if keeper.until is not None:
            self._ends.append(keeper.until)
        self._blocked.setdefault(node.name, candidate.blocked(proposal.reason, keeper.by.value, keeper.why))

    def _keeper(self, candidate: Candidate, proposal: Proposal) -> Blocked | None:
        return self._safety.blocker(candidate) if proposal.evicts else self._refused.get(candidate.machine.name)

    def _takes_from_minimums(self, step: Step) -> bool:
        spent: list[Candidate] = []
        for candidate, proposal in step:
            minimum = None if proposal.below_minimum else self._minimums.refuses(candidate)
            if minimum is not None:
                self._note(candidate, proposal, Blocked(BlockedBy.MINIMUM, minimum))
                self._minimums.refund(spent)
                return False
            self._minimums.spend(candidate)
            spent.append(candidate)
        return True


def steps_of(proposals: Iterable[Proposal]) -> Iterable[Sequence[Proposal]]:
    """Return the proposals that go together, each step where its first one stands."""
    steps: dict[tuple[str, str], list[Proposal]] = {}
    for proposal in proposals:
        steps.setdefault((proposal.step, "" if proposal.step else proposal.machine), []).append(proposal)
    return steps.values()
