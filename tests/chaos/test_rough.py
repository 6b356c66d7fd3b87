"""Every activity executed twice, beside itself, and failing before it succeeds: the same world in the end."""

import asyncio
from collections import Counter
from typing import Any, Literal

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.ports.errors import Unreachable
from tests.chaos.play import all_of, play
from tests.chaos.stories import STORIES
from tests.chaos.table import by, keep, rows

ATTEMPTS = 3


async def repeated(service, stories, around):
    return await all_of(stories, lambda story: play(service, story, around.__name__, around=around))


@pytest.mark.timeout(240)
async def test_every_activity_may_be_executed_twice(service):
    ends = await repeated(service, STORIES, twice)
    assert not [str(end) for end in ends if end.wrong]


async def failing(service, stories, times, when):
    injected = {story.name: Failing(times, when) for story in stories}
    ends = await all_of(
        stories,
        lambda story: play(
            service, story, f"each activity fails {times} times, {when} its effects", around=injected[story.name]
        ),
    )
    assert all(one.failures for one in injected.values())
    return ends


@pytest.mark.timeout(240)
async def test_every_activity_may_fail_after_its_effects(service):
    ends = await failing(service, STORIES[:2], 1, "after")
    assert not [str(end) for end in ends if end.wrong]


@pytest.mark.chaos
@pytest.mark.timeout(1800)
async def test_every_activity_may_be_repeated_and_may_fail(service):
    named = [(f"executed {around.__name__}", around) for around in (twice, beside_itself)]
    ends = [(name, end) for name, around in named for end in await repeated(service, STORIES, around)]
    for times in range(1, ATTEMPTS + 1):
        for when in ("before", "after"):
            done = await failing(service, STORIES, times, when)
            ends += [(f"failing {times} times {when} their effects", end) for end in done]
    keep("rough activities", rows(by(ends), ("All activities", "Stories", "Outcome")))
    assert not [str(end) for _, end in ends if end.wrong]


async def twice(inner: ActivityInboundInterceptor, asked: ExecuteActivityInput) -> Any:
    """Run it a second time with the same input, as when its first result was lost."""
    await inner.execute_activity(asked)
    return await inner.execute_activity(asked)


async def beside_itself(inner: ActivityInboundInterceptor, asked: ExecuteActivityInput) -> Any:
    """Run it while another attempt of it, given up by the server, still runs."""
    given_up = asyncio.create_task(inner.execute_activity(asked))
    try:
        await asyncio.sleep(0)
        return await inner.execute_activity(asked)
    finally:
        # Its answer interests nobody, as that of an attempt which timed out.
        await asyncio.gather(given_up, return_exceptions=True)


class Failing:
    """Lets each activity of each workflow fail `times` times in a row before it succeeds once, and so on.

    Args:
        times: failures before each success.
        when: before it has done anything, or after it has done everything.
    """

    def __init__(self, times: int, when: Literal["before", "after"]) -> None:
        self._times = times
        self._when = when
        self._runs: Counter[tuple[str | None, str]] = Counter()
        self.failures = 0

    async def __call__(self, inner: ActivityInboundInterceptor, asked: ExecuteActivityInput) -> Any:
        info = activity.info()
        key = (info.workflow_id, info.activity_type)
        self._runs[key] += 1
        fails = self._runs[key] % (self._times + 1) != 0
        if fails and self._when == "before":
            raise self._failure()
        done = await inner.execute_activity(asked)
        if fails:
            raise self._failure()
        return done

    def _failure(self) -> ApplicationError:
        self.failures += 1
        return ApplicationError("injected: no answer", type=Unreachable.__name__)
