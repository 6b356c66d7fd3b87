"""A limit that stops a part of what a class offers, for a while: whatever else can be had must not wait for it.

Drawn from a stream of its own, so that the other histories do not change with it.
"""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from random import Random
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, Resource
from api.keys import LABEL_CLUSTER
from planner.supply.unavailable import MOST_FAILED
from simulator.apiserver.history import Change
from simulator.campaign.hetzner.provider_side import HetznerSide
from simulator.campaign.hetzner.setup import LOCATIONS, TYPES
from simulator.hetzner.faults import Fault
from simulator.hetzner.project.server import ServerRecord
from simulator.simulation import Simulation
from simulator.world import CLUSTER_NAME

_SHARE: Final = 0.5
"""Of histories."""
_KNOWN_AFTER: Final = 10.0
"""Seconds after a purchase was given up: what it said is noted, and calls under way have ended."""
_PAUSE: Final = 280.0
"""Seconds: a little less than the shortest pause."""


class NarrowLimit(StrEnum):
    """What is limited."""

    TYPE = "account: no more of one type"
    LOCATION = "a location takes no new servers"
    NETWORK = "the network is full, as actions tell"
    FAILING = "create: all actions fail"


_MARKS: Final = {NarrowLimit.NETWORK: "ip_not_available", NarrowLimit.FAILING: "made_up_failure"}
"""Hetzner's codes of what is told by actions."""


class NarrowLimits:
    """Lets one of them come and go.

    Args:
        sim: the simulation.
        side: where it is.
        random: decides which, when, and for how long.
    """

    def __init__(self, sim: Simulation, side: HetznerSide, random: Random) -> None:
        self._sim = sim
        self._side = side
        self._random = random
        self._undo: Callable[[], None] | None = None
        self._limit: NarrowLimit | None = None
        self._failed: list[float] = []
        """When purchases were given up in a row, as far as the workers that live now have noted it."""
        self._names: set[str] = set()
        """Of servers that failed."""
        self._workers: frozenset[int] = frozenset()
        sim.world.cluster.observe(self._note)
        side.cloud.told.append(self._judge)

    def begin(self) -> None:
        """Let it happen in a share of histories."""
        if self._random.random() < _SHARE:
            self._sim.spawn(self._happen())

    def end(self) -> None:
        """Let it be over."""
        undo, self._undo, self._limit = self._undo, None, None
        if undo is not None:
            undo()

    async def _happen(self) -> None:
        await asyncio.sleep(self._random.choice([0.0, self._random.uniform(0, 60)]))
        kinds = [each for each in NarrowLimit if each is not NarrowLimit.NETWORK or self._side.cloud.project().networks]
        self._limit = limit = self._random.choice(kinds)
        self._side.met[limit] += 1
        self._undo = {
            NarrowLimit.TYPE: self._limit_type,
            NarrowLimit.LOCATION: self._close,
            NarrowLimit.NETWORK: self._fill,
            NarrowLimit.FAILING: self._let_fail,
        }[limit]()
        self._sim.tell("cloud", limit)
        await asyncio.sleep(self._random.uniform(60, 400))
        self.end()

    def _limit_type(self) -> Callable[[], None]:
        cloud, server_type = self._side.cloud, self._random.choice(TYPES)
        existing = sum(each.server_type == server_type for each in cloud.servers_of())
        cloud.set_limit(server_type, existing, named_in=self._random.choice(["message", "details", "both"]))
        self._side.narrowed.append((frozenset({server_type}), frozenset(LOCATIONS)))
        return lambda: cloud.set_limit(server_type, None)

    def _close(self) -> Callable[[], None]:
        cloud, location = self._side.cloud, self._random.choice(LOCATIONS)
        cloud.close_location(location)
        self._side.narrowed.append((frozenset(TYPES), frozenset({location})))
        return lambda: cloud.close_location(location, is_closed=False)

    def _fill(self) -> Callable[[], None]:
        cloud, (network,) = self._side.cloud, self._side.cloud.project().networks
        # All of the class joins it.
        self._side.is_all_stopped = True
        cloud.fill_network(network, 0, by_action=True)
        return lambda: cloud.fill_network(network, None)

    def _let_fail(self) -> Callable[[], None]:
        faults, code = self._side.cloud.faults, _MARKS[NarrowLimit.FAILING]
        self._side.is_all_stopped = True
        fault = faults.append(Fault("create_server", "action_error", times=None, code=code))
        return lambda: faults.remove(fault) if fault in faults else None

    def _note(self, resource: Resource, change: Change) -> None:
        """Note what workers have learnt of failed purchases."""
        if resource != NODE_REQUESTS or self._limit is None or self._limit not in _MARKS:
            return
        status, before = change.now.get("status") or {}, (change.before or {}).get("status") or {}
        if status.get("phase") == before.get("phase"):
            return
        alive = frozenset(each.number for each in self._sim.alive)
        if status.get("phase") == "Ready" or alive != self._workers:
            self._failed.clear()
        self._workers = alive
        if status.get("phase") == "Deprovisioning" and _MARKS[self._limit] in status.get("message", ""):
            self._failed.append(self._sim.seconds())
            self._names.add(change.now["metadata"]["name"])

    def _judge(self, before: ServerRecord | None, now: ServerRecord | None) -> None:
        """Find servers that are bought although it is known that they will fail."""
        if before is not None:
            if now is None and before.name not in self._names:
                # It may have made room.
                self._failed.clear()
            return
        is_certain = self._side.is_reliable and frozenset(each.number for each in self._sim.alive) == self._workers
        enough = 1 if self._limit is NarrowLimit.NETWORK else MOST_FAILED
        if self._limit in _MARKS and is_certain and len(self._failed) >= enough and now is not None:
            since = self._sim.seconds() - self._failed[enough - 1]
            if _KNOWN_AFTER < since < _PAUSE and now.labels.get(LABEL_CLUSTER) == CLUSTER_NAME:
                self._side.add_violation(
                    f"server {now.name} was bought {since:.0f} s after it was known that it will fail"
                )
