"""Pods as lifecycles see and change them: those on a node, those awaited on it, those that tolerate a reservation.

Read as plain JSON: a pod that the planner cannot read still counts on the node it runs on.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from activities.kube.json_patch import guarded, set_field
from activities.ports.cluster import PODS, Cluster, Object, PatchOp, find_object
from activities.ports.errors import Conflict, NotFound, Rejected, Unreachable
from activities.ports.ports import Reader
from api.keys import TAINT_RESERVED
from api.v1alpha1.node_request import Seat
from planner.lifecycle import json_predicates
from planner.lifecycle.json_predicates import (
    belongs_to_node,
    is_finished,
    is_mirror,
    is_served,
    is_terminating,
    is_waiting,
    key_of,
)
from planner.objects.eviction import is_per_node

_AT_ONCE: Final = 8
"""Concurrent calls for the pods of one machine."""
_TRIES: Final = 4
"""The scheduler writes to a pending pod each time it is looked at, the kubelet to one that runs."""


@dataclass(frozen=True, slots=True)
class PodsOnNode:
    """The pods on a node, of a moment."""

    counted: tuple[Object, ...]
    """Those that keep it from being empty."""
    per_node: tuple[Object, ...]
    """Those that belong to it and are asked to leave before it goes, and were not yet."""
    daemons: tuple[Object, ...]
    """Those of DaemonSets, mirror pods and finished ones left out."""


async def pods_on(cluster: Cluster, node: str) -> PodsOnNode:
    """Return the pods on the node, listed live by nodeName."""
    pods = (await cluster.list(PODS, fields=f"spec.nodeName={node}")).items
    leaving = (pod for pod in pods if not (is_occupant(pod) or belongs_to_node(pod)))
    return PodsOnNode(
        counted=tuple(pod for pod in pods if is_occupant(pod)),
        per_node=tuple(pod for pod in leaving if not is_terminating(pod)),
        daemons=tuple(pod for pod in pods if belongs_to_node(pod) and not (is_mirror(pod) or is_finished(pod))),
    )


async def occupants_of(cluster: Cluster, node: str) -> list[str]:
    """Return the pods on the node that count, listed live by nodeName, as namespace/name."""
    return [key_of(pod) for pod in (await pods_on(cluster, node)).counted]


async def awaited_on(cluster: Cluster, node: str) -> list[str]:
    """Return the pods that the scheduler keeps the node for and that are bound nowhere yet, listed live.

    Whatever state the node is in: while the scheduler binds its volumes, a pod comes even to a node that has closed.
    """
    pods = await cluster.list(PODS, fields=f"status.nominatedNodeName={node}")
    return [key_of(pod) for pod in pods.items if is_occupant(pod) and is_waiting(pod)]


def is_occupant(pod: Object) -> bool:
    """Return whether the pod keeps a node from being empty: a terminating pod does.

    Finished pods and those that belong to the node do not. Source: docs/design.md#removal.
    """
    return not belongs_to_node(pod) and not is_per_node(pod["metadata"], pod.get("spec") or {})


def tolerates(pod: Object, request: str) -> bool:
    """Return whether the pod may land on a node reserved for the request."""
    return json_predicates.tolerates(pod, TAINT_RESERVED, request)


@dataclass(frozen=True, slots=True)
class Seated:
    """The pods that a machine is kept for."""

    awaited: int
    """Seats whose pod is not bound: it waits, or is gone and not yet replaced or dropped by a round."""
    untolerated: tuple[Object, ...]
    """Waiting pods that do not tolerate the reservation."""


async def see_seats(cluster: Cluster, reader: Reader, seats: Sequence[Seat], request: str) -> Seated:
    """Return the number of awaited pods of a reservation, and those that do not tolerate it.

    With many seats, a call for each at each look would be most of the API server's work in a burst. So those
    that are bound to the machine, which has the request's name, come in one live list; and of the others, what the
    cache knows to wait and to be let in counts as that: it may have gone or be bound elsewhere by now, which the next
    look finds. The rest is read live, one by one.
    """
    waiting = 0
    if len(seats) > 1:
        bound = {pod["metadata"]["uid"] for pod in (await cluster.list(PODS, fields=f"spec.nodeName={request}")).items}
        awaited = await _known_to_wait(reader, seats, request)
        waiting = sum(seat.uid in awaited and seat.uid not in bound for seat in seats)
        seats = [seat for seat in seats if seat.uid not in bound and seat.uid not in awaited]
    gate = asyncio.Semaphore(_AT_ONCE)

    async def pod_of(seat: Seat) -> Object | None:
        async with gate:
            pod = await find_object(cluster, PODS, seat.name, namespace=seat.namespace)
        return pod if pod is not None and pod["metadata"]["uid"] == seat.uid else None

    pods = await asyncio.gather(*(pod_of(seat) for seat in seats))
    return Seated(
        awaited=waiting + sum(1 for pod in pods if pod is None or not is_served(pod)),
        untolerated=tuple(pod for pod in pods if pod is not None and is_waiting(pod) and not tolerates(pod, request)),
    )


async def _known_to_wait(reader: Reader, seats: Sequence[Seat], request: str) -> set[str]:
    """Return the uids of planned pods that wait and may land on the reserved node, as far as the cache knows."""
    try:
        pods = (await reader.list(PODS)).items
    except Unreachable:
        return set()
    # Among thousands of pods few are its own, and only those are looked at closely.
    planned = {seat.uid for seat in seats}
    own = [pod for pod in pods if pod["metadata"]["uid"] in planned]
    return {pod["metadata"]["uid"] for pod in own if is_waiting(pod) and tolerates(pod, request)}


async def tolerate(cluster: Cluster, pods: Sequence[Object], request: str) -> str:
    """Let the pods onto the node reserved for the request, and return why one could not be; empty when all could.

    Tolerations are only added, which the API server allows on an existing pod. A pod that is gone
    or was bound meanwhile is passed over.

    Raises:
        Conflict: a pod kept changing.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def tolerate_one(pod: Object) -> str:
        async with gate:
            try:
                await _tolerate(cluster, pod, request)
            except Rejected as error:
                return str(error)
        return ""

    refusals = await asyncio.gather(*(tolerate_one(pod) for pod in pods))
    return next((refusal for refusal in refusals if refusal), "")


async def _tolerate(cluster: Cluster, pod: Object, request: str) -> None:
    toleration = {"key": TAINT_RESERVED, "operator": "Equal", "value": request, "effect": "NoSchedule"}

    def operations(live: Object) -> Sequence[PatchOp]:
        if not is_waiting(live) or tolerates(live, request):
            return ()
        return set_field(live, ("spec", "tolerations"), [*(live["spec"].get("tolerations") or ()), toleration])

    await change_pod(cluster, pod, operations)


async def change_pod(cluster: Cluster, pod: Object, operations: Callable[[Object], Sequence[PatchOp]]) -> None:
    """Change the pod by the operations for what it is now; without any, nothing is written. One that is gone is left.

    Raises:
        Conflict: it kept changing.
        Rejected: the API server refuses the change.
    """
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    tries = 0
    while wanted := operations(pod):
        tries += 1
        try:
            await cluster.patch(PODS, name, guarded(pod, wanted), namespace=namespace)
        except NotFound:
            return
        except Conflict:
            if tries >= _TRIES:
                raise
            live = await find_object(cluster, PODS, name, namespace=namespace)
            if live is None or live["metadata"]["uid"] != pod["metadata"]["uid"]:
                return
            pod = live
        else:
            return
