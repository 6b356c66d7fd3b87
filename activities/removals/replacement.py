"""The look at what a removal that moves its pods waits for: machines that replace it, its turn, pods that take over.

Each machine is looked at live: a cache that is behind would take one that has just come, or just gone, for another.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from activities.objects.nodes import get_node, has_taint, request_of
from activities.objects.related import find_pool, request_timings
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS, Object, find_object
from activities.ports.ports import Ports
from api.keys import LABEL_STEP, TAINT_SCALE_DOWN
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.clocks.deadlines import SEEN_FOR
from planner.lifecycle.json_predicates import is_ready, is_terminating, is_waiting, key_of, unready_since
from planner.lifecycle.seen import ReplacementSeen, SuccessorsSeen
from planner.lifecycle.step import shortened
from planner.supply.replacement.steps import step_size

_COMING: Final = frozenset({RequestPhase.PENDING, RequestPhase.PROVISIONING})
_ENDED: Final = frozenset({RequestPhase.UNMET, RequestPhase.FAILED, RequestPhase.DEPROVISIONING})
_NAMED: Final = 5


async def look_at_move(
    ports: Ports, removal: NodeRemovalRequest, pool: NodePool | None, *, is_empty: bool
) -> Mapping[str, Any]:
    """Return the parts of the observation that tell of it.

    Args:
        ports: the outside world.
        removal: one that moves its pods, before its point of no return.
        pool: of its machine.
        is_empty: whether no pod that counts is on its Node.
    """
    spec, status = removal.spec, removal.status
    seen: dict[str, Any] = {"moves": len(spec.moves or ())}
    if status.phase is RemovalPhase.PENDING and status.tainted_at is None:
        seen["cut_off"] = len(await _of_step(ports, removal)) < step_size(removal.metadata.labels.get(LABEL_STEP, ""))
    if spec.replaced_by:
        seen["replacement"] = await _replacement(ports, removal, pool)
    if spec.moves and status.phase is RemovalPhase.PENDING:
        seen["ahead"] = await _ahead(ports, removal)
    if spec.moves and status.phase is RemovalPhase.DRAINING and is_empty:
        seen["successors"] = await _successors(ports, removal)
    return seen


async def _replacement(ports: Ports, removal: NodeRemovalRequest, pool: NodePool | None) -> ReplacementSeen:
    names = removal.spec.replaced_by
    requests = {name: await find_object(ports.cluster, NODE_REQUESTS, name) for name in names}
    # In this order: the record of a request goes only when its Node is there.
    nodes = {name: await get_node(ports.cluster, name) for name in names}
    lost = next((why for name in names if (why := _why_lost(name, requests[name], nodes[name]))), "")
    awaited = [name for name in names if not _is_there(requests[name], nodes[name])]
    within = await _within(ports, [request for request in requests.values() if request is not None], pool)
    watched_for = ports.watched_for()
    unready = [since for name in awaited if (since := _unready_since(nodes[name])) is not None]
    is_drained = removal.status.phase is RemovalPhase.DRAINING
    return ReplacementSeen(
        names=names,
        is_ready=not awaited,
        awaited=tuple(f"{name} ({_where(requests[name], nodes[name])})" for name in awaited),
        lost=shortened(lost),
        within=within,
        judged_at=None if watched_for is None else ports.now() - watched_for + min(SEEN_FOR, within),
        unready_since=min(unready, default=ports.now()) if is_drained and awaited else None,
    )


async def _within(ports: Ports, requests: Sequence[Object], pool: NodePool | None) -> timedelta:
    """Return how long the machines may take, by their own pools; those that are gone are there, or never come."""
    others = {request["spec"]["pool"] for request in requests} - ({pool.metadata.name} if pool is not None else set())
    timings = [request_timings(pool), *[request_timings(await find_pool(ports.cluster, name)) for name in others]]
    return max(each.provisioning_timeout + each.join_timeout for each in timings)


def _why_lost(name: str, request: Object | None, node: Object | None) -> str:
    """Return why the machine does not come, or is there no more; empty while it may come or is there."""
    if node is not None and has_taint(node, TAINT_SCALE_DOWN):
        return f"{name} is to take its place and goes itself"
    if request is None:
        is_its = node is not None and request_of(node) == name
        return "" if is_its else f"{name} was to take its place and is gone"
    status = request.get("status") or {}
    phase = RequestPhase(status.get("phase", RequestPhase.PENDING))
    if phase in _ENDED:
        why = status.get("message") or status.get("reason") or phase
        return f"{name} was to take its place and does not come: {why}"
    if phase in _COMING and is_terminating(request):
        return f"{name} was to take its place and was cancelled"
    return f"{name} is to take its place, and its Node is gone" if phase is RequestPhase.READY and node is None else ""


def _is_there(request: Object | None, node: Object | None) -> bool:
    if node is None or not is_ready(node):
        return False
    return request is None or (request.get("status") or {}).get("phase") == RequestPhase.READY


def _where(request: Object | None, node: Object | None) -> str:
    if request is not None and (phase := (request.get("status") or {}).get("phase")) != RequestPhase.READY:
        return phase or RequestPhase.PENDING.value
    return "gone" if node is None else "not Ready"


def _unready_since(node: Object | None) -> datetime | None:
    return None if node is None else unready_since(node)


async def _ahead(ports: Ports, removal: NodeRemovalRequest) -> str:
    """Return the name of another removal of the step whose pods move first: the one that has begun, or is named first.

    Listed live: two that are looked at in one moment must not both begin.
    """
    own = removal.metadata.name
    others = (each for each in await _of_step(ports, removal) if each["metadata"]["name"] != own)
    moving = (each for each in others if (each.get("spec") or {}).get("moves"))
    return min((each["metadata"]["name"] for each in moving if _is_ahead(each, own)), default="")


async def _of_step(ports: Ports, removal: NodeRemovalRequest) -> list[Object]:
    """Return the removals of its step that are there, itself among them; none for one that is alone."""
    label = removal.metadata.labels.get(LABEL_STEP)
    if not label:
        return []
    return (await ports.cluster.list(NODE_REMOVAL_REQUESTS, labels=f"{LABEL_STEP}={label}")).items


def _is_ahead(other: Object, name: str) -> bool:
    status = other.get("status") or {}
    phase = RemovalPhase(status.get("phase", RemovalPhase.PENDING))
    is_first = phase is RemovalPhase.PENDING and "cancel" not in status and other["metadata"]["name"] < name
    return phase is RemovalPhase.DRAINING or is_first


async def _successors(ports: Ports, removal: NodeRemovalRequest) -> SuccessorsSeen:
    """Return the pods of the same controllers that were made since the drain began and are bound nowhere."""
    began = removal.status.drain_started_at
    owners = {owner for move in removal.spec.moves or () if (owner := move.owner)}
    if began is None or not owners:
        return SuccessorsSeen()
    unbound = (await ports.cluster.list(PODS, fields="spec.nodeName=")).items
    # The API server counts in whole seconds.
    whole = began.replace(microsecond=0)
    born = {key_of(pod): at for pod in unbound if _is_next_of(pod, owners) and (at := _born(pod)) >= whole}
    return SuccessorsSeen(count=len(born), names=tuple(sorted(born)[:_NAMED]), since=min(born.values(), default=None))


def _is_next_of(pod: Object, owners: set[str]) -> bool:
    references = pod["metadata"].get("ownerReferences") or ()
    return is_waiting(pod) and any(each.get("controller") and each["uid"] in owners for each in references)


def _born(pod: Object) -> datetime:
    return datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
