"""What users do to a cluster at any moment, without regard for what Growth is about to do, or at the worst moment."""

import asyncio
from contextlib import suppress
from datetime import datetime
from random import Random
from typing import Final

from activities.ports.cluster import (
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Object,
    Resource,
)
from activities.ports.errors import NotFound
from simulator.apiserver.history import Change
from simulator.campaign.actors.operators import Operators
from simulator.campaign.judging.provider_side import Side
from simulator.campaign.judging.recorder import Witness, is_ours, phase_of
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation

_WORST_MOMENTS: Final = 0.3
_SETTLES_SECONDS: Final = 5.0
"""Until then after the tainting, a removal waits for pods that were on their way."""
_CLOSE_CALL_SECONDS: Final = (0.0, 0.25)
"""After the deadline: while the worker looks for the last time and writes."""


class People:
    """Users of the cluster, and whoever deletes what they should not.

    Args:
        sim: the simulation.
        cloud: where they delete servers by hand.
        witness: knows what there is.
        operators: take machines back for them.
        scenario: whose workloads they have.
        random: decides whom it hits.
    """

    def __init__(
        self,
        sim: Simulation,
        *,
        cloud: Side,
        witness: Witness,
        operators: Operators,
        scenario: Setup,
        random: Random,
    ) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._cloud = cloud
        self._operators = operators
        self._witness = witness
        self._scenario = scenario
        self._random = random
        self.is_calm = False
        """Whether they want no more load."""

    async def scale(self) -> None:
        """Want more or fewer pods of a workload."""
        workload = self._random.choice(self._scenario.workloads)
        replicas = self._random.choice([0, 0, *range(1, 8)])
        self._tell(f"wants {replicas} of {workload.name}")
        self._sim.scale(workload.name, replicas)

    async def scale_up(self) -> None:
        """Want so many pods of a workload that machines must come."""
        workload = self._random.choice(self._scenario.workloads)
        replicas = workload.replicas + self._random.randint(2, 6)
        self._tell(f"wants {replicas} of {workload.name}")
        self._sim.scale(workload.name, replicas)

    def note(self, resource: Resource, change: Change) -> None:
        """Want more pods, or a machine back, at the worst moments: when it begins to go, and when it is decided on."""
        if resource != NODE_REMOVAL_REQUESTS or self._random.random() >= _WORST_MOMENTS:
            return
        if _begins_to_cool_off(change):
            self._sim.spawn(self._interfere(change.now["metadata"]["name"], change.now["status"]["scaleDownAt"]))
        if change.before is None and not self.is_calm:
            workload = self._random.choice(self._scenario.workloads)
            self._tell(f"wants one more of {workload.name} as {change.now['metadata']['name']} shall go")
            self._sim.scale(workload.name, workload.replicas + 1)

    async def _interfere(self, name: str, ends_at: str) -> None:
        """Cancel a removal, or want more pods, right when its cool-off ends."""
        left = (datetime.fromisoformat(ends_at) - self._sim.now()).total_seconds()
        await asyncio.sleep(max(left, _SETTLES_SECONDS) + self._random.uniform(*_CLOSE_CALL_SECONDS))
        way = self._random.choice(["delete", "cancel", "load"])
        if way == "load":
            if not self.is_calm:
                await self.scale_up()
        elif way == "cancel":
            await self._operators.decide(name, "cancel")
        else:
            self._tell(f"deletes NodeRemovalRequest {name} in the last moment")
            with suppress(NotFound):
                await self._cluster.delete(NODE_REMOVAL_REQUESTS, name)

    async def evict(self) -> None:
        """Delete a pod; its owner makes another."""
        pods = self._cluster.peek(PODS)
        if pods:
            metadata = self._random.choice(pods)["metadata"]
            self._tell(f"evicts {metadata['name']}")
            await self._cluster.delete(PODS, metadata["name"], namespace=metadata["namespace"])

    async def delete_request(self) -> None:
        """Delete a request in any phase."""
        await self._delete_one(NODE_REQUESTS, self._cluster.peek(NODE_REQUESTS))

    async def delete_unanswered(self) -> None:
        """Delete a request whose server was asked for without an answer."""
        requests = self._cluster.peek(NODE_REQUESTS)
        asked = [r for r in requests if phase_of(r) == "Pending" and "createAttemptAt" in r.get("status", {})]
        await self._delete_one(NODE_REQUESTS, asked)

    async def delete_removal(self) -> None:
        """Delete a removal in any phase."""
        await self._delete_one(NODE_REMOVAL_REQUESTS, self._cluster.peek(NODE_REMOVAL_REQUESTS))

    async def delete_node(self) -> None:
        """Delete a Node while its server exists."""
        name = await self._delete_one(NODES, self._cluster.peek(NODES))
        if name:
            self._witness.bereft.add(name)

    async def delete_server(self) -> None:
        """Delete a server at the provider; its Node turns NotReady, and some time later a controller may delete it."""
        names = sorted(name for name, record in self._witness.servers.items() if is_ours(record))
        if names:
            name = self._random.choice(names)
            self._tell(f"deletes server {name} at the provider")
            await self._cloud.lose(name)
            if self._random.random() < 0.5:  # noqa: PLR2004 - one of two ways
                self._sim.spawn(self._tidy(name, self._random.uniform(2, 40)))

    async def _delete_one(self, resource: Resource, items: list[Object]) -> str:
        if not items:
            return ""
        name = self._random.choice(items)["metadata"]["name"]
        self._tell(f"deletes {resource.kind} {name}")
        await self._cluster.delete(resource, name)
        return name

    async def _tidy(self, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with suppress(NotFound):
            await self._cluster.delete(NODES, name)

    def _tell(self, deed: str) -> None:
        self._sim.tell("person", deed)


def _begins_to_cool_off(change: Change) -> bool:
    before = {} if change.before is None else change.before.get("status", {})
    return change.kind != "DELETED" and "taintedAt" in change.now.get("status", {}) and "taintedAt" not in before
