"""Departures: the machines that go, as policies propose, and safety checks, pool minimums and their pace allow."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import RequestPhase
from planner.model.plan import (
    BlockedMachine,
    BudgetState,
    DueMachines,
    KeptMachine,
    PlannedRemoval,
    PlannedRequest,
    Reason,
    Snapshot,
)
from planner.objects.local_volume import local_volumes
from planner.policies.checks import Budget, HoldsData, first_refusal, safety_checks
from planner.policies.emptiness import is_empty
from planner.policies.gate import Gate, steps_of
from planner.policies.pace.pace import DisruptionPace, Step
from planner.policies.port import Advice, Candidate, MachineAction, Policy, PolicyView, Proposal
from planner.policies.safety.evictions import EvictionSafety, eviction_checks
from planner.policies.safety.purchases import PurchaseInFlight
from planner.supply.machines import Machine, PriceList

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Renewed:
    """The machines that go once their pods have another place, and what is bought for these."""

    step: Step = ()
    requests: tuple[PlannedRequest, ...] = ()


class Renewing(Protocol):
    """Finds another place for the pods of machines that triggers let go."""

    def __call__(self, entries: Step, gate: Gate, gone: Collection[str]) -> Renewed:
        """Return those that go, within the gate's pace; the gate notes what keeps the others.

        Args:
            entries: in the order of triggers.
            gate: of the round.
            gone: machines that go already, by name.
        """
        ...


@dataclass(frozen=True, slots=True)
class Departures:
    """The decisions that follow from the policies of a round."""

    removals: tuple[PlannedRemoval, ...] = ()
    cancelled: tuple[str, ...] = ()
    """Requests to delete, by name."""
    requests: tuple[PlannedRequest, ...] = ()
    """Machines to buy in place of those that go."""
    wake_at: datetime | None = None
    """When the next proposal holds, or what keeps a machine is over."""
    kept_machines: tuple[KeptMachine, ...] = ()
    """Machines that nothing else keeps than data that is on them."""
    blocked: tuple[BlockedMachine, ...] = ()
    """Machines that policies would let go now and that are kept, each once."""
    budgets: Mapping[str, tuple[BudgetState, ...]] = field(default_factory=dict)
    """How many may go for each reason, by pool, once these removals have begun."""
    invalid_budgets: Mapping[str, Reason] = field(default_factory=dict)
    """What is wrong with the budgets of a pool, by pool."""
    idle_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes; None removes it."""
    pods_since: Mapping[str, str] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes."""
    template_hashes: Mapping[str, str] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes."""
    dead_nodes: Mapping[str, Reason] = field(default_factory=dict)
    """What to report of dead Nodes, by pool."""
    due: Mapping[str, tuple[DueMachines, ...]] = field(default_factory=dict)
    """What to report of machines that should go by now, by pool."""
    consolidation: Mapping[str, ConsolidationStatus] = field(default_factory=dict)
    """What to report of consolidation, by pool."""


def departures(
    snapshot: Snapshot,
    machines: Mapping[str, Machine],
    wanted: Collection[str],
    policies: Iterable[Policy],
    prices: PriceList,
    *,
    buying: Collection[str] = (),
    renewing: Renewing | None = None,
    consolidation: Policy | None = None,
) -> Departures:
    """Return the removals, cancelled requests, purchases and marks of this round, and the time of the next proposal.

    Args:
        snapshot: of the round.
        machines: all there are, by name.
        wanted: those that pods are planned onto.
        policies: in the order in which they may use up the budget.
        prices: of the classes today.
        buying: names of the pools for which this round buys.
        renewing: finds another place for pods of machines that policies propose without one.
        consolidation: asked last, and only if nothing else moves pods in this round.
    """
    now = snapshot.now
    left = {candidate.machine.name: candidate for candidate in candidates(snapshot.pools, machines.values())}
    holds_data = HoldsData(local_volumes(snapshot.volumes, snapshot.nodes))
    checks = safety_checks(wanted, snapshot.protected_nodes, holds_data.volumes, now)
    refused = {name: keeper for name, one in left.items() if (keeper := first_refusal(one, checks)) is not None}
    refusals = {name: keeper.why for name, keeper in refused.items()}
    safety = EvictionSafety(refused, lambda: eviction_checks(snapshot, machines))
    purchases = PurchaseInFlight(machines, buying, now)
    gate = Gate(refused, safety, Budget(machines.values()), purchases, DisruptionPace(snapshot, machines.values()))
    periods = {str(c.ref): c.billing_period for c in snapshot.classes if c.billing_period is not None}
    class_templates = {str(each.ref): each.template for each in snapshot.classes if each.template is not None}
    leaving: list[tuple[Candidate, Proposal]] = []
    without_place: list[tuple[Candidate, Proposal]] = []
    advices: list[Advice] = []
    wakes: list[datetime] = []

    def ask(policy: Policy) -> None:
        advice = policy.propose(
            PolicyView(
                now,
                tuple(left.values()),
                refusals,
                prices,
                blocker=safety.blocker,
                pools=snapshot.pools,
                machines=tuple(machines.values()),
                watched_since=snapshot.watched_since,
                billing_periods=periods,
                class_templates=class_templates,
            )
        )
        advices.append(advice)
        for proposals in steps_of(advice.proposals):
            step = [(left[one.machine], one) for one in proposals if one.machine in left]
            if len(step) < len(proposals) or any(c.action is not p.action for c, p in step):
                continue
            at = max(proposal.at for proposal in proposals)
            if at > now:
                wakes.extend([] if any(one.machine in refused for one in proposals) else [at])
            elif any(_needs_place(entry, gate) for entry in step):
                # Safe or not, it is asked for no more.
                without_place.extend(step if gate.is_safe(step) else ())
                _drop(left, step)
            elif gate.lets_go(step):
                leaving.extend(step)
                _drop(left, step)

    for policy in policies:
        ask(policy)
    gone = {candidate.machine.name for candidate, _ in leaving}
    renewed = Renewed() if renewing is None else renewing(without_place, gate, gone)
    leaving.extend(renewed.step)
    if consolidation is not None and not renewed.step:
        ask(consolidation)
    named = {ordinal for _, proposal in leaving for ordinal in proposal.replacement}
    bought = (*renewed.requests, *(request for advice in advices for request in advice.requests))
    return Departures(
        removals=tuple(_removal(c, p, now) for c, p in leaving if c.action is MachineAction.REMOVE),
        cancelled=tuple(sorted(p.machine for _, p in leaving if p.action is MachineAction.CANCEL)),
        requests=tuple(request for request in bought if request.ordinal in named),
        wake_at=min(_wakes(wakes, advices, gate), default=None),
        kept_machines=tuple(_kept(left.values(), refusals, holds_data)),
        blocked=gate.blocked,
        budgets=gate.pace.states,
        invalid_budgets=gate.pace.faults,
        idle_since=_merged(advice.idle_since for advice in advices),
        pods_since=_merged(advice.pods_since for advice in advices),
        template_hashes=_merged(advice.template_hashes for advice in advices),
        dead_nodes=_merged(advice.dead_nodes for advice in advices),
        due=_due(advices),
        consolidation=_merged(advice.consolidation for advice in advices),
    )


def _needs_place(entry: tuple[Candidate, Proposal], gate: Gate) -> bool:
    """Return whether it goes only after its pods, or its pool's minimum, have another place that it does not name."""
    candidate, proposal = entry
    if proposal.quota is not None or (proposal.renews and gate.is_kept_by_minimum(candidate)):
        return True
    return proposal.evicts and not (proposal.moves or proposal.replacement)


def _drop(left: dict[str, Candidate], step: Step) -> None:
    for candidate, _ in step:
        del left[candidate.machine.name]


def _wakes(wakes: Iterable[datetime], advices: Iterable[Advice], gate: Gate) -> Iterator[datetime]:
    yield from wakes
    yield from (advice.wake_at for advice in advices if advice.wake_at is not None)
    if gate.wake_at is not None:
        yield gate.wake_at


def _merged(parts: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """Return the parts as one; of two that name the same, the later one holds."""
    return {name: value for part in parts for name, value in part.items()}


def _due(advices: Iterable[Advice]) -> dict[str, tuple[DueMachines, ...]]:
    due: defaultdict[str, list[DueMachines]] = defaultdict(list)
    for advice in advices:
        for name, report in advice.due.items():
            due[name].append(report)
    return {name: tuple(reports) for name, reports in due.items()}


def _kept(candidates: Iterable[Candidate], refused: Mapping[str, str], holds_data: HoldsData) -> Iterator[KeptMachine]:
    for candidate in candidates:
        why, node = refused.get(candidate.machine.name), candidate.machine.node
        if why is None or node is None or not is_empty(candidate.machine.residents):
            continue
        # Data is asked for last: a machine that is refused for it is refused for nothing else.
        if why == holds_data.refuses(candidate):
            yield KeptMachine(node.name, node.uid, why)


def candidates(pools: Sequence[NodePool], machines: Iterable[Machine]) -> Iterator[Candidate]:
    """Yield the machines that may go: those of pools that are not being deleted, and that are not going already.

    A request that has asked for no server can be cancelled, whatever the pool's mode; a machine with a Node can be
    removed, if the mode is not `none`. All others are up to their own lifecycles.
    """
    open_pools = {pool.metadata.name: pool for pool in pools if pool.metadata.deletion_timestamp is None}
    for machine in machines:
        pool = open_pools.get(machine.pool)
        if pool is None or machine.is_leaving:
            continue
        if _is_untouched(machine):
            yield Candidate(machine, pool, MachineAction.CANCEL)
        elif machine.node is not None and pool.spec.scale_down.mode != "none":
            yield Candidate(machine, pool, MachineAction.REMOVE)


def _is_untouched(machine: Machine) -> bool:
    request = machine.request
    return (
        request is not None
        and request.status.phase is RequestPhase.PENDING
        and request.status.create_attempt_at is None
        and request.metadata.deletion_timestamp is None
    )


def _removal(candidate: Candidate, proposal: Proposal, now: datetime) -> PlannedRemoval:
    machine, node = candidate.machine, candidate.machine.node
    return PlannedRemoval(
        node=machine.name if node is None else node.name,
        server=machine.name,
        provider_id=machine.provider_id,
        pool=machine.pool,
        server_type=machine.server_type,
        location=machine.location,
        class_ref=candidate.class_ref,
        reason=proposal.reason,
        why=proposal.why,
        at=now + candidate.pool.spec.scale_down.soft_grace,
        saving_per_hour=proposal.saving_per_hour,
        replacement=proposal.replacement,
        moves=proposal.moves,
    )
