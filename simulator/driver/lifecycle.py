"""Drives the life of one request or removal, as its workflow does, without the durability.

The decisions are the step functions' and the effects the activities', both the same as in
production; here are only the loop, the waits and the retries. A driver that is dropped loses
nothing but its place: another one goes on from the object.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar

from activities.ports.errors import GrowthError
from planner.lifecycle import removal, request
from planner.lifecycle.decision import refusal
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalSeen, RequestSeen
from planner.lifecycle.step import Act, Decision, Done, EffectInput, Step, Wait
from planner.model.round import ObjectId

Activity = Callable[[Any], Awaitable[Any]]
Seen = TypeVar("Seen", RequestSeen, RemovalSeen)

_FIRST_RETRY_SECONDS: Final = 1.0
_LONGEST_RETRY_SECONDS: Final = 60.0
_ATTEMPTS: Final = 8
"""About two minutes of retries; then the step function is asked again, for a deadline may have passed."""
_PAUSE_SECONDS: Final = 5.0
"""After an effect that changed nothing, and before looking again after all attempts failed."""
_SHORTEST_WAIT_SECONDS: Final = 0.001


class Course(ABC, Generic[Seen]):
    """The driver of one object's life.

    Args:
        subject: the object.
        activities: by name.
        now: the time, UTC.
        tell: takes each step, for the log.
    """

    kind: ClassVar[str]
    look: ClassVar[str]

    def __init__(
        self,
        subject: ObjectId,
        *,
        activities: Mapping[str, Activity],
        now: Callable[[], datetime],
        tell: Callable[[str, str], None],
    ) -> None:
        self.subject = subject
        self._activities = activities
        self._now = now
        self._tell = lambda what: tell(f"{self.kind}/{subject.name}", what)
        self._woken = asyncio.Event()

    @abstractmethod
    def decide(self, seen: Seen) -> Step:
        """Return the next step."""

    def wake(self) -> None:
        """Look now: something changed."""
        self._woken.set()

    async def drive(self) -> Done:
        """Run the life to its end and return it."""
        told = ""
        seen = await self._looked()
        while True:
            step = self.decide(seen)
            match step:
                case Done():
                    self._tell(f"done {step.reason}")
                    return step
                case Act():
                    self._tell(f"{step.effect} {step.reason}")
                    after = await self._run(step.effect, step)
                    if after is None or after == seen:
                        await asyncio.sleep(_PAUSE_SECONDS)
                        after = await self._looked()
                    seen = after
                case Wait():
                    if told != step.reason:
                        self._tell(f"wait {step.reason}")
                        told = step.reason
                    await self._wait(step)
                    seen = await self._looked()

    async def _looked(self) -> Seen:
        while True:
            # Cleared before the look: what changes during the look asks for another one.
            self._woken.clear()
            seen = await self._run(self.look, None)
            if seen is not None:
                return seen
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _run(self, effect: str, act: Act | None) -> Seen | None:
        """Run an activity; None means that it gave up."""
        asked = EffectInput(name=self.subject.name, uid=self.subject.uid, act=act)
        pause = _FIRST_RETRY_SECONDS
        for _ in range(_ATTEMPTS):
            try:
                return await self._activities[effect](asked)
            except GrowthError as error:
                self._tell(f"{effect} failed: {error.reason}")
                if not error.retryable:
                    return None
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_RETRY_SECONDS)
        return None

    async def _wait(self, step: Wait) -> None:
        now = self._now()
        wake_at = step.wake_at(now)
        seconds = None if wake_at is None else max(_SHORTEST_WAIT_SECONDS, (wake_at - now).total_seconds())
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return


class RequestCourse(Course[RequestSeen]):
    """The life of a NodeRequest."""

    kind: ClassVar[str] = "request"
    look: ClassVar[str] = RequestEffect.LOOK

    def decide(self, seen: RequestSeen) -> Step:
        """Return the next step."""
        return request.next_step(seen, self._now())


class RemovalCourse(Course[RemovalSeen]):
    """The life of a NodeRemovalRequest, with the messages that people send to it."""

    kind: ClassVar[str] = "removal"
    look: ClassVar[str] = RemovalEffect.LOOK
    _decision: Decision | None = None

    def ask(self, decision: Decision) -> None:
        """Give the life a message; it has one effect at most, and none if it comes too late or too early."""
        self._decision = decision
        self.wake()

    def decide(self, seen: RemovalSeen) -> Step:
        """Return the next step."""
        decision, self._decision = self._decision, None
        if decision is not None and (why := refusal(seen, decision.kind)):
            self._tell(f"refused {decision.kind}: {why}")
            decision = None
        return removal.next_step(seen, decision, self._now())
