"""What is measured while a cluster lives on: payloads, objects and their lists, events, and what a worker holds."""

import gc
import json
import sys
from asyncio import AbstractEventLoop
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from types import BuiltinFunctionType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.objects.events import Recorder
from activities.ports.cluster import EVENTS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, Resource
from activities.round.plan_round import PlanActivities
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.driver.driver import Driver
from simulator.driver.incarnation import Incarnation
from simulator.driver.lifecycle import LifecycleDriver
from simulator.simulation import Simulation
from simulator.world import World

_OUTSIDE = (
    *(type, ModuleType, FrameType, CoroutineType, GeneratorType, BuiltinFunctionType),
    *(AbstractEventLoop, MemoryCluster, World, Simulation, Incarnation),
)
"""Where a worker ends: code, what runs at the moment, and the world that it works on."""


def payload_bytes(value: Any) -> int:
    """Return how long a value is in a history, as the worker's data converter writes it."""
    return len(pydantic_data_converter.payload_converter.to_payloads([value])[0].data)


@dataclass(frozen=True)
class Reading:
    """What was there at the end of an hour."""

    hour: int
    servers: frozenset[str]
    nodes: frozenset[str]
    objects: dict[str, int]
    """How many by plural."""
    events: int
    """Event objects that were made in the hour."""
    ages: dict[str, float]
    """Seconds since each request and removal was made, by kind and name."""


@dataclass(frozen=True)
class Weight:
    """What memory was used at the end of an hour."""

    hour: int
    held: Counter[str]
    """Bytes that the worker holds, by type."""
    remembered: int
    """Events that its recorders know that they told."""
    blocks: int
    """Memory blocks of the whole process, the simulation included."""


class Gauges:
    """Measures a simulation.

    Args:
        monkeypatch: puts the gauges of payloads between drivers and activities.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._made = 0
        self.readings: list[Reading] = []
        self.weights: dict[int, Weight] = {}
        """By hour."""
        self.payloads: Counter[str] = Counter()
        """The longest of each kind, in bytes."""
        self.rounds = 0
        self.largest: Counter[str] = Counter()
        """The largest object of each kind, in bytes of JSON."""
        self.longest: Counter[str] = Counter()
        """The longest list at each place of each kind."""
        self._hook(monkeypatch)

    def attach(self, sim: Simulation) -> None:
        """Measure this simulation from now on."""
        self._sim = sim
        self._cluster = sim.world.cluster
        self._cluster.observe(self._note)

    def read(self, hour: int, servers: Iterable[str]) -> None:
        """Count what there is now."""
        made, self._made = self._made, 0
        shelves = self._cluster._store._shelves.values()
        self.readings.append(
            Reading(
                hour=hour,
                servers=frozenset(servers),
                nodes=frozenset(node["metadata"]["name"] for node in self._cluster.peek(NODES)),
                objects={shelf.resource.plural: len(shelf.items) for shelf in shelves if shelf.items},
                events=made,
                ages=dict(self._ages()),
            )
        )

    def weigh(self, hour: int) -> None:
        """Weigh what the worker holds and the process uses now."""
        driver = self._sim.alive[0].driver
        gc.collect()
        self.weights[hour] = Weight(
            hour=hour,
            held=held(driver, beyond=self),
            remembered=sum(
                len(recorder._written_at) for recorder in reachable(driver, self) if isinstance(recorder, Recorder)
            ),
            blocks=sys.getallocatedblocks(),
        )

    def _note(self, resource: Resource, change: Change) -> None:
        if change.kind == "DELETED":
            return
        if resource == EVENTS and change.kind == "ADDED":
            self._made += 1
        kind, item = resource.kind, change.now
        self.largest[kind] = max(self.largest[kind], len(json.dumps(item)))
        for place, length in lists(item, kind):
            self.longest[place] = max(self.longest[place], length)

    def _ages(self) -> Iterator[tuple[str, float]]:
        for resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS):
            for item in self._cluster.peek(resource):
                made = datetime.fromisoformat(item["metadata"]["creationTimestamp"])
                yield f"{resource.kind} {item['metadata']['name']}", (self._sim.now() - made).total_seconds()

    def _hook(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plan_round, run = PlanActivities.plan_round, LifecycleDriver._run

        @wraps(plan_round)
        async def measured_round(activities, asked):
            done = await plan_round(activities, asked)
            self.rounds += 1
            self._note_payload("RoundInput", asked)
            self._note_payload("RoundResult", done)
            self._note_payload("PlannerMemory", done.memory)
            return done

        @wraps(run)
        async def measured_run(course, effect, act, **options):
            seen = await run(course, effect, act, **options)
            self._note_payload(type(seen).__name__, seen)
            self._note_payload("Act", act)
            return seen

        monkeypatch.setattr(PlanActivities, "plan_round", measured_round)
        monkeypatch.setattr(LifecycleDriver, "_run", measured_run)

    def _note_payload(self, kind: str, value: Any) -> None:
        self.payloads[kind] = max(self.payloads[kind], payload_bytes(value))


def lists(value: Any, place: str) -> Iterator[tuple[str, int]]:
    """Yield the place and length of each list and free-named map within a JSON value."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("labels", "annotations", "data"):
                yield f"{place}.{key}", len(part)
            else:
                yield from lists(part, f"{place}.{key}")
    elif isinstance(value, list):
        yield place, len(value)
        for part in value:
            yield from lists(part, f"{place}[]")


def held(driver: Driver, *, beyond: object) -> Counter[str]:
    """Return the bytes of all that a worker holds beyond what runs at the moment, by type."""
    found: Counter[str] = Counter()
    for one in reachable(driver, beyond):
        found[type(one).__qualname__] += sys.getsizeof(one)
    return found


def reachable(root: object, beyond: object) -> Iterator[object]:
    """Yield all objects that `root` refers to, itself included, but not `beyond` nor what is outside of a worker."""
    known = {id(root), id(beyond)}
    left: deque[object] = deque([root])
    while left:
        one = left.pop()
        yield one
        for other in _referents(one):
            if id(other) not in known and not isinstance(other, _OUTSIDE):
                known.add(id(other))
                left.append(other)


def _referents(one: object) -> list[Any]:
    # A function refers to all of its module; what is its own is what it closes over.
    return list(one.__closure__ or ()) if isinstance(one, FunctionType) else gc.get_referents(one)
