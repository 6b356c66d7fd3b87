"""What happens to a cluster without anybody's wish: clouds fail, servers do not boot, watches expire."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from activities.cluster import (
    KWOK_NODE_CLASSES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Resource,
)
from simulator.campaign.cloud import Cloud, Trouble
from simulator.simulation import Simulation

_FOLLOWED: Final[tuple[Resource, ...]] = (
    PODS,
    NODES,
    NODE_POOLS,
    KWOK_NODE_CLASSES,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
)
_OFTEN: Final = (Trouble.SOLD_OUT, Trouble.DELETE_REFUSED, Trouble.DELETE_DEAF, Trouble.CREATE_LATE, Trouble.NAME_TAKEN)
"""What has the longest consequences."""


class Weather:
    """Faults of what Growth stands on.

    Args:
        sim: the simulation.
        cloud: the provider.
        random: decides what goes wrong and for how long.
    """

    def __init__(self, sim: Simulation, *, cloud: Cloud, random: Random) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._cloud = cloud
        self._random = random

    def trouble(self, kinds: Sequence[Trouble] = (*Trouble, *_OFTEN)) -> Trouble:
        """Let the cloud fail in one of these ways for a while, and return in which."""
        kind = self._random.choice(kinds)
        # Deletions begin only when a machine has been idle and has cooled off.
        seconds = self._random.uniform(30, 90) if kind.startswith("delete") else self._random.uniform(5, 45)
        server_type = self._random.choice(["small", "small", "medium", "big"])
        self._sim.tell("cloud", f"{kind}, for {seconds:.0f} s")
        self._cloud.worsen(kind, seconds, server_type=server_type)
        return kind

    async def stop_boots(self) -> None:
        """Let servers of one type not boot, not join or not turn Ready, for a while.

        Those that still exist then boot and join; a Node that was not to be Ready stays so.
        """
        fault: dict[str, Any] = {
            "call": self._random.choice(["boot", "join", "ready"]),
            "serverType": self._random.choice(["small", "medium", "big"]),
        }
        seconds = self._random.uniform(10, 80)
        self._sim.tell("cloud", f"no {fault['call']} of {fault['serverType']} for {seconds:.0f} s")
        await self._set_faults([fault])
        self._sim.spawn(self._mend_in(seconds))

    async def change_stock(self) -> None:
        """Let more or fewer servers of the cheapest type be had."""
        stock = self._random.randint(0, 3)
        self._sim.tell("cloud", f"has {stock} small")
        await self._cluster.patch(
            KWOK_NODE_CLASSES,
            "default",
            [{"op": "add", "path": "/spec/serverTypes/0/locations/0/stock", "value": stock}],
        )

    async def expire_watches(self) -> None:
        """Let the API server forget the changes of a kind."""
        resource = self._random.choice(_FOLLOWED)
        self._sim.tell("api server", f"forgets the changes of {resource.plural}")
        self._cluster.forget_history(resource)

    async def plant_server(self) -> None:
        """Let another cluster have a server."""
        name = f"theirs-{len(self._cloud.foreign)}"
        self._sim.tell("others", f"have a server {name}")
        await self._cloud.plant(name)

    async def calm(self) -> None:
        """Let everything work again."""
        self._cloud.calm()
        await self._set_faults([])
        await self.change_stock_to_any()

    async def change_stock_to_any(self) -> None:
        """Let any number of servers be had."""
        (node_class,) = self._cluster.peek(KWOK_NODE_CLASSES)
        if "stock" in node_class["spec"]["serverTypes"][0]["locations"][0]:
            path = "/spec/serverTypes/0/locations/0/stock"
            await self._cluster.patch(KWOK_NODE_CLASSES, "default", [{"op": "remove", "path": path}])

    async def _set_faults(self, faults: list[dict[str, Any]]) -> None:
        await self._cluster.patch(
            KWOK_NODE_CLASSES, "default", [{"op": "add", "path": "/spec/faults", "value": faults}]
        )

    async def _mend_in(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._set_faults([])
