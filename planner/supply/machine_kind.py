"""Machine kinds: the offerings of a pool's class as Nodes of the pool, and the obstacles to buying them.

Some can never be bought: of a class whose kind no provider serves, or of a server type that the class does not offer.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_class_status import PartialPause
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.request import BUYING_PAUSED, NAME_TAKEN, OF_THE_ACCOUNT, REAL_CLUSTER
from planner.model.node_class import NodeClass
from planner.model.plan import Reason, Snapshot
from planner.objects.kinds import DaemonSet, Pod, Taint
from planner.objects.offering import Offering, ResourceVector
from planner.objects.predicates import DAEMON_TOLERATIONS, FIELD_NAME, NEW_HOST, is_of_system, untolerated, wants_node
from planner.objects.tiers import Tier, tier_of
from planner.scheduling.attachments import attachable
from planner.supply.allowed_types import AllowedTypes, allowed_by_pool
from planner.supply.node_template import node_labels, pool_taints
from planner.supply.observed.agreement import NO_AGREEMENT, Agreement
from planner.supply.peers import Peers, peers_of
from planner.supply.purchase_gates.gates import PurchaseGates, gates_by_pool
from planner.supply.type_faults import faults, unknown_types
from planner.supply.unavailable import REMEMBERED_FOR, part_in_force, parts_over, pause_in_force, stops

POOL_FROZEN: Final = "PoolFrozen"
"""Why a frozen pool buys nothing, and reason of its condition."""
DRY_RUN: Final = "DryRun"
"""Why a pool in dry run buys nothing, and type and reason of its condition."""
_NOT_OF_THE_OFFERING: Final = OF_THE_ACCOUNT | {REAL_CLUSTER}
"""Reasons of an Unmet request after which its offering is as good as before."""


@dataclass(frozen=True, slots=True)
class MachineKind:
    """An offering as a Node of a pool: its machines are interchangeable, and every stage of a round carries it."""

    pool: NodePool
    class_ref: ClassRef
    offering: Offering
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    usable: ResourceVector
    """Allocatable less the requests of DaemonSets."""
    priority: int
    entry: int
    """Position in the pool's `serverTypes` of the entry that holds for it."""
    obstacle: Reason | None = None
    """Why it cannot be bought now."""
    daemons: tuple[Pod, ...] = ()
    """Templates of the DaemonSet pods that will be on it."""
    is_probe: bool = False
    """It had no capacity lately, or is said to have none: only one machine is tried first."""
    is_probe_of_class: bool = False
    """Its account might not have more lately: only one machine of the whole class is tried first."""
    probed_parts: tuple[PartialPause, ...] = ()
    """A part of its class to which it belongs was refused lately: of each part, one machine is tried first."""
    is_minimum: bool = False
    """It is bought in any case, as a minimum asks for it."""
    borrowed_limits: frozenset[str] = frozenset()
    """CSI drivers whose limit is that of Nodes of other types."""

    @property
    def tier(self) -> Tier:
        """Its place in the choice between kinds: the higher one is bought first, whatever it costs."""
        return tier_of(self.pool, self.priority)


@dataclass(frozen=True, slots=True)
class PoolKinds:
    """The machine kinds of a pool."""

    pool: NodePool
    allowed: AllowedTypes
    """What it may buy of its class."""
    kinds: tuple[MachineKind, ...] = ()
    obstacle: Reason | None = None
    """Why the pool cannot buy anything."""
    blocked_by: NodeRequest | None = None
    """The failed request that stops all buying."""
    unknown_types: tuple[str, ...] = ()
    """Server types that its class does not have."""
    refusals: tuple[str, ...] = ()
    """Why no class can ever have some of them, a sentence each."""
    faults: tuple[Reason, ...] = ()
    """What else of the pool comes to nothing in its class."""
    misfits: tuple[Pod, ...] = ()
    """Templates of DaemonSet pods that no machine of the pool is large enough for: they stop nobody else."""
    gates: PurchaseGates = PurchaseGates()
    """What holds back its purchases for a while."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Labels, taints and amounts of the Node that an offering becomes in a pool."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    usable: ResourceVector
    daemons: tuple[Pod, ...]
    misfits: tuple[Pod, ...] = ()
    """DaemonSet pods that it is too small for, though it were empty."""


def kinds_of_pools(snapshot: Snapshot, peers: Peers | None = None) -> dict[str, PoolKinds]:
    """Return the machine kinds of every pool by its name; `peers` are the snapshot's, if read already."""
    examples = peers_of(snapshot) if peers is None else peers
    classes = {node_class.ref: node_class for node_class in examples.classes}
    by_pool = allowed_by_pool(examples.classes, snapshot.pools)
    gates = gates_by_pool(snapshot.pools, snapshot.requests, snapshot.now)
    return {
        name: replace(_of_pool(allowed, classes, examples, snapshot, gates[name]), gates=gates[name])
        for name, allowed in by_pool.items()
    }


def shape(
    pool: NodePool,
    offering: Offering,
    daemon_sets: Iterable[DaemonSet],
    host: str,
    uid: str = NEW_HOST,
    *,
    agreement: Agreement = NO_AGREEMENT,
) -> Shape:
    """Return labels, taints and amounts of the Node named `host`; usable amounts are without those of DaemonSets.

    Args:
        pool: whose Node it is.
        offering: what was bought.
        daemon_sets: those that may run pods there, with the amounts that these will get.
        host: name of Node and request.
        uid: of its request, where there is one.
        agreement: what the pool's Nodes of this type have beside that.
    """
    labels = {**agreement.labels_at(offering), **node_labels(pool, offering, host, uid)}
    taints = agreement.taints_beside(pool_taints(pool))
    wanted = daemons_on(labels, taints, daemon_sets)
    daemons = those_that_fit(wanted, offering.allocatable)
    misfits = tuple(pod for pod in wanted if not _fits(pod, offering.allocatable))
    return Shape(labels, taints, less(offering.allocatable, daemons), daemons, misfits)


def daemons_on(labels: Mapping[str, str], taints: Sequence[Taint], daemon_sets: Iterable[DaemonSet]) -> tuple[Pod, ...]:
    """Return the templates of those DaemonSets whose pods will run on such a node."""
    return tuple(each.template for each in daemon_sets if _runs_on(each.template, labels, taints))


def those_that_fit(daemons: Iterable[Pod], allocatable: ResourceVector) -> tuple[Pod, ...]:
    """Return those that an empty machine of this size has room for: others wait for ever and take nothing from it."""
    return tuple(pod for pod in daemons if _fits(pod, allocatable))


def _fits(pod: Pod, amounts: ResourceVector) -> bool:
    return all(amount <= amounts.get(name, 0) for name, amount in pod.requests.items())


def less(amounts: ResourceVector, pods: Iterable[Pod]) -> dict[str, int]:
    """Return the amounts without what the pods request; a resource that the node lacks becomes negative."""
    free = dict(amounts)
    for pod in pods:
        for name, amount in pod.requests.items():
            free[name] = free.get(name, 0) - amount
    return free


def _runs_on(template: Pod, labels: Mapping[str, str], taints: Sequence[Taint]) -> bool:
    tolerations = (*template.tolerations, *DAEMON_TOLERATIONS)
    is_wanted = wants_node(template, labels) and is_of_system(template, labels)
    return is_wanted and untolerated(tolerations, taints) is None


def _of_pool(
    allowed: AllowedTypes,
    classes: Mapping[ClassRef, NodeClass],
    peers: Peers,
    snapshot: Snapshot,
    gates: PurchaseGates,
) -> PoolKinds:
    pool = allowed.pool
    ref = pool.spec.template.class_ref
    node_class = classes.get(ref)
    if node_class is None:
        obstacle = Reason("ClassNotFound", f"pool {pool.metadata.name} names {ref}, which does not exist")
        return PoolKinds(pool, allowed, obstacle=obstacle)
    unknown = () if node_class.problem else unknown_types(allowed)
    # A breaker counts failures itself: a single one stops nothing.
    blocked_by = None if pool.spec.scale_up.breaker else _failed_request(pool, node_class, snapshot)
    unavailable = _unavailable(node_class, snapshot)
    is_probe_of_class = _class_needs_probe(node_class, snapshot)
    shapes = _shapes(pool, allowed.among(node_class.offerings), peers)
    at_home = {pod.key for _, node_shape in shapes for pod in node_shape.daemons}
    kinds: list[MachineKind] = []
    for offering, alone in shapes:
        position = allowed.holders[offering.server_type.lower()]
        # A DaemonSet runs on each machine: where it fits on other types of the pool, this one is too small.
        node_shape = _with(alone, [pod for pod in alone.misfits if pod.key in at_home])
        declared = offering.attach_limits
        kinds.append(
            MachineKind(
                pool=pool,
                class_ref=ref,
                offering=offering,
                labels={**node_shape.labels, FIELD_NAME: NEW_HOST},
                taints=node_shape.taints,
                usable={**node_shape.usable, **attachable(peers.limits.of(offering.server_type, declared), ())},
                daemons=node_shape.daemons,
                priority=allowed.entry(position).priority,
                entry=position,
                obstacle=_sold_out(offering, unavailable) or _refused(node_class, offering, snapshot.now),
                is_probe=_needs_probe(node_class, offering, snapshot),
                is_probe_of_class=is_probe_of_class,
                probed_parts=_probed_parts(node_class, offering, snapshot),
                borrowed_limits=peers.limits.borrowed(offering.server_type, declared),
            )
        )
    return PoolKinds(
        pool,
        allowed,
        kinds=tuple(kinds),
        obstacle=_obstacle(pool, node_class, blocked_by, snapshot.now) or gates.obstacle,
        blocked_by=blocked_by,
        unknown_types=unknown,
        refusals=tuple(node_class.refusals[name] for name in unknown if name in node_class.refusals),
        faults=() if node_class.problem else faults(allowed),
        misfits=tuple({pod.key: pod for _, each in shapes for pod in each.misfits if pod.key not in at_home}.values()),
    )


def _shapes(pool: NodePool, offerings: Iterable[Offering], peers: Peers) -> list[tuple[Offering, Shape]]:
    shapes: list[tuple[Offering, Shape]] = []
    for offering in offerings:
        kind = pool.metadata.name, offering.server_type
        agreement = peers.agreements.of(*kind)
        shapes.append((offering, shape(pool, offering, peers.carried.on(*kind), NEW_HOST, agreement=agreement)))
    return shapes


def _with(node_shape: Shape, daemons: Sequence[Pod]) -> Shape:
    return replace(node_shape, usable=less(node_shape.usable, daemons), daemons=(*node_shape.daemons, *daemons))


def _obstacle(pool: NodePool, node_class: NodeClass, blocked_by: NodeRequest | None, now: datetime) -> Reason | None:
    name = pool.metadata.name
    if pool.metadata.deletion_timestamp is not None:
        return Reason("PoolDeleting", f"pool {name} is being deleted and buys nothing more")
    pause_of_pool = pool.pause_at(now)
    if pause_of_pool is not None:
        return Reason("PoolPaused", pause_of_pool.sentence(name))
    if pool.spec.dry_run:
        return Reason(DRY_RUN, f"pool {name} only tells what it would do: spec.dryRun is true")
    if node_class.problem:
        return Reason("ClassInvalid", f"{node_class.ref} of pool {name} cannot be used: {node_class.problem}")
    if node_class.barrier:
        return Reason(REAL_CLUSTER, f"{node_class.ref} of pool {name} is not used: {node_class.barrier}")
    if blocked_by is not None:
        status = blocked_by.status
        until = "" if status.expires_at is None else f" until {format_timestamp(status.expires_at)}"
        return Reason(
            "PoolBlocked",
            f"pool {name} buys nothing{until}: request {blocked_by.metadata.name} failed with "
            f"{status.reason or 'Failed'}: {status.message or 'see the request'}",
        )
    pause = pause_in_force(node_class.status.pause, now)
    if pause is not None:
        until = format_timestamp(pause.until)
        return Reason(BUYING_PAUSED, f"{node_class.ref} buys nothing until {until}: {pause.message}")
    return None


def _failed_request(pool: NodePool, node_class: NodeClass, snapshot: Snapshot) -> NodeRequest | None:
    """Return a request that failed with pool and class as they are now, if its pause is not over."""
    for request in snapshot.requests:
        status = request.status
        if (
            status.phase is RequestPhase.FAILED
            # A name that is taken says nothing of pool and class: the next request has another.
            and status.reason != NAME_TAKEN
            and request.metadata.deletion_timestamp is None
            and request.spec.pool == pool.metadata.name
            and request.spec.class_ref == pool.spec.template.class_ref
            and (status.expires_at is None or snapshot.now < status.expires_at)
            # One that failed before its create call tells no generation: then time or a person opens the way.
            and status.pool_generation in {None, pool.metadata.generation}
            and status.class_generation in {None, node_class.generation}
        ):
            return request
    return None


def _unavailable(node_class: NodeClass, snapshot: Snapshot) -> dict[tuple[str, str], datetime | None]:
    """Return the end of each exclusion by (server type, location); None lasts until the record of the miss goes."""
    left_out: dict[tuple[str, str], datetime | None] = {}
    for entry in node_class.status.unavailable:
        if snapshot.now < entry.until:
            left_out[entry.server_type.lower(), entry.location] = entry.until
    for request in snapshot.requests:
        until = request.status.expires_at
        if (
            request.status.phase is RequestPhase.UNMET
            and request.status.reason not in _NOT_OF_THE_OFFERING
            and request.metadata.deletion_timestamp is None
            and request.spec.class_ref == node_class.ref
            and (until is None or snapshot.now < until)
        ):
            left_out.setdefault((request.spec.server_type.lower(), request.spec.location), until)
    return left_out


def _sold_out(offering: Offering, unavailable: Mapping[tuple[str, str], datetime | None]) -> Reason | None:
    name = f"{offering.server_type} in {offering.location}"
    if not offering.available:
        because = offering.unavailable_because or "is sold out, says the provider"
        return Reason("OfferingUnavailable", f"{name} {because}", offering.server_type)
    place = (offering.server_type.lower(), offering.location)
    if place not in unavailable:
        return None
    until = unavailable[place]
    when = "" if until is None else f" and is left out until {format_timestamp(until)}"
    return Reason("OfferingUnavailable", f"{name} had no capacity{when}", offering.server_type)


def _refused(node_class: NodeClass, offering: Offering, now: datetime) -> Reason | None:
    pause = part_in_force(node_class.status.partial_pauses, offering.server_type, offering.location, now)
    if pause is None:
        return None
    until = format_timestamp(pause.until)
    return Reason(BUYING_PAUSED, f"{node_class.ref} is refused {pause.limit} until {until}: {pause.message}")


def _probed_parts(node_class: NodeClass, offering: Offering, snapshot: Snapshot) -> tuple[PartialPause, ...]:
    over = parts_over(node_class.status.partial_pauses, offering.server_type, offering.location, snapshot.now)
    return tuple(
        pause
        for pause in over
        if not any(
            stops(pause, request.spec.server_type, request.spec.location)
            for request in _had_since(pause.until, node_class, snapshot)
        )
    )


def _needs_probe(node_class: NodeClass, offering: Offering, snapshot: Snapshot) -> bool:
    place = (offering.server_type.lower(), offering.location)
    entry = next(
        (e for e in node_class.status.unavailable if (e.server_type.lower(), e.location) == place),
        None,
    )
    if (entry is None and not offering.is_doubtful) or (entry is not None and snapshot.now < entry.until):
        return False
    since = snapshot.now - REMEMBERED_FOR if entry is None else entry.until
    return not any(
        (request.spec.server_type.lower(), request.spec.location) == place
        for request in _had_since(since, node_class, snapshot)
    )


def _class_needs_probe(node_class: NodeClass, snapshot: Snapshot) -> bool:
    pause = node_class.status.pause
    if pause is None or pause_in_force(pause, snapshot.now) is not None:
        return False
    return next(_had_since(pause.until, node_class, snapshot), None) is None


def _had_since(moment: datetime, node_class: NodeClass, snapshot: Snapshot) -> Iterator[NodeRequest]:
    """Yield the requests of the class that were given a server they asked for since then."""
    for request in snapshot.requests:
        asked_at = request.status.create_attempt_at
        if (
            request.status.phase in {RequestPhase.PROVISIONING, RequestPhase.READY}
            and request.spec.class_ref == node_class.ref
            and asked_at is not None
            and asked_at >= moment
        ):
            yield request


def unserved(pools: Iterable[NodePool], kinds: Collection[str]) -> tuple[NodeClass, ...]:
    """Return each class that pools name and whose kind is none of `kinds`, with that problem."""
    refs = dict.fromkeys(pool.spec.template.class_ref for pool in pools)
    known = " and ".join(kinds) or "none"
    return tuple(
        NodeClass(ref=ref, offerings=(), problem=f"no provider serves the kind {ref.kind}; known: {known}")
        for ref in refs
        if ref.kind not in kinds
    )
