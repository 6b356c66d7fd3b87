"""Runs planner rounds and lifecycles without Temporal: the same activities and step functions, no durability.

Rounds come by nudges and timers, a lifecycle runs for every object, and whoever waits is woken by
changes, as the worker does it. Dropping a driver in the middle is a crash of everything at once;
the next one goes on from the objects.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from activities.garbage.sweep import Healer
from activities.kube.cache import Cache
from activities.objects.events import Recorder
from activities.objects.kind_activities import KindActivities
from activities.ports.cluster import Object, Resource, WatchEvent
from activities.ports.errors import GrowthError, NotFound, Unreachable
from activities.ports.ports import Ports
from activities.registry import LIFECYCLES, all_activities
from planner.lifecycle.kinds import REMOVAL, LifecycleKind, ObjectId
from planner.lifecycle.known_objects import KnownObjects, ObjectChange, Subject
from planner.lifecycle.step import Decision
from planner.lifecycle.wakes import (
    CALM_SECONDS,
    ORPHAN_SECONDS,
    QUICK_SECONDS,
    Message,
    Nudge,
    Pace,
    messages,
    orphan_nudge,
)
from planner.model.plan import PlannerMemory
from planner.model.round import RoundInput, RoundResult
from planner.policies.next_round import pause_after, pause_after_failures
from simulator.driver.lifecycle import Activity, LifecycleDriver

_SWEEP_SECONDS: Final = 45.0
"""Source: docs/design.md#healing."""
_AGAIN_SECONDS: Final = 1.0


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
        lifecycles: the kinds that are driven.
    """

    def __init__(
        self,
        ports: Ports,
        cache: Cache,
        *,
        run: str,
        tell: Callable[[str, str], None],
        memory: Memory | None = None,
        lifecycles: Sequence[KindActivities[Any]] = LIFECYCLES,
    ) -> None:
        self.memory = memory or Memory()
        self._ports = ports
        self._cache = cache
        self._run = run
        self._tell = tell
        self._activities: dict[str, Activity] = {a.__name__: a for a in all_activities(ports, lifecycles)}
        self._lifecycles = lifecycles
        self._healer = Healer(ports, Recorder(ports))
        self._courses: dict[str, LifecycleDriver] = {}
        kinds = [row.stored.lifecycle for row in lifecycles]
        self._known = KnownObjects(frozenset(ports.providers), {kind.name: kind for kind in kinds})
        self._nudged = asyncio.Event()

    async def run(self) -> None:
        """Plan and drive until cancelled."""
        async with asyncio.TaskGroup() as group:
            # Before the first list: what exists is known from it.
            self._cache.subscribe(self._note)
            group.create_task(self._cache.run())
            await self._cache.wait_until_synced()
            group.create_task(self._sweep(group))
            await self._rounds(group)

    def ask(self, removal: str, decision: Decision) -> None:
        """Send a person's message to the removal of that name.

        Raises:
            LookupError: no such removal is driven.
        """
        for course in self._courses.values():
            if course.kind is REMOVAL and course.subject.name == removal:
                course.ask(decision)
                return
        raise LookupError(f"no removal {removal} is driven")

    def running_uids(self) -> frozenset[str]:
        """Return the uids of the objects whose lifecycle runs."""
        return frozenset(self._courses)

    async def _rounds(self, group: asyncio.TaskGroup) -> None:
        number = failures = 0
        memory = self.memory
        while True:
            number += 1
            self._nudged.clear()
            asked = RoundInput(run=self._run, round=number, memory=memory.backoff, versions=memory.versions)
            try:
                done: RoundResult = await self._activities["plan_round"](asked)
            except GrowthError as error:
                self._tell("planner", f"round {number} failed: {error.reason}")
                failures += 1
                await asyncio.sleep(pause_after_failures(failures).total_seconds())
                continue
            failures = 0
            memory.backoff, memory.versions = done.memory, done.versions
            self._tell("planner", done.summary)
            for row in self._lifecycles:
                for subject in done.starts_of(row.stored.lifecycle.name):
                    self._start(group, row.stored.lifecycle, subject)
            pause = pause_after(done, self._ports.now())
            if pause is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause.total_seconds()):
                        await self._nudged.wait()

    async def _sweep(self, group: asyncio.TaskGroup) -> None:
        """Heal garbage, start a lifecycle for every object that has none, and wake those whose object is gone."""
        while True:
            # What gets no answer now is swept the next time.
            with suppress(GrowthError):
                for healed in await self._healer.heal():
                    self._tell("sweep", f"{healed.kind} {healed.name}: {healed.why}")
            for stored in (row.stored for row in self._lifecycles):
                by_uid = {item["metadata"]["uid"]: item for item in await self._listed(stored.resource)}
                for uid, item in by_uid.items():
                    if stored.lifecycle.needs_workflow(item):
                        self._start(group, stored.lifecycle, ObjectId(name=item["metadata"]["name"], uid=uid))
                for course in self._courses.values():
                    if course.kind is stored.lifecycle and course.subject.uid not in by_uid:
                        course.wake()
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _listed(self, resource: Resource) -> Sequence[Object]:
        """Return the objects as soon as they can be had: Temporal, which this stands for, forgets no lifecycle."""
        while True:
            try:
                return (await self._ports.cluster.list(resource)).items
            except NotFound:
                # A kind that is not defined has no objects.
                return ()
            except Unreachable:
                await asyncio.sleep(_AGAIN_SECONDS)

    def _start(self, group: asyncio.TaskGroup, kind: LifecycleKind[Any], subject: ObjectId) -> None:
        if subject.uid not in self._courses:
            course = LifecycleDriver(
                kind,
                subject,
                activities=self._activities,
                now=self._ports.now,
                tell=self._tell,
                nudge=lambda reason: self._deliver(Nudge(reason)),
            )
            self._courses[subject.uid] = course
            group.create_task(self._live(course))

    async def _live(self, course: LifecycleDriver) -> None:
        try:
            await course.drive()
        finally:
            del self._courses[course.subject.uid]

    def _note(self, resource: Resource, event: WatchEvent, before: Object | None) -> None:
        """Deliver what a change asks for, as `worker.runtime.watches` does with signals."""
        change = ObjectChange(resource.kind, event.object, before, is_gone=event.type == "DELETED")
        for message in messages(change, self._known):
            self._deliver(message)
        known, self._known = self._known, self._known.after(change)
        for subject in self._known.orphans - known.orphans:
            asyncio.get_running_loop().call_later(ORPHAN_SECONDS, self._look_at_orphan, subject)

    def _look_at_orphan(self, subject: Subject) -> None:
        if message := orphan_nudge(subject, self._known):
            self._deliver(message)

    def _deliver(self, message: Message) -> None:
        """Let the receiver hear of it when the burst that the change is in is over."""
        seconds = CALM_SECONDS if isinstance(message, Nudge) and message.pace is Pace.CALM else QUICK_SECONDS
        asyncio.get_running_loop().call_later(seconds, self._hear, message)

    def _hear(self, message: Message) -> None:
        if isinstance(message, Nudge):
            self._nudged.set()
        elif course := self._courses.get(message.subject.uid):
            course.wake()
