"""Departures: the machines that go, as policies propose, and safety checks, pool minimums and their pace allow."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.removal import REMOVE_NOW
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
from planner.policies.pace.begun import last_shrink
from planner.policies.pace.pace import DisruptionPace
from planner.policies.port import Advice, Candidate, MachineAction, Policy, PolicyView, Proposal
from planner.policies.safety.closed_lock import NO_LOCKS, ClosedLocks
from planner.policies.safety.evictions import EvictionSafety, eviction_checks
from planner.policies.safety.frozen_pools import frozen_pools
from planner.policies.safety.purchases import PurchaseInFlight
from planner.policies.safety.remaining import SparedMachines
from planner.policies.utilisation.pool_use import PoolUses
from planner.policies.utilisation.remaining import RemainingUse
from planner.supply.allowed_types import AllowedTypes
from planner.supply.machines import Machine, PriceList

T = TypeVar("T")


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
    underused_since: Mapping[str, datetime | None] = field(default_factory=dict)
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
    allowed: Mapping[str, AllowedTypes] | None = None,
    buying: Collection[str] = (),
    held: Collection[str] = (),
    locks: ClosedLocks = NO_LOCKS,
) -> Departures:
    """Return the removals, cancelled requests, purchases and marks of this round, and the time of the next proposal.

    Args:
        snapshot: of the round.
        machines: all there are, by name.
        wanted: those that pods are planned onto.
        policies: in the order in which they may use up the budget.
        prices: of the classes today.
        allowed: what pools may buy, by their name.
        buying: names of the pools for which this round buys.
        held: machines that stay for headroom or a threshold alone.
        locks: those of pools that are closed.
    """
    now = snapshot.now
    left = {candidate.machine.name: candidate for candidate in candidates(snapshot.pools, machines.values())}
    holds_data = HoldsData(local_volumes(snapshot.volumes, snapshot.nodes))
    checks = safety_checks(wanted, snapshot.protected_nodes, holds_data.volumes, now, frozen_pools(snapshot))
    refused = {name: keeper for name, one in left.items() if (keeper := first_refusal(one, checks)) is not None}
    refusals = {name: keeper.why for name, keeper in refused.items()}
    safety = EvictionSafety(refused, lambda: eviction_checks(snapshot, machines, buying))
    remaining = RemainingUse(PoolUses(snapshot, machines.values())) if _shrinks(snapshot.pools) else None
    spared = None if remaining is None else SparedMachines(remaining, PurchaseInFlight(machines, buying, now))
    pace = DisruptionPace(snapshot, machines.values(), buying)
    gate = Gate(refused, safety, Budget(machines.values()), pace, locks=locks, remaining=spared)
    shrunk = last_shrink(snapshot, ())
    periods = {str(c.ref): c.billing_period for c in snapshot.classes if c.billing_period is not None}
    class_templates = {str(each.ref): each.template for each in snapshot.classes if each.template is not None}
    leaving: list[tuple[Candidate, Proposal]] = []
    worn: dict[str, str] = {}
    all_advice: list[Advice] = []
    wakes: list[datetime] = []

    for policy in policies:
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
                is_moving=any(proposal.evicts for _, proposal in leaving),
                allowance=gate.pace.allowance,
                billing_periods=periods,
                class_templates=class_templates,
                allowed=allowed or {},
                worn=_in_turn(worn, left, gate, safety),
                remaining=remaining,
                spares=(lambda _: None) if spared is None else spared.blocks,
                usage=snapshot.usage,
                shrunk_at=shrunk,
                held=held,
            )
        )
        all_advice.append(advice)
        worn |= advice.worn
        for proposals in steps_of(advice.proposals):
            step = [(left[one.machine], one) for one in proposals if one.machine in left]
            if len(step) < len(proposals) or any(c.action is not p.action for c, p in step):
                continue
            at = max(proposal.at for proposal in proposals)
            if at > now:
                wakes += [] if any(one.machine in refused for one in proposals) else [at]
            elif gate.lets_go(step):
                leaving += step
                for candidate, _ in step:
                    del left[candidate.machine.name]
    named = {ordinal for _, proposal in leaving for ordinal in proposal.replacement}
    return Departures(
        removals=tuple(_removal(c, p, now) for c, p in leaving if c.action is MachineAction.REMOVE),
        cancelled=tuple(sorted(p.machine for _, p in leaving if p.action is MachineAction.CANCEL)),
        requests=tuple(one for advice in all_advice for one in advice.requests if one.ordinal in named),
        wake_at=min(_wakes(wakes, all_advice, gate), default=None),
        kept_machines=tuple(_kept(left.values(), refusals, holds_data)),
        blocked=_blocked(all_advice, gate),
        budgets=gate.pace.states,
        invalid_budgets=gate.pace.faults,
        idle_since=merged(advice.idle_since for advice in all_advice),
        underused_since=merged(advice.underused_since for advice in all_advice),
        pods_since=merged(advice.pods_since for advice in all_advice),
        template_hashes=merged(advice.template_hashes for advice in all_advice),
        dead_nodes=merged(advice.dead_nodes for advice in all_advice),
        due=due_machines(all_advice),
        consolidation=merged(advice.consolidation for advice in all_advice),
    )


def _shrinks(pools: Iterable[NodePool]) -> bool:
    """Return whether machines of some pool go as too little is used."""
    return any(pool.spec.scale_down.group is not None or pool.spec.scale_down.node is not None for pool in pools)


def _in_turn(
    worn: Mapping[str, str], left: Mapping[str, Candidate], gate: Gate, safety: EvictionSafety
) -> frozenset[str]:
    """Return the worn machines that still wait and that nothing keeps but others that go before them."""
    return frozenset(
        name
        for name, reason in worn.items()
        if name in left and gate.pace.lets_some(left[name].machine.pool, reason) and safety.blocker(left[name]) is None
    )


def _wakes(wakes: Iterable[datetime], all_advice: Iterable[Advice], gate: Gate) -> Iterator[datetime]:
    yield from wakes
    yield from (advice.wake_at for advice in all_advice if advice.wake_at is not None)
    if gate.wake_at is not None:
        yield gate.wake_at


def merged(parts: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """Return the parts as one; of two that name the same, the later one holds."""
    return {name: value for part in parts for name, value in part.items()}


def due_machines(all_advice: Iterable[Advice]) -> dict[str, tuple[DueMachines, ...]]:
    """Return what there is to report of machines that should go by now, by pool."""
    due: defaultdict[str, list[DueMachines]] = defaultdict(list)
    for advice in all_advice:
        for name, reports in advice.due.items():
            due[name] += reports
    return {name: tuple(reports) for name, reports in due.items()}


def _blocked(all_advice: Iterable[Advice], gate: Gate) -> tuple[BlockedMachine, ...]:
    by_node = {each.node: each for advice in all_advice for each in advice.blocked}
    by_node |= {each.node: each for each in gate.blocked}
    return tuple(by_node[name] for name in sorted(by_node))


def gone_already(view: PolicyView) -> frozenset[str]:
    """Return the machines that go by an earlier policy of the round."""
    all_candidates = {candidate.machine.name for candidate in candidates(view.pools, view.machines)}
    return frozenset(all_candidates - {candidate.machine.name for candidate in view.candidates})


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
    removed, if the mode is not `none` or somebody wants it to go at once. All others are up to their own lifecycles.
    """
    open_pools = {pool.metadata.name: pool for pool in pools if pool.metadata.deletion_timestamp is None}
    for machine in machines:
        pool = open_pools.get(machine.pool)
        if pool is None or machine.is_leaving:
            continue
        if _is_untouched(machine):
            yield Candidate(machine, pool, MachineAction.CANCEL)
        elif machine.node is not None and (pool.spec.scale_down.mode != "none" or machine.is_to_go_now):
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
        at=now if proposal.reason == REMOVE_NOW else now + candidate.pool.spec.scale_down.soft_grace,
        saving_per_hour=proposal.saving_per_hour,
        replacement=proposal.replacement,
        moves=proposal.moves,
        step=proposal.step,
    )
