"""What people, pods and clouds do in stories, and what of it can be seen."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

from activities.ports.cluster import CONFIG_MAPS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, Object
from activities.ports.errors import Conflict, NotFound
from api.keys import ANNOTATION_DECISION, TAINT_RESERVED
from simulator.catalogue import machine
from simulator.scheduling.workloads import Workload
from simulator.view import View
from simulator.world import NAMESPACE
from tests.chaos.stage import Stage

KWOK_MANAGES: Final = ("metadata", "annotations", "kwok.x-k8s.io/node")
"""The annotation that stands for a kubelet: without it nobody says that the Node is Ready."""
SMALL: Final = machine("small", cpu=2, memory=4, price="0.010", boot_time="100ms")
SLOW: Final = machine("slow", cpu=2, memory=4, price="0.010", boot_time="1500ms", architecture="arm64")
SILENT: Final = machine("silent", cpu=2, memory=4, price="0.001", boot_time="100ms")
LONELY: Final = machine("lonely", cpu=2, memory=4, price="0.002", boot_time="100ms")
SOLD_OUT: Final = machine("rare", cpu=2, memory=4, price="0.001", locations=[{"name": "fsn1", "stock": 0}])
ASKED: Final = {"cpu": "1500m", "memory": "1Gi"}
STUBBORN: Final = {"call": "delete", "error": "transient"}


def bound(count: int) -> Callable[[View], bool]:
    """Return whether so many pods are on nodes that are open for all."""
    return lambda view: len(view.pods) == count and not view.pending() and not view.taints(TAINT_RESERVED)


async def one_machine(stage: Stage) -> str:
    """Let a machine come for a pod and return its name."""
    stage.world.workloads.add(Workload("web", 1, ASKED))
    stage.world.wake()
    view = await stage.until(bound(1), "a pod on its machine")
    return next(iter(view.nodes))


async def decide(stage: Stage, removal: str, word: str) -> None:
    """Write a decision on a removal as a person with kubectl does."""
    await stage.write(NODE_REMOVAL_REQUESTS, removal, ("metadata", "annotations", ANNOTATION_DECISION), word)


def decision(view: View, removal: str) -> str:
    """Return what stands on the removal, empty without it."""
    metadata = view.removals.get(removal, {}).get("metadata", {})
    return (metadata.get("annotations") or {}).get(ANNOTATION_DECISION, "")


def join_deadlines(view: View) -> list[datetime]:
    """Return until when Nodes shall join, of each request that says so and has none."""
    found = [request.get("status", {}) for name, request in view.requests.items() if name not in view.nodes]
    return [datetime.fromisoformat(status["joinDeadline"]) for status in found if "joinDeadline" in status]


def reasons(view: View) -> list[str]:
    """Return what each request gives as its reason."""
    return [request.get("status", {}).get("reason", "") for request in view.requests.values()]


async def delete(stage: Stage, request: str) -> None:
    """Delete a request as kubectl does."""
    while True:
        try:
            await stage.world.cluster.delete(NODE_REQUESTS, request)
        except NotFound:
            return
        except Conflict:
            await asyncio.sleep(0)
            continue
        return


CLOSED: Final = {"key": "example.org/closed", "effect": "NoSchedule"}
"""A person's taint."""


async def close(stage: Stage, node: str) -> None:
    """Let no further pod onto a Node."""
    await stage.write(NODES, node, ("spec", "taints"), lambda found: [*found["spec"].get("taints", ()), CLOSED])


async def open_again(stage: Stage, node: str) -> None:
    """Take the person's taint off."""
    await stage.write(
        NODES, node, ("spec", "taints"), lambda found: [one for one in found["spec"].get("taints", ()) if one != CLOSED]
    )


def tolerates(pod: Object, node: str) -> bool:
    """Return whether the pod may go onto a Node that is kept for its pods."""
    wanted = (TAINT_RESERVED, node)
    return any((one.get("key"), one.get("value")) == wanted for one in pod["spec"].get("tolerations") or ())


async def remove_server(stage: Stage, name: str) -> None:
    """Let a server go behind Growth's back."""
    await stage.world.cluster.delete(CONFIG_MAPS, name, namespace=NAMESPACE)


async def node_is_deleted(stage: Stage) -> None:
    """A person, or a cloud controller in error, deletes a Node whose server runs."""
    name = await one_machine(stage)
    await stage.world.cluster.delete(NODES, name)
    await stage.until(lambda v: name not in v.servers and bound(1)(v), "the pod on another machine, the old one gone")


async def server_vanishes(stage: Stage) -> None:
    """A server goes behind our back, and its kubelet with it."""
    name = await one_machine(stage)
    await remove_server(stage, name)
    await stage.write(NODES, name, KWOK_MANAGES, None)
    stage.world.wake()
    await stage.until(lambda v: name not in v.nodes and bound(1)(v), "the pod on another machine, the dead Node gone")


async def record_ends(stage: Stage) -> None:
    """Let a machine come, and wait until no object is about it any more."""
    await one_machine(stage)
    await stage.until(lambda v: not v.requests, "the end of its record")


async def node_is_deleted_later(stage: Stage) -> None:
    """As before, of a machine that no object is about any more: only the sweep for garbage can find its server."""
    await record_ends(stage)
    await node_is_deleted(stage)


async def server_vanishes_later(stage: Stage) -> None:
    """A server goes that no object is about any more: only the sweep for garbage can find its dead Node."""
    await record_ends(stage)
    await server_vanishes(stage)
