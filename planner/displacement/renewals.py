"""Renewals: the machines that triggers let go with their pods, each after there is another place for all that it has.

Asked in the order of triggers, a few a round, all at once first: then what is bought is bought for them together. One
that has a pod without another place is left out, with the reason, and the rest is asked again. Worn-out machines give
no room to each other's pods, which would have to move once more. In rounds with waiting pods it is the same, with the
room and the machines that these are given taken: else a pod that no machine can take would stop every renewal.
Source: docs/consolidation.md.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from planner.displacement.displace import Displacer
from planner.displacement.displaced import Displacement, Misfit
from planner.model.plan import PlannedRequest
from planner.model.stages import Stages
from planner.packing.problem import Packer
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.policies.checks import Budget, kept_by_minimum
from planner.policies.departures import Renewed
from planner.policies.gate import Gate
from planner.policies.port import Candidate, Proposal
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.supply.machines import Machine

MOST_ASKED: Final = 10
"""Machines whose pods are given another place in one round, and machines that are found to have none."""
_MOST_REPLACED_BY: Final = 10
"""Machines that a removal may wait for: one that needs more is left out."""

Entry = tuple[Candidate, Proposal]


@dataclass(frozen=True, slots=True)
class Renewals:
    """Finds another place for the pods of machines that triggers let go."""

    known: KnownState
    decided: Decided
    """Where the round puts the pods that wait, and what it buys: both are taken."""
    packer: Packer
    stages: Stages

    def __call__(self, entries: Sequence[Entry], gate: Gate, gone: Collection[str]) -> Renewed:
        """Return the machines that go, within the gate's pace, and what is bought first; the gate notes the others.

        Args:
            entries: in the order of triggers.
            gate: of the round.
            gone: machines that go already, by name: those whose pods need not move.
        """
        if not entries:
            return Renewed()
        known, bought = self.known, self.decided.requests
        closed = {candidate.machine.name for candidate, proposal in entries if proposal.renews} | set(gone)
        usable = replace(known, supply=tuple(place for place in known.supply if place.machine.name not in closed))
        ordered = _in_turn(entries, known.snapshot.now)
        blocked: set[str] = set()
        while len(blocked) < MOST_ASKED and (asked := _next(ordered, blocked, gate)):
            names = [candidate.machine.name for candidate, _ in asked]
            displacer = Displacer(usable, names, self.decided.assignment, bought)
            answer = displacer.displace(names, self.packer, self.stages)
            entry, keeper = _refused(asked, answer, [m for name, m in known.machines.items() if name not in gone])
            if keeper is None and isinstance(answer, Displacement):
                return _begun(asked, answer, len(bought))
            gate.pace.refund(asked)
            if keeper is not None:
                blocked.add(entry[0].machine.name)
                gate.note(*entry, keeper)
        return Renewed()


def _in_turn(entries: Sequence[Entry], now: datetime) -> list[Entry]:
    """Return the entries in the order in which they are asked.

    Those that are blocked for long would otherwise be asked alone for ever: half of a round's are the first in the
    order of triggers, then come others by the minute.
    """
    first, others = list(entries[: MOST_ASKED // 2]), list(entries[MOST_ASKED // 2 :])
    if len(entries) <= MOST_ASKED:
        return list(entries)
    turn = int(now.timestamp() // 60) * (MOST_ASKED // 2) % len(others)
    return [*first, *others[turn:], *others[:turn]]


def _next(entries: Sequence[Entry], blocked: Collection[str], gate: Gate) -> list[Entry]:
    """Return the first that may go together, no more than quotas and pace allow; the pace counts them."""
    chosen: list[Entry] = []
    taken: Counter[str] = Counter()
    for candidate, proposal in entries:
        quota = proposal.quota
        if candidate.machine.name in blocked or (quota is not None and taken[quota.name] >= quota.most):
            continue
        if not gate.pace.lets_go([(candidate, proposal)]):
            continue
        if quota is not None:
            taken[quota.name] += 1
        chosen.append((candidate, proposal))
        if len(chosen) + len(blocked) >= MOST_ASKED:
            break
    return chosen


def _refused(
    asked: Sequence[Entry], answer: Displacement | Misfit, staying: Sequence[Machine]
) -> tuple[Entry, Blocked | None]:
    """Return a machine that cannot go and what keeps it, None if all can."""
    if isinstance(answer, Misfit):
        entry = next((each for each in asked if each[0].machine.name == answer.machine), asked[-1])
        pod = f"{answer.pod} has no other place: " if answer.pod else ""
        return entry, Blocked(BlockedBy.MISFIT, f"{pod}{answer.reasons[0].message}")
    requests = answer.requests()
    for entry in asked:
        if len(_replacement(entry[0], answer, requests)) > _MOST_REPLACED_BY:
            return entry, Blocked(BlockedBy.MISFIT, f"its pods would need more than {_MOST_REPLACED_BY} new machines")
    short = _below_minimum(asked, requests, staying)
    if short is None:
        return asked[0], None
    why = kept_by_minimum(short[0].pool, short[0].machine.server_type)
    return short, Blocked(BlockedBy.MINIMUM, f"{why}, and no other one is Ready or can be bought first")


def _below_minimum(
    asked: Sequence[Entry], requests: Sequence[PlannedRequest], staying: Sequence[Machine]
) -> Entry | None:
    """Return the last machine that would leave its pool, or a type in it, below a minimum; None if none does."""
    budget = Budget(staying)
    of_pool = Counter(request.pool for request in requests)
    of_type = Counter((request.pool, request.server_type.lower()) for request in requests)
    for candidate, proposal in asked:
        lacks_pool, lacks_type = budget.lacks(candidate)
        budget.spend(candidate)
        pool, kind = candidate.machine.pool, candidate.machine.server_type
        of_pool[pool] -= lacks_pool
        of_type[pool, kind] -= lacks_type
        if (lacks_pool and of_pool[pool] < 0) or (lacks_type and of_type[pool, kind] < 0):
            return candidate, proposal
    return None


def _begun(asked: Sequence[Entry], answer: Displacement, first: int) -> Renewed:
    requests = answer.requests()
    step = tuple(
        (
            candidate,
            replace(
                proposal,
                replacement=tuple(first + ordinal for ordinal in _replacement(candidate, answer, requests)),
                moves=tuple(answer.moves_of(candidate.machine.name)),
            ),
        )
        for candidate, proposal in asked
    )
    return Renewed(step, tuple(replace(request, ordinal=first + request.ordinal) for request in requests))


def _replacement(candidate: Candidate, answer: Displacement, requests: Sequence[PlannedRequest]) -> list[int]:
    """Return the ordinals of the requests that have a seat for a pod of the machine, and those for a minimum of a pool.

    The last are for whichever machine of the pool goes: none goes before they are Ready.
    """
    machine, pool = candidate.machine.name, candidate.machine.pool
    uids = {pod.uid for pod in answer.pods if pod.lands_on == machine}
    return [
        request.ordinal
        for request in requests
        if (not request.seats and request.pool == pool) or any(seat.uid in uids for seat in request.seats)
    ]
