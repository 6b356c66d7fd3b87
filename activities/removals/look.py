"""The live look at a NodeRemovalRequest: its object, pool, server, Node and the pods on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from activities.objects.definitions import are_going
from activities.objects.kinds import REMOVALS
from activities.objects.nodes import exclusion, get_node, has_taint, is_of, marks_of, request_of, see_node
from activities.objects.pods import awaited_on, pods_on
from activities.objects.record import Record, read_record
from activities.objects.related import ServerLook, count_others, find_pool, removal_timings, see_server
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Object
from activities.ports.identity import Ownership
from activities.ports.ports import Ports
from activities.ports.provider import Server
from activities.removals.dead_node import DeadNodeLook, look_for_death
from activities.removals.drain_blockers import keeps_empty_dirs, leaves_last, occupants_of
from activities.removals.evictions import first_refusal
from activities.removals.replacement import look_at_move
from activities.removals.volumes import local_data_on, volumes_on
from api.keys import (
    ANNOTATION_DECISION,
    ANNOTATION_DELETE_LOCAL_DATA,
    EXCLUDED_BY_GROWTH,
    FORCED,
    LABEL_REQUEST_UID,
    TAINT_REMOVE_NOW,
)
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest, NodeRemovalRequestStatus, RemovalPhase
from api.v1alpha1.removal_budget import EVICTING_REASONS
from planner.lifecycle.clocks.drain_limits import UNLIMITED, drain_limits
from planner.lifecycle.clocks.future_times import is_to_come, removal_as_of
from planner.lifecycle.decision import decision_on
from planner.lifecycle.departure.waiting import see_pods_awaited
from planner.lifecycle.drain import Occupant, see_drain, see_per_node_pods
from planner.lifecycle.garbage import Garbage
from planner.lifecycle.json_predicates import is_ready, key_of, should_have_ended
from planner.lifecycle.leaving import see_local_data
from planner.lifecycle.removal import FOUND_DEAD, REMOVE_NOW
from planner.lifecycle.seen import (
    DrainSeen,
    LocalDataSeen,
    NodeSeen,
    PodsAwaited,
    RemovalObservation,
    RemovalTimings,
    ServerSeen,
    VolumesSeen,
)
from planner.lifecycle.step import shortened
from planner.objects.eviction import keeps_node
from planner.objects.local_volume import VolumeHost, named
from planner.objects.provider_ids import ServerMarks, has_other_scheme, proves
from planner.policies.emptiness import FOUND_EMPTY

OWN_REASONS: Final = frozenset({FOUND_EMPTY, FOUND_DEAD, REMOVE_NOW})
"""Of removals that rounds order: nodes that go by them are not drained."""
_NAMED: Final = 5
"""Occupants that are named; the rest only counts."""


@dataclass(frozen=True, slots=True)
class RemovalObjects:
    """A NodeRemovalRequest and what belongs to it, at one moment."""

    record: Record[NodeRemovalRequest]
    seen: RemovalObservation
    node: Object | None = None
    pods: tuple[Object, ...] = ()
    """Those on the Node that count, without those that are gone with it."""
    per_node_pods: tuple[Object, ...] = ()
    """Those that belong to it and are asked to leave."""
    occupants: tuple[Occupant, ...] = ()
    """What is told of `pods`, once the Node is drained."""
    daemons: tuple[Object, ...] = ()
    """Those of DaemonSets that are asked to leave a drained node, after all others."""


def _asked_at(ports: Ports, removal: NodeRemovalRequest) -> datetime | None:
    """Return when its server was asked for at the latest; a clock that was ahead may have written a time to come.

    Its removal was created after the call, by the API server's clock.
    """
    asked_at = removal.spec.create_attempt_at
    return removal.metadata.creation_timestamp if is_to_come(asked_at, ports.now()) else asked_at


async def look_at_removal(ports: Ports, name: str, uid: str) -> RemovalObjects | None:
    """Return the removal with this uid, its server, Node and pods, or None when its lifecycle is over.

    Only what the next step may depend on is read.

    Raises:
        Unreadable: a person broke the object.
        Unreachable: the API server does not answer.
    """
    record = await read_record(ports.cluster, REMOVALS, name, uid)
    if record is None:
        return None
    spec, status = record.model.spec, removal_as_of(record.model.status, ports.now())
    seen = RemovalObservation(
        deleting=record.is_deleting,
        pool=spec.pool,
        immediate=spec.immediate,
        create_attempt_at=_asked_at(ports, record.model),
        status=status.model_copy(update={"events": ()}),
        decision=decision_on(record.model.metadata.annotations, by=_annotator(record.object)),
    )
    if record.is_deleting and await are_going(ports):
        return RemovalObjects(record, seen.model_copy(update={"crds_going": True}))
    pool = await find_pool(ports.cluster, spec.pool)
    node = await _find_node(ports, record.model)
    server = ServerLook(ServerSeen.UNKNOWN)
    pods: tuple[Object, ...] = ()
    per_node_pods: tuple[Object, ...] = ()
    daemons: tuple[Object, ...] = ()
    occupants: list[str] = []
    dead, gone_pods = DeadNodeLook(), 0
    if not status.phase.is_reversible:
        server = await see_server(
            ports, spec.class_ref, spec.server_name, lambda server: is_ours(ports, record.model, server, node)
        )
    elif node is not None and not spec.immediate:
        node_name = node["metadata"]["name"]
        # In this order: one that is bound in between is seen at least once.
        awaited = await awaited_on(ports.cluster, node_name)
        on_node = await pods_on(ports.cluster, node_name)
        pods, per_node_pods = on_node.counted, on_node.per_node
        daemons = tuple(filter(leaves_last, on_node.daemons))
        if spec.reason == FOUND_DEAD or (_repairs(pool) and not is_ready(node)):
            dead = await look_for_death(ports, pool, node)
        if dead.is_dead(now := ports.now()):
            # None is on its way to a Node that has not been Ready for so long, whatever the scheduler kept it for.
            awaited, on_it = [], pods
            pods = tuple(pod for pod in on_it if not should_have_ended(pod, now))
            gone_pods = len(on_it) - len(pods)
        occupants = list(dict.fromkeys((*map(key_of, pods), *awaited)))
    judged_at = dead.judged_at if spec.reason == FOUND_DEAD and status.phase is RemovalPhase.PENDING else None
    move: Mapping[str, Any] = {}
    if status.phase.is_reversible and (spec.replaced_by or spec.moves) and not spec.immediate:
        move = await look_at_move(ports, record.model, pool, is_empty=not occupants)
    volumes = VolumesSeen()
    if node is not None and _may_wait_for_volumes(ports, status, server.seen):
        volumes = await volumes_on(ports, node["metadata"]["name"], status)
    local_data = LocalDataSeen()
    if status.phase.is_reversible:
        local_data = await _local_data(ports, record.model, node, pool, is_occupied=bool(occupants))
    refusal = ""
    if status.phase.is_reversible and per_node_pods and not occupants and not _is_cooling_off(ports, record.model):
        refusal = await first_refusal(ports.cluster, per_node_pods)
    waits = waits_for_pods(pool, record.model) and ports.own_pods.isdisjoint(occupants)
    timings, drain, leaving = _timings(pool, spec.reason, waits=waits), DrainSeen(), ()
    if status.phase is RemovalPhase.DRAINING:
        now, keeps = ports.now(), keeps_empty_dirs(pool, spec.reason)
        leaving = tuple(occupants_of(pods, now, keeps_empty_dirs=keeps))
        drain = see_drain(
            leaving,
            status,
            daemons=occupants_of(daemons, now, keeps_empty_dirs=keeps),
            limits=UNLIMITED if waits else drain_limits(spec.reason, status, timings),
            now=now,
        )
    seen = seen.model_copy(
        update={
            "timings": timings,
            "server": server.seen,
            "server_problem": shortened(server.problem),
            "node": None if node is None else _seen_node(node, record.model),
            "occupants": tuple(occupants[:_NAMED]),
            "occupant_count": len(occupants),
            "may_drain": may_drain(pool, record.model) and ports.own_pods.isdisjoint(occupants),
            "drain": drain,
            "awaited": _awaited(status, timings) if waits else None,
            "withdrawn": _withdrawn(record.model, node),
            "alive": shortened(dead.why_alive) if spec.reason == FOUND_DEAD else "",
            "judged_at": judged_at,
            # The object names the end of its cool-off; a dead Node may be judged later than that.
            "named_deadline": None if judged_at is None else status.scale_down_at,
            "gone_pods": gone_pods,
            "volumes": volumes,
            "local_data": local_data,
            "per_node_pods": see_per_node_pods(refusal, status),
            **move,
            "others": await count_others(ports, NODE_REMOVAL_REQUESTS, uid, _is_under_way),
        }
    )
    return RemovalObjects(record, seen, node, pods, per_node_pods, leaving, daemons)


def _timings(pool: NodePool | None, reason: str, *, waits: bool) -> RemovalTimings:
    """Return the durations of the pool that hold for a removal for this reason, one that waits for pods or not."""
    timings = removal_timings(pool)
    if reason == REMOVE_NOW:
        # Whoever set the taint did not ask for a cool-off.
        return timings.model_copy(update={"soft_grace": timedelta()})
    # A drain that a round began has limits of its own; a wait has this one, whoever began it.
    has_limits = reason in EVICTING_REASONS and not waits
    return timings.model_copy(update={"hard_grace": None}) if has_limits else timings


def _awaited(status: NodeRemovalRequestStatus, timings: RemovalTimings) -> PodsAwaited:
    return see_pods_awaited(status, timings.hard_grace, began=status.tainted_at)


async def _local_data(
    ports: Ports, removal: NodeRemovalRequest, node: Object | None, pool: NodePool | None, *, is_occupied: bool
) -> LocalDataSeen:
    """Return the data that would go with the machine; none where a person lets it go, or it is gone already.

    Without a Node the machine's name tells of it: somebody who deletes a Node does not ask for its data.
    """
    spec, status, annotations = removal.spec, removal.status, removal.metadata.annotations
    if annotations.get(ANNOTATION_DELETE_LOCAL_DATA) == "true" or spec.reason == Garbage.SERVER_GONE:
        return LocalDataSeen()
    labels = {} if node is None else node["metadata"].get("labels") or {}
    name = spec.node_name or spec.server_name if node is None else node["metadata"]["name"]
    shared = () if pool is None else tuple(pool.spec.template.labels)
    is_pending = status.phase is RemovalPhase.PENDING
    volumes = await local_data_on(
        ports,
        VolumeHost(name, labels, shared),
        # A cool-off that goes on, or pods that leave, are looked at again before anything is lost.
        is_certain=not (_is_cooling_off(ports, removal) if is_pending else is_occupied),
    )
    is_of_round = spec.reason in OWN_REASONS.union(EVICTING_REASONS) or bool(spec.replaced_by or spec.moves)
    return see_local_data(named(volumes), status, ends_removal=is_of_round and not spec.immediate)


def _is_cooling_off(ports: Ports, removal: NodeRemovalRequest) -> bool:
    """Return whether nothing can be lost yet; one whose pods move goes on as soon as there is room for them."""
    spec, status = removal.spec, removal.status
    if spec.replaced_by or spec.moves:
        return False
    until = status.scale_down_at if status.phase is RemovalPhase.PENDING else None
    return status.tainted_at is not None and until is not None and ports.now() < until


def _may_wait_for_volumes(ports: Ports, status: NodeRemovalRequestStatus, server: ServerSeen) -> bool:
    until = status.detach_until
    return (
        status.phase is RemovalPhase.DEPROVISIONING
        and not status.removal_attempts
        and server not in {ServerSeen.ABSENT, ServerSeen.FOREIGN}
        and until is not None
        and ports.now() < until
    )


def _is_under_way(removal: Object) -> bool:
    return (removal.get("status") or {}).get("phase") != RemovalPhase.COULD_NOT_REMOVE


def may_drain(pool: NodePool | None, removal: NodeRemovalRequest) -> bool:
    """Return whether pods on the node are asked to leave: as the pool says, or in a drain that outlives its pool.

    A node that a round found empty is not drained: the pods that have come since need it. Nor is a dead one: nobody is
    there to let them go.
    """
    if removal.spec.reason in OWN_REASONS:
        return False
    return removal.status.phase is RemovalPhase.DRAINING if pool is None else pool.spec.scale_down.mode == "drain"


def waits_for_pods(pool: NodePool | None, removal: NodeRemovalRequest) -> bool:
    """Return whether pods on the node are waited for after the cool-off, as the mode of its pool says.

    One that a round found empty, or dead, goes or stays as in other modes; so does one whose pods were to move.
    """
    spec = removal.spec
    is_plain = not (spec.immediate or spec.replaced_by or spec.moves or spec.reason in OWN_REASONS)
    return is_plain and pool is not None and pool.spec.scale_down.mode == "wait" and removal.status.phase.is_reversible


def _withdrawn(removal: NodeRemovalRequest, node: Object | None) -> str:
    """Return why a machine that goes for its taint need not any more; empty for all others."""
    if removal.spec.reason != REMOVE_NOW or node is None or has_taint(node, TAINT_REMOVE_NOW):
        return ""
    return f"The taint {TAINT_REMOVE_NOW} was taken off Node {node['metadata']['name']}"


def _repairs(pool: NodePool | None) -> bool:
    return pool is not None and pool.spec.scale_down.repair is not None


async def _find_node(ports: Ports, removal: NodeRemovalRequest) -> Object | None:
    """Return the Node that the removal names, else the one with the server's name, whoever made it.

    Without the second, a server whose Node joined late, or whose removal was made by hand with a
    slip in `nodeName`, would be taken for one without a Node, and go with pods on it.
    """
    spec = removal.spec
    node = None if spec.node_name is None else await get_node(ports.cluster, spec.node_name)
    return await get_node(ports.cluster, spec.server_name) if node is None else node


def _seen_node(node: Object, removal: NodeRemovalRequest) -> NodeSeen:
    uid, spec = request_uid(removal), removal.spec
    is_named = request_of(node) == spec.server_name
    # A removal made by hand does not know the uid: then the Node's own is that of the request it names.
    known = uid or (marks_of(node).request_uid if is_named else None)
    is_its = is_of(node, request_uid=known, provider_id=spec.provider_id) and (uid is not None or is_named)
    excluded = exclusion(node)
    annotations = node["metadata"].get("annotations") or {}
    seen = see_node(node, spec.server_name)
    is_forced = spec.reason == REMOVE_NOW and has_taint(node, TAINT_REMOVE_NOW, FORCED)
    return seen.model_copy(
        update={
            "keep": seen.keep and not is_forced,
            "foreign": not is_its,
            "balanced": excluded is None,
            "excluded": excluded == EXCLUDED_BY_GROWTH,
            "kept_by": keeps_node(annotations) if spec.reason in EVICTING_REASONS else "",
        }
    )


def _annotator(removal: Object) -> str | None:
    """Return the field manager that wrote the decision on the removal, such as kubectl-annotate, if known.

    Source: Kubernetes docs, "Server-Side Apply", field management.
    """
    for entry in removal["metadata"].get("managedFields") or ():
        annotations = entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:annotations", {})
        if f"f:{ANNOTATION_DECISION}" in annotations:
            return entry.get("manager")
    return None


def request_uid(removal: NodeRemovalRequest) -> str | None:
    """Return the uid of the request that made the machine, if the removal knows it."""
    return removal.metadata.labels.get(LABEL_REQUEST_UID)


def is_ours(ports: Ports, removal: NodeRemovalRequest, server: Server, node: Object | None) -> bool:
    """Return whether the server is the one to delete: names are reused, uids and provider ids are not.

    The uid of the request says more than the provider id: a create call whose reply was lost may make a second server
    for the same request after the first is gone, with another id. A provider id of another scheme is one that a Node
    bore, and says nothing of the server. Of a server without the cluster's uid, as an earlier version made it, the name
    is no proof: another cluster may bear ours.

    Args:
        ports: the outside world.
        removal: that is about a server.
        server: the one of that name.
        node: the Node of that name, if it is there.
    """
    known, made_for = request_uid(removal), server.labels.get(LABEL_REQUEST_UID)
    if known is None:
        wanted = removal.spec.provider_id or server.provider_id
        is_same = wanted == server.provider_id or has_other_scheme(wanted, server.provider_id)
    else:
        is_same = known == made_for
    if not is_same:
        return False
    owner = ports.identity.owner(server.labels)
    if owner is not Ownership.UNMARKED:
        return owner is Ownership.OURS
    if node is not None and proves(marks_of(node), ServerMarks(made_for or "", server.provider_id)):
        return True
    # An orphan's removal has its marks from the server itself.
    is_witness = removal.spec.reason != Garbage.ORPHAN
    return is_witness and (known is not None or removal.spec.provider_id == server.provider_id)
