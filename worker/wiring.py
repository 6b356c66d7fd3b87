"""Puts ports, activities and workflows together. Any ports will do: the real cluster's, or the simulator's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from temporalio.client import Client
from temporalio.worker import Worker

from activities.cache import Cache
from activities.cluster import (
    DAEMON_SETS,
    KWOK_NODE_CLASSES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Cluster,
)
from activities.errors import GrowthError
from activities.ports import Ports, Reader
from activities.providers.kwok import KwokProvider
from activities.registry import all_activities
from worker.interceptor import ActivityInterceptor
from worker.keeper import PERIOD, Keeper
from worker.sandbox import WORKFLOWS, workflow_runner
from worker.settings import task_queue
from worker.watches import Watches

log = structlog.stdlib.get_logger(__name__)

WATCHED: Final = (
    PODS,
    NODES,
    DAEMON_SETS,
    NODE_POOLS,
    KWOK_NODE_CLASSES,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
)
"""What rounds read from the cache, and what messages come from."""
STOPS_WITHIN: Final = timedelta(seconds=20)
"""An activity that has begun may finish; a create call has an HTTP time-out of 20 s and is safe to repeat."""
BOOT_PERIOD: Final = 0.5
"""Seconds between two looks at which KWOK servers have booted: boots take seconds."""
SYNC_TOLD_EVERY: Final = 10.0
"""Seconds."""
CONCURRENT_ACTIVITIES: Final = 40
"""All wait for the API server or the cloud most of the time; the cloud's limits are met by their retries."""


def temporal_worker(client: Client, ports: Ports) -> Worker:
    """Return the worker of a cluster: all workflows, and all activities on `ports`."""
    return Worker(
        client,
        task_queue=task_queue(ports.cluster_name),
        workflows=WORKFLOWS,
        activities=all_activities(ports),
        workflow_runner=workflow_runner(),
        interceptors=[ActivityInterceptor()],
        max_concurrent_activities=CONCURRENT_ACTIVITIES,
        graceful_shutdown_timeout=STOPS_WITHIN,
    )


def utc_now() -> datetime:
    """Return the wall clock's time, UTC."""
    return datetime.now(UTC)


def ports_on(
    cluster: Cluster,
    reader: Reader,
    *,
    cluster_name: str,
    namespace: str,
    own_pods: frozenset[str] = frozenset(),
    now: Callable[[], datetime] = utc_now,
) -> Ports:
    """Return the ports on a cluster, with every provider there is."""
    kwok = KwokProvider(cluster, namespace, now)
    return Ports(
        cluster=cluster,
        reader=reader,
        providers={kwok.class_kind: kwok},
        now=now,
        cluster_name=cluster_name,
        namespace=namespace,
        own_pods=own_pods,
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
) -> AsyncIterator[None]:
    """Run everything that makes a worker; the body runs while it works, and its end stops it in good order.

    Args:
        client: of the Temporal server.
        ports: the outside world.
        cache: not running yet; `ports.reader` may be this one.
        owns_server: the Temporal server is this worker's own.
        keeper_period: how often what was lost is looked for.
        waiting_for: is told what is still missing, and nothing when all is there.

    Raises:
        ExceptionGroup: one of the parts could not go on.
    """
    watches = Watches(client, ports.cluster_name)
    cache.subscribe(watches.note)
    keeper = Keeper(client, ports, owns_server=owns_server, period=keeper_period)
    async with asyncio.TaskGroup() as group:
        loops = [group.create_task(cache.run(), name="cache")]
        loops += [group.create_task(_boot(one)) for one in ports.providers.values() if isinstance(one, KwokProvider)]
        try:
            waiting_for("the first list of pods, nodes and Growth's kinds")
            await _synced(cache)
            waiting_for("Temporal's namespace")
            await keeper.prepare()
            loops.append(group.create_task(keeper.run(), name="keeper"))
            async with temporal_worker(client, ports):
                waiting_for("")
                watches.nudge("worker started")
                yield
                # From here on the worker takes no new task; what has begun may still need the loops.
                waiting_for("nothing: the worker stops")
        finally:
            await watches.close()
            for loop in loops:
                loop.cancel()


async def _synced(cache: Cache) -> None:
    """Wait until everything is listed, and tell what to look at while it is not."""
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(SYNC_TOLD_EVERY):
                return await cache.wait_until_synced()
        log.warning("not everything is listed yet: is the API server up, are the CRDs applied (`growth crds`)?")


async def _boot(provider: KwokProvider) -> None:
    """Let the servers of the KWOK provider boot, for ever."""
    while True:
        try:
            await provider.boot()
        except GrowthError as error:
            log.warning("KWOK servers do not boot", reason=error.reason, error=str(error))
        await asyncio.sleep(BOOT_PERIOD)
