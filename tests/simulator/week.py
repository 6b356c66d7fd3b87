"""What happens to a cluster in a week: loads that come and go each day, and what stays for days.

Everything is timed by the hour; durations of pools are those that users get who set none.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

from activities.kube.json_patch import set_field
from activities.ports.cluster import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
)
from activities.ports.errors import NotFound
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import ANNOTATION_DO_NOT_REMOVE
from planner.lifecycle.step import Decision, DecisionKind
from simulator.catalogue import machine, node_class, node_pool
from simulator.driver.driver import Memory
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation

DAYS = 7
HOUR_SECONDS = 3600
EVENTS_LIVE = timedelta(hours=1)
"""Source: kube-apiserver's --event-ttl; the API server in memory forgets nothing by itself."""
LOG_KEPT = 100
_CHANGING = (
    PODS,
    NODES,
    EVENTS,
    LEASES,
    CONFIG_MAPS,
    NODE_POOLS,
    KWOK_NODE_CLASSES,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
)
FEWEST = 1
"""Machines of the pool that has a minimum."""

DRAIN_BEGINS, DRAIN_ENDS = 3 * 24 + 13, 3 * 24 + 20
"""Hours in which a drain is blocked and a pod waits that no machine can take: rounds come every ten seconds then."""
STUBBORN_FROM, STUBBORN_TO = 3 * 24, 5 * 24 + 12
"""Hours in which the cloud deletes no machine of one type."""
RESTARTS = (12, 24 + 12, 2 * 24 + 12)
"""Hours in which the worker is killed; the last time, Temporal's memory is lost with it. Then one worker lives on for
more than four days, in which what a worker gathers would show."""

_TAINTED = {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}
OBJECTS = [
    node_class(
        [
            machine("bargain", cpu=2, memory=4, price="0.005", locations=[{"name": "fsn1", "stock": 0}]),
            machine("small", cpu=2, memory=4, price="0.010"),
            machine("gpu", cpu=8, memory=16, price="0.500"),
        ]
    ),
    node_pool("default", [{"name": "bargain"}, {"name": "small"}], limits={"max": 20, "min": FEWEST}),
    node_pool("stateful", [{"name": "small"}], limits={"max": 3}, scaleDown={"mode": "drain"}, template=_TAINTED),
    node_pool("special", [{"name": "gpu"}], limits={"max": 3}, template=_TAINTED),
]


def _in_pool(name: str) -> dict[str, Any]:
    return {
        "nodeSelector": {"growth.dev/pool": name},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    }


WORKLOADS = [
    Workload("web", 3, {"cpu": "900m", "memory": "1Gi"}),
    Workload("jobs", 0, {"cpu": "1700m", "memory": "2Gi"}),
    Workload("db", 2, {"cpu": "900m", "memory": "1Gi"}, spec=_in_pool("stateful")),
    Workload("train", 0, {"cpu": "6", "memory": "8Gi"}, spec=_in_pool("special")),
    Workload("huge", 0, {"cpu": "64", "memory": "1Gi"}),
]


def load(hour: int) -> dict[str, int]:
    """Return how many pods of each workload are wanted in an hour of the week."""
    day, of_day = divmod(hour, 24)
    web = 12 if 11 <= of_day < 14 else 8 if 7 <= of_day < 20 else 3
    return {
        "web": web,
        "jobs": 5 if of_day == 2 else 0,
        "train": int(day in (0, 1, 3, 6) and 9 <= of_day < 12),
        "huge": int(DRAIN_BEGINS <= hour < DRAIN_ENDS),
    }


class Week:
    """The story.

    Args:
        sim: the simulation; its first worker lives already.
    """

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._kept = ""

    def begin(self) -> None:
        """Start the workloads."""
        for workload in WORKLOADS:
            self._sim.world.workloads.add(workload)
        self._sim.world.wake()

    async def pass_hour(self, hour: int) -> None:
        """Let an hour pass, with all that begins in it."""
        began = self._sim.seconds()
        for name, replicas in load(hour).items():
            self._sim.scale(name, replicas)
        if hour in RESTARTS:
            await self._restart(is_forgotten=hour == RESTARTS[-1])
        if hour == STUBBORN_FROM:
            await self._set_faults([{"call": "delete", "serverType": "gpu"}])
        if hour == STUBBORN_TO:
            await self._set_faults([])
            for name in self.parked():
                self._sim.ask(name, Decision(kind=DecisionKind.RETRY, reason="the cloud is mended"))
        if hour == DRAIN_BEGINS:
            await self._block_a_drain()
        if hour == DRAIN_ENDS:
            await self._keep(None)
        await self._forget()
        await asyncio.sleep(HOUR_SECONDS / 2)
        await self._evict_one()
        await asyncio.sleep(began + HOUR_SECONDS - self._sim.seconds())

    async def end(self) -> None:
        """Take all load away, and return when nothing but the fewest machines is left."""
        self._sim.world.workloads.scale_all(0)
        self._sim.world.wake()
        await self._sim.until(
            lambda view: len(view.servers) == FEWEST and not view.requests and not view.removals,
            "nothing left but the fewest machines",
            within=2 * HOUR_SECONDS,
        )

    def parked(self) -> list[str]:
        """Return the removals that wait for a person."""
        return self._in_phase("CouldNotRemove")

    def blocked(self) -> list[str]:
        """Return the removals that pods block."""
        return self._in_phase("Draining")

    def _in_phase(self, phase: str) -> list[str]:
        removals = self._cluster.peek(NODE_REMOVAL_REQUESTS)
        return [one["metadata"]["name"] for one in removals if one.get("status", {}).get("phase") == phase]

    async def _restart(self, *, is_forgotten: bool) -> None:
        memory = self._sim.alive[0].driver.memory
        await self._sim.crash()
        await asyncio.sleep(60)
        self._sim.start(memory=Memory() if is_forgotten else memory)

    async def _block_a_drain(self) -> None:
        """Order the removal of a machine on which a pod must stay."""
        pod = next(pod for pod in self._cluster.peek(PODS) if pod["metadata"]["labels"]["app"] == "db")
        self._kept, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        await self._keep("it migrates its data")
        labels = (await self._cluster.get(NODES, node))["metadata"]["labels"]
        spec = {
            "serverName": node,
            "nodeName": node,
            "pool": labels["growth.dev/pool"],
            "serverType": labels["growth.dev/server-type"],
            "location": labels["topology.kubernetes.io/region"],
            "classRef": {"kind": KWOK_NODE_CLASSES.kind, "name": "default"},
        }
        await self._cluster.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": node}, "spec": spec})

    async def _evict_one(self) -> None:
        """Let a pod be replaced by another, as a roll-out or a crash does."""
        names = [
            pod["metadata"]["name"] for pod in self._cluster.peek(PODS) if pod["metadata"]["labels"]["app"] == "web"
        ]
        await self._cluster.delete(PODS, names[0], namespace="default")

    async def _set_faults(self, faults: list[dict[str, str]]) -> None:
        operations = [{"op": "add", "path": "/spec/faults", "value": faults}]
        await self._cluster.patch(KWOK_NODE_CLASSES, "default", operations)

    async def _keep(self, why: str | None) -> None:
        """Say why the pod must stay, or that it need not any more."""
        found = await self._cluster.get(PODS, self._kept, namespace="default")
        operations = set_field(found, ("metadata", "annotations", ANNOTATION_DO_NOT_REMOVE), why)
        await self._cluster.patch(PODS, self._kept, operations, namespace="default")

    async def _forget(self) -> None:
        """Let go what an API server lets go, and what only the simulation gathers."""
        oldest = (self._sim.now() - EVENTS_LIVE).isoformat()
        for event in self._cluster.peek(EVENTS):
            if event["eventTime"] < oldest:
                with suppress(NotFound):
                    await self._cluster.delete(
                        EVENTS, event["metadata"]["name"], namespace=event["metadata"]["namespace"]
                    )
        for resource in _CHANGING:
            self._cluster.forget_history(resource)
        del self._sim.log[:-LOG_KEPT]
