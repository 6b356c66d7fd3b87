"""Whoever makes machines go with pods on them: load that leaves, edits of pools, systems that look after Nodes.

And what comes between: people who cancel, load that is back in the middle, machines that are to replace others and do
not come.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Final

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, Object, Resource
from activities.ports.errors import GrowthError, NotFound
from api.keys import LABEL_REQUEST, LABEL_STEP, OTHERS_SCALE_DOWN_DISABLED, TAINT_REMOVE_NOW
from api.v1alpha1.removal_budget import EVICTING_REASONS
from simulator.apiserver.history import Change
from simulator.campaign.actors.cloud_faults import Weather
from simulator.campaign.actors.drains import Drains
from simulator.campaign.actors.operators import Operators
from simulator.campaign.judging.recorder import Witness, labels_of
from simulator.campaign.policies import BAD, LONG_AGE
from simulator.campaign.setup import Setup
from simulator.scheduling.conditions import with_condition
from simulator.simulation import Simulation

_REST_SECONDS: Final = (4.0, 20.0)
_LONG_REST_SECONDS: Final = (10.0, 50.0)
_CANCELS: Final = 0.25
"""Share of removals that evict and that a person cancels."""
_RETURNS: Final = 0.2
"""Share of replacements in the middle of which load is back."""
_LOST: Final = 0.35
"""Share of replacements that do not start."""
_SOON_SECONDS: Final = (0.0, 20.0)
_LOST_FOR_SECONDS: Final = 100.0
"""Longer than the time to provision and to join."""

_FEW_CORES: Final = 4
"""What the limit in cores of a pool is lowered to: two of the smallest machines."""


class Maintainers:
    """Acts beside a history until all is calm.

    Args:
        sim: the simulation.
        witness: knows what there is.
        operators: cancel removals for them.
        drains: keep pods where they are.
        scenario: whose workloads and pools there are.
        weather: keeps machines from starting.
        random: of its own, so that all else happens as without them.
    """

    def __init__(
        self,
        sim: Simulation,
        *,
        witness: Witness,
        operators: Operators,
        drains: Drains,
        scenario: Setup,
        weather: Weather,
        random: Random,
    ) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._witness = witness
        self._operators = operators
        self._drains = drains
        self._scenario = scenario
        self._weather = weather
        self._random = random
        self._edits = 0
        self.is_calm = False
        """Whether they begin nothing by themselves any more."""
        self._goes_on = False
        """Whether they do all the same, in the end."""

    async def run(self) -> None:
        """Do one thing after the other, until all is calm."""
        while True:
            await asyncio.sleep(self._random.uniform(*_REST_SECONDS))
            if self.is_calm:
                return
            await self._act()

    async def renew(self) -> None:
        """Do some things more while all else is calm, with time for what follows from each."""
        self._goes_on = True
        self._grow()
        for _ in range(self._random.randint(3, 5)):
            await asyncio.sleep(self._random.uniform(*_LONG_REST_SECONDS))
            await self._act()
        await asyncio.sleep(self._random.uniform(*_LONG_REST_SECONDS))
        await self._drains.take_back()
        self._shrink()
        self._goes_on = False
        for pool in self._cluster.peek(NODE_POOLS):
            if "rotation" in pool["spec"]:
                await self._edit(pool, "rotation", {**pool["spec"]["rotation"], "maxNodeAge": LONG_AGE})
        await self.calm()

    async def _act(self) -> None:
        deeds: dict[str, tuple[int, Callable[[], Awaitable[None] | None]]] = {
            "load leaves": (6, self._shrink),
            "edit a template": (2, self._edit_template),
            "lower a max": (2, self._lower_max),
            "lower the age": (3, self._lower_age),
            "remove now": (2, self._remove_now),
            "a bad condition": (3, self._fail),
            "a word on a Node": (2, self._keep_by_word),
            "a budget": (2, self._drains.make_budget),
            "a pod that stays": (1, self._drains.keep_pod),
        }
        deed = self._random.choices(list(deeds), weights=[weight for weight, _ in deeds.values()])[0]
        self._witness.counts[f"deed: {deed}"] += 1
        with suppress(GrowthError):
            under_way = deeds[deed][1]()
            if under_way is not None:
                await under_way

    def note(self, resource: Resource, change: Change) -> None:
        """Interfere with what moves pods as it begins."""
        if change.before is not None or (self.is_calm and not self._goes_on):
            return
        if resource == NODE_REMOVAL_REQUESTS and change.now["spec"]["reason"] in EVICTING_REASONS:
            name, chance = change.now["metadata"]["name"], self._random.random()
            if chance < _CANCELS:
                self._sim.spawn(self._soon(lambda: self._operators.decide(name, "cancel")))
            elif chance < _CANCELS + _RETURNS and change.now["spec"].get("replacedBy"):
                self._sim.spawn(self._soon(self._return))
        elif resource == NODE_REQUESTS and LABEL_STEP in labels_of(change.now) and self._random.random() < _LOST:
            self._witness.counts["replacements that do not start"] += 1
            self._sim.spawn(self._weather.stop_starts(change.now["spec"]["serverType"], _LOST_FOR_SECONDS))

    def _shrink(self) -> None:
        """Want about half of the pods of each workload."""
        self._tell("load leaves")
        for workload in self._scenario.workloads:
            self._sim.scale(workload.name, (workload.replicas + self._random.randint(0, 1)) // 2)

    async def _return(self) -> None:
        if not self.is_calm or self._goes_on:
            self._grow()

    def _grow(self) -> None:
        """Want some more pods of each workload."""
        self._tell("load is back")
        for workload in self._scenario.workloads:
            self._sim.scale(workload.name, workload.replicas + self._random.randint(1, 3))

    async def _edit_template(self) -> None:
        """Change the labels that the machines of a pool are bought with, so that those that are there have drifted."""
        pool = self._some_pool()
        if pool is not None:
            self._edits += 1
            self._tell(f"edits the template of pool {pool['metadata']['name']}")
            template = {**pool["spec"]["template"], "labels": {"edit": str(self._edits)}}
            await self._edit(pool, "template", template)

    async def _lower_max(self) -> None:
        """Let a pool have fewer machines than it has."""
        pool = self._some_pool()
        if pool is not None:
            limits, number = pool["spec"]["limits"], len(list(self._witness.machines_of(pool["metadata"]["name"])))
            most = max(1, limits.get("min", 0), number - 1)
            cores = {"cpu": _FEW_CORES} if "cpu" in limits else {}
            self._tell(
                f"lowers the max of pool {pool['metadata']['name']} to {most}{', and its cores' if cores else ''}"
            )
            await self._edit(pool, "limits", {**limits, **cores, "max": most})

    async def _lower_age(self) -> None:
        """Let no machine of a pool become old."""
        pool = self._some_pool()
        if pool is not None:
            self._tell(f"lowers the age of machines of pool {pool['metadata']['name']}")
            await self._edit(pool, "rotation", {**pool["spec"].get("rotation", {}), "maxNodeAge": "1m"})

    async def _remove_now(self) -> None:
        """Let a machine go as soon as it is empty, and no pod come to it."""
        node = self._some_node()
        if node is not None:
            self._tell(f"taints {node['metadata']['name']} as to be removed now")
            taints = [*(node["spec"].get("taints") or ()), {"key": TAINT_REMOVE_NOW, "effect": "NoSchedule"}]
            await self._cluster.patch(
                NODES, node["metadata"]["name"], [{"op": "add", "path": "/spec/taints", "value": taints}]
            )

    async def _fail(self) -> None:
        """Let a Node say that something is wrong with it."""
        node = self._some_node()
        if node is not None:
            self._tell(f"says {BAD} of {node['metadata']['name']}")
            operations = with_condition(node, BAD, "True", reason="Seen", now=self._sim.now())
            await self._cluster.patch(NODES, node["metadata"]["name"], operations, subresource="status")

    async def _keep_by_word(self) -> None:
        """Say on a Node that no policy may empty it, in the words of another autoscaler; taken back in the end."""
        node = self._some_node()
        if node is not None:
            self._tell(f"keeps {node['metadata']['name']} from being emptied")
            await self._operators.annotate_node(node["metadata"]["name"], OTHERS_SCALE_DOWN_DISABLED, "true")

    async def calm(self) -> None:
        """Begin nothing any more, and take words on Nodes back."""
        self.is_calm = True
        for node in self._cluster.peek(NODES):
            if OTHERS_SCALE_DOWN_DISABLED in (node["metadata"].get("annotations") or {}):
                with suppress(NotFound):
                    await self._operators.annotate_node(node["metadata"]["name"], OTHERS_SCALE_DOWN_DISABLED, None)

    def _some_pool(self) -> Object | None:
        pools = [pool for pool in self._cluster.peek(NODE_POOLS) if "deletionTimestamp" not in pool["metadata"]]
        return self._random.choice(pools) if pools else None

    def _some_node(self) -> Object | None:
        """Return a Node of a machine of Growth's, mostly one with pods."""
        nodes = sorted(
            (node for node in self._cluster.peek(NODES) if LABEL_REQUEST in labels_of(node)),
            key=lambda node: node["metadata"]["name"],
        )
        with_pods = [node for node in nodes if self._witness.pods_on(node["metadata"]["name"])]
        choice = with_pods or nodes
        return self._random.choice(choice) if choice else None

    async def _edit(self, pool: Object, field: str, value: Object) -> None:
        operations = [{"op": "add", "path": f"/spec/{field}", "value": value}]
        await self._cluster.patch(NODE_POOLS, pool["metadata"]["name"], operations)

    async def _soon(self, deed: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(self._random.uniform(*_SOON_SECONDS))
        await deed()

    def _tell(self, deed: str) -> None:
        self._sim.tell("maintainer", deed)
