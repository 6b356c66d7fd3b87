"""What is done around every activity: heartbeats, and the project's errors as Temporal takes them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.ports.errors import GrowthError, RateLimited, Unreachable

log = structlog.stdlib.get_logger(__name__)


Note = Callable[[str, Any, Any], None]
"""Takes an activity that succeeded: its type, its input, and what it returned."""


class ActivityInterceptor(Interceptor):
    """Given to the Temporal worker.

    Args:
        note: takes each activity that succeeds.
    """

    def __init__(self, note: Note = lambda _effect, _given, _done: None) -> None:
        self._note = note

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        """Put this project's handling in front."""
        return _Inbound(next, self._note)


class _Inbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, note: Note) -> None:  # noqa: A002 - the SDK's name
        super().__init__(next)
        self._note = note

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        info = activity.info()
        beats = asyncio.create_task(_beat(info.heartbeat_timeout)) if info.heartbeat_timeout else None
        try:
            done = await super().execute_activity(input)
        except GrowthError as error:
            # One call too many comes by itself whenever much is wanted.
            tell = log.info if isinstance(error, RateLimited) else log.warning
            tell(
                "activity failed",
                activity=info.activity_type,
                workflow_id=info.workflow_id,
                attempt=info.attempt,
                reason=error.reason,
                error=str(error),
            )
            raise _as_application_error(error) from error
        else:
            self._note(info.activity_type, input.args[0] if input.args else None, done)
            return done
        finally:
            if beats is not None:
                beats.cancel()
                with suppress(asyncio.CancelledError):
                    await beats


async def _beat(limit: timedelta) -> None:
    """Beat three times per time-out: a worker that was killed is noticed, one that is busy is not mistaken for it."""
    while True:
        await asyncio.sleep(limit.total_seconds() / 3)
        activity.heartbeat()


def _as_application_error(error: GrowthError) -> ApplicationError:
    """Return the error with its type, so that retry policies know it, and without the SDK's traceback in the log."""
    delay = error.retry_after_seconds if isinstance(error, Unreachable | RateLimited) else None
    return ApplicationError(
        str(error),
        type=type(error).__name__,
        non_retryable=not error.retryable,
        next_retry_delay=None if delay is None else timedelta(seconds=delay),
        category=ApplicationErrorCategory.BENIGN,
    )
