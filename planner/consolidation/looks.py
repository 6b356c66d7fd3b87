"""Looks: when a round looks for machines to consolidate at all, and what tells that nothing has changed since.

A round that has demand to meet moves nobody: what it buys may be what a move would have needed. And a look that finds
nothing need not be repeated until pods, machines or offers change: its hash stands in the status of the pools.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.consolidation.fleet import Fleet
from planner.consolidation.quiet import pods_hash
from planner.displacement.displace import movable
from planner.lifecycle.clocks.drain_limits import DRAIN_TIMEOUT
from planner.model.plan import PlannedRequest, Snapshot
from planner.objects.counted_pods import may_be_placed
from planner.objects.kinds import Pod
from planner.packing.assign import Assignment
from planner.placement.known_state import KnownState
from planner.supply.machines import Machine
from planner.supply.pod_group import PodGroup
from planner.supply.seats import Seating

_HASH_CHARACTERS: Final = 16
_SCHEDULED_WITHIN: Final = timedelta(minutes=1)
"""A pod that is older and that no scheduler has judged waits for somebody else."""
_EMPTIED_WITHIN: Final = DRAIN_TIMEOUT
"""As long as a drain of a policy lasts by default."""


def has_open_demand(known: KnownState, assignment: Assignment, requests: Sequence[PlannedRequest]) -> bool:
    """Return whether the round has something to do for pods or minimums, or machines are coming.

    Pods that are about to leave a machine without a plan for them count, as they will need room. Pods that no machine
    can take do not: they would keep everything as it is for ever. Nor does a machine that is kept for nothing but the
    end of pods which take their time on the one that it replaces.
    """
    now = known.snapshot.now
    return (
        bool(requests or assignment.placed or assignment.cancels)
        or are_machines_changing(known.machines.values(), known.seating, now)
        or any(_is_new(pod, now) for pod in known.snapshot.pods)
    )


def are_machines_changing(machines: Iterable[Machine], seating: Seating, now: datetime) -> bool:
    """Return whether a machine is on its way, kept for pods that are, or being emptied without a plan for its pods."""
    return any(
        machine.is_in_flight(now)
        or (machine.is_reserved and _awaits_pods(machine.name, seating))
        or _is_emptied(machine, now)
        for machine in machines
    )


def _is_emptied(machine: Machine, now: datetime) -> bool:
    """Return whether pods leave the machine that have no other place yet, such as by a person's drain.

    One that is not empty after a while waits for somebody: nobody knows when its pods leave, if ever.
    """
    removal = machine.removal
    if removal is None or not machine.is_leaving or removal.spec.replaced_by or removal.spec.moves:
        return False
    began = removal.status.drain_started_at or removal.status.tainted_at or removal.metadata.creation_timestamp
    is_recent = began is None or now < began + _EMPTIED_WITHIN
    return is_recent and removal.status.phase is not RemovalPhase.COULD_NOT_REMOVE and bool(movable(machine))


def _awaits_pods(name: str, seating: Seating) -> bool:
    """Return whether pods are yet to come to a reserved machine; the room of those that end elsewhere is counted."""
    moving = seating.moving.get(name, ())
    return bool(seating.seated.get(name)) or name in seating.closed or not all(pod.is_terminating for pod in moving)


def _is_new(pod: Pod, now: datetime) -> bool:
    is_waiting = may_be_placed(pod) and not pod.is_unschedulable
    return is_waiting and pod.created_at is not None and now < pod.created_at + _SCHEDULED_WITHIN


def state_hash(known: KnownState, fleet: Fleet, closed: Collection[str], headroom: Iterable[PodGroup] = ()) -> str:
    """Return the hash of everything that a look depends on."""
    members = [
        f"{member.machine.name} {pods_hash(member.pods)} {member.price} {member.cost_of_moves} "
        f"{member.settings.to_json()}"
        for member in fleet.members
    ]
    parts = (
        known.fingerprint,
        *sorted(members),
        *_allowances(fleet),
        *sorted(closed),
        *_rooms(known.machines.values()),
        *_prices(known),
        *(f"{group.key} {group.count} {_asked(group.example)}" for group in headroom),
    )
    return sha256("\n".join(parts).encode()).hexdigest()[:_HASH_CHARACTERS]


def _asked(headroom: Pod) -> str:
    amounts = str(sorted(headroom.requests.items()))
    # That of a pool may be on each of its machines.
    where = (headroom.node_selector, headroom.node_affinity, headroom.tolerations, headroom.system)
    return amounts if headroom.owner is None else f"{amounts} {where}"


def _allowances(fleet: Fleet) -> Iterable[str]:
    numbers = Counter(member.machine.pool for member in fleet.members)
    return (f"{pool} {min(most, numbers[pool])}" for pool, most in sorted(fleet.allowances.items()))


def _rooms(machines: Iterable[Machine]) -> Iterable[str]:
    return (f"{machine.name} {pods_hash(machine.residents)}" for machine in machines)


def _prices(known: KnownState) -> Iterable[str]:
    return (
        f"{name} {kind.offering.server_type} {kind.offering.location} {kind.offering.price_per_hour}"
        for name, kinds_of_pool in known.pool_kinds.items()
        for kind in kinds_of_pool.kinds
    )


def has_looked(snapshot: Snapshot, state: str) -> bool:
    """Return whether the last look was at the same state and found nothing worth it."""
    statuses = [
        pool.status.consolidation
        for pool in snapshot.pools
        if pool.spec.scale_down.consolidate is not None and pool.metadata.deletion_timestamp is None
    ]
    return bool(statuses) and all(status is not None and status.rested_at == state for status in statuses)
