"""NodePools as a round leaves them: held by the finalizer, with a status, and let go when they are deleted.

A deleted pool buys nothing more, its unready requests and its cool-offs are cancelled, and its Ready
machines stay as plain capacity, unless an annotation says that they go too. Source: docs/design.md#deleting.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from activities.kube.json_patch import patch_if_same, set_field
from activities.objects.removal_cancels import can_cancel, cancel
from activities.ports.cluster import NODE_POOLS, Cluster, Object, PatchOp
from activities.ports.errors import NotFound
from activities.round.fence import RoundWrites
from activities.round.observe import Observation
from activities.round.removals import create_removal
from api.keys import ANNOTATION_DELETE_MACHINES, FINALIZER, LABEL_REQUEST
from api.meta import READY, set_condition
from api.model import UnreadableError, read
from api.v1alpha1.node_pool import ClassRef, NodePoolStatus
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.json_predicates import is_terminating
from planner.model.plan import PlannedRemoval, Problem
from planner.report.events import is_trouble
from planner.supply.machines import Machine

log = logging.getLogger(__name__)


def is_deleting(pool: Object) -> bool:
    """Return whether the pool has been deleted and only waits for its finalizers."""
    return is_terminating(pool)


async def hold_pools(writes: RoundWrites, cluster: Cluster, pools: Mapping[str, Object]) -> dict[str, Object]:
    """Put our finalizer on every pool that lacks it, and return the pools as they are now."""
    lacking = [p for p in pools.values() if not is_deleting(p) and FINALIZER not in p["metadata"].get("finalizers", ())]

    def operations(pool: Object) -> Sequence[PatchOp]:
        finalizers = pool["metadata"].get("finalizers", [])
        if FINALIZER in finalizers:
            # The cache is older than a round that has put it there.
            return []
        return set_field(pool, ("metadata", "finalizers"), [*finalizers, FINALIZER])

    held = await writes.each(
        lacking,
        lambda pool: f"finalizer of pool {_name(pool)}",
        lambda pool: patch_if_same(cluster, NODE_POOLS, pool, operations, lambda live: not is_deleting(live)),
    )
    return {**pools, **{_name(pool): pool for _, pool in held}}


async def release_pool(cluster: Cluster, pool: Object) -> Object:
    """Take our finalizer off the deleted pool, so that it goes, and return it as it last was.

    Raises:
        Conflict: it keeps changing.
    """

    def operations(read: Object) -> Sequence[PatchOp]:
        others = [one for one in read["metadata"].get("finalizers", ()) if one != FINALIZER]
        return set_field(read, ("metadata", "finalizers"), others or None)

    if FINALIZER not in pool["metadata"].get("finalizers", ()):
        return pool
    try:
        return await patch_if_same(cluster, NODE_POOLS, pool, operations, is_deleting)
    except NotFound:
        return pool


async def write_status(cluster: Cluster, pool: Object, status: NodePoolStatus) -> Object:
    """Write the status if it differs from the one read, and return the pool.

    Raises:
        NotFound: it does not exist any more.
        Conflict: its spec was changed, so that the status is about another one.
    """
    wanted = status.to_json()
    if pool.get("status", {}) == wanted:
        return pool
    generation = pool["metadata"].get("generation")

    def operations(_: Object) -> Sequence[PatchOp]:
        return [{"op": "add", "path": "/status", "value": wanted}]

    written = await patch_if_same(
        cluster,
        NODE_POOLS,
        pool,
        operations,
        lambda live: live["metadata"].get("generation") == generation,
        subresource="status",
    )
    known = {(each.type, each.status, each.reason) for each in _status_of(pool).conditions}
    for each in status.conditions:
        if is_trouble(each) and (each.type, each.status, each.reason) not in known:
            log.warning("NodePool %s: %s, reason %s: %s", _name(pool), each.type, each.reason, each.message)
    return written


def unreadable_status(pool: Object, problem: Problem, now: datetime) -> NodePoolStatus:
    """Return the status of a pool that cannot be read: as it was, and not Ready for this reason."""
    before = _status_of(pool)
    conditions = set_condition(
        before.conditions,
        READY,
        status=False,
        reason="Unreadable",
        message=problem.message,
        now=now,
        generation=pool["metadata"].get("generation"),
    )
    return before.model_copy(update={"conditions": conditions})


def _status_of(pool: Object) -> NodePoolStatus:
    """Return the status of the pool as it was read; one that cannot be read counts as none."""
    try:
        return read(NodePoolStatus, pool.get("status", {}))
    except UnreadableError:
        return NodePoolStatus()


@dataclass(frozen=True, slots=True)
class Closing:
    """The writes that the deletion of a pool still needs."""

    pool: Object
    requests: tuple[Object, ...]
    """Requests that are not Ready: delete them."""
    cool_offs: tuple[Object, ...]
    """Removals to cancel."""
    removals: tuple[PlannedRemoval, ...]
    """Removals of Ready machines to create."""
    awaited: tuple[str, ...]
    """Machines to remove whose last removal, a cancelled one, has to end before they can have another."""


def closing_of(pool: Object, observed: Observation, machines: Iterable[Machine]) -> Closing:
    """Return the writes that are still due before the deleted pool may go.

    Raises:
        ValueError: its machines go with it and its class reference cannot be read.
    """
    name = _name(pool)
    own = [machine for machine in machines if machine.pool == name]
    unready = [
        observed.requests[machine.name]
        for machine in own
        if machine.request is not None and _is_unready(machine.request)
    ]
    if not pool["metadata"].get("annotations", {}).get(ANNOTATION_DELETE_MACHINES):
        removals = (observed.removals[machine.name] for machine in own if machine.removal is not None)
        return Closing(pool, tuple(unready), tuple(removal for removal in removals if can_cancel(removal)), (), ())
    class_ref = ClassRef.model_validate(pool.get("spec", {}).get("template", {}).get("classRef", {}))
    unwanted = [machine for machine in own if _is_there(machine) and not _is_protected(machine, observed)]
    return Closing(
        pool,
        tuple(unready),
        (),
        tuple(
            PlannedRemoval(
                node=machine.name if machine.node is None else machine.node.name,
                server=machine.name,
                provider_id=machine.provider_id,
                pool=name,
                server_type=machine.server_type,
                location=machine.location,
                class_ref=machine.class_ref or class_ref,
                reason="PoolDeleted",
                why=f"Pool {name} was deleted with its machines",
                at=observed.snapshot.now,
            )
            for machine in unwanted
            if machine.removal is None
        ),
        tuple(machine.name for machine in unwanted if machine.removal is not None and not machine.is_leaving),
    )


def _is_unready(request: NodeRequest) -> bool:
    ending = request.status.phase in {RequestPhase.READY, RequestPhase.DEPROVISIONING}
    return not ending and request.metadata.deletion_timestamp is None


def _is_there(machine: Machine) -> bool:
    """Whether the machine is Ready capacity; one that is still coming is handed over by its own request.

    A Node that does not name its request was not bought by Growth, whatever pool it is labelled with.
    """
    if machine.request is not None:
        return machine.request.status.phase is RequestPhase.READY
    return machine.node is not None and machine.node.labels.get(LABEL_REQUEST) == machine.node.name


def _is_protected(machine: Machine, observed: Observation) -> bool:
    return machine.node is not None and machine.node.name in observed.snapshot.protected_nodes


async def close_pool(
    writes: RoundWrites,
    cluster: Cluster,
    closing: Closing,
    *,
    nodes: Mapping[str, Object],
    cancelled: Collection[str],
    now: datetime,
) -> list[tuple[PlannedRemoval, Object]]:
    """Cancel cool-offs, create removals, and let the pool go when all that its deletion asks for is written.

    `nodes` are all Nodes by name, `cancelled` names the requests that have been deleted. The new
    removals come back.
    """
    name = _name(closing.pool)
    lifted = await writes.each(
        closing.cool_offs,
        lambda removal: f"cancel of removal {_name(removal)} of the deleted pool {name}",
        lambda removal: cancel(cluster, removal, f"Pool {name} was deleted: its machines stay", now),
    )
    created = await writes.each(
        closing.removals,
        lambda planned: f"removal of {planned.server} of the deleted pool {name}",
        lambda planned: create_removal(cluster, planned, nodes.get(planned.node)),
    )
    is_done = len(lifted) == len(closing.cool_offs) and len(created) == len(closing.removals)
    if is_done and not closing.awaited and all(_name(request) in cancelled for request in closing.requests):
        await writes.attempt(f"end of the deleted pool {name}", lambda: release_pool(cluster, closing.pool))
    return created


def _name(item: Object) -> str:
    return str(item["metadata"]["name"])
