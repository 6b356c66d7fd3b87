"""Ways to run an activity that Temporal may take at any time: twice, beside itself, and only after failures."""

import asyncio
from collections import Counter
from typing import Any, Literal

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.ports.errors import Unreachable


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
