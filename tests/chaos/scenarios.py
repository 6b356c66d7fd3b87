"""Faults by name: what the API server, people or the cloud do, and what must be there in the end."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from activities.ports.cluster import NODES
from activities.ports.errors import Expired
from api.keys import TAINT_SCALE_DOWN
from simulator.catalogue import machine
from simulator.scheduling.workloads import Workload
from tests.chaos.acts import (
    ASKED,
    KWOK_MANAGES,
    LONELY,
    SILENT,
    SMALL,
    bound,
    decide,
    node_is_deleted,
    node_is_deleted_later,
    one_machine,
    remove_server,
    server_vanishes,
    server_vanishes_later,
)
from tests.chaos.cluster_faults import Down, FaultyCluster, Quarrelsome, ShortWatches, Webhook
from tests.chaos.pace import YOUNG
from tests.chaos.provider_faults import (
    EmptyList,
    EmptyPromises,
    IdleDelete,
    LostReplies,
    Lying,
    RateLimited,
    SlowCreate,
    StaleList,
)
from tests.chaos.stage import Stage
from tests.chaos.stories import STORIES, Story

LATE: Final = machine("late", cpu=2, memory=4, price="0.001", boot_time="6s")
RECORD: Final = "10m"
"""A record that outlives its story: what happens to the machine is its request's business."""


@dataclass(frozen=True)
class Scenario:
    """A fault in a story."""

    name: str
    story: Story
    cluster: Callable[[Any], Any] = lambda real: real
    provider: Callable[[Any], Any] = lambda real: real
    is_met: Callable[[Stage], bool] = lambda _: True
    also: Callable[[Stage], list[str]] = lambda _: []


async def comes_and_goes(stage: Stage) -> None:
    """One machine comes for a pod and goes after it."""
    await one_machine(stage)
    stage.scale("web", 0)
    await stage.until(lambda v: not v.servers, "no machine left")


async def is_kept_at_its_least(stage: Stage) -> None:
    """No pod wants a machine, but the pool keeps one."""
    await stage.until(lambda v: [one.server_type for one in v.servers.values()] == ["small"] and v.nodes, "it is there")


async def cooling_node_is_deleted(stage: Stage) -> None:
    """A person deletes the Node of a machine that cools off."""
    name = await one_machine(stage)
    stage.scale("web", 0)
    await stage.until(lambda v: name in v.removals and v.taints(TAINT_SCALE_DOWN), "the cool-off")
    await stage.world.cluster.delete(NODES, name)
    await stage.until(lambda v: not v.servers, "its server gone")


async def node_flaps(stage: Stage) -> None:
    """A Node is now Ready, now not."""
    name = await one_machine(stage)
    for ready in (None, "fake", None, "fake", None, "fake"):
        await stage.write(NODES, name, KWOK_MANAGES, ready)
        stage.world.wake()
        await asyncio.sleep(0.7)


async def machine_vanishes(stage: Stage) -> None:
    """A server goes behind our back, and a cloud controller deletes its Node."""
    name = await one_machine(stage)
    await remove_server(stage, name)
    await stage.world.cluster.delete(NODES, name)
    await stage.until(lambda v: name not in v.servers and bound(1)(v), "the pod on another machine")


async def idle_delete(stage: Stage) -> None:
    """Delete calls are taken and nothing happens, until the cloud is mended and a person retries."""
    name = await one_machine(stage)
    stage.scale("web", 0)
    await stage.until(lambda v: v.removal_phase(name) == "CouldNotRemove", "a parked removal")
    stage.provider.is_mended = True
    await decide(stage, name, "retry")
    await stage.until(lambda v: not v.servers, "the machine gone")


async def stays_busy(stage: Stage) -> None:
    """Two machines with pods on them, for a while."""
    stage.world.workloads.add(Workload("web", 2, ASKED))
    stage.world.wake()
    names = set((await stage.until(bound(2), "two pods on their machines")).servers)
    await asyncio.sleep(2 * YOUNG.total_seconds())
    await stage.until(lambda v: set(v.servers) == names, "the same machines")


STAYS: Final = Story("stays", one_machine, servers=1)
GOES: Final = Story("comes, goes", comes_and_goes, servers=0)
BOTH: Final = next(story for story in STORIES if story.name == "comes and goes")


def failed(stage: Stage) -> bool:
    """Whether calls of the API server failed."""
    cluster: FaultyCluster = stage.cluster
    return bool(cluster.failed)


def lied(stage: Stage) -> bool:
    """Whether the cloud lied."""
    provider: Lying = stage.provider
    return bool(provider.lies)


def no_more(servers: int) -> Callable[[Stage], list[str]]:
    """Say so if more servers were made in all."""

    def also(stage: Stage) -> list[str]:
        made = stage.named.total()
        return [f"{made} servers were made in all, {servers} suffice"] if made > servers else []

    return also


def untouched(stage: Stage) -> list[str]:
    """Say so if a delete call was made."""
    return [f"delete call for {name}" for name in stage.provider.deletes]


def few_calls(stage: Stage) -> list[str]:
    """Say so if a cloud that asked for patience was asked again and again."""
    calls = len(stage.provider.creates)
    return [f"{calls} create calls"] if calls > 12 else []


KUBERNETES: Final = (
    Scenario(
        "watches end after a few events",
        BOTH,
        cluster=lambda real: ShortWatches(real, after=3),
        is_met=lambda stage: stage.cluster.ended > 0,
    ),
    Scenario(
        "watches expire after a few events (410)",
        BOTH,
        cluster=lambda real: ShortWatches(real, after=3, ends_with=(Expired,)),
        is_met=lambda stage: stage.cluster.ended > 0,
    ),
    Scenario("every second write conflicts (409)", BOTH, cluster=Quarrelsome, is_met=failed),
    Scenario(
        "429 with Retry-After as machines are bought",
        GOES,
        cluster=lambda real: Down(real, at="noderequests", seconds=4, retry_after=1),
        is_met=failed,
    ),
    Scenario(
        "API server down as machines are bought",
        GOES,
        cluster=lambda real: Down(real, at="noderequests", seconds=8),
        is_met=failed,
    ),
    Scenario(
        "API server down as machines join",
        GOES,
        cluster=lambda real: Down(real, at="nodes", seconds=8),
        is_met=failed,
    ),
    Scenario(
        "API server down as machines go",
        GOES,
        cluster=lambda real: Down(real, at="noderemovalrequests", seconds=8),
        is_met=failed,
    ),
    Scenario(
        "webhook refuses patches of Nodes for a while",
        GOES,
        cluster=lambda real: Webhook(real, of="nodes", times=6),
        is_met=failed,
    ),
    Scenario(
        "webhook refuses patches of pods for ever",
        GOES,
        cluster=lambda real: Webhook(real, of="pods", times=10**6),
        is_met=failed,
    ),
    Scenario("Node deleted whose server runs", replace(STAYS, play=node_is_deleted, record_ttl=RECORD)),
    Scenario("Node deleted whose server runs and whose record has ended", replace(STAYS, play=node_is_deleted_later)),
    Scenario("Node deleted during its cool-off", replace(GOES, play=cooling_node_is_deleted, soft_grace="12s")),
    Scenario("Node flaps between Ready and not", replace(STAYS, play=node_flaps), also=no_more(1)),
)

PROVIDER: Final = (
    Scenario("replies lost after the effect", GOES, provider=LostReplies, is_met=lied, also=no_more(1)),
    Scenario("effect lost after the reply", replace(STAYS, record_ttl=RECORD), provider=EmptyPromises, is_met=lied),
    Scenario(
        "429 with the time of its reset",
        GOES,
        provider=lambda real: RateLimited(real, seconds=5),
        is_met=lied,
        also=few_calls,
    ),
    Scenario(
        "create call that takes long",
        GOES,
        provider=lambda real: SlowCreate(real, seconds=5),
        is_met=lied,
        also=no_more(1),
    ),
    Scenario(
        "server that never boots",
        replace(
            STAYS,
            machines=(SILENT, SMALL),
            faults=({"serverType": "silent", "call": "boot"},),
            scale_up={"provisioningTimeout": "3s"},
        ),
        also=no_more(2),
    ),
    Scenario(
        "server that never joins in a pool at its min",
        replace(
            STAYS,
            play=is_kept_at_its_least,
            machines=(LONELY, SMALL),
            faults=({"serverType": "lonely", "call": "join"},),
            scale_up={"joinTimeout": "3s"},
            least=1,
        ),
        also=no_more(2),
    ),
    Scenario(
        "Node that joins and never turns Ready",
        replace(
            STAYS,
            machines=(LONELY, SMALL),
            faults=({"serverType": "lonely", "call": "ready"},),
            scale_up={"joinTimeout": "3s"},
        ),
        is_met=lambda stage: stage.named.total() == 2,
        also=no_more(2),
    ),
    Scenario(
        "server that boots after its time-out",
        replace(STAYS, machines=(LATE, SMALL), scale_up={"provisioningTimeout": "3s"}),
        also=no_more(2),
    ),
    Scenario("server gone behind our back", replace(STAYS, play=server_vanishes, record_ttl=RECORD), also=no_more(2)),
    Scenario("server gone whose record has ended", replace(STAYS, play=server_vanishes_later), also=no_more(2)),
    Scenario(
        "server and Node gone behind our back",
        replace(STAYS, play=machine_vanishes, record_ttl=RECORD),
        also=no_more(2),
    ),
    Scenario("list without fresh servers", GOES, provider=lambda real: StaleList(real, seconds=30), also=no_more(1)),
    Scenario("empty list by error", Story("busy", stays_busy, servers=2), provider=EmptyList, also=untouched),
    Scenario("delete call that does nothing", replace(GOES, play=idle_delete), provider=IdleDelete, is_met=lied),
)
