"""A Node of a real cloud beside simulated machines: while it is there, none is bought, unless the worker is told to.

Pools and pods say why, and when it is gone, machines are bought again. It comes in the middle of purchases, when all
else of a history has happened.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Final

from activities.ports.cluster import EVENTS, NODE_POOLS, NODE_REQUESTS, NODES, PODS, Object, Resource
from activities.ports.errors import NotFound
from activities.ports.ports import Ports
from activities.ports.simulated_kinds import SimulatedKinds
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.simulated_node import is_simulated
from simulator.apiserver.history import Change
from simulator.campaign.judging.headroom import is_expendable
from simulator.campaign.judging.recorder import Witness, is_daemon, pool_asked_for
from simulator.campaign.setup import Setup
from simulator.scheduling.kubelet import MANAGED
from simulator.scheduling.pod_request import occupies
from simulator.simulation import Simulation

_SHARE: Final = 0.3
"""Of histories with KWOK's machines."""
_ALLOWED: Final = 0.3
"""Share of those in which workers buy simulated machines all the same."""
_NAME: Final = "cp-1"
_REASON: Final = "RealCluster"
KNOWN_SECONDS: Final = 45.0
"""A round may decide on what was before: as old as its cache, and as long as it may run."""
_TOLD_SECONDS: Final = 120.0
_LASTS_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 2.0


class RealNodes:
    """Lets a real Node come and go, and judges what is bought meanwhile.

    Args:
        sim: the simulation.
        witness: counts.
        scenario: its workloads.
        unserved: returns what is wrong with pods that wait.
    """

    def __init__(
        self, sim: Simulation, *, witness: Witness, scenario: Setup, unserved: Callable[[], list[str]]
    ) -> None:
        self._sim = sim
        self._witness = witness
        self._scenario = scenario
        self._unserved = unserved
        self.violations: list[str] = []
        # A stream of its own, so that all else happens as without such Nodes.
        self._random = random = Random(f"real Nodes of {sim.seed}")  # noqa: S311 - a simulation wants repeatable choices
        is_kwok = sim.world.node_classes == KWOK_NODE_CLASSES
        self._is_wanted = random.random() < _SHARE and is_kwok
        self._is_allowed = random.random() < _ALLOWED
        self._app = random.choice([workload.name for workload in scenario.workloads])
        self._replicas = random.randint(2, 5)
        self._rules: dict[str, Callable[[Object], bool]] = {}
        """Empty until such a Node may come: a round has a write more to make for each class that is looked at."""
        self._since: float | None = None

    def equip(self, ports: Ports) -> Ports:
        """Return the ports of a worker that looks for real Nodes."""
        return replace(ports, simulated=SimulatedKinds(self._rules, self._is_allowed)) if self._is_wanted else ports

    def note(self, resource: Resource, change: Change) -> None:
        """Judge a machine that is asked for."""
        if resource != NODE_REQUESTS or change.kind == "DELETED" or self._is_allowed or not self._is_known():
            return
        name = change.now["metadata"]["name"]
        if change.before is None:
            self._wrong(f"request {name} is made beside a real Node")
        elif _attempts(change.now) and not _attempts(change.before):
            self._wrong(f"a server is asked for beside a real Node: {name}")

    async def trouble(self) -> bool:
        """Let the Node come while machines are bought, stay for a while, and go; return whether it was there."""
        if not self._is_wanted:
            return False
        self._witness.counts[f"real Node{', allowed' if self._is_allowed else ''}"] += 1
        self._rules[KWOK_NODE_CLASSES.kind] = is_simulated
        await self._scale(self._replicas, self._random.uniform(0, 6))
        self._sim.tell("story", "a real Node joins")
        await self._sim.world.cluster.create(NODES, _node())
        self._since = self._sim.seconds()
        await asyncio.sleep(KNOWN_SECONDS)
        known = {pod["metadata"]["uid"] for pod in self._sim.world.cluster.peek(PODS)}
        await self._scale(self._replicas + 3, _LOOK_SECONDS)
        if self._is_allowed:
            await self._until(self._unserved, self._scenario.served_within_seconds)
        else:
            await self._until(lambda: self._untold(known), _TOLD_SECONDS)
            await asyncio.sleep(_LASTS_SECONDS)
        self._since = None
        self._sim.tell("story", "the real Node goes")
        with suppress(NotFound):
            await self._sim.world.cluster.delete(NODES, _NAME)
        return True

    def _is_known(self) -> bool:
        return self._since is not None and self._sim.seconds() - self._since >= KNOWN_SECONDS

    def _untold(self, known: set[str]) -> list[str]:
        """Return which pools do not say why they buy nothing, and which of the pods that are new do not either."""
        cluster = self._sim.world.cluster
        wrong = [
            f"pool {pool['metadata']['name']} does not say that a real Node is there"
            for pool in cluster.peek(NODE_POOLS)
            if _REASON not in [each["reason"] for each in pool["status"]["conditions"] if each["type"] == "Ready"]
        ]
        # One that comes to a class of pods in back-off has that for its reason, and this in its words.
        uids = {
            event["regarding"].get("uid") for event in cluster.peek(EVENTS) if f"Node {_NAME} is real" in event["note"]
        }
        # An event that is lost is not written again.
        pools = {pool["metadata"]["name"]: pool for pool in cluster.peek(NODE_POOLS)}
        news = [
            pod
            for pod in ([] if self._scenario.losses else cluster.peek(PODS))
            # Nothing would be bought for those of too low a priority anyway.
            if pod["metadata"]["uid"] not in known and not is_expendable(pod, pools.get(pool_asked_for(pod)))
        ]
        return wrong + [
            f"pod {pod['metadata']['name']} waits beside a real Node and is not told why"
            for pod in news
            if _waits(pod) and pod["metadata"]["uid"] not in uids
        ]

    async def _scale(self, replicas: int, seconds: float) -> None:
        self._sim.world.workloads.scale(self._app, replicas)
        self._sim.world.wake()
        await asyncio.sleep(seconds)

    async def _until(self, wrong: Callable[[], list[str]], within: float) -> None:
        deadline = self._sim.seconds() + within
        while problems := wrong():
            if self._sim.seconds() >= deadline:
                self._wrong(problems[0])
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._sim.tell("rules", violation)


def _node() -> Object:
    """Return a Node of a cloud without room for any pod, of whose life the simulator's kubelet takes care."""
    nothing = {"cpu": "0", "memory": "0", "pods": "0"}
    return {
        "metadata": {"name": _NAME, "annotations": {MANAGED: "fake"}},
        "spec": {
            "providerID": "aws:///eu-central-1a/i-0123456789abcdef0",
            "taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        },
        "status": {"capacity": nothing, "allocatable": nothing, "nodeInfo": {"kubeletVersion": "v1.34.1"}},
    }


def _attempts(request: Object) -> int:
    return request.get("status", {}).get("attempts", 0)


def _waits(pod: Object) -> bool:
    return occupies(pod) and not pod["spec"].get("nodeName") and not is_daemon(pod)
