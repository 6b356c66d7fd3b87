"""The ports and the client of one incarnation: every effect passes its tap, and none once it is dead."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Container
from typing import Any, Final

from temporalio import activity
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.client import OutboundInterceptor
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput
from temporalio.worker import Interceptor as WorkerInterceptor

from activities.ports.cluster import Resource
from planner.lifecycle.step import EffectInput
from tests.chaos.points import WHOLE, Execution, Tap, current, enter

READS: Final = ("list", "get")
PURE: Final = ("offerings", "image", "refusal")
"""Verbs that ask nobody."""


class Tapped:
    """A port, whatever its verbs: reads pass as long as the incarnation lives, the rest are effects.

    Args:
        port: the real one.
        tap: of the incarnation.
        about: what a verb is about that names no resource.
        pure: verbs that ask nobody, and those that are the world's own doing.
    """

    def __init__(self, port: Any, tap: Tap, about: str, pure: Container[str] = PURE) -> None:
        self._port = port
        self._tap = tap
        self._about = about
        self._pure = pure

    def __getattr__(self, verb: str) -> Any:
        there = getattr(self._port, verb)
        if not callable(there) or verb in self._pure:
            return there
        if verb == "watch":
            return self._watch
        return self._read(there) if verb in READS else self._effect(verb, there)

    async def _watch(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        async for event in self._port.watch(*given, **options):
            _alive(self._tap)
            yield event

    def _read(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def look(*given: Any, **options: Any) -> Any:
            return await read(self._tap, lambda: call(*given, **options))

        return look

    def _effect(self, verb: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def effect(*given: Any, **options: Any) -> Any:
            return await passed(self._tap, self._label(verb, given, options), lambda: call(*given, **options))

        return effect

    def _label(self, verb: str, given: tuple[Any, ...], options: dict[str, Any]) -> str:
        target = given[0].plural if given and isinstance(given[0], Resource) else self._about
        subresource = options.get("subresource")
        return f"{verb} {target}/{subresource}" if subresource else f"{verb} {target}"


async def read(tap: Tap, call: Callable[[], Awaitable[Any]]) -> Any:
    """Look at something, unless the incarnation is dead."""
    await asyncio.sleep(0)
    _alive(tap)
    found = await call()
    _alive(tap)
    return found


async def passed(tap: Tap, label: str, call: Callable[[], Awaitable[Any]]) -> Any:
    """Have an effect, unless the incarnation is dead or dies before; it may also die after."""
    await asyncio.sleep(0)
    _alive(tap)
    execution = current()
    effect = execution.effect(label)
    tap.met(execution, effect, "before")
    _alive(tap)
    answer = await call()
    tap.met(execution, effect, "after")
    _alive(tap)
    return answer


def _alive(tap: Tap) -> None:
    if tap.is_dead:
        raise asyncio.CancelledError("this incarnation of the worker is dead")


Around = Callable[[ActivityInboundInterceptor, ExecuteActivityInput], Awaitable[Any]]
"""Runs an activity: once, twice, or not at all."""


async def once(inner: ActivityInboundInterceptor, asked: ExecuteActivityInput) -> Any:
    """Run it as a worker does."""
    return await inner.execute_activity(asked)


class TappedTemporal(ClientInterceptor, WorkerInterceptor):
    """All that an incarnation tells Temporal: results of activities, starts and messages.

    Args:
        tap: of the incarnation.
        around: how activities are run.
    """

    def __init__(self, tap: Tap, around: Around = once) -> None:
        self._tap = tap
        self._around = around

    def intercept_client(self, inner: OutboundInterceptor) -> OutboundInterceptor:
        return _Outbound(inner, self._tap)

    def intercept_activity(self, inner: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Inbound(inner, self._tap, self._around)


class _Outbound(OutboundInterceptor):
    def __init__(self, inner: OutboundInterceptor, tap: Tap) -> None:
        super().__init__(inner)
        self._tap = tap

    async def start_workflow(self, asked: Any) -> Any:
        return await passed(self._tap, f"start {asked.workflow}", lambda: super(_Outbound, self).start_workflow(asked))

    async def signal_workflow(self, asked: Any) -> None:
        await passed(self._tap, f"signal {asked.signal}", lambda: super(_Outbound, self).signal_workflow(asked))

    async def terminate_workflow(self, asked: Any) -> None:
        await passed(self._tap, "terminate workflow", lambda: super(_Outbound, self).terminate_workflow(asked))


class _Inbound(ActivityInboundInterceptor):
    def __init__(self, inner: ActivityInboundInterceptor, tap: Tap, around: Around) -> None:
        super().__init__(inner)
        self._tap = tap
        self._around = around

    async def execute_activity(self, asked: ExecuteActivityInput) -> Any:
        """Run the activity; if its worker dies, Temporal hears nothing of it, as of a process that was killed."""
        execution = Execution(activity.info().activity_type, _reason(asked))
        self._tap.met(execution, WHOLE, "before")
        if self._tap.is_dead:
            activity.raise_complete_async()
        body = asyncio.create_task(self._body(execution, asked))
        death = asyncio.create_task(self._tap.died.wait())
        try:
            await asyncio.wait((body, death), return_when=asyncio.FIRST_COMPLETED)
        finally:
            death.cancel()
            if not body.done():
                body.cancel()
                await asyncio.wait([body])
        if not self._tap.is_dead:
            self._tap.met(execution, WHOLE, "after")
        if self._tap.is_dead:
            if not body.cancelled():
                body.exception()
            activity.raise_complete_async()
        return body.result()

    async def _body(self, execution: Execution, asked: ExecuteActivityInput) -> Any:
        enter(execution)
        return await self._around(self.next, asked)


def _reason(asked: ExecuteActivityInput) -> str:
    given = asked.args[0] if asked.args else None
    return given.act.reason if isinstance(given, EffectInput) and given.act is not None else ""
