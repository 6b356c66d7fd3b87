"""The known state of a round: its snapshot, laid out once for deciding where pods go."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.model.plan import RemovalCancel, Snapshot
from planner.objects.counted_pods import is_demand
from planner.objects.kinds import Pod
from planner.packing.domains.pod_counts import PodCounts, count_pods
from planner.policies.admission import supply_hash
from planner.policies.pace.schedule import schedules_in_force
from planner.policies.refused_placements import RefusedPlacements
from planner.policies.safety.dry_run import dry_pools, without_dry_cool_offs
from planner.policies.safety.frozen_pools import frozen_pools, with_frozen
from planner.scheduling.volume_places import resolve
from planner.supply.limits import Limits, limits_left
from planner.supply.machine_kind import PoolKinds, kinds_of_pools
from planner.supply.machines import Machine, machines_of
from planner.supply.peers import peers_of
from planner.supply.places import Place, places
from planner.supply.pod_group import GroupKeys
from planner.supply.replacement.steps import cut_off, without
from planner.supply.seats import Seating, settle_seats
from planner.supply.taken_room import without_lost_seats


@dataclass(frozen=True, slots=True)
class KnownState:
    """The snapshot, laid out for deciding."""

    given: Snapshot
    """As it was observed."""
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
    cut_off: tuple[RemovalCancel, ...]
    """Of removals whose step is not whole."""


def prepare(snapshot: Snapshot) -> KnownState:
    """Return the state of the snapshot, with what the volumes of pods mean for their places.

    Its pools have the bounds that are in force now.
    """
    given = snapshot
    cut = cut_off(snapshot.removals)
    pods = resolve(snapshot.pods, snapshot.volumes, snapshot.problems)
    snapshot = schedules_in_force(without(replace(snapshot, pods=pods), cut))
    machines = machines_of(snapshot)
    peers = peers_of(snapshot)
    pool_kinds = with_frozen(kinds_of_pools(snapshot, peers), frozen_pools(snapshot))
    limits = limits_left(machines.values(), pool_kinds)
    keys = GroupKeys()
    seating = settle_seats(machines.values(), snapshot.pods, keys, snapshot.now)
    supply = places(snapshot, machines, seating, peers)
    left = without_lost_seats(seating, supply, snapshot.namespaces)
    if left is not seating:
        seating, supply = left, places(snapshot, machines, left, peers)
    supply = without_dry_cool_offs(supply, dry_pools(snapshot))
    refused_placements = RefusedPlacements(snapshot, machines, keys)
    # Before anything is planned: else the machine that was refused would be bought once more.
    refused_placements.learn_of_reservations()
    return KnownState(
        given=given,
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
        cut_off=cut,
    )
