"""What happens to a cluster without anybody's wish: clouds fail, servers do not boot, watches expire."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace
from random import Random
from typing import Any, ClassVar, Final

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS, Resource
from activities.ports.ports import Ports
from activities.providers.built_in import KWOK_NODE_CLASSES
from simulator.campaign.actors.cloud import Cloud, CloudClient, Trouble
from simulator.campaign.judging.provider_side import THEIRS, Side
from simulator.simulation import Simulation

_OFTEN: Final = (Trouble.SOLD_OUT, Trouble.DELETE_REFUSED, Trouble.DELETE_DEAF, Trouble.CREATE_LATE, Trouble.NAME_TAKEN)
"""What has the longest consequences."""


_AT_FIRST: Final = (
    Trouble.SOLD_OUT,
    Trouble.CREATE_LATE,
    Trouble.CREATE_LOST,
    Trouble.CREATE_REPLY_LOST,
    Trouble.NAME_TAKEN,
)
"""What meets the first machines."""


class Weather(ABC):
    """Faults of what Growth stands on.

    Args:
        sim: the simulation.
        random: decides what goes wrong and for how long.
    """

    trouble_weight: ClassVar[int]
    """Of a trouble in the cloud, among all deeds."""

    def __init__(self, sim: Simulation, random: Random) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._random = random

    @property
    @abstractmethod
    def cloud(self) -> Side:
        """The provider."""

    def equip(self, ports: Ports) -> Ports:
        """Return the ports of a worker, with the faults of its provider."""
        return ports

    @abstractmethod
    def trouble(self, *, is_first: bool = False) -> str:
        """Let the cloud fail in some way for a while, and return in which; `delete` begins those of deletions.

        Args:
            is_first: it is to meet the first machines.
        """

    @abstractmethod
    async def stop_boots(self) -> None:
        """Let servers of one type not boot or not join, for a while."""

    @abstractmethod
    async def stop_starts(self, server_type: str, seconds: float) -> None:
        """Let servers of this type not come for so long."""

    @abstractmethod
    async def change_stock(self) -> None:
        """Let more or fewer servers of a type be had, or at another price."""

    @abstractmethod
    async def calm(self) -> None:
        """Let everything work again."""

    async def expire_watches(self) -> None:
        """Let the API server forget the changes of a kind."""
        followed: tuple[Resource, ...] = (
            PODS,
            NODES,
            NODE_POOLS,
            self._sim.world.node_classes,
            NODE_REQUESTS,
            NODE_REMOVAL_REQUESTS,
        )
        resource = self._random.choice(followed)
        self._sim.tell("api server", f"forgets the changes of {resource.plural}")
        self._cluster.forget_history(resource)

    async def plant_server(self) -> None:
        """Let another cluster have a server."""
        name = f"{THEIRS}-{len(self.cloud.foreign)}"
        self._sim.tell("others", f"have a server {name}")
        await self.cloud.plant(name)


class KwokWeather(Weather):
    """Faults of simulated servers."""

    trouble_weight: ClassVar[int] = 9

    def __init__(self, sim: Simulation, random: Random) -> None:
        super().__init__(sim, random)
        self._cloud = Cloud(sim.world, random=random, seconds=sim.seconds, spawn=sim.spawn)

    @property
    def cloud(self) -> Cloud:
        """The provider: `Weather.cloud`."""
        return self._cloud

    def equip(self, ports: Ports) -> Ports:
        """Return the ports of a worker, with the cloud before its provider: `Weather.equip`."""
        clients = {kind: CloudClient(provider, self._cloud) for kind, provider in ports.providers.items()}
        return replace(ports, providers=clients)

    def trouble(self, *, is_first: bool = False) -> str:
        """Let the cloud fail in some way for a while: `Weather.trouble`."""
        kind = self._random.choice(_AT_FIRST if is_first else (*Trouble, *_OFTEN))
        # Deletions begin only when a machine has been idle and has cooled off.
        seconds = self._random.uniform(30, 90) if kind.startswith("delete") else self._random.uniform(5, 45)
        server_type = self._random.choice(["small", "small", "medium", "big"])
        self._sim.tell("cloud", f"{kind}, for {seconds:.0f} s")
        self.cloud.worsen(kind, seconds, server_type=server_type)
        return kind

    async def stop_boots(self) -> None:
        """Let servers of one type not boot, not join or not turn Ready, for a while.

        Those that still exist then boot and join; a Node that was not to be Ready stays so.
        """
        call = self._random.choice(["boot", "join", "ready"])
        server_type = self._random.choice(["small", "medium", "big"])
        await self._stop(call, server_type, self._random.uniform(10, 80))

    async def stop_starts(self, server_type: str, seconds: float) -> None:
        """Let servers of the type not boot, not join or not turn Ready: `Weather.stop_starts`."""
        await self._stop(self._random.choice(["boot", "join", "ready"]), server_type, seconds)

    async def _stop(self, call: str, server_type: str, seconds: float) -> None:
        self._sim.tell("cloud", f"no {call} of {server_type} for {seconds:.0f} s")
        await self._set_faults([{"call": call, "serverType": server_type}])
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

    async def calm(self) -> None:
        """Let everything work again."""
        self.cloud.calm()
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
