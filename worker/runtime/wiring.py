"""Puts ports, activities and workflows together. Any ports will do: the real cluster's, or the simulator's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final

import structlog
from temporalio.client import Client
from temporalio.worker import Worker

from activities.kube.cache import Cache
from activities.objects.definitions import are_being_deleted
from activities.objects.node_usage import sample_usage
from activities.ports.cluster import Resource
from activities.ports.errors import GrowthError, NotFound
from activities.ports.ports import Ports
from activities.ports.provider import Provider
from activities.registry import all_activities
from api.keys import GROUP
from worker.log_once import LogOnce
from worker.runtime.connection import TemporalConnection
from worker.runtime.keeper import PERIOD, Keeper
from worker.runtime.lifecycle_outcomes import outcome_counter
from worker.runtime.polling import polling
from worker.runtime.reach import Reachability
from worker.runtime.round_watch import RoundWatch
from worker.runtime.watches import Watches
from worker.settings import task_queue
from worker.temporal.interceptor import ActivityInterceptor
from worker.temporal.sandbox import WORKFLOWS, workflow_runner
from worker.unreadable_cluster import trouble

log = structlog.stdlib.get_logger(__name__)

STOPS_WITHIN: Final = timedelta(seconds=20)
"""An activity that has begun may finish; a create call has an HTTP time-out of 20 s and is safe to repeat."""
SHORTEST_TEND_PERIOD: Final = 0.5
"""Seconds between two times at which a provider is tended, however soon it wants that."""
LONGEST_TEND_PERIOD: Final = 10.0
"""The same, however late: a class that is new has no prices until it has been tended."""
FAILED_TEND_PERIOD: Final = 2.0
"""The same after a pass that failed."""
USAGE_PERIOD: Final = timedelta(seconds=60)
"""So often Nodes are asked for what they use, where a pool goes by it."""
LOOK_SECONDS: Final = 2.0
"""Between two looks at what is still missing: a first list takes a second or two when all is well."""
OWN_NAMESPACES: Final = "the namespaces of Growth's objects and workflows"
FIRST_LIST: Final = "the first list of pods, nodes and Growth's kinds"
CONCURRENT_ACTIVITIES: Final = 40
"""All wait for the API server or the cloud most of the time; the cloud's limits are met by their retries."""

CACHED_WORKFLOWS: Final = 2000
"""Workflows that can be open without being read from their histories again and again; a machine that goes has two.

The SDK's 1,000 are too few for 500 machines that come while 500 go. Each was measured to take some 350 KiB while open.
"""


def temporal_worker(client: Client, ports: Ports) -> Worker:
    """Return the worker of a cluster: all workflows, and all activities on `ports`."""
    return Worker(
        client,
        task_queue=task_queue(ports.cluster_name),
        workflows=WORKFLOWS,
        activities=all_activities(ports),
        workflow_runner=workflow_runner(),
        interceptors=[ActivityInterceptor(outcome_counter())],
        max_concurrent_activities=CONCURRENT_ACTIVITIES,
        max_cached_workflows=CACHED_WORKFLOWS,
        graceful_shutdown_timeout=STOPS_WITHIN,
    )


@asynccontextmanager
async def at_work(
    client: Client,
    ports: Ports,
    cache: Cache,
    *,
    owns_server: bool = False,
    keeper_period: timedelta = PERIOD,
    waiting_for: Callable[[str], None] = lambda _what: None,
    rounds_fail: Callable[[str], None] = lambda _why: None,
    reached_by: Callable[[Reachability], None] = lambda _reach: None,
    renewed: Callable[[], Awaitable[Client]] | None = None,
) -> AsyncIterator[None]:
    """Run everything that makes a worker; the body runs while it works, and its end stops it in good order.

    Args:
        client: of the Temporal server.
        ports: the outside world.
        cache: not running yet; `ports.reader` may be this one.
        owns_server: the Temporal server is this worker's own.
        keeper_period: how often what was lost is looked for.
        waiting_for: is told what is still missing, and nothing when all is there.
        rounds_fail: is told why rounds fail one after the other, and nothing while they succeed.
        reached_by: is given what says whether Temporal and the API server answer.
        renewed: returns a client to go on with, once there is one.

    Raises:
        ExceptionGroup: one of the parts could not go on.
    """
    watches = Watches(client, ports.cluster_name, ports.providers)
    # Before the cache lists and watches, so that no change goes without its message.
    cache.subscribe(watches.note)
    keeper = Keeper(client, ports, owns_server=owns_server, period=keeper_period)
    reach = Reachability(client, ports)
    reached_by(reach)
    round_watch = RoundWatch(client, ports, rounds_fail)
    connection = TemporalConnection(
        client, lambda of: temporal_worker(of, ports), (watches, keeper, reach, round_watch)
    )
    async with asyncio.TaskGroup() as group:
        loops = [group.create_task(cache.run(), name="cache")]
        try:
            waiting_for(FIRST_LIST)
            await _synced(ports, cache, waiting_for)
            loops += [group.create_task(_tend(one)) for one in ports.providers.values()]

            async def prepare() -> None:
                waiting_for(OWN_NAMESPACES)
                await keeper.prepare(lambda reason: waiting_for(f"{OWN_NAMESPACES}: {reason}"))

            def begins() -> None:
                waiting_for("")
                watches.nudge("worker started")

            await prepare()
            loops.append(group.create_task(_sample(ports), name="usage"))
            loops.append(group.create_task(keeper.run(), name="keeper"))
            loops.append(group.create_task(reach.run(), name="reach"))
            loops.append(group.create_task(round_watch.run(), name="round watch"))
            if renewed is not None:
                loops.append(group.create_task(connection.follow(renewed), name="connection"))
            async with polling(connection.worker, prepare, begins):
                yield
                # From here on the worker takes no new task; what has begun may still need the loops.
                waiting_for("nothing: the worker stops")
        finally:
            await watches.close()
            for loop in loops:
                loop.cancel()


async def _synced(ports: Ports, cache: Cache, waiting_for: Callable[[str], None]) -> None:
    """Wait until everything is listed, and tell why it is not: a worker may be there before kinds and rights are."""
    warnings = LogOnce(log)
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                return await cache.wait_until_synced()
        failures = cache.failures()
        if await _are_kinds_going(ports, cache, failures):
            log.warning("Growth's kinds are being removed: what is left of them is let go")
            return None
        reason = trouble(failures)
        waiting_for(f"{FIRST_LIST}: {reason}" if reason else FIRST_LIST)
        if reason:
            warnings.warn(f"waiting for {FIRST_LIST}: {reason}")


async def _are_kinds_going(ports: Ports, cache: Cache, failures: Mapping[Resource, GrowthError]) -> bool:
    """Return whether only such kinds are missing as are being removed.

    Those that still have objects cannot go before a worker has taken its finalizers off.
    """
    are_ours = all(resource.group == GROUP and isinstance(error, NotFound) for resource, error in failures.items())
    if not failures or not are_ours or not cache.synced(failures):
        return False
    try:
        return await are_being_deleted(ports)
    except GrowthError as error:
        log.debug("cannot look at Growth's definitions", error=str(error))
        return False


async def _sample(ports: Ports) -> None:
    """Keep samples of what Nodes use, for ever."""
    warnings = LogOnce(log)
    while True:
        try:
            if trouble_with_usage := await sample_usage(ports):
                warnings.warn(f"what Nodes use is not known: {trouble_with_usage}")
            else:
                warnings.over()
        except Exception:
            # A fault in it must not end the worker: no machine goes by its usage meanwhile.
            log.exception("what Nodes use is not sampled")
        await asyncio.sleep(USAGE_PERIOD.total_seconds())


async def _tend(provider: Provider) -> None:
    """Let a provider do what it does between calls, for ever; it is closed at the end."""
    warnings, kind = LogOnce(log), provider.node_classes.kind
    try:
        while True:
            pause = LONGEST_TEND_PERIOD
            try:
                pause = await provider.tend()
                warnings.over()
            except GrowthError as error:
                pause = FAILED_TEND_PERIOD
                warnings.warn(f"{kind} is not tended: {error}", reason=error.reason)
            except Exception:
                # A fault in one provider's own affairs must not end the worker, which has others to serve.
                log.exception("a provider is not tended", provider=kind)
            await asyncio.sleep(min(LONGEST_TEND_PERIOD, max(SHORTEST_TEND_PERIOD, pause)))
    finally:
        await provider.close()
