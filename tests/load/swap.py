"""As many machines come as go, all at the same time: one pool's pods leave and another pool's take their place."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from temporalio.client import Client

from activities.kube.client import KubeCluster
from activities.ports.cluster import CONFIG_MAPS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import GROUP, LABEL_POOL, LABEL_REQUEST
from planner.lifecycle.kinds import REMOVAL, REQUEST
from tests.load.census import Census, InFlight
from tests.load.histories import running
from tests.load.masses import DEPLOYMENTS, create, deployment, node_class, pool, scale, server_type
from workflows.messages import PLANNER

LEAVING, COMING = "leaving", "coming"
_CPU, _MEMORY = "1500m", "1Gi"
"""More than half of a machine, so each pod has one of its own."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long things take in the scene, in seconds, so that all of them overlap."""

    cool_off: int
    boot: int
    """Of the machines that come while the others go."""
    patience: float
    """For each step."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Lifecycles that ended, one after the other."""

    count: int
    seconds: float
    """Between the first and the last."""

    @classmethod
    def of(cls, moments: list[datetime]) -> "Ended":
        return cls(len(moments), (max(moments) - min(moments)).total_seconds())

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


@dataclass(frozen=True, slots=True)
class Swapped:
    """What was seen."""

    up: Ended
    """Requests that became Ready while nothing else was under way."""
    most: InFlight
    """Counted from the objects."""
    workflows: Mapping[str, int]
    """That ran, by type, when each removal had one or the last request was Ready."""
    then: InFlight
    """At that moment."""
    both: Ended
    """Requests that became Ready and removals whose machine was gone, together."""


async def swap(cluster: KubeCluster, census: Census, temporal: Client, count: int, times: Times) -> Swapped:
    """Let `count` machines come; then let them go while as many others come; the end is checked."""
    slow, quick = server_type("slow", 2, 4, "0.0060", f"{times.boot}s"), server_type("quick", 2, 4, "0.0060", "1s")
    await create(cluster, KWOK_NODE_CLASSES, [node_class(slow, quick)])
    await create(
        cluster,
        NODE_POOLS,
        [
            pool(LEAVING, "quick", most=count, idle_after="1s", soft_grace=f"{times.cool_off}s"),
            pool(COMING, "slow", most=count, idle_after="1h", soft_grace="1h"),
        ],
    )
    await create(cluster, DEPLOYMENTS, [deployment(LEAVING, LEAVING, count, _CPU, _MEMORY)])
    await census.until(lambda: census.up(LEAVING) == count, "the first pods run", times.patience)
    await census.until(lambda: len(census.ended) == count, "the first requests are Ready", times.patience)
    up = Ended.of(census.ended)

    census.forget()
    await scale(cluster, LEAVING, 0)
    await create(cluster, DEPLOYMENTS, [deployment(COMING, COMING, count, _CPU, _MEMORY)])
    await census.until(lambda: census.most.both == count, "all are in flight at the same time", times.patience)
    workflows = await running(temporal)
    while workflows[REMOVAL.workflow] < count and census.now.requests:
        await asyncio.sleep(1)
        workflows = await running(temporal)
    then = census.now
    await census.until(lambda: census.up(COMING) == count, "the new pods run", times.patience)
    await census.until(lambda: len(census.ended) == 2 * count, "all removals have ended", times.patience)
    both = Ended.of(census.ended)
    await check_end(cluster, census, temporal, pods=count, patience=times.patience)
    assert len(census.requests_ever) == 2 * count
    return Swapped(up, census.most, workflows, then, both)


async def check_end(cluster: KubeCluster, census: Census, temporal: Client, *, pods: int, patience: float) -> None:
    """Fail unless the machines are exactly those that the pods were planned on, and nothing else is left.

    What follows a lifecycle's last step takes a moment: its workflow ends after its object has gone.
    """
    elsewhere = {name: node for name, node in census.bound.items() if census.seats.get(name) != node}
    assert not elsewhere, "pods run where they were planned"
    assert len(census.bound) == pods
    wanted = set(census.bound.values())
    twice = {name: uids for name, uids in census.servers_ever.items() if len(uids) > 1}
    assert not twice, "no server was made twice"
    assert set(census.servers_ever) == census.requests_ever, "each server has had one request"

    loop, wrong = asyncio.get_running_loop(), ["not looked yet"]
    deadline = loop.time() + patience
    while wrong and loop.time() < deadline:
        await asyncio.sleep(0.5)
        wrong = await _wrong(cluster, temporal, wanted)
    assert not wrong


async def _wrong(cluster: KubeCluster, temporal: Client, wanted: set[str]) -> list[str]:
    servers = await cluster.list(CONFIG_MAPS, labels=LABEL_REQUEST)
    nodes = await cluster.list(NODES, labels=LABEL_POOL)
    requests = await cluster.list(NODE_REQUESTS)
    removals = await cluster.list(NODE_REMOVAL_REQUESTS)
    taints = [
        f"{node['metadata']['name']} has the taint {taint['key']}"
        for node in nodes.items
        for taint in node["spec"].get("taints", ())
        if taint["key"].startswith(GROUP)
    ]
    objects = Counter({REQUEST.workflow: len(requests.items), REMOVAL.workflow: len(removals.items), PLANNER: 1})
    found = {
        "servers": {one["metadata"]["name"] for one in servers.items} ^ wanted,
        "nodes": {one["metadata"]["name"] for one in nodes.items} ^ wanted,
        "requests": {one["metadata"]["name"] for one in requests.items} ^ wanted,
        "removals": {one["metadata"]["name"] for one in removals.items},
        "requests that are not Ready": {
            one["metadata"]["name"] for one in requests.items if one["status"].get("phase") != "Ready"
        },
    }
    wrong = [f"{what}: {sorted(names)[:5]} and so on, {len(names)}" for what, names in found.items() if names]
    ran = await running(temporal)
    if ran != +objects:
        wrong.append(f"workflows {dict(ran)} for objects {dict(objects)}")
    return wrong + taints
