"""Renewals: the machines that triggers let go, each after there is another place for all that it has.

Asked in the order of triggers, a few a round, all at once first: then what is bought is bought for them together. One
that has a pod without another place is left out, with the reason, and the rest is asked again. Worn-out machines give
no room to each other's pods, which would have to move once more. In rounds with waiting pods it is the same, with the
room and the machines that these are given taken: else a pod that no machine can take would stop every renewal.
Source: docs/consolidation.md.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from planner.displacement.displace import Displacer
from planner.displacement.displaced import Displacement, Misfit
from planner.model.plan import BlockedMachine, DueMachines, PlannedRequest
from planner.packing.assign import Assignment
from planner.packing.problem import Packer
from planner.placement.known_state import KnownState
from planner.policies.checks import Budget, kept_by_minimum
from planner.policies.departures import gone_already
from planner.policies.port import Advice, Candidate, Policy, PolicyView, Proposal
from planner.policies.safety.blocked import BlockedBy

MOST_ASKED: Final = 10
"""Machines whose pods are given another place in one round, and machines that turn out to have none."""
_NO_OTHER_PLACE: Final = BlockedBy.MISFIT.value
_KEPT_BY_MINIMUM: Final = BlockedBy.MINIMUM.value
_MOST_REPLACED_BY: Final = 10
"""Machines that a removal may wait for: one that needs more is left out."""

Entry = tuple[Candidate, Proposal]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """What triggers propose: as it is, or only if there is another place."""

    plain: list[Proposal] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    leaving: set[str] = field(default_factory=set)
    """Machines that go as they are, and those that went before."""


@dataclass(frozen=True, slots=True)
class Renewing:
    """Proposes what triggers propose, with the places of pods and what is bought first."""

    known: KnownState
    assignment: Assignment
    """Where the round puts the pods that wait."""
    requests: Sequence[PlannedRequest]
    """What the round buys."""
    packer: Packer
    triggers: Sequence[Policy]

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines that go now or later, what is bought for them, and which have no way out."""
        proposals, hashes, due = _asked_of(self.triggers, view)
        ordered = _sorted(proposals, view)
        settled = self._settled(ordered, view) if ordered.entries else Advice()
        return Advice(
            proposals=(*ordered.plain, *settled.proposals),
            requests=settled.requests,
            blocked=settled.blocked,
            template_hashes=hashes,
            due=due,
        )

    def _settled(self, ordered: _Sorted, view: PolicyView) -> Advice:
        worn = {candidate.machine.name for candidate, proposal in ordered.entries if proposal.renews}
        closed = worn | ordered.leaving
        entries = _in_turn(ordered.entries, view.now)
        blocked: dict[str, BlockedMachine] = {}
        while len(blocked) < MOST_ASKED and (asked := _next(entries, blocked, view)):
            names = [candidate.machine.name for candidate, _ in asked]
            displacer = Displacer(self.known, names, self.assignment, self.requests, closed - set(names))
            answer = displacer.displace(names, self.packer)
            refused = _refused(asked, answer, view, ordered.leaving)
            if refused is None and isinstance(answer, Displacement):
                return replace(_begun(asked, answer, len(self.requests)), blocked=tuple(blocked.values()))
            for each in refused or ():
                blocked[each.node] = each
        return Advice(blocked=tuple(blocked.values()))


def _asked_of(
    triggers: Sequence[Policy], view: PolicyView
) -> tuple[list[Proposal], dict[str, str], dict[str, tuple[DueMachines, ...]]]:
    """Return the proposals of all triggers in their order, the hashes to write, and the reports by pool."""
    proposals: list[Proposal] = []
    hashes: dict[str, str] = {}
    due: dict[str, tuple[DueMachines, ...]] = {}
    for trigger in triggers:
        advice = trigger.propose(view)
        proposals += advice.proposals
        hashes |= advice.template_hashes
        due |= {name: (*due.get(name, ()), *reports) for name, reports in advice.due.items()}
    return proposals, hashes, due


def _sorted(proposals: Sequence[Proposal], view: PolicyView) -> _Sorted:
    """Return the proposals as they are, and those that need a place first: for pods, a minimum, or in others' stead."""
    candidates = {candidate.machine.name: candidate for candidate in view.candidates}
    gone = gone_already(view)
    budget = Budget(machine for machine in view.machines if machine.name not in gone)
    made = _Sorted(leaving=set(gone))
    named: set[str] = set()
    for proposal in proposals:
        candidate = candidates.get(proposal.machine)
        is_refused = proposal.machine in view.refusals
        if candidate is None or proposal.at > view.now or is_refused or _is_blocked(proposal, candidate, view):
            # Of what is refused the round tells why.
            made.plain.append(proposal)
        elif proposal.machine in named:
            continue
        elif proposal.evicts or proposal.quota is not None or (proposal.renews and budget.refuses(candidate)):
            named.add(proposal.machine)
            made.entries.append((candidate, proposal))
        else:
            named.add(proposal.machine)
            budget.spend(candidate)
            made.plain.append(proposal)
            made.leaving.add(proposal.machine)
    return made


def _is_blocked(proposal: Proposal, candidate: Candidate, view: PolicyView) -> bool:
    """Return whether pods may not be asked to leave now: a place that they are given would be for nothing."""
    is_kept = proposal.evicts and view.blocker(candidate) is not None
    return is_kept or (proposal.evicts and view.allowance(candidate.machine.pool, proposal.reason) == 0)


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


def _next(entries: Sequence[Entry], blocked: Mapping[str, BlockedMachine], view: PolicyView) -> list[Entry]:
    """Return the first that may go together, no more than their quotas and their pools' pace allow."""
    chosen: list[Entry] = []
    taken: Counter[str] = Counter()
    paced: Counter[tuple[str, str]] = Counter()
    for candidate, proposal in entries:
        quota, pace = proposal.quota, (candidate.machine.pool, proposal.reason)
        if _node_name(candidate) in blocked or (quota is not None and taken[quota.name] >= quota.most):
            continue
        allowed = view.allowance(*pace)
        if allowed is not None and paced[pace] >= allowed:
            continue
        paced[pace] += 1
        if quota is not None:
            taken[quota.name] += 1
        chosen.append((candidate, proposal))
        if len(chosen) + len(blocked) >= MOST_ASKED:
            break
    return chosen


def _refused(
    asked: Sequence[Entry], answer: Displacement | Misfit, view: PolicyView, gone: set[str]
) -> list[BlockedMachine] | None:
    """Return the machines that cannot go, None if all can."""
    if isinstance(answer, Misfit):
        entry = next((each for each in asked if each[0].machine.name == answer.machine), asked[-1])
        reason = answer.reasons[0]
        pod = f"{answer.pod} has no other place: " if answer.pod else ""
        return [_blocked(entry, _NO_OTHER_PLACE, f"{pod}{reason.message}")]
    requests = answer.requests()
    too_many = [each for each in asked if len(_replacement(each[0], answer, requests)) > _MOST_REPLACED_BY]
    if too_many:
        why = f"its pods would need more than {_MOST_REPLACED_BY} new machines"
        return [_blocked(entry, _NO_OTHER_PLACE, why) for entry in too_many]
    short = _below_minimum(asked, requests, view, gone)
    if short is None:
        return None
    candidate, _ = short
    minimum = kept_by_minimum(candidate.pool, candidate.machine.server_type)
    return [_blocked(short, _KEPT_BY_MINIMUM, f"{minimum}, and no other one is Ready or can be bought first")]


def _below_minimum(
    asked: Sequence[Entry], requests: Sequence[PlannedRequest], view: PolicyView, gone: set[str]
) -> Entry | None:
    """Return the last machine that would leave its pool, or a type in it, below a minimum; None if none does."""
    budget = Budget(machine for machine in view.machines if machine.name not in gone)
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


def _begun(asked: Sequence[Entry], answer: Displacement, first: int) -> Advice:
    """Return the proposals with their ways out; `first` is the ordinal of what is bought first for them."""
    requests, moves = answer.requests(), answer.moves_by_machine()
    proposals = [
        replace(
            proposal,
            # What is displaced keeps every minimum, if need be by what is bought.
            below_minimum=True,
            replacement=tuple(first + ordinal for ordinal in _replacement(candidate, answer, requests)),
            moves=tuple(moves.get(candidate.machine.name, ())),
        )
        for candidate, proposal in asked
    ]
    numbered = tuple(replace(request, ordinal=first + request.ordinal) for request in requests)
    return Advice(proposals=tuple(proposals), requests=numbered)


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


def _blocked(entry: Entry, reason: str, why: str) -> BlockedMachine:
    candidate, proposal = entry
    node = candidate.machine.node
    return BlockedMachine(
        pool=candidate.machine.pool,
        node=_node_name(candidate),
        uid="" if node is None else node.uid,
        trigger=proposal.reason,
        reason=reason,
        why=why,
    )


def _node_name(candidate: Candidate) -> str:
    node = candidate.machine.node
    return candidate.machine.name if node is None else node.name
