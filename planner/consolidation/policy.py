"""Consolidation as a policy: the machines that go, with what is bought in their place and where their pods go.

It comes after the policies that free machines, in rounds that have no demand to meet and move no pods otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import ConsolidationStatus
from planner.consolidation.fleet import Fleet, fleet_of, settings_of
from planner.consolidation.looks import has_looked, has_open_demand, state_hash
from planner.consolidation.search import ChosenSteps, Search
from planner.consolidation.step import ConsolidationStep
from planner.consolidation.terms import CONSOLIDATED
from planner.displacement.displace import Displacer
from planner.model.plan import Move, PlannedRequest, Reason
from planner.model.saving import a_month
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packer
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.policies.departures import gone_already
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from planner.supply.machine_kind import PoolKinds

_OTHER_CURRENCY: Final = "OtherCurrency"


@dataclass(frozen=True, slots=True)
class Consolidating:
    """Proposes the machines whose going saves most for the pods that it moves."""

    known: KnownState
    decided: Decided
    packer: Packer

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines that go now, step by step, with what is bought; and marks of Nodes for later rounds."""
        if not any(settings_of(candidate) for candidate in view.candidates):
            return Advice()
        fleet = fleet_of(view)
        advice = Advice(pods_since=fleet.marks, blocked=fleet.blocked, wake_at=fleet.wake_at)
        if (
            not fleet.members
            or view.is_moving
            or has_open_demand(self.known, self.decided.assignment, self.decided.requests)
        ):
            return advice
        closed = fleet.idle | gone_already(view) | frozenset(view.worn)
        state = state_hash(self.known, fleet, closed, self.decided.headroom.on_nodes)
        if has_looked(self.known.snapshot, state):
            return replace(advice, consolidation=_statuses(view, ConsolidationStatus(rested_at=state)))
        choice = self._choice(fleet, closed)
        if not choice.steps:
            return replace(advice, consolidation=_statuses(view, ConsolidationStatus(rested_at=state)))
        displacement = choice.steps[0].displacement
        requests = displacement.requests(first=len(self.decided.requests))
        moves = displacement.moves_by_machine()
        proposals = [
            proposal
            for step in choice.steps
            for proposal in _proposals(step, requests, moves, why=sentence(step, fleet.currency), now=view.now)
        ]
        saving = sum((step.saving_per_hour for step in choice.steps), Decimal(0))
        status = ConsolidationStatus(saving_per_hour=saving, currency=fleet.currency)
        return replace(advice, proposals=tuple(proposals), requests=requests, consolidation=_statuses(view, status))

    def _choice(self, fleet: Fleet, closed: frozenset[str]) -> ChosenSteps:
        names = [member.machine.name for member in fleet.members]
        displacer = Displacer(self.known, names, self.decided, closed)
        search = Search(displacer, fleet, of_currency(self.known.pool_kinds, fleet.currency), pack)
        best = search.best()
        return search.again(best, self.packer) if best.steps else best


def of_currency(pool_kinds: Mapping[str, PoolKinds], currency: str) -> dict[str, PoolKinds]:
    """Return the kinds with an obstacle to those of other currencies: what they cost cannot be compared."""
    obstacle = Reason(_OTHER_CURRENCY, f"its price is not in {currency}")
    return {
        name: replace(
            kinds_of_pool,
            kinds=tuple(
                kind if kind.offering.currency == currency else replace(kind, obstacle=obstacle)
                for kind in kinds_of_pool.kinds
            ),
        )
        for name, kinds_of_pool in pool_kinds.items()
    }


def _proposals(
    step: ConsolidationStep,
    requests: Sequence[PlannedRequest],
    moves: Mapping[str, Sequence[Move]],
    *,
    why: str,
    now: datetime,
) -> list[Proposal]:
    displacement, names = step.displacement, sorted(step.names)
    uids = {pod.uid for member in step.members for pod in member.pods}
    is_whole = step.names == displacement.machines
    replacement = tuple(
        request.ordinal for request in requests if (request.seats[0].uid in uids if request.seats else is_whole)
    )
    return [
        Proposal(
            machine=name,
            action=MachineAction.REMOVE,
            reason=CONSOLIDATED,
            why=why,
            at=now,
            # What is displaced keeps every minimum, if need be by what is bought.
            below_minimum=bool(replacement),
            evicts=True,
            step=f"consolidation-{names[0]}",
            saving_per_hour=step.saving_per_hour,
            replacement=replacement,
            moves=tuple(moves[name]),
        )
        for name in names
    ]


def sentence(step: ConsolidationStep, currency: str) -> str:
    """Return what a step saves, and which pods and machines it is about."""
    machines = "this machine goes" if len(step.members) == 1 else f"{len(step.members)} machines go"
    new = [machine.kind.offering.server_type for machine in step.new]
    verb = "comes" if len(new) == 1 else "come"
    instead = f", {', '.join(f'{new.count(name)} x {name}' for name in sorted(set(new)))} {verb}" if new else ""
    pods = f"{step.moved} pod moves" if step.moved == 1 else f"{step.moved} pods move"
    return f"Saves {a_month(step.saving_per_hour, currency)}: {machines}{instead}, {pods}"


def _statuses(view: PolicyView, status: ConsolidationStatus) -> dict[str, ConsolidationStatus]:
    return {pool.metadata.name: status for pool in view.pools if pool.spec.scale_down.consolidate is not None}
