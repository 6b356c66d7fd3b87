"""What people do about drains: order them, keep pods where they are, set budgets, change their minds in the middle."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

from activities.kube.json_patch import set_field
from activities.ports.cluster import DISRUPTION_BUDGETS, NODE_POOLS, NODE_REMOVAL_REQUESTS, PODS, Object, Resource
from activities.ports.errors import AlreadyExists, NotFound
from api.keys import ANNOTATION_DO_NOT_REMOVE, ANNOTATION_SAFE_TO_EVICT
from planner.lifecycle.step import Decision, DecisionKind
from simulator.apiserver.history import Change
from simulator.campaign.actors.operators import Operators
from simulator.campaign.actors.workers import Workers
from simulator.campaign.judging.pod_departures import keeps_disk
from simulator.campaign.judging.recorder import Witness, is_ours, phase_of
from simulator.campaign.setup import HARD_GRACES, Setup
from simulator.simulation import Simulation

Deed = Callable[[], Awaitable[object]]

_NAMESPACE: Final = "default"
_WITH_BUDGET: Final = 0.3
_WITH_KEPT_POD: Final = 0.3
_MACHINE_WITHIN_SECONDS: Final = 60
_WORST_MOMENTS: Final = 0.5
"""Share of drains in which people do something right at their beginning."""
_KILLS: Final = 0.15
"""Share of evictions after which a worker dies."""
_WRITES_WITHIN_SECONDS: Final = 0.02
"""After its effect, the answer to an eviction and the next write are on their way."""
_KEPT_SECONDS: Final = (3.0, 100.0)
_FOR_GOOD: Final = 0.3
"""Share of blockers that stay until the end."""


class Drains:
    """People who drain machines, and those whose pods are on them.

    Args:
        sim: the simulation.
        witness: knows what there is.
        operators: order and cancel removals for them.
        workers: die between an eviction and its record.
        scenario: whose workloads they have.
        random: decides whom it hits.
    """

    def __init__(
        self,
        sim: Simulation,
        *,
        witness: Witness,
        operators: Operators,
        workers: Workers,
        scenario: Setup,
        random: Random,
    ) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._witness = witness
        self._operators = operators
        self._workers = workers
        self._scenario = scenario
        self._random = random
        self._made = 0
        self.is_calm = False
        """Whether they begin nothing any more."""

    def deeds(self) -> dict[str, tuple[int, Deed]]:
        """Return their actions, each with its weight among all."""
        return {
            "drain a machine": (16, self.order),
            "keep a pod": (4, self.keep_pod),
            "bare pod": (4, self.make_bare_pod),
            "budget": (5, self.make_budget),
            "cancel a drain": (4, self.cancel),
            "edit a drain": (3, self.edit_pool),
        }

    async def order(self) -> None:
        """Order the removal of machines with pods on them, once there are any, some of which people keep."""
        if not self._occupied():
            await self._want_more()
        if self._random.random() < _WITH_BUDGET:
            await self.make_budget()
        for _ in range(self._random.choice([1, 1, 2])):
            names = self._occupied()
            if names:
                name = self._random.choice(names)
                if self._random.random() < _WITH_KEPT_POD:
                    await self._keep(self._pods_on(name))
                await self._operators.order_removal(name)

    async def keep_pod(self) -> None:
        """Say that a pod must stay where it is, and mostly take that back later."""
        await self._keep([pod for pod in self._cluster.peek(PODS) if "deletionTimestamp" not in pod["metadata"]])

    async def make_bare_pod(self) -> None:
        """Start a pod without a controller, and mostly delete it later."""
        self._made += 1
        name = f"bare-{self._made}"
        self._tell(f"starts {name}")
        container = {"name": "main", "image": "example.org/app", "resources": {"requests": {"cpu": "300m"}}}
        body: Object = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        await self._cluster.create(PODS, body, namespace=_NAMESPACE)
        self._later(lambda: self._delete(PODS, name))

    async def make_budget(self) -> None:
        """Let the pods of a workload not be disrupted for a while, or hardly."""
        workload = self._random.choice(self._scenario.workloads).name
        bound = self._random.choice([{"maxUnavailable": 0}, {"maxUnavailable": 0}, {"maxUnavailable": 1}])
        self._tell(f"sets a budget of {workload}: {bound}")
        spec: dict[str, Any] = {"selector": {"matchLabels": {"app": workload}}, **bound}
        with suppress(AlreadyExists):
            await self._cluster.create(
                DISRUPTION_BUDGETS, {"metadata": {"name": workload}, "spec": spec}, namespace=_NAMESPACE
            )
            self._later(lambda: self._delete(DISRUPTION_BUDGETS, workload))

    async def cancel(self) -> None:
        """Take a drain back."""
        names = sorted(name for name, removal in self._witness.removals.items() if phase_of(removal) == "Draining")
        if names:
            await self._cancel(self._random.choice(names))

    async def edit_pool(self) -> None:
        """Change how a pool's machines are drained, also those that are being drained."""
        pools = [pool for pool in self._cluster.peek(NODE_POOLS) if "deletionTimestamp" not in pool["metadata"]]
        if not pools:
            return
        pool = self._random.choice(pools)
        settings = {key: value for key, value in pool["spec"]["scaleDown"].items() if key not in ("mode", "hardGrace")}
        graces = [{}, *({"hardGrace": grace} for grace in HARD_GRACES)]
        mode = self._random.choice([{"mode": "empty"}, *({"mode": "drain", **grace} for grace in graces)])
        self._tell(f"sets pool {pool['metadata']['name']} to {mode}")
        operations = [{"op": "add", "path": "/spec/scaleDown", "value": settings | mode}]
        await self._cluster.patch(NODE_POOLS, pool["metadata"]["name"], operations)

    def note(self, resource: Resource, change: Change) -> None:
        """Interfere with a drain as it begins."""
        if resource != NODE_REMOVAL_REQUESTS or self.is_calm or change.before is None:
            return
        begins = phase_of(change.before) != "Draining" and phase_of(change.now) == "Draining"
        if begins and self._random.random() < _WORST_MOMENTS:
            self._sim.spawn(self._interfere(change.now["metadata"]["name"]))

    def note_eviction(self) -> None:
        """Kill a worker after an eviction and before that is on record, or a little later."""
        if not self.is_calm and self._random.random() < _KILLS:
            self._sim.spawn(self._kill())

    async def take_back(self) -> None:
        """Remove everything that keeps pods where they are."""
        for pod in list(self._cluster.peek(PODS)):
            metadata = pod["metadata"]
            if not metadata.get("ownerReferences"):
                await self._delete(PODS, metadata["name"])
                continue
            if ANNOTATION_DO_NOT_REMOVE in (metadata.get("annotations") or {}):
                await self._annotate(metadata["name"], metadata["uid"], None)
            if keeps_disk(pod):
                await self._annotate(metadata["name"], metadata["uid"], "true", key=ANNOTATION_SAFE_TO_EVICT)
        for budget in list(self._cluster.peek(DISRUPTION_BUDGETS)):
            await self._delete(DISRUPTION_BUDGETS, budget["metadata"]["name"])

    async def _want_more(self) -> None:
        """Want more pods of a workload, and wait until one of them runs."""
        workload = self._random.choice(self._scenario.workloads)
        self._sim.scale(workload.name, workload.replicas + self._random.randint(1, 4))
        for _ in range(_MACHINE_WITHIN_SECONDS):
            await asyncio.sleep(1)
            if self._occupied():
                return

    def _occupied(self) -> list[str]:
        """Return the machines with pods on them that nobody removes yet."""
        return sorted(
            name
            for name, record in self._witness.servers.items()
            if is_ours(record) and self._witness.pods_on(name) and name not in self._witness.removals
        )

    def _pods_on(self, node: str) -> list[Object]:
        return [pod for pod in self._cluster.peek(PODS) if pod["spec"].get("nodeName") == node]

    async def _interfere(self, removal: str) -> None:
        await asyncio.sleep(self._random.choice([self._random.uniform(0, 0.2), self._random.uniform(0, 15)]))
        if self._random.random() < 0.5:  # noqa: PLR2004 - one of two ways
            await self._cancel(removal)
        else:
            await self._keep(self._pods_on(removal))

    async def _kill(self) -> None:
        await asyncio.sleep(self._random.uniform(0, _WRITES_WITHIN_SECONDS))
        self._tell("kills a worker that evicts")
        self._witness.counts["kills at an eviction"] += 1
        await self._workers.crash()

    async def _cancel(self, removal: str) -> None:
        way = self._random.choice(["annotation", "message", "deletion"])
        self._tell(f"cancels the drain of {removal} by {way}")
        self._witness.counts["cancels of a drain"] += 1
        if way == "annotation":
            await self._operators.decide(removal, DecisionKind.CANCEL.value)
        elif way == "message":
            with suppress(LookupError):
                self._sim.ask(removal, Decision(kind=DecisionKind.CANCEL, by="ann"))
        else:
            await self._delete(NODE_REMOVAL_REQUESTS, removal)

    async def _keep(self, pods: list[Object]) -> None:
        if pods:
            metadata = self._random.choice(pods)["metadata"]
            name, uid = metadata["name"], metadata["uid"]
            self._tell(f"keeps pod {name}")
            await self._annotate(name, uid, "simulated person")
            self._later(lambda: self._annotate(name, uid, None))

    async def _annotate(self, name: str, uid: str, value: str | None, *, key: str = ANNOTATION_DO_NOT_REMOVE) -> None:
        with suppress(NotFound):
            pod = await self._cluster.get(PODS, name, namespace=_NAMESPACE)
            if pod["metadata"]["uid"] == uid:
                change = set_field(pod, ("metadata", "annotations", key), value)
                await self._cluster.patch(PODS, name, change, namespace=_NAMESPACE)

    async def _delete(self, resource: Resource, name: str) -> None:
        namespace = _NAMESPACE if resource.namespaced else None
        with suppress(NotFound):
            await self._cluster.delete(resource, name, namespace=namespace)

    def _later(self, deed: Deed) -> None:
        """Let it be done after a while, or never."""
        if self._random.random() >= _FOR_GOOD:
            self._sim.spawn(_after(self._random.uniform(*_KEPT_SECONDS), deed))

    def _tell(self, deed: str) -> None:
        self._sim.tell("drains", deed)


async def _after(seconds: float, deed: Deed) -> None:
    await asyncio.sleep(seconds)
    await deed()
