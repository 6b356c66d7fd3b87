"""The course of a lifecycle: look, ask the step function, act or wait, until its object is gone.

Written once. The workflow (`workflows.lifecycle`) and the simulator (`simulator.driver.lifecycle`) differ only in how
effects run, time passes and steps are reported: that is the `CourseDriver`.
"""

from typing import Protocol, TypeVar

from planner.lifecycle.kinds import LifecycleKind
from planner.lifecycle.seen import LifecycleObservation
from planner.lifecycle.step import Act, Done, Step, Wait

Seen = TypeVar("Seen", bound=LifecycleObservation)


class CourseDriver(Protocol[Seen]):
    """The program that runs a course: workflow or simulator."""

    def is_due_to_renew(self) -> bool:
        """Whether the course stops here, to go on from its object in a new run."""
        ...

    async def look(self, *, at_rest: bool) -> Seen | None:
        """Look once, and return the observation; None when that failed, after a pause.

        A message that comes during the look has to end the next wait: whatever wakes the course is forgotten before it.

        Args:
            at_rest: the course was at rest: unless a message has come, a look off caches is enough.
        """
        ...

    def decide(self, seen: Seen) -> Step:
        """Return the next step."""
        ...

    def tell(self, step: Step, seen: Seen) -> None:
        """Show the next step to people."""
        ...

    async def run_effect(self, effect: str, act: Act) -> Seen | None:
        """Run an effect, and return the observation after it; None when it gave up, after a pause."""
        ...

    def acted(self, act: Act, before: Seen, after: Seen) -> None:
        """Note that an effect was run, for those who wait for it."""
        ...

    async def nudge(self, reason: str) -> None:
        """Ask the planner for a round."""
        ...

    async def pause(self, reason: str) -> None:
        """Wait a little, or until a message comes."""
        ...

    async def wait(self, step: Wait) -> None:
        """Wait until the step's next look, or until a message comes."""
        ...


async def run_course(kind: LifecycleKind[Seen], name: str, driver: CourseDriver[Seen]) -> Done | None:
    """Run the lifecycle of one object to its end and return it, or None when the driver is due to renew.

    Args:
        kind: of the lifecycle.
        name: of the object.
        driver: runs effects and lets time pass.
    """
    seen = await _look(driver)
    while True:
        if driver.is_due_to_renew():
            return None
        step = driver.decide(seen)
        driver.tell(step, seen)
        match step:
            case Done():
                return step
            case Act():
                seen = await _act(kind, name, driver, step, seen)
            case Wait():
                await driver.wait(step)
                seen = await _look(driver, at_rest=step.is_rest)


async def _act(kind: LifecycleKind[Seen], name: str, driver: CourseDriver[Seen], act: Act, before: Seen) -> Seen:
    after = await driver.run_effect(act.effect, act)
    if after is None:
        return await _look(driver)
    driver.acted(act, before, after)
    news = kind.news(name, before, after)
    if news is not None:
        await driver.nudge(news)
    if after == before:
        # The effect lost a race and changed nothing; without a pause this could go round and round.
        await driver.pause(f"{act.effect} changed nothing: look again")
        return await _look(driver)
    return after


async def _look(driver: CourseDriver[Seen], *, at_rest: bool = False) -> Seen:
    while True:
        seen = await driver.look(at_rest=at_rest)
        if seen is not None:
            return seen
