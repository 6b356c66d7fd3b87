"""What operators do: decide on removals, keep machines, edit and delete pools, and take it all back in the end."""

from contextlib import suppress
from random import Random
from typing import Final

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODES, Object, Resource
from activities.ports.errors import NotFound
from api.keys import (
    ANNOTATION_CANCELLED_AT,
    ANNOTATION_DECISION,
    ANNOTATION_DELETE_MACHINES,
    ANNOTATION_DO_NOT_REMOVE,
    LABEL_POOL,
)
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec
from planner.lifecycle.step import Decision, DecisionKind
from simulator.campaign.judging.recorder import BY_HAND, Witness, labels_of, phase_of
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation

_BLAMED: Final = "simulated person"


class Operators:
    """People with rights on Growth's own objects.

    Args:
        sim: the simulation.
        witness: knows what there is, and is told of machines that they leave to nobody.
        scenario: what they set up first.
        random: decides whom it hits.
    """

    def __init__(self, sim: Simulation, *, witness: Witness, scenario: Setup, random: Random) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._witness = witness
        self._scenario = scenario
        self._random = random
        self._kept: set[str] = set()

    async def annotate_removal(self) -> None:
        """Write a decision on a removal, or a word that is none."""
        name = self._some_removal()
        if name:
            await self.decide(name, self._random.choice([*(kind.value for kind in DecisionKind), "retri"]))

    async def ask_removal(self) -> None:
        """Send a decision to a removal as a message."""
        name = self._some_removal()
        if name:
            kind = self._random.choice(list(DecisionKind))
            self._tell(f"asks {name} to {kind}")
            with suppress(LookupError):
                self._sim.ask(name, Decision(kind=kind, by="ann"))
            self._note_skip(name, kind)

    async def decide(self, name: str, word: str) -> None:
        """Write a decision on a removal."""
        self._tell(f"annotates {name} {word}")
        with suppress(NotFound):
            await self._annotate(NODE_REMOVAL_REQUESTS, name, ANNOTATION_DECISION, word)
        self._note_skip(name, word)

    async def order_removal(self, name: str) -> None:
        """Order the removal of a server by hand."""
        record = self._witness.servers[name]
        labels = labels_of(record)
        self._tell(f"orders the removal of {name}")
        spec = NodeRemovalRequestSpec(
            server_name=name,
            pool=labels[LABEL_POOL],
            server_type=record["data"]["serverType"],
            location=record["data"]["location"],
            class_ref=self._scenario.class_ref,
            reason=BY_HAND,
        )
        await self._cluster.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": name}, "spec": spec.to_json()})

    async def keep_node(self) -> None:
        """Say that a Node is not to be removed."""
        nodes = self._cluster.peek(NODES)
        if nodes:
            name = self._random.choice(nodes)["metadata"]["name"]
            self._tell(f"keeps {name}")
            self._kept.add(name)
            await self._annotate(NODES, name, ANNOTATION_DO_NOT_REMOVE, _BLAMED)

    async def annotate_node(self, name: str, key: str, value: str | None) -> None:
        """Set an annotation of a Node, or take it off."""
        await self._annotate(NODES, name, key, value)

    async def forget_cancels(self) -> None:
        """Let machines go again whose removal somebody has cancelled: else each rests for an hour or more."""
        for node in self._cluster.peek(NODES):
            if ANNOTATION_CANCELLED_AT in (node["metadata"].get("annotations") or {}):
                with suppress(NotFound):
                    await self._annotate(NODES, node["metadata"]["name"], ANNOTATION_CANCELLED_AT, None)

    async def edit_pool(self) -> None:
        """Change a bound or the wish of a pool."""
        pool = self._some_pool()
        if pool is None:
            return
        spec = pool["spec"]
        most = self._random.randint(2, 8)
        least = min(most, self._random.choice([0, 0, 1, 2]))
        if spec.get("rotation", {}).get("onlyAtMin"):
            # Without a minimum it would be refused.
            least = max(1, least)
        cheapest, *others = self._scenario.types
        change = self._random.choice(
            [
                ("limits", {"max": most, "min": least}),
                ("scaleDown", {**spec["scaleDown"], "idleAfter": self._random.choice(["2s", "5s", "15s"])}),
                (
                    "serverTypes",
                    [{"name": cheapest, "max": self._random.randint(1, 3)}, *({"name": each} for each in others)],
                ),
            ]
        )
        self._tell(f"sets {change[0]} of pool {pool['metadata']['name']} to {change[1]}")
        operations = [{"op": "add", "path": f"/spec/{change[0]}", "value": change[1]}]
        await self._cluster.patch(NODE_POOLS, pool["metadata"]["name"], operations)

    async def delete_pool(self) -> None:
        """Delete a pool, with its machines or without."""
        pool = self._some_pool()
        if pool is None:
            return
        name = pool["metadata"]["name"]
        with_machines = self._random.random() < 0.5  # noqa: PLR2004 - one of two ways
        self._tell(f"deletes pool {name}{' and its machines' if with_machines else ''}")
        if with_machines:
            await self._annotate(NODE_POOLS, name, ANNOTATION_DELETE_MACHINES, "true")
        await self._cluster.delete(NODE_POOLS, name)

    async def restore(self) -> bool:
        """Take back what was changed, as far as it can be now, and return whether all is as it was."""
        for name in sorted(self._kept):
            with suppress(NotFound):
                await self._annotate(NODES, name, ANNOTATION_DO_NOT_REMOVE, None, only=_BLAMED)
        is_done = True
        present = {pool["metadata"]["name"]: pool for pool in self._cluster.peek(NODE_POOLS)}
        for name, wanted in self._scenario.pools.items():
            pool = present.get(name)
            if pool is None:
                await self._cluster.create(NODE_POOLS, wanted)
            elif "deletionTimestamp" in pool["metadata"]:
                is_done = False
            elif pool["spec"] != wanted["spec"]:
                await self._cluster.patch(
                    NODE_POOLS, name, [{"op": "replace", "path": "/spec", "value": wanted["spec"]}]
                )
        return is_done

    def _some_removal(self) -> str:
        """Return the name of a removal, of a parked one if there is any; empty without one."""
        removals = self._cluster.peek(NODE_REMOVAL_REQUESTS)
        parked = [removal for removal in removals if phase_of(removal) == "CouldNotRemove"]
        return self._random.choice(parked or removals)["metadata"]["name"] if removals else ""

    def _some_pool(self) -> Object | None:
        pools = [pool for pool in self._cluster.peek(NODE_POOLS) if "deletionTimestamp" not in pool["metadata"]]
        return self._random.choice(pools) if pools else None

    async def _annotate(
        self, resource: Resource, name: str, key: str, value: str | None, *, only: str | None = None
    ) -> None:
        current = await self._cluster.get(resource, name)
        if only is not None and (current["metadata"].get("annotations") or {}).get(key) != only:
            return
        await self._cluster.patch(resource, name, set_field(current, ("metadata", "annotations", key), value))

    def _note_skip(self, name: str, word: str) -> None:
        if word == DecisionKind.SKIP:
            self._witness.bereft.add(name)

    def _tell(self, deed: str) -> None:
        self._sim.tell("operator", deed)
