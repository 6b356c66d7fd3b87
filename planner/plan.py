"""One round: everything that is known in, everything to do out. Pure; `snapshot.now` is the time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from api.v1alpha1.node_pool import PodBackoff
from planner.model.plan import Placed, Plan, PlannedRequest, PlanResult, Reason, Snapshot, Unplaced
from planner.model.stages import Stages, unwatched
from planner.objects.counted_pods import is_demand
from planner.objects.kinds import Pod
from planner.packing.arrange import arrange
from planner.packing.assemble import Assembly, assemble
from planner.packing.assign import Assignment, assign, placed_on, requests_of, reservations
from planner.packing.cost import Cost, cost_of
from planner.packing.domains.domain_counts import WAITS
from planner.packing.domains.domains import Ceilings
from planner.packing.domains.hostname_rules import machine_rules
from planner.packing.domains.levels import Levels
from planner.packing.domains.pod_counts import PodCounts, affinity_fingerprint, count_pods
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packer, Packing, PackingProblem
from planner.packing.twins import without_twins
from planner.policies.admission import BackedOff, Miss, Refused, admit, remember, supply_hash, waiting
from planner.policies.class_budget import MOST_OF_ROUND, within_budget
from planner.policies.departures import departures
from planner.policies.emptiness import Emptiness
from planner.policies.minimum import kept_by_pools, missing_by_type, missing_in_pool
from planner.policies.next_round import wake_at
from planner.policies.port import Policy
from planner.policies.refused_placements import RefusedPlacements, RoomSeen
from planner.policies.repair import DeadNodes
from planner.policies.unneeded_requests import UnneededRequests
from planner.report.events import events
from planner.report.machine_choice import MachineChoices
from planner.report.neighbours import NeighbourReasons
from planner.report.pool_report import pool_reports
from planner.report.raised_limit import RaisedLimits
from planner.report.unplaced import held_up, why_unplaced
from planner.scheduling.label_index import LabelIndex
from planner.scheduling.volume_places import resolve
from planner.supply.limits import Limits, limits_left
from planner.supply.lost_places import LostPlacesByClass
from planner.supply.machine_kind import MachineKind, PoolKinds, kinds_of_pools
from planner.supply.machines import Machine, machines_of, price_list
from planner.supply.peers import peers_of
from planner.supply.places import Place, Rank, places
from planner.supply.pod_group import GroupKeys, PodGroup, pod_groups
from planner.supply.seats import Seating, settle_seats
from planner.supply.taken_room import without_lost_seats

POLICIES: Final[tuple[Policy, ...]] = (DeadNodes(), Emptiness(), UnneededRequests())
"""The policies by which machines go. Where minimums allow too few, an earlier policy has them."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The snapshot, laid out for deciding."""

    snapshot: Snapshot
    machines: Mapping[str, Machine]
    pool_kinds: Mapping[str, PoolKinds]
    limits: Limits
    seating: Seating
    supply: tuple[Place, ...]
    pod_counts: PodCounts
    fingerprint: str
    demand: tuple[Pod, ...]
    keys: GroupKeys
    refused_placements: RefusedPlacements


@dataclass(frozen=True, slots=True)
class _Decided:
    """The places of pods, and the machines to buy."""

    assignment: Assignment
    requests: tuple[PlannedRequest, ...]
    cost: Cost
    unplaced: tuple[Unplaced, ...]
    pools_of: Mapping[str, str]
    """Pool by uid of a pod without a place."""
    after: BackedOff
    ceiling: frozenset[str]
    """Uids of pods whose longest wait begins."""


def plan(
    snapshot: Snapshot,
    packer: Packer = pack,
    stages: Stages = unwatched,
    policies: Sequence[Policy] = POLICIES,
) -> Plan:
    """Return the plan of this round: so specific that carrying it out needs no further decision.

    `stages` runs each stage of the work, and may take its time; `policies` propose machines that go.
    """
    with stages("read"):
        snapshot = replace(snapshot, pods=resolve(snapshot.pods, snapshot.volumes, snapshot.problems))
        known = _prepare(snapshot)
    decided = _decide(known, packer, stages)
    with stages("decide"):
        return _plan_of(known, decided, policies)


def _plan_of(known: _Known, decided: _Decided, policies: Sequence[Policy]) -> Plan:
    snapshot, seating, assignment, machines = known.snapshot, known.seating, decided.assignment, known.machines
    wanted = assignment.used | {name for name, seats in seating.seats.items() if seats}
    leaving = departures(snapshot, machines, wanted, policies, price_list(snapshot))
    reports = pool_reports(
        snapshot,
        machines,
        known.supply,
        known.pool_kinds,
        known.limits,
        requests=decided.requests,
        removals=leaving.removals,
        refused_placements=known.refused_placements.by_pool,
        dead_nodes=leaving.dead_nodes,
    )
    open_pools = {p.metadata.name: p for p in snapshot.pools if p.metadata.deletion_timestamp is None}
    before = {name: m.request.spec.reserved_for for name, m in machines.items() if m.request is not None}
    reserving = [n for n, m in machines.items() if m.pool in open_pools and open_pools[m.pool].spec.scale_up.reserve]
    changed = reservations(before, seating.seats, assignment.joined, reserving)
    return Plan(
        result=_result(known.demand, decided.unplaced),
        requests=decided.requests,
        placed=(*_seated(known), *assignment.placed),
        nominated=tuple(Placed(pod.key, node=pod.nominated_node) for pod in snapshot.pods if pod.nominated_node),
        unplaced=decided.unplaced,
        # Requests are cancelled before seats are written: there is no object any more to write these on.
        reservations={name: seats for name, seats in changed.items() if name not in leaving.cancelled},
        removals=leaving.removals,
        removal_cancels=tuple(assignment.cancels),
        cancelled=leaving.cancelled,
        kept_machines=leaving.kept_machines,
        idle_since=leaving.idle_since,
        pools=reports,
        events=(
            *known.refused_placements.events,
            *events(
                snapshot,
                decided.unplaced,
                decided.pools_of,
                decided.ceiling,
                reports,
                kept_machines=leaving.kept_machines,
            ),
        ),
        problems=snapshot.problems,
        memory=decided.after.memory,
        wake_at=_earliest(wake_at(snapshot, decided.after.memory), leaving.wake_at, known.refused_placements.wake_at),
        cost_per_hour=decided.cost.total,
        lower_bound_per_hour=decided.cost.lower_bound,
        optimal=decided.cost.is_optimal,
        currency=_currency(known.pool_kinds),
    )


def _prepare(snapshot: Snapshot) -> _Known:
    machines = machines_of(snapshot)
    peers = peers_of(snapshot)
    pool_kinds = kinds_of_pools(snapshot, peers)
    limits = limits_left(machines.values(), pool_kinds)
    keys = GroupKeys()
    seating = settle_seats(machines.values(), snapshot.pods, keys, snapshot.now)
    supply = places(snapshot, machines, seating, peers)
    left = without_lost_seats(seating, supply, snapshot.namespaces)
    if left is not seating:
        seating, supply = left, places(snapshot, machines, left, peers)
    refused_placements = RefusedPlacements(snapshot, machines, keys)
    # Before anything is planned: else the machine that was refused would be bought once more.
    refused_placements.learn_of_reservations()
    return _Known(
        snapshot=snapshot,
        machines=machines,
        pool_kinds=pool_kinds,
        limits=limits,
        seating=seating,
        supply=supply,
        pod_counts=count_pods(machines.values(), supply, seating.seated, snapshot.namespaces),
        fingerprint=supply_hash(supply, pool_kinds, limits),
        demand=tuple(pod for pod in snapshot.pods if is_demand(pod)),
        keys=keys,
        refused_placements=refused_placements,
    )


def _decide(known: _Known, packer: Packer, stages: Stages) -> _Decided:
    snapshot, pool_kinds, limits = known.snapshot, known.pool_kinds, known.limits
    with stages("assemble"):
        unseated = [pod for pod in known.demand if pod.uid not in known.seating.holders]
        lost_places = LostPlacesByClass(known.refused_placements.by_pool, snapshot.now)
        groups = pod_groups(unseated, known.keys, snapshot.pods, lost_places)
        finds = _fingerprints(groups, known.pod_counts)
        backoffs = [pool.spec.scale_up.pod_backoff for pool in snapshot.pools]
        left_out = waiting(snapshot.memory, known.fingerprint, snapshot.now, finds, backoffs)
        admitted, refused = admit(groups, snapshot.pools, left_out, pool_kinds, limits)
        admitted, over = within_budget(admitted, known.pod_counts, most_of_round=MOST_OF_ROUND)
        refused += over
        minimum = missing_by_type(known.machines.values(), pool_kinds, limits)
        top_up_at_most = kept_by_pools(known.machines.values(), pool_kinds, limits, minimum)

    def assembled(ceilings: Ceilings, levels: Levels) -> Assembly:
        with stages("assemble"):
            return assemble(
                admitted,
                known.supply,
                pool_kinds,
                limits,
                minimum,
                pod_counts=known.pod_counts,
                ceilings=ceilings,
                levels=levels,
                top_up=top_up_at_most,
            )

    def packed(problem: PackingProblem) -> Packing:
        with stages("pack"):
            return packer(without_twins(problem))

    with stages("check"):
        arrangement = arrange(assembled, packed, known.pod_counts)
    with stages("decide"):
        assembly, packing = arrangement.assembly, arrangement.packing
        assignment = assign(assembly, packing)
        known.refused_placements.learn_of_room(_rooms(assembly, assignment, known.supply), known.supply)
        for kind in _paid(assembly, packing):
            limits.take(kind)
        ahead = assembly.unused_minimum(packing)
        more = Counter(kind.pool.metadata.name for kind in (*(one.kind for one in assignment.bought), *ahead))
        more.update(known.machines[name].pool for name in assignment.used if known.machines[name].is_leaving)
        top_up = missing_in_pool(known.machines.values(), pool_kinds, limits, more)
        requests = requests_of(
            assignment.bought, [*ahead, *top_up], MachineChoices(assembly, pool_kinds, limits).explanation
        )
        if assignment.left:
            raised = RaisedLimits(assembly, packing, limits, known.pod_counts)
            neighbours = NeighbourReasons(assembly, packing, known.pod_counts, limits)
            refused += [
                Refused(admitted[i], _why(i, assembly, pool_kinds, limits, raised=raised, neighbours=neighbours), pods)
                for i, pods in assignment.left.items()
            ]
        missed = {
            key: Miss(key, _policy(r, pool_kinds), finds[key]) for r in refused if r.is_miss and (key := r.group.key)
        }
        still_left_out = {r.group.key: left_out[r.group.key] for r in refused if r.group.key in left_out}
        after = remember(snapshot.memory, known.fingerprint, list(missed.values()), still_left_out, snapshot.now)
        return _Decided(
            assignment=assignment,
            requests=requests,
            cost=cost_of(requests, assembly, packing, minimum, top_up, pool_kinds=pool_kinds),
            unplaced=tuple(Unplaced(pod.key, pod.uid, r.reasons) for r in refused for pod in r.pods),
            pools_of={pod.uid: r.group.pools[0] for r in refused if r.group.pools for pod in r.pods},
            after=after,
            ceiling=frozenset(pod.uid for r in refused if r.group.key in after.at_ceiling for pod in r.pods),
        )


def _rooms(assembly: Assembly, assignment: Assignment, supply: Sequence[Place]) -> Iterator[RoomSeen]:
    """Yield the pods that the plan has room for on Nodes that are there and open, the oldest of a group first."""
    open_nodes = {place.machine.name: place for place in supply if place.rank is Rank.NODE}
    names = {placed.pod: placed.node for placed in assignment.placed if placed.node in open_nodes}
    for group in assembly.given.groups if names else ():
        for pod in group.pods:
            if (name := names.get(pod.key)) is not None:
                yield RoomSeen(group, pod, open_nodes[name])


def _fingerprints(groups: Sequence[PodGroup], pod_counts: PodCounts) -> dict[str, str]:
    examples = [group.example for group in groups]
    if not any(pod.pod_affinity for pod in examples):
        return dict.fromkeys((group.key for group in groups), "")
    index = LabelIndex(examples, pod_counts.namespaces)
    return {group.key: affinity_fingerprint(group.example, pod_counts, examples, index) for group in groups}


def _why(
    i: int,
    assembly: Assembly,
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
    *,
    raised: RaisedLimits,
    neighbours: NeighbourReasons,
) -> tuple[Reason, ...]:
    miss = assembly.split.unplaceable.get(i)
    if miss is not None:
        reason = neighbours.reason(i, miss)
        if miss.code == WAITS:
            return (reason,)
        # A rule about other pods may have closed no more than what could be used or bought.
        return (*held_up(assembly.given.groups[i], pool_kinds, limits, partial(_is_open, i, assembly)), reason)
    return why_unplaced(assembly.given.groups[i], pool_kinds, limits, partial(raised.sentence, i))


def _is_open(i: int, assembly: Assembly, kind: MachineKind) -> bool:
    """Return whether rules about other pods let one more pod of group `i` on a new machine of the kind."""
    domain_counts = assembly.split.domain_counts
    if domain_counts is None:
        return True
    rules = machine_rules(i, assembly.given.groups[i].example, [0], [kind], domain_counts)
    # Pods that must share one machine were given theirs: another one is of no use to the rest.
    return bool(rules.bins) and not rules.is_bundle and domain_counts.obstacle(i, kind.labels) is None


def _paid(assembly: Assembly, packing: Packing) -> list[MachineKind]:
    return [kind for node in packing.nodes if (kind := assembly.priced(node.bin)) is not None]


def _policy(refused: Refused, pool_kinds: Mapping[str, PoolKinds]) -> PodBackoff:
    return pool_kinds[refused.group.pools[0]].pool.spec.scale_up.pod_backoff if refused.group.pools else PodBackoff()


def _seated(known: _Known) -> Iterable[Placed]:
    for pod in known.demand:
        name = known.seating.holders.get(pod.uid)
        if name is not None:
            yield placed_on(known.machines[name], pod, coming=True)


def _result(demand: Iterable[Pod], unplaced: Iterable[Unplaced]) -> PlanResult:
    if any(True for _ in unplaced):
        return PlanResult.INCOMPLETE_PLACEMENT
    return PlanResult.ALL_PLACED if any(True for _ in demand) else PlanResult.NO_DEMANDS


def _currency(pool_kinds: Mapping[str, PoolKinds]) -> str:
    return "+".join(sorted({kind.offering.currency for found in pool_kinds.values() for kind in found.kinds}))


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
