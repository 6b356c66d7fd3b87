"""The gate of a round: whether proposals go, and what keeps those that would evict pods.

Asked in this order: safety checks, locks after purchases, minimums, and last the pace. A step goes whole or not at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from planner.model.plan import BlockedMachine
from planner.policies.checks import Budget
from planner.policies.pace.pace import DisruptionPace, Step
from planner.policies.port import Candidate, Proposal
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.safety.closed_lock import NO_LOCKS, ClosedLocks
from planner.policies.safety.evictions import EvictionSafety


class Gate:
    """Lets steps go, and notes what keeps those that would evict pods.

    Args:
        refused: what keeps candidates from any removal, by the machine's name.
        safety: what keeps candidates from being emptied.
        minimums: one for all policies, as two of them together must not take what each alone might.
        pace: who may go now.
        locks: those of pools, of which no machine begins to go by itself.
    """

    def __init__(
        self,
        refused: Mapping[str, Blocked],
        safety: EvictionSafety,
        minimums: Budget,
        pace: DisruptionPace,
        locks: ClosedLocks = NO_LOCKS,
    ) -> None:
        self._refused = refused
        self._safety = safety
        self._minimums = minimums
        self._pace = pace
        self._locks = locks
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
        if not self._is_safe(step) or not self._is_unlocked(step) or not self._takes_from_minimums(step):
            return False
        if self._pace.lets_go(step):
            return True
        self._minimums.refund(candidate for candidate, _ in step)
        return False

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
        """Remember what keeps a machine that would be emptied."""
        node = candidate.machine.node
        if not proposal.evicts or node is None:
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
