"""The worker as a program: from settings to work, until a signal ends it."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, NoReturn

import structlog
from starlette.applications import Starlette

from activities.kube.cache import Cache
from activities.ports.errors import GrowthError
from worker.errors import FAILED, CommandError
from worker.logs import set_up_logging
from worker.ports import kube_cluster, ports_on, watched
from worker.runtime.cluster_uid import await_cluster_uid
from worker.runtime.measured import measured
from worker.runtime.reach import NONE, Outage, Reachability
from worker.runtime.telemetry import Telemetry, telemetry
from worker.runtime.web import application, listen, serve
from worker.runtime.wiring import at_work
from worker.settings import Settings
from worker.solver.process import SolverProcess
from worker.temporal.client import connect
from worker.temporal.embedded import EmbeddedError, EmbeddedTemporal, embedded_temporal
from worker.temporal.renewal import Renewal

log = structlog.stdlib.get_logger(__name__)

STOPPED: Final = 0
INTERRUPTED_TWICE: Final = 130


class _Progress:
    """What the worker still waits for, as /readyz tells it; and how a signal stops it."""

    def __init__(self) -> None:
        self.missing = "its start"
        self.failure = ""
        """Why rounds fail; empty while they succeed."""
        self._reach: Reachability | None = None
        self.stop = asyncio.Event()
        self._works = False
        self._task = asyncio.current_task()

    def wait_for(self, missing: str) -> None:
        """Take what is missing; nothing means that the worker works."""
        self.missing = missing
        self._works = self._works or not missing

    def rounds_fail(self, failure: str) -> None:
        """Take why rounds fail; nothing means that they succeed."""
        self.failure = failure

    def reached_by(self, reach: Reachability) -> None:
        """Take what says whether Temporal and the API server answer."""
        self._reach = reach

    def outage(self) -> Outage:
        """Return what does not answer."""
        return NONE if self._reach is None else self._reach.outage()

    def on_signal(self) -> None:
        """Stop in good order; at once before the work has begun, and on a second signal."""
        if self.stop.is_set():
            os._exit(INTERRUPTED_TWICE)
        self.stop.set()
        if not self._works and self._task is not None:
            self._task.cancel()


def main(settings: Settings) -> NoReturn:
    """Run the worker and end the process."""
    set_up_logging(settings.log_format, settings.log_level, cluster=settings.cluster)
    code = asyncio.run(run(settings))
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # CPython can abort at its exit while the SDK's threads still run; all is stopped and flushed by now.
    os._exit(code)


async def run(settings: Settings) -> int:
    """Work until SIGTERM or SIGINT and return the exit code: 0, 2 for settings that cannot be used, 1 for the rest."""
    progress = _Progress()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, progress.on_signal)
    code = STOPPED
    try:
        try:
            await _serve_and_work(settings, progress)
        except* (CommandError, EmbeddedError, GrowthError, OSError) as group:
            for error in _leaves(group):
                code = error.code if isinstance(error, CommandError) else FAILED
                sentence = f"the worker cannot go on: {' '.join(str(error).split())}"
                log.error(sentence)  # noqa: TRY400 - the sentence says it; a traceback hides it
    except asyncio.CancelledError:
        if not progress.stop.is_set():
            raise
    if code == STOPPED:
        log.info("stopped")
    return code


async def _serve_and_work(settings: Settings, progress: _Progress) -> None:
    with listen(settings.http_address) as listener:
        host, port = listener.getsockname()[:2]
        log.info("answers /healthz, /readyz and /metrics", address=f"{host}:{port}")
        async with (
            telemetry(settings.cluster) as seen,
            _beside(serve(_application(seen, progress), listener)),
        ):
            await _work(settings, seen, progress)


def _application(seen: Telemetry, progress: _Progress) -> Starlette:
    return application(seen.registry, lambda: progress.missing, lambda: progress.failure, progress.outage)


async def _work(settings: Settings, seen: Telemetry, progress: _Progress) -> None:
    async with AsyncExitStack() as stack:
        # Before anything is waited for: what is wrong with it, no waiting mends.
        cluster = await kube_cluster(settings)
        stack.push_async_callback(cluster.close)
        log.info("works on a cluster", kubernetes=cluster.access.where)
        solver = SolverProcess()
        solver.start()
        stack.push_async_callback(asyncio.to_thread, solver.close)
        address = settings.temporal_address
        if settings.embedded_temporal:
            progress.wait_for("the embedded Temporal server")
            server = await stack.enter_async_context(
                embedded_temporal(
                    settings.data_dir,
                    namespace=settings.temporal_namespace,
                    port=settings.embedded_port,
                    ui_port=settings.embedded_ui_port,
                )
            )
            await stack.enter_async_context(_beside(_must_live(server)))
            address = server.address
            log.info("Temporal runs in this worker", address=address, ui=server.ui)
        progress.wait_for(f"Temporal at {address}")
        connects = partial(connect, settings, address, runtime=seen.runtime, interceptors=seen.interceptors)
        client = await connects(
            waiting_for=lambda reason: progress.wait_for(f"Temporal at {address}: {reason}"),
        )
        uid = await await_cluster_uid(cluster, progress.wait_for)
        cache = Cache(cluster, watched())
        ports = measured(
            ports_on(
                cluster,
                cache,
                cluster_name=settings.cluster,
                namespace=settings.namespace,
                cluster_uid=uid,
                own_pods=settings.own_pods,
                endpoints=settings.endpoints,
                simulated_machines=settings.simulated_machines,
                packers=solver,
                watched_for=cluster.presence.lasts,
            )
        )
        async with at_work(
            client,
            ports,
            cache,
            owns_server=settings.embedded_temporal,
            waiting_for=progress.wait_for,
            rounds_fail=progress.rounds_fail,
            reached_by=progress.reached_by,
            renewed=Renewal(settings, partial(connects, attempts=1)),
        ):
            log.info("working", temporal=address)
            await progress.stop.wait()
            log.info("stopping: what has begun may finish")


async def _must_live(server: EmbeddedTemporal) -> None:
    await server.died()
    raise EmbeddedError("the embedded Temporal server ended by itself: see temporal.log in the data folder")


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` beside the body; its failure ends the body, and the body's end cancels it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        yield
        task.cancel()


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
