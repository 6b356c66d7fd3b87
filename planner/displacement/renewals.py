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

from api.v1alpha1.node_removal_request import REPLACED_BY_AT_MOST
from planner.displacement.displace import Displacer
from planner.displacement.displaced import Displacement, Misfit
from planner.model.plan import BlockedMachine, PlannedRequest
from planner.packing.problem import Packer
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.policies.checks import Budget, kept_by_minimum
from planner.policies.departures import due_machines, gone_already, merged
from planner.policies.port import Advice, Candidate, Policy, PolicyView, Proposal
from planner.policies.safety.blocked import BlockedBy
from planner.supply.machine_kind import PoolKinds

MOST_ASKED: Final = 10
"""Machines whose pods are given another place in one round, and machines that turn out to have none."""

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
    decided: Decided
    """Where the round puts the pods that wait, and what it buys."""
    packer: Packer
    triggers: Sequence[Policy]
    buys: bool = True
    """Whether other places may be bought; else pods go only to room that is there."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines that go now or later, what is bought for them, and which have no way out."""
        all_advice = [trigger.propose(view) for trigger in self.triggers]
        advice = Advice(
            template_hashes=merged(each.template_hashes for each in all_advice),
            underused_since=merged(each.underused_since for each in all_advice),
            due=due_machines(all_advice),
            blocked=tuple(machine for each in all_advice for machine in each.blocked),
            wake_at=min((each.wake_at for each in all_advice if each.wake_at is not None), default=None),
        )
        proposals = [proposal for each in all_advice for proposal in each.proposals]
        if not proposals:
            return advice
        worn = {one.machine: one.reason for one in proposals if one.renews and one.at <= view.now}
        ordered = _sorted(proposals, view)
        # The room that pods of an earlier policy move to is not known here: what can wait does.
        waits = view.is_moving and not self.buys
        settled = self._settled(ordered, view) if ordered.entries and not waits else Advice()
        return replace(
            advice,
            proposals=(*ordered.plain, *settled.proposals),
            requests=settled.requests,
            blocked=(*advice.blocked, *settled.blocked),
            worn=worn,
        )

    def _settled(self, ordered: _Sorted, view: PolicyView) -> Advice:
        worn = {candidate.machine.name for candidate, proposal in ordered.entries if proposal.renews}
        closed = worn | ordered.leaving
        entries = _in_turn(ordered.entries, view.now)
        blocked: dict[str, BlockedMachine] = {}
        kinds = self.known.pool_kinds if self.buys else _unbuyable(self.known.pool_kinds)
        while len(blocked) < MOST_ASKED and (asked := _next(entries, blocked, view)):
            names = [candidate.machine.name for candidate, _ in asked]
            displacer = Displacer(self.known, names, self.decided, closed - set(names))
            answer = displacer.displace(names, self.packer, kinds, keeps_headroom=not self.buys)
            if isinstance(answer, Misfit):
                refused = [_without_place(asked, answer)]
            else:
                requests = answer.requests(first=len(self.decided.requests))
                refused = _refused(asked, answer, requests, view, ordered.leaving)
                if not refused:
                    return replace(_begun(asked, answer, requests), blocked=tuple(blocked.values()))
            blocked |= {each.node: each for each in refused}
        return Advice(blocked=tuple(blocked.values()))


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
        elif (
            proposal.evicts
            or (proposal.quota is not None and _moves_pods(proposal, candidate))
            or (proposal.renews and _is_kept(candidate, view, budget))
        ):
            named.add(proposal.machine)
            made.entries.append((candidate, proposal))
        else:
            named.add(proposal.machine)
            budget.spend(candidate)
            made.plain.append(proposal)
            made.leaving.add(proposal.machine)
    return made


def _moves_pods(proposal: Proposal, candidate: Candidate) -> bool:
    """Return whether pods on the machine need other places: in mode `wait` they end where they are."""
    return not proposal.shrinks and candidate.pool.spec.scale_down.mode != "wait"


def _is_kept(candidate: Candidate, view: PolicyView, budget: Budget) -> bool:
    """Return whether a minimum or headroom needs the machine: another one is bought first, where it can be had."""
    return candidate.machine.name in view.held or budget.refuses(candidate) is not None


def _is_blocked(proposal: Proposal, candidate: Candidate, view: PolicyView) -> bool:
    """Return whether pods may not be asked to leave now: a place that they are given would be for nothing."""
    is_kept = proposal.evicts and view.blocker(candidate) is not None
    is_kept = is_kept or (proposal.shrinks and view.spares(candidate) is not None)
    return is_kept or (proposal.evicts and view.allowance(candidate.machine.pool, proposal.reason) == 0)


def _unbuyable(pool_kinds: Mapping[str, PoolKinds]) -> dict[str, PoolKinds]:
    """Return the pools without anything that may be bought of them."""
    return {name: replace(kinds_of_pool, kinds=()) for name, kinds_of_pool in pool_kinds.items()}


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
        if candidate.machine.name in blocked or (quota is not None and taken[quota.name] >= quota.most):
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


def _without_place(asked: Sequence[Entry], misfit: Misfit) -> BlockedMachine:
    """Return the machine of which a pod has no other place."""
    entry = next((each for each in asked if each[0].machine.name == misfit.machine), asked[-1])
    pod = f"{misfit.pod} has no other place: " if misfit.pod else ""
    return _blocked(entry, BlockedBy.MISFIT, f"{pod}{misfit.reasons[0].message}")


def _refused(
    asked: Sequence[Entry], answer: Displacement, requests: Sequence[PlannedRequest], view: PolicyView, gone: set[str]
) -> list[BlockedMachine]:
    """Return the machines that cannot go, none if all can."""
    too_many = [each for each in asked if len(_replacement(each[0], answer, requests)) > REPLACED_BY_AT_MOST]
    if too_many:
        why = f"its pods would need more than {REPLACED_BY_AT_MOST} new machines"
        return [_blocked(entry, BlockedBy.MISFIT, why) for entry in too_many]
    short = _below_minimum(asked, requests, view, gone)
    if short is None:
        return []
    candidate, _ = short
    minimum = kept_by_minimum(candidate.pool, candidate.machine.server_type)
    return [_blocked(short, BlockedBy.MINIMUM, f"{minimum}, and no other one is Ready or can be bought first")]


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


def _begun(asked: Sequence[Entry], answer: Displacement, requests: tuple[PlannedRequest, ...]) -> Advice:
    """Return the proposals with their ways out, and what is bought first for them."""
    moves = answer.moves_by_machine()
    proposals = tuple(
        replace(
            proposal,
            # What is displaced keeps every minimum, if need be by what is bought.
            below_minimum=True,
            replacement=tuple(_replacement(candidate, answer, requests)),
            moves=tuple(moves.get(candidate.machine.name, ())),
        )
        for candidate, proposal in asked
    )
    return Advice(proposals, requests=requests)


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


def _blocked(entry: Entry, by: BlockedBy, why: str) -> BlockedMachine:
    candidate, proposal = entry
    return candidate.blocked(proposal.reason, by.value, why)
