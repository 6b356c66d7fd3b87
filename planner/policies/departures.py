"""Departures: the machines that go, as policies propose, and safety checks, pool minimums and their pace allow."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import RequestPhase
from planner.model.plan import KeptMachine, PlannedRemoval, PlannedRequest, Reason, Snapshot
from planner.objects.local_volume import local_volumes
from planner.policies.checks import Budget, HoldsData, first_refusal, safety_checks
from planner.policies.emptiness import is_empty
from planner.policies.port import Candidate, EvictionCheck, MachineAction, Policy, PolicyView, Proposal
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.safety.evictions import EvictionSafety, Misfits, eviction_checks
from planner.policies.safety.purchases import PurchaseInFlight
from planner.supply.machines import Machine, PriceList


@dataclass(frozen=True, slots=True)
class Departures:
    """The decisions that follow from the policies of a round."""

    removals: tuple[PlannedRemoval, ...] = ()
    cancelled: tuple[str, ...] = ()
    """Requests to delete, by name."""
    idle_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes; None removes it."""
    wake_at: datetime | None = None
    """When the next proposal holds."""
    dead_nodes: Mapping[str, Reason] = field(default_factory=dict)
    """What to report of dead Nodes, by pool."""
    kept_machines: tuple[KeptMachine, ...] = ()
    """Machines that nothing else keeps than data that is on them."""
    requests: tuple[PlannedRequest, ...] = ()
    """Machines to buy in place of those that go."""
    pods_since: Mapping[str, str] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes."""
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
    misfits: Misfits = lambda _: "",
) -> Departures:
    """Return the removals, cancelled requests and idle times of this round, and the time of the next proposal.

    Args:
        snapshot: of the round.
        machines: all there are, by name.
        wanted: those that pods are planned onto.
        policies: in the order in which they may use up the budget.
        prices: of the classes today.
        buying: names of the pools for which this round buys.
        misfits: why the pods of machines fit nowhere else; asked of steps that do not say where they go.
    """
    now = snapshot.now
    left = {candidate.machine.name: candidate for candidate in candidates(snapshot.pools, machines.values())}
    holds_data = HoldsData(local_volumes(snapshot.volumes, snapshot.nodes))
    checks = safety_checks(wanted, snapshot.protected_nodes, holds_data.volumes, now)
    refused = {name: keeper for name, one in left.items() if (keeper := first_refusal(one, checks)) is not None}
    refusals = {name: keeper.why for name, keeper in refused.items()}
    safety = EvictionSafety(refused, lambda: eviction_checks(snapshot, machines))
    # One for all policies: two of them together must not take what each alone might.
    budget = Budget(machines.values())
    pace = DisruptionPace(snapshot, machines.values())
    granted: list[tuple[Candidate, Proposal]] = []
    proposed: list[Proposal] = []
    requests: list[PlannedRequest] = []
    pods_since: dict[str, str] = {}
    consolidation: dict[str, ConsolidationStatus] = {}
    idle_since: dict[str, datetime | None] = {}
    dead_nodes: dict[str, Reason] = {}
    wakes: list[datetime] = []
    periods = {str(c.ref): c.billing_period for c in snapshot.classes if c.billing_period is not None}
    for policy in policies:
        view = PolicyView(
            now,
            tuple(left.values()),
            refusals,
            prices,
            blocker=safety.blocker,
            pools=snapshot.pools,
            machines=tuple(machines.values()),
            watched_since=snapshot.watched_since,
            billing_periods=periods,
        )
        advice = policy.propose(view)
        idle_since |= advice.idle_since
        dead_nodes |= advice.dead_nodes
        requests += advice.requests
        pods_since |= advice.pods_since
        consolidation |= advice.consolidation
        wakes += [] if advice.wake_at is None else [advice.wake_at]
        proposed += advice.proposals
        for proposal in advice.proposals:
            candidate = left.get(proposal.machine)
            if candidate is None or candidate.action is not proposal.action or proposal.machine in refused:
                continue
            if proposal.at > snapshot.now:
                wakes.append(proposal.at)
            elif proposal.below_minimum or budget.refuses(candidate) is None:
                budget.spend(candidate)
                granted.append((left.pop(proposal.machine), proposal))
    granted = _whole_steps(granted, proposed)
    named = {ordinal for _, proposal in granted for ordinal in proposal.replacement}
    return Departures(
        removals=tuple(_removal(c, p, now) for c, p in leaving if c.action is MachineAction.REMOVE),
        cancelled=tuple(sorted(p.machine for _, p in leaving if p.action is MachineAction.CANCEL)),
        idle_since=idle_since,
        wake_at=min((*wakes, *gate.ends), default=None),
        dead_nodes=dead_nodes,
        kept_machines=tuple(_kept(left.values(), refused, holds_data)),
        requests=tuple(request for request in requests if request.ordinal in named),
        pods_since=pods_since,
        consolidation=consolidation,
    )


def _whole_steps(
    granted: Sequence[tuple[Candidate, Proposal]], proposed: Iterable[Proposal]
) -> list[tuple[Candidate, Proposal]]:
    """Return what was granted without the parts of steps of which something was not."""
    asked = Counter(proposal.step for proposal in proposed)
    given = Counter(proposal.step for _, proposal in granted)
    return [(c, p) for c, p in granted if not p.step or given[p.step] == asked[p.step]]


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
