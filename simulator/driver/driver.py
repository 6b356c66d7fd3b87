"""Runs planner rounds and lifecycles without Temporal: the same activities and step functions, no durability.

Rounds come by nudges and timers, a lifecycle runs for every object, and whoever waits is woken by
changes, as the worker does it. Dropping a driver in the middle is a crash of everything at once;
the next one goes on from the objects.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from activities.garbage.sweep import Healer
from activities.kube.cache import Cache
from activities.objects.events import Recorder
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS, Object, Resource, WatchEvent
from activities.ports.errors import GrowthError, Unreachable
from activities.ports.ports import Ports
from activities.registry import all_activities
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.step import Decision
from planner.model.plan import PlannerMemory
from planner.model.round import ObjectId, RoundInput, RoundResult
from simulator.driver.lifecycle import Activity, Course, RemovalCourse, RequestCourse
from simulator.scheduling.conditions import condition_status

_BATCH_SECONDS: Final = 0.2
_OPEN_SECONDS: Final = 10.0
_QUIET_SECONDS: Final = 60.0
_AFTER_FAILURE_SECONDS: Final = 5.0
_SHORTEST_SECONDS: Final = 1.0
_SWEEP_SECONDS: Final = 45.0
"""Source of these times: docs/design.md#round."""
_LOST: Final = (RequestPhase.UNMET, RequestPhase.FAILED, RequestPhase.DEPROVISIONING)


@dataclass(slots=True)
class Memory:
    """What the planner workflow carries from round to round, in Temporal's database."""

    backoff: PlannerMemory = field(default_factory=PlannerMemory)
    versions: dict[str, str] = field(default_factory=dict)


class Driver:
    """One incarnation of the worker.

    Args:
        ports: the outside world; its connection is cut when this incarnation dies.
        cache: not running yet; `ports.reader` may be this one.
        run: tells this incarnation from others, as the run id of the planner workflow does.
        tell: takes what happens, for the log.
        memory: what an incarnation before this one knew; without it, as after the loss of Temporal's database.
    """

    def __init__(
        self,
        ports: Ports,
        cache: Cache,
        *,
        run: str,
        tell: Callable[[str, str], None],
        memory: Memory | None = None,
    ) -> None:
        self.memory = memory or Memory()
        self._ports = ports
        self._cache = cache
        self._run = run
        self._tell = tell
        self._activities: dict[str, Activity] = {a.__name__: a for a in all_activities(ports)}
        self._healer = Healer(ports, Recorder(ports))
        self._courses: dict[str, Course[Any]] = {}
        self._nudged = asyncio.Event()

    async def run(self) -> None:
        """Plan and drive until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._cache.run())
            await self._cache.wait_until_synced()
            self._cache.subscribe(self._note)
            group.create_task(self._sweep(group))
            await self._rounds(group)

    def ask(self, removal: str, decision: Decision) -> None:
        """Send a person's message to the removal of that name.

        Raises:
            LookupError: no such removal is driven.
        """
        for course in self._courses.values():
            if isinstance(course, RemovalCourse) and course.subject.name == removal:
                course.ask(decision)
                return
        raise LookupError(f"no removal {removal} is driven")

    def driven(self) -> frozenset[str]:
        """Return the uids of the objects whose life is driven."""
        return frozenset(self._courses)

    async def _rounds(self, group: asyncio.TaskGroup) -> None:
        number = 0
        memory = self.memory
        while True:
            number += 1
            self._nudged.clear()
            asked = RoundInput(run=self._run, round=number, memory=memory.backoff, versions=memory.versions)
            try:
                done: RoundResult = await self._activities["plan_round"](asked)
            except GrowthError as error:
                self._tell("planner", f"round {number} failed: {error.reason}")
                await asyncio.sleep(_AFTER_FAILURE_SECONDS)
                continue
            memory.backoff, memory.versions = done.memory, done.versions
            self._tell("planner", done.summary)
            for subject in done.requests:
                self._start(group, RequestCourse, subject)
            for subject in done.removals:
                self._start(group, RemovalCourse, subject)
            if not done.is_partial:
                await self._pause(done)

    async def _pause(self, done: RoundResult) -> None:
        seconds = _OPEN_SECONDS if done.is_open else _QUIET_SECONDS
        if done.wake_at is not None:
            left = (done.wake_at - self._ports.now()).total_seconds()
            seconds = min(seconds, max(_SHORTEST_SECONDS, left))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nudged.wait()
                await asyncio.sleep(_BATCH_SECONDS)

    async def _sweep(self, group: asyncio.TaskGroup) -> None:
        """Heal garbage, start a life for every object that has none, and wake those whose object is gone."""
        while True:
            # What gets no answer now is swept the next time.
            with suppress(GrowthError):
                for found in await self._healer.heal():
                    self._tell("sweep", f"{found.kind} {found.name}: {found.why}")
            for resource, course in ((NODE_REQUESTS, RequestCourse), (NODE_REMOVAL_REQUESTS, RemovalCourse)):
                with suppress(Unreachable):
                    there = {item["metadata"]["uid"]: item for item in (await self._ports.cluster.list(resource)).items}
                    for uid, item in there.items():
                        self._start(group, course, ObjectId(name=item["metadata"]["name"], uid=uid))
                    for one in self._courses.values():
                        if isinstance(one, course) and one.subject.uid not in there:
                            one.wake()
            await asyncio.sleep(_SWEEP_SECONDS)

    def _start(
        self, group: asyncio.TaskGroup, kind: type[RequestCourse] | type[RemovalCourse], subject: ObjectId
    ) -> None:
        if subject.uid not in self._courses:
            course = kind(subject, activities=self._activities, now=self._ports.now, tell=self._tell)
            self._courses[subject.uid] = course
            group.create_task(self._live(course))

    async def _live(self, course: Course[Any]) -> None:
        try:
            await course.drive()
        finally:
            del self._courses[course.subject.uid]

    def _note(self, resource: Resource, event: WatchEvent, before: Object | None) -> None:
        """Wake whom a change concerns. Source: docs/design.md#round; `worker.runtime.watches` does it with messages."""
        item, gone = event.object, event.type == "DELETED"
        name = item["metadata"]["name"]
        if resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS):
            self._wake(name)
            if gone or item.get("status", {}).get("phase") in _LOST:
                self._nudged.set()
        elif resource == NODES:
            self._wake(name)
            if gone:
                self._nudged.set()
        elif resource == PODS:
            self._note_pod(item, before, gone=gone)
        elif _generation(item) != _generation(before) or gone:
            # A round writes the status of pools and classes; only a change of their wish asks for another round.
            self._nudged.set()

    def _note_pod(self, pod: Object, before: Object | None, *, gone: bool) -> None:
        if node_name := pod["spec"].get("nodeName"):
            self._wake(node_name)
        was = "" if before is None else condition_status(before, "PodScheduled")
        if gone or condition_status(pod, "PodScheduled") == "False" != was:
            self._nudged.set()

    def _wake(self, name: str) -> None:
        for course in self._courses.values():
            if course.subject.name == name:
                course.wake()


def _generation(item: Object | None) -> int | None:
    return None if item is None else item["metadata"].get("generation")
