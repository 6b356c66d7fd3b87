"""Where the pods that wait go: onto machines that are there or coming, onto new ones, or nowhere, and why."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial

from api.v1alpha1.pool_parts.scale_up import PodBackoff
from planner.model.plan import PlannedRequest, PodBackoffState, Reason, Unplaced
from planner.model.stages import Stages
from planner.packing.assemble import Assembly, buyable, fits_kind
from planner.packing.assign import Assignment, request_of
from planner.packing.cost import Cost, cost_of
from planner.packing.domains.domain_counts import WAITS
from planner.packing.domains.hostname_rules import machine_rules
from planner.packing.domains.pod_counts import PodCounts, affinity_fingerprint
from planner.packing.problem import Packer
from planner.placement.headroom import (
    DecidedHeadroom,
    KeptHeadroom,
    buyable_headroom,
    keep_headroom,
    shortages,
    without_pools,
)
from planner.placement.headroom_release import Stopped, released_machines
from planner.placement.held_back import held_back, next_grown_up
from planner.placement.known_state import KnownState
from planner.placement.settle import Settlement, Supply, settle
from planner.placement.shares.fair import Fair, settle_fairly
from planner.placement.threshold.grow import ThresholdGrowth, Waiting, grow
from planner.policies.admission import BackedOff, Miss, Refused, admit, remember, waiting
from planner.policies.class_budget import MOST_OF_ROUND, within_budget
from planner.policies.refused_placements import RoomSeen
from planner.report.neighbours import NeighbourReasons
from planner.report.raised_limit import RaisedLimits
from planner.report.unplaced import held_up, why_unplaced
from planner.scheduling.label_index import LabelIndex
from planner.supply.limits import Limits
from planner.supply.lost_places import LostPlacesByClass
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup, pod_groups


@dataclass(frozen=True, slots=True)
class Decided:
    """The places of pods, and the machines to buy."""

    assignment: Assignment
    requests: tuple[PlannedRequest, ...]
    cost: Cost
    choice_costs_per_hour: Decimal
    """What priorities cost more than price alone."""
    unplaced: tuple[Unplaced, ...]
    pools_of: Mapping[str, str]
    """Pool by uid of a pod without a place."""
    after: BackedOff
    ceiling: frozenset[str]
    """Uids of pods whose longest wait begins."""
    headroom: DecidedHeadroom = DecidedHeadroom()
    growth: ThresholdGrowth = ThresholdGrowth()
    """What thresholds ask for; what they buy is among the requests."""
    wake_at: datetime | None = None
    """When a pod is old enough that a machine is bought for it."""


@dataclass(frozen=True, slots=True)
class _Demand:
    """The pods that wait, in groups."""

    admitted: list[PodGroup]
    """Those that are planned for."""
    refused: list[Refused]
    finds: Mapping[str, str]
    """Hashes of what the affinity of groups finds, by group."""
    left_out: Mapping[str, PodBackoffState]
    """Groups that wait for longer, by key."""


def decide(known: KnownState, packer: Packer, stages: Stages) -> Decided:
    """Return the decision on all pods that wait for a machine."""
    snapshot, pool_kinds, limits = known.snapshot, known.pool_kinds, known.limits
    with stages("assemble"):
        demand = _demand(known)
        admitted, refused, finds = demand.admitted, demand.refused, demand.finds
        grown_up_at = next_grown_up(admitted, snapshot.pools, snapshot.now)
    supply = Supply(known.supply, pool_kinds, limits, known.pod_counts, known.machines)
    before = limits.saved()
    fair = settle_fairly(admitted, supply, packer, stages, known)
    admitted, settled = fair.groups, fair.settled
    if settled.assignment.left and any(place.only_owners is not None for place in known.supply):
        # For pods that nothing can be bought for, machines that are being emptied for others come back, too.
        open_supply = replace(supply, places=tuple(replace(place, only_owners=None) for place in known.supply))
        after = limits.saved()
        limits.restore(before)
        other = settle(admitted, open_supply, packer, stages, fair.bounds.trim_of_machines, compares=True)
        if _number_left(other) < _number_left(settled):
            supply, settled = open_supply, other
        else:
            limits.restore(after)
    kept_headroom, giving = _kept(known, supply, admitted, settled, refused)
    bought_for: list[PodGroup] = []
    if kept_headroom.left:
        after = limits.saved()
        limits.restore(before)
        bought_for = buyable_headroom(without_pools(kept_headroom.left, giving), pool_kinds, limits)
        if bought_for:
            # In one problem with the pods that wait: a larger machine for both may cost less than two.
            beside = replace(supply, places=kept_headroom.places)
            both = [*admitted, *bought_for]
            together = settle(both, beside, packer, stages, fair.bounds.trim_of_machines, compares=True)
            if _number_left(together) <= _number_left(settled):
                supply, settled, bought_for, after = beside, together, [], limits.saved()
        limits.restore(after)
    delayed = [*bought_for, *(group for group in kept_headroom.left if giving.intersection(group.pools))]
    with stages("decide"):
        assembly, packing, assignment = settled.assembly, settled.packing, settled.assignment
        known.refused_placements.learn_of_room(_rooms(fair, assembly, assignment, known.supply), known.supply)
        packed = settled.requests(supply)
        growth = ThresholdGrowth()
        if any(pool.spec.scale_up.threshold is not None for pool in snapshot.pools):
            growth = grow(known, Waiting(admitted, assignment, refused, kept_headroom.machines), settled.bought)
        more = tuple(request_of(kind, n, why) for n, (kind, why) in enumerate(growth.bought, start=len(packed)))
        if assignment.left:
            raised = RaisedLimits(assembly, packing, limits, known.pod_counts)
            neighbours = NeighbourReasons(assembly, packing, known.pod_counts, limits)
            refused += [
                Refused(
                    group, (*first, *_why(i, assembly, pool_kinds, limits, raised=raised, neighbours=neighbours)), pods
                )
                for i, left in assignment.left.items()
                if i < len(admitted)
                for group, first, pods in fair.told_apart(admitted[i], left)
            ]
        missed = {
            key: Miss(key, _policy(r, pool_kinds), finds[key]) for r in refused if r.is_miss and (key := r.group.key)
        }
        still_left_out = {r.group.key: demand.left_out[r.group.key] for r in refused if r.group.key in demand.left_out}
        after = remember(snapshot.memory, known.fingerprint, list(missed.values()), still_left_out, snapshot.now)
        return Decided(
            assignment=assignment,
            requests=(*packed, *more),
            # What thresholds buy beside is no part of what is proven of the packing.
            cost=cost_of(
                packed,
                assembly,
                packing,
                settled.minimum,
                settled.top_up,
                pool_kinds=pool_kinds,
                is_parted=fair.bounds.trim_of_machines is not None,
            ),
            choice_costs_per_hour=settled.choice_costs_per_hour,
            unplaced=tuple(Unplaced(pod.key, pod.uid, r.reasons) for r in refused for pod in r.pods),
            pools_of={pod.uid: r.group.pools[0] for r in refused if r.group.pools for pod in r.pods},
            after=after,
            ceiling=frozenset(pod.uid for r in refused if r.group.key in after.at_ceiling for pod in r.pods),
            headroom=_decided_headroom(known, kept_headroom, settled, delayed),
            growth=growth,
            wake_at=grown_up_at,
        )


def _demand(known: KnownState) -> _Demand:
    snapshot = known.snapshot
    unseated = [pod for pod in known.demand if pod.uid not in known.seating.holders]
    lost_places = LostPlacesByClass(known.refused_placements.by_pool, snapshot.now)
    groups = pod_groups(unseated, known.keys, snapshot.pods, lost_places)
    finds = _fingerprints(groups, known.pod_counts)
    backoffs = [pool.spec.scale_up.pod_backoff for pool in snapshot.pools]
    left_out = waiting(snapshot.memory, known.fingerprint, snapshot.now, finds, backoffs)
    admitted, refused = admit(groups, snapshot.pools, left_out, known.pool_kinds, known.limits)
    admitted, over = within_budget(admitted, known.pod_counts, most_of_round=MOST_OF_ROUND)
    return _Demand(held_back(admitted, snapshot.pools, snapshot.now), [*refused, *over], finds, left_out)


def _buys(group: PodGroup, kind: MachineKind) -> bool:
    return fits_kind(group, kind) and group.buys_in(kind.pool.metadata.name)


def _decided_headroom(
    known: KnownState, kept_headroom: KeptHeadroom, settled: Settlement, delayed: Iterable[PodGroup]
) -> DecidedHeadroom:
    short, short_buffers = shortages(_without_room(kept_headroom, settled), known, delayed)
    return DecidedHeadroom(
        machines={**settled.assignment.held, **kept_headroom.machines},
        cancels=kept_headroom.cancels,
        on_nodes=kept_headroom.on_nodes,
        short=short,
        short_buffers=short_buffers,
    )


def _kept(
    known: KnownState, supply: Supply, admitted: Sequence[PodGroup], settled: Settlement, refused: Sequence[Refused]
) -> tuple[KeptHeadroom, frozenset[str]]:
    """Return the headroom that is kept, and the pools where it gives machines up so that a pod can be bought for."""
    kept_headroom = keep_headroom(known, settled.assignment, supply.places)
    if not kept_headroom.machines or not (refused or settled.assignment.left):
        return kept_headroom, frozenset()
    stopped = _stopped_by_limits(admitted, settled, refused, known)
    released = released_machines(known, settled.assignment, stopped, kept_headroom.machines, kept_headroom.costs)
    if released:
        kept_headroom = keep_headroom(known, settled.assignment, supply.places, released)
    return kept_headroom, frozenset(known.machines[name].pool for name in released)


def _stopped_by_limits(
    admitted: Sequence[PodGroup], settled: Settlement, refused: Iterable[Refused], known: KnownState
) -> Iterator[Stopped]:
    """Yield the pods without a place that a machine could be bought for but for limits, by priority.

    Those whose namespace is at its own bound have no pool here. Of pods in their back-off that look for others, nobody
    has looked what they would find.
    """
    kinds = buyable(known.pool_kinds)
    all_waiting: list[tuple[PodGroup, Callable[[MachineKind], bool]]] = [
        (admitted[i], partial(_is_open, i, settled.assembly))
        for i in settled.assignment.left
        if i < len(admitted) and i not in settled.assembly.split.unplaceable
    ]
    all_waiting += [
        (each.group, lambda _: True)
        for each in refused
        if each.reasons[0].code == "BackOff" and not (each.group.example.pod_affinity or each.group.example.spread)
    ]
    for group, is_open in sorted(all_waiting, key=lambda each: -each[0].tier):
        suiting = [kind for kind in kinds if _buys(group, kind) and is_open(kind)]
        if suiting:
            yield Stopped(tuple(sorted(suiting, key=lambda kind: kind.offering.price_per_hour)))


def _number_left(settled: Settlement) -> int:
    """Return the number of pods without a place; headroom can wait."""
    return sum(len(pods) for pods in settled.assignment.left.values() if not pods[0].is_headroom)


def _without_room(kept_headroom: KeptHeadroom, settled: Settlement) -> Iterator[PodGroup]:
    """Yield the headroom that has no room and that nothing is bought for."""
    bought = {placed.pod.uid for machine in settled.assignment.bought for placed in machine.pods}
    for group in kept_headroom.left:
        if pods := tuple(pod for pod in group.pods if pod.uid not in bought):
            yield replace(group, pods=pods)


def _rooms(fair: Fair, assembly: Assembly, assignment: Assignment, supply: Sequence[Place]) -> Iterator[RoomSeen]:
    """Yield the pods that the plan has room for on Nodes that are there and open, the oldest of a group first."""
    open_nodes = {place.machine.name: place for place in supply if place.rank is Rank.NODE}
    names = {placed.pod: placed.node for placed in assignment.placed if placed.node in open_nodes}
    for group in assembly.given.groups if names else ():
        for pod in group.pods:
            if (name := names.get(pod.key)) is not None:
                yield RoomSeen(fair.bounds.unbarred(group, pod), pod, open_nodes[name])


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


def _policy(refused: Refused, pool_kinds: Mapping[str, PoolKinds]) -> PodBackoff:
    return pool_kinds[refused.group.pools[0]].pool.spec.scale_up.pod_backoff if refused.group.pools else PodBackoff()
