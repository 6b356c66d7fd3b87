"""Places: nodes and coming machines with the room that they have left.

Growth's own taints decide nothing here. Whether a node is reserved, in its cool-off or not yet
registered is read from requests and removals, as a cached node may be older than they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Final

from api.keys import LABEL_HOSTNAME, TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import RequestPhase
from planner.model.plan import Snapshot
from planner.objects.kinds import Node, Pod, Taint
from planner.objects.offering import Offering
from planner.objects.predicates import FIELD_NAME, NEW_HOST, OWN_TAINTS
from planner.scheduling.attachments import AttachLimits, attachable
from planner.supply.machine_kind import daemons_on, less, shape, those_that_fit
from planner.supply.machines import Machine, price_paid
from planner.supply.node_template import pool_taints
from planner.supply.observed.agreement import Agreement
from planner.supply.observed.carried import missing
from planner.supply.observed.learned import amounts as planned_amounts
from planner.supply.peers import Peers
from planner.supply.replacement.moving import owners_of_leaving
from planner.supply.seats import Seating
from planner.supply.startup import with_missing

PLACED_AFTER_CANCEL: Final = timedelta(seconds=30)
"""Pods count as placed on a node whose cool-off was cancelled for this long, until its taint is seen to be lifted."""
_SECONDS_DIGITS: Final = 11
_LIFT_DELAY: Final = timedelta(seconds=5)
"""A cool-off ends this much later than its grace at most, as its taint must settle."""


class Rank(IntEnum):
    """In which order places are filled."""

    NODE = 0
    IN_FLIGHT = 1
    """Coming, or there and still kept for its seats: a pod gets a seat, too."""
    MINIMUM = 2
    """Machines that a minimum asks for, which are bought in any case."""
    COOL_OFF = 3
    """Last, so that a machine that no pod needs goes."""


@dataclass(frozen=True, slots=True)
class Place:
    """A machine that is there or coming, with its room."""

    machine: Machine
    rank: Rank
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    free: Mapping[str, int]
    """Allocatable less pods, seats, pods that are to move here and missing DaemonSet pods; may be negative."""
    pods: tuple[Pod, ...]
    """On it or seated on it."""
    moving: tuple[Pod, ...] = ()
    """On machines that go, and to move here."""
    daemons: tuple[Pod, ...] = ()
    """Templates of DaemonSet pods that are still missing on it."""
    only_pool: str | None = None
    """Only pods of this pool are planned here."""
    only_owners: frozenset[str] | None = None
    """Only pods of these controllers are planned here, by uid."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known for one machine beside itself."""

    snapshot: Snapshot
    peers: Peers
    limits: Mapping[str, int]
    """Volumes of each driver that it attaches."""
    seating: Seating


def places(snapshot: Snapshot, machines: Mapping[str, Machine], seating: Seating, peers: Peers) -> tuple[Place, ...]:
    """Return every machine that pods may be planned onto, those of the lowest rank first."""
    pools = {pool.metadata.name: pool for pool in snapshot.pools if pool.metadata.deletion_timestamp is None}
    offerings = {
        (str(node_class.ref), offering.server_type.lower(), offering.location): offering
        for node_class in peers.classes
        for offering in node_class.offerings
    }
    all_places: list[Place] = []
    for machine in machines.values():
        pool = pools.get(machine.pool)
        if any(pod.is_unreadable for pod in machine.residents):
            continue
        offering = offerings.get((str(machine.class_ref), machine.server_type, machine.location))
        known = _Known(snapshot, peers, _attach_limits(machine, offering, peers.limits, snapshot.now), seating)
        if machine.is_in_flight(snapshot.now) or machine.is_reserved:
            if pool is None or machine.name in seating.closed or not _takes_seats(machine, pool):
                continue
            if place := _place_in_flight(machine, pool, offering, known):
                all_places.append(place)
        elif machine.node is not None and _is_open(machine):
            all_places.append(_place_of_node(machine, machine.node, pool, offering, known))
    return tuple(
        sorted(all_places, key=lambda place: (place.rank, _saved_by_going(place, offerings), place.machine.name))
    )


def _saved_by_going(place: Place, offerings: Mapping[tuple[str, str, str], Offering]) -> Decimal:
    """Return the price per hour that the end of a machine in its cool-off saves: the dearest are taken back last."""
    machine = place.machine
    if place.rank is not Rank.COOL_OFF:
        return Decimal(0)
    if (paid := price_paid(machine)) is not None:
        return paid[0]
    offering = offerings.get((str(machine.class_ref), machine.server_type, machine.location))
    return Decimal(0) if offering is None else offering.price_per_hour


def _takes_seats(machine: Machine, pool: NodePool) -> bool:
    """Return whether the machine may be given seats: one that has joined and is kept for those it has, for as long."""
    node = machine.node
    return not machine.is_reserved or (node is not None and node.takes_pods and pool.spec.scale_up.reserve)


def _is_open(machine: Machine) -> bool:
    if machine.node is None or not machine.node.takes_pods:
        return False
    if machine.is_reserved or (machine.is_leaving and not machine.is_cooling_off):
        return False
    # A request that is not Ready here was given up, cancelled, or released because its node was not Ready.
    return machine.request is None or machine.request.status.phase in {
        RequestPhase.READY,
        RequestPhase.UNMET,
        RequestPhase.FAILED,
    }


def _attach_limits(
    machine: Machine, offering: Offering | None, limits: AttachLimits, now: datetime
) -> Mapping[str, int]:
    """Return the limits of its drivers: of a Node that is there, those that they state, once all had time to register.

    The scheduler knows no limit of a driver that has not registered, and neither does a Node that is there to last.
    """
    declared = {} if offering is None else offering.attach_limits
    if machine.node is None:
        return limits.of(machine.server_type, declared)
    if machine.is_in_flight(now) or machine.is_reserved or machine.is_starting(now):
        return limits.of_node(machine.node, machine.server_type, declared)
    return machine.node.attach_limits


def _place_of_node(
    machine: Machine,
    node: Node,
    pool: NodePool | None,
    offering: Offering | None,
    known: _Known,
) -> Place:
    now = known.snapshot.now
    agreement = known.peers.agreements.of(machine.pool, machine.server_type)
    grace = timedelta() if pool is None else pool.spec.scale_down.soft_grace
    own = (t for t in node.taints if t.key in OWN_TAINTS and not _is_explained(t, machine, grace, now))
    lasting = _lasting(machine, node, pool, agreement, now)
    labels = {**node.labels, FIELD_NAME: node.name}
    if pool is not None and offering is not None and machine.is_starting(now):
        labels = {**shape(pool, offering, (), machine.name, _uid(machine), agreement=agreement).labels, **labels}
    absent = missing(known.peers.carried.on(machine.pool, machine.server_type), machine.residents)
    daemons = those_that_fit(daemons_on(labels, lasting, absent), node.allocatable)
    moving = known.seating.moving.get(machine.name, ())
    cooling = machine.is_cooling_off
    return Place(
        machine=machine,
        rank=Rank.COOL_OFF if cooling else Rank.NODE,
        labels=labels,
        taints=(*own, *lasting),
        free=_free(node.allocatable, known.limits, (*machine.residents, *moving), daemons),
        pods=machine.residents,
        moving=moving,
        daemons=daemons,
        only_pool=machine.pool if cooling else None,
        only_owners=owners_of_leaving(machine, known.seating.seats) if cooling else None,
    )


def _place_in_flight(
    machine: Machine,
    pool: NodePool,
    offering: Offering | None,
    known: _Known,
) -> Place | None:
    agreement = known.peers.agreements.of(machine.pool, machine.server_type)
    pods = (*machine.residents, *known.seating.seated.get(machine.name, ()))
    moving = known.seating.moving.get(machine.name, ())
    wanted = tuple(missing(known.peers.carried.on(machine.pool, machine.server_type), machine.residents))
    node = machine.node
    if node is not None and node.allocatable:
        # It has joined: what it has is known better from itself than from the catalogue.
        labels = {**node.labels, LABEL_HOSTNAME: machine.name}
        lasting = _lasting(machine, node, pool, agreement, known.snapshot.now)
        amounts = with_missing(node.allocatable, _planned(machine))
        daemons = those_that_fit(daemons_on(labels, lasting, wanted), amounts)
        if offering is not None:
            labels = {**shape(pool, offering, (), machine.name, _uid(machine), agreement=agreement).labels, **labels}
    elif offering is not None:
        made = shape(pool, offering, wanted, machine.name, _uid(machine), agreement=agreement)
        labels, lasting, daemons, amounts = made.labels, made.taints, made.daemons, offering.allocatable
    else:
        return None
    return Place(
        machine=machine,
        rank=Rank.IN_FLIGHT,
        labels={**labels, FIELD_NAME: machine.name},
        taints=lasting,
        free=_free(amounts, known.limits, (*pods, *moving), daemons),
        pods=pods,
        moving=moving,
        daemons=daemons,
        only_pool=machine.pool,
    )


def _planned(machine: Machine) -> Mapping[str, int]:
    """Return what the plan of a machine that still starts counted on: what its Node does not state yet, it will."""
    status = None if machine.request is None else machine.request.status
    if status is None or status.phase is not RequestPhase.PROVISIONING or status.planned_allocatable is None:
        return {}
    return planned_amounts(status.planned_allocatable)


def _uid(machine: Machine) -> str:
    """Return the uid of the machine's request, which is a label of its Node."""
    return NEW_HOST if machine.request is None else machine.request.metadata.uid


def _free(
    amounts: Mapping[str, int], limits: Mapping[str, int], pods: Sequence[Pod], daemons: Iterable[Pod]
) -> dict[str, int]:
    return less({**amounts, **attachable(limits, pods)}, (*pods, *daemons))


def _lasting(
    machine: Machine, node: Node, pool: NodePool | None, agreement: Agreement, now: datetime
) -> tuple[Taint, ...]:
    """Return the taints of a node that are there to last, but for own ones.

    While a machine of ours starts, those are the taints of its pool and of all its peers alone: Kubernetes, cloud
    controllers and network agents set others that they take back, under whatever names.
    """
    if pool is not None and machine.is_starting(now):
        return agreement.taints_beside(pool_taints(pool))
    return tuple(taint for taint in node.taints if taint.key not in OWN_TAINTS)


def _is_explained(taint: Taint, machine: Machine, grace: timedelta, now: datetime) -> bool:
    """Return whether one of Growth's taints decides nothing, as a request or removal says whether pods may come."""
    if taint.key in {TAINT_RESERVED, TAINT_UNREGISTERED}:
        return machine.request is not None
    if taint.key != TAINT_SCALE_DOWN:
        return False
    if machine.removal is not None:
        return True
    if not (taint.value.isdecimal() and len(taint.value) <= _SECONDS_DIGITS):
        return False
    set_at = datetime.fromtimestamp(int(taint.value), UTC)
    return now < set_at + grace + _LIFT_DELAY + PLACED_AFTER_CANCEL
