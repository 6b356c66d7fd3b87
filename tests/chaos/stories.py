"""What happens to machines from the first pod to the last server, told so that it goes on after any crash.

A story acts on what it sees and on nothing else, as people and pods do who know of no worker.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from activities.ports.cluster import (
    CRDS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    VOLUME_ATTACHMENTS,
    Object,
)
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kinds import node_classes
from api.keys import ANNOTATION_DO_NOT_REMOVE, GROUP, LABEL_ARCH, TAINT_RESERVED, TAINT_SCALE_DOWN
from planner.lifecycle.clocks.deadlines import LATE
from planner.lifecycle.leaving import VOLUMES_DETACH
from planner.lifecycle.seen import Blocker
from simulator.catalogue import node_class, node_pool
from simulator.scheduling.workloads import Workload
from tests.activities.bodies import definitions
from tests.chaos.acts import (
    ASKED,
    LONELY,
    SILENT,
    SLOW,
    SMALL,
    SOLD_OUT,
    STUBBORN,
    bound,
    close,
    decide,
    decision,
    delete,
    join_deadlines,
    node_is_deleted_later,
    one_machine,
    open_again,
    reasons,
    remove_server,
    server_vanishes_later,
    tolerates,
)
from tests.chaos.stage import LOOK_SECONDS, Stage
from worker.ports import utc_now

CLASS_REF: Final = {"kind": KWOK_NODE_CLASSES.kind, "name": "default"}


@dataclass(frozen=True)
class Story:
    """A story and its end."""

    name: str
    play: Callable[[Stage], Awaitable[None]]
    servers: int
    """How many there are in the end."""
    machines: Sequence[dict[str, Any]] = (SMALL,)
    faults: Sequence[dict[str, Any]] = ()
    idle_after: str = "0s"
    mode: Literal["empty", "drain"] = "empty"
    soft_grace: str = "1s"
    record_ttl: str = "1s"
    tainted: bool = False
    scale_up: dict[str, Any] = field(default_factory=dict)
    scale_down: dict[str, Any] = field(default_factory=dict)
    least: int = 0
    most: int = 4
    """Machines at one time."""

    def objects(self) -> list[Object]:
        """Return class and pool."""
        pool = node_pool(
            "default",
            [{"name": one["name"]} for one in self.machines],
            limits={"min": self.least, "max": self.most},
            scaleUp={"recordTTL": self.record_ttl, "provisioningTimeout": "20s", "joinTimeout": "20s", **self.scale_up},
            scaleDown={
                "idleAfter": self.idle_after,
                "softGrace": self.soft_grace,
                "mode": self.mode,
                "removal": {"maxAttempts": 2, "retry": "1s", "parkedRetry": "10m"},
                **self.scale_down,
            },
        )
        return [node_class(deepcopy(list(self.machines)), faults=list(self.faults)), pool]


async def comes_and_goes(stage: Stage) -> None:
    """Two machines of which one boots later, so that the first waits for the pods of the other."""
    for name, architecture in (("web", "amd64"), ("batch", "arm64")):
        stage.world.workloads.add(Workload(name, 1, ASKED, spec={"nodeSelector": {LABEL_ARCH: architecture}}))
    stage.world.wake()
    await stage.until(bound(2), "two pods on their machines")
    stage.world.workloads.scale_all(0)
    stage.world.wake()
    await stage.until(lambda v: not v.servers, "no machine left")


async def times_out(stage: Stage) -> None:
    """The cheapest machine never runs, the next never joins, the third does."""
    await one_machine(stage)


async def is_late(stage: Stage) -> None:
    """No worker is there until the time of a machine on its way is over, and its Node joins after that was told."""
    stage.world.workloads.add(Workload("web", 1, ASKED))
    stage.world.wake()
    view = await stage.until(lambda v: any(join_deadlines(v)), "a server whose Node is awaited")
    (due,) = join_deadlines(view)
    with stage.without_worker():
        while utc_now() <= due:
            await asyncio.sleep(LOOK_SECONDS)
    # A worker that dies before it tells may find that the time which was added is over, too.
    await stage.until(lambda v: due not in join_deadlines(v) or LATE in reasons(v), "a delay that is told")
    await stage.write(KWOK_NODE_CLASSES, "default", ("spec", "faults"), [])
    await stage.until(bound(1), "the pod on a machine")


async def is_kept(stage: Stage) -> None:
    """A person writes nonsense on a removal, then cancels it and keeps the machine."""
    name = await one_machine(stage)
    stage.scale("web", 0)
    await stage.until(lambda v: name in v.removals and v.taints(TAINT_SCALE_DOWN), "the cool-off")
    await decide(stage, name, "perhaps")
    await stage.until(lambda v: not decision(v, name), "an answer to nonsense")
    await stage.write(NODES, name, ("metadata", "annotations", ANNOTATION_DO_NOT_REMOVE), "mine")
    await decide(stage, name, "cancel")
    await stage.until(lambda v: name in v.nodes and not v.removals, "the cancelled removal gone")


async def is_wanted_again(stage: Stage) -> None:
    """Pods come back during the cool-off."""
    name = await one_machine(stage)
    stage.scale("web", 0)
    await stage.until(lambda v: name in v.removals and v.taints(TAINT_SCALE_DOWN), "the cool-off")
    stage.scale("web", 1)
    await stage.until(lambda v: bound(1)(v) and not v.removals, "the pod on the machine that was to go")


async def parks_and_is_retried(stage: Stage) -> None:
    """A server cannot be deleted until the cloud is mended and a person retries."""
    name = await one_machine(stage)
    stage.scale("web", 0)
    await stage.until(lambda v: v.removal_phase(name) == "CouldNotRemove", "a parked removal")
    await stage.write(KWOK_NODE_CLASSES, "default", ("spec", "faults"), [])
    await decide(stage, name, "retry")
    await stage.until(lambda v: not v.servers, "the machine gone")


async def parks_for_ever(stage: Stage) -> None:
    """Of two servers that cannot be deleted one is abandoned; one is treated as gone, and deleted by hand."""
    stage.world.workloads.add(Workload("web", 2, ASKED))
    stage.world.wake()
    names = sorted((await stage.until(bound(2), "two pods on their machines")).nodes)
    stage.scale("web", 0)
    await stage.until(lambda v: all(v.removal_phase(one) == "CouldNotRemove" for one in names), "parked removals")
    for name, word in zip(names, ("abandon", "skip"), strict=True):
        await decide(stage, name, word)
    await stage.until(lambda v: not v.removals and set(v.nodes) == {names[0]}, "both decided")
    await remove_server(stage, names[1])


async def is_sold_out(stage: Stage) -> None:
    """The cheapest offering is sold out; once that is known, a person asks for it by hand."""
    stage.world.workloads.add(Workload("web", 1, ASKED))
    stage.world.wake()
    await stage.until(bound(1), "the pod on a machine that can be had")
    body = {
        "apiVersion": NODE_REQUESTS.api_version,
        "kind": NODE_REQUESTS.kind,
        "metadata": {"name": "by-hand"},
        "spec": {
            "pool": "default",
            "serverType": SOLD_OUT["name"],
            "location": "fsn1",
            "classRef": CLASS_REF,
        },
    }
    await stage.world.cluster.create(NODE_REQUESTS, body)
    await stage.until(lambda v: v.phases().get("NodeRequest/by-hand") == "Unmet", "what was asked for by hand unmet")
    for name in (await stage.look()).requests:
        await delete(stage, name)


async def is_drained(stage: Stage) -> None:
    """A person removes a machine whose pod must stay at first, and may go later."""
    name = await one_machine(stage)
    pod = next(iter((await stage.look()).pods.values()))["metadata"]
    keep = ("metadata", "annotations", ANNOTATION_DO_NOT_REMOVE)
    await stage.write(PODS, pod["name"], keep, "busy", namespace=pod["namespace"])
    await stage.world.cluster.create(NODE_REMOVAL_REQUESTS, _removal(name))
    await stage.until(
        lambda v: name in v.removals and v.removals[name].get("status", {}).get("reason") == Blocker.ANNOTATION,
        "a drain that the pod blocks",
    )
    await stage.write(PODS, pod["name"], keep, None, namespace=pod["namespace"])
    await stage.until(lambda v: name not in v.servers and bound(1)(v), "the pod on another machine, the first gone")


async def is_drained_by_force(stage: Stage) -> None:
    """A round has a machine drained whose pod must stay: it is told how long it has, and then deleted."""
    name = await one_machine(stage)
    pod = next(iter((await stage.look()).pods.values()))["metadata"]
    keep = ("metadata", "annotations", ANNOTATION_DO_NOT_REMOVE)
    await stage.write(PODS, pod["name"], keep, "busy", namespace=pod["namespace"])
    await stage.world.cluster.create(NODE_REMOVAL_REQUESTS, _removal(name, reason="Consolidation"))
    await stage.until(lambda v: name not in v.servers and bound(1)(v), "the pod on another machine, the first gone")


def _removal(name: str, **spec: str) -> Object:
    return {
        "apiVersion": NODE_REMOVAL_REQUESTS.api_version,
        "kind": NODE_REMOVAL_REQUESTS.kind,
        "metadata": {"name": name},
        "spec": {
            "serverName": name,
            "nodeName": name,
            "pool": "default",
            "serverType": SMALL["name"],
            "location": "fsn1",
            "classRef": CLASS_REF,
            **spec,
        },
    }


async def leaves_with_a_volume(stage: Stage) -> None:
    """A volume is attached to a machine that nobody needs any more, and detaches when its server waits for it."""
    name = await one_machine(stage)
    spec = {"attacher": "csi.example", "nodeName": name, "source": {"persistentVolumeName": "data"}}
    await stage.world.cluster.create(VOLUME_ATTACHMENTS, {"metadata": {"name": "data"}, "spec": spec})
    stage.scale("web", 0)
    await stage.until(
        lambda v: name in v.removals and v.removals[name].get("status", {}).get("reason") == VOLUMES_DETACH,
        "a server that waits for its volume",
    )
    await stage.world.cluster.delete(VOLUME_ATTACHMENTS, "data")
    await stage.until(lambda v: not v.servers, "no machine left")


async def waits_for_a_successor(stage: Stage) -> None:
    """A person closes a machine before its pod comes; the pod is replaced, and the machine opened again."""
    stage.world.workloads.add(Workload("web", 1, ASKED, spec={"nodeSelector": {LABEL_ARCH: "arm64"}}))
    stage.world.wake()
    await stage.until(lambda v: v.servers, "a server that boots")
    with stage.without_scheduler():
        view = await stage.until(lambda v: v.taints(TAINT_RESERVED), "a machine kept for its pod")
        name = view.taints(TAINT_RESERVED)[0]
        await close(stage, name)
    # The scheduler tries the pod on the closed machine, which begins the time of its reservation.
    await stage.until(
        lambda v: name not in v.requests or {"triedAt", "releasedAt"} & set(v.requests[name].get("status", {})),
        "the scheduler's try noted",
    )
    for pod in view.pods.values():
        await stage.world.cluster.delete(PODS, pod["metadata"]["name"], namespace=pod["metadata"]["namespace"])
    await stage.until(
        lambda v: name not in v.taints(TAINT_RESERVED) or [one for one in v.pods.values() if tolerates(one, name)],
        "its successor let onto the machine",
    )
    await open_again(stage, name)
    await stage.until(bound(1), "the pod on a machine")


async def is_called_off(stage: Stage) -> None:
    """The request of a machine that boots is deleted, and its pod with it."""
    stage.world.workloads.add(Workload("web", 1, ASKED, spec={"nodeSelector": {LABEL_ARCH: "arm64"}}))
    stage.world.wake()
    view = await stage.until(lambda v: v.servers, "a server")
    stage.scale("web", 0)
    for name in view.requests:
        await delete(stage, name)
    await stage.until(lambda v: not v.servers, "no server")


async def loses_its_kinds(stage: Stage) -> None:
    """All definitions are deleted while one machine has a record and another cools off, and installed again later."""
    stage.world.workloads.add(Workload("web", 1, ASKED))
    stage.world.workloads.add(Workload("batch", 1, ASKED, spec={"nodeSelector": {LABEL_ARCH: "arm64"}}))
    stage.world.wake()
    await stage.until(bound(2), "two pods on their machines")
    stage.scale("batch", 0)
    await stage.until(lambda v: v.removals and v.requests, "a record and a removal")
    kinds = (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_POOLS, *node_classes())
    for kind in kinds:
        await stage.world.cluster.delete(CRDS, f"{kind.plural}.{GROUP}")
    await stage.until(lambda v: not v.requests and not v.removals, "all requests and removals let go")
    while (await stage.world.cluster.list(CRDS)).items:
        await asyncio.sleep(LOOK_SECONDS)
    # A worker that was started meanwhile waits for the kinds: what it left behind in Temporal ends with them.
    stage.world.cluster.install_definitions(definitions())


STORIES: Final = (
    Story("comes and goes", comes_and_goes, servers=0, machines=(SMALL, SLOW)),
    Story(
        "times out",
        times_out,
        servers=1,
        machines=(SILENT, LONELY, SMALL),
        faults=({"serverType": "silent", "call": "boot"}, {"serverType": "lonely", "call": "join"}),
        # A record of what was not to be had ends with its offering's pause: within the patience of the verdict.
        scale_up={"provisioningTimeout": "3s", "joinTimeout": "3s", "unavailableTTL": "60s"},
    ),
    Story(
        "is late",
        is_late,
        servers=1,
        machines=(LONELY, SMALL),
        faults=({"serverType": "lonely", "call": "join"},),
        scale_up={"joinTimeout": "6s"},
    ),
    Story("is kept", is_kept, servers=1, soft_grace="12s"),
    Story("is wanted again", is_wanted_again, servers=1, soft_grace="12s"),
    Story("parks, is retried", parks_and_is_retried, servers=0, faults=(STUBBORN,)),
    Story("parks, is left", parks_for_ever, servers=1, faults=(STUBBORN,)),
    Story("is sold out", is_sold_out, servers=1, machines=(SOLD_OUT, SMALL)),
    Story("waits for a successor", waits_for_a_successor, servers=1, machines=(SLOW,)),
    Story("leaves with a volume", leaves_with_a_volume, servers=0),
    Story("is drained", is_drained, servers=1, mode="drain"),
    Story(
        "is drained by force", is_drained_by_force, servers=1, mode="drain", scale_down={"terminationGracePeriod": "4s"}
    ),
    Story("loses a Node", node_is_deleted_later, servers=1),
    Story("loses a server", server_vanishes_later, servers=1),
    Story("is called off", is_called_off, servers=0, machines=(SLOW,)),
    Story(
        "loses its kinds",
        loses_its_kinds,
        servers=2,
        machines=(SMALL, SLOW),
        record_ttl="10m",
        soft_grace="10m",
        tainted=True,
    ),
)
