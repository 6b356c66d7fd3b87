"""Drives the lifecycle of one object, as its workflow does, without the durability.

The course, the decisions and the effects are the same as in production; here are only the waits and the retries. A
driver that is dropped loses nothing but its place: another one goes on from the object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from activities.ports.errors import GrowthError
from planner.lifecycle.course import run_course
from planner.lifecycle.kinds import LifecycleKind, ObjectId
from planner.lifecycle.step import Act, Decision, Done, EffectInput, Step, Wait

Activity = Callable[[Any], Awaitable[Any]]

_FIRST_RETRY_SECONDS: Final = 1.0
_LONGEST_RETRY_SECONDS: Final = 60.0
_ATTEMPTS: Final = 8
"""About two minutes of retries; then the step function is asked again, for a deadline may have passed."""
_PAUSE_SECONDS: Final = 5.0
"""After an effect that changed nothing, and before looking again after all attempts failed."""
_SHORTEST_WAIT_SECONDS: Final = 0.001


class LifecycleDriver:
    """The driver of one object's course, with the messages that people send to it.

    Args:
        kind: of its lifecycle.
        subject: the object.
        activities: by name.
        now: the time, UTC.
        tell: takes each step, for the log.
        nudge: asks the planner for a round, with the reason.
    """

    def __init__(
        self,
        kind: LifecycleKind[Any],
        subject: ObjectId,
        *,
        activities: Mapping[str, Activity],
        now: Callable[[], datetime],
        tell: Callable[[str, str], None],
        nudge: Callable[[str], None],
    ) -> None:
        self._nudge = nudge
        self.kind = kind
        self.subject = subject
        self._activities = activities
        self._now = now
        self._log = lambda what: tell(f"{kind.word}/{subject.name}", what)
        self._told_wait = ""
        self._woken = asyncio.Event()
        self._decision: Decision | None = None

    async def drive(self) -> Done | None:
        """Run the lifecycle to its end and return it."""
        return await run_course(self.kind, self.subject.name, self)

    def wake(self) -> None:
        """Look now: something changed."""
        self._woken.set()

    def ask(self, decision: Decision) -> None:
        """Give the lifecycle a message; it has one effect at most, and none if it comes too late or too early."""
        self._decision = decision
        self.wake()

    def is_due_to_renew(self) -> bool:
        """Return that it has no history that grows."""
        return False

    async def look(self, *, at_rest: bool) -> Any:
        """Look once; what changes during the look asks for another one."""
        at_rest = at_rest and not self._woken.is_set()
        self._woken.clear()
        return await self._run(self.kind.look, None, at_rest=at_rest)

    def decide(self, seen: Any) -> Step:
        """Return the next step."""
        decision, self._decision = self._decision, None
        if decision is not None and (why := self.kind.refusal(seen, decision.kind)):
            self._log(f"refused {decision.kind}: {why}")
            decision = None
        return self.kind.next_step(seen, decision, self._now())

    def tell(self, step: Step, seen: Any) -> None:
        """Put the step into the log; a wait for the same as before only once."""
        del seen
        match step:
            case Done():
                self._log(f"done {step.reason}")
            case Act():
                self._log(f"{step.effect} {step.reason}")
            case Wait() if step.reason != self._told_wait:
                self._log(f"wait {step.reason}")
                self._told_wait = step.reason
            case Wait():
                pass

    async def run_effect(self, effect: str, act: Act) -> Any:
        """Run an effect, again and again while its errors may pass."""
        return await self._run(effect, act)

    def acted(self, act: Act, before: Any, after: Any) -> None:
        """Answer nobody: who sent a message here waits for no answer."""

    async def nudge(self, reason: str) -> None:
        """Ask the planner for a round."""
        self._nudge(reason)

    async def pause(self, reason: str) -> None:
        """Wait a little; a message does not end it."""
        del reason
        await asyncio.sleep(_PAUSE_SECONDS)

    async def wait(self, step: Wait) -> None:
        """Wait until the next look or a message."""
        now = self._now()
        wake_at = step.wake_at(now)
        seconds = None if wake_at is None else max(_SHORTEST_WAIT_SECONDS, (wake_at - now).total_seconds())
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _run(self, effect: str, act: Act | None, *, at_rest: bool = False) -> Any:
        """Run an activity; None means that it gave up, and a pause was made."""
        asked = EffectInput(name=self.subject.name, uid=self.subject.uid, act=act, at_rest=at_rest)
        pause = _FIRST_RETRY_SECONDS
        for _ in range(_ATTEMPTS):
            try:
                return await self._activities[effect](asked)
            except GrowthError as error:
                self._log(f"{effect} failed: {error.reason}")
                if not error.retryable:
                    break
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_RETRY_SECONDS)
        await asyncio.sleep(_PAUSE_SECONDS)
        return None
