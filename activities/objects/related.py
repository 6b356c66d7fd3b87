"""Pool, node class, server and number of peers of a request or a removal, read at each look."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from activities.ports.cluster import NODE_POOLS, Getter, Object, Resource, find_object
from activities.ports.errors import GrowthError, NotFound, Unreachable, Unreadable
from activities.ports.ports import Ports
from activities.ports.provider import Provider, Server
from api.model import UnreadableError, read
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.lifecycle.seen import RemovalTimings, RequestTimings, ServerSeen

log = logging.getLogger(__name__)


async def read_pool(source: Getter, name: str) -> NodePool:
    """Return the pool, read live where `source` is the cluster.

    Raises:
        NotFound: it does not exist.
        Unreadable: names the field.
    """
    pool = await source.get(NODE_POOLS, name)
    try:
        return read(NodePool, pool)
    except UnreadableError as error:
        raise Unreadable(str(error)) from error


async def find_pool(source: Getter, name: str) -> NodePool | None:
    """Return the pool, or None if it is gone or cannot be read: a lifecycle in course goes on with the defaults."""
    try:
        return await read_pool(source, name)
    except NotFound:
        return None
    except Unreadable as error:
        log.warning("%s; defaults are used", error)
        return None


async def find_class(ports: Ports, ref: ClassRef) -> Object | None:
    """Return the node class, read live, or None if it is gone or no provider serves its kind."""
    provider = ports.providers.get(ref.kind)
    return None if provider is None else await find_object(ports.cluster, provider.node_classes, ref.name)


def request_timings(pool: NodePool | None) -> RequestTimings:
    """Return the pool's durations for a request, or the defaults."""
    if pool is None:
        return RequestTimings()
    durations = pool.spec.scale_up
    return RequestTimings(
        provisioning_timeout=durations.provisioning_timeout,
        join_timeout=durations.join_timeout,
        unavailable_ttl=durations.unavailable_ttl,
        failed_ttl=durations.failed_ttl,
        record_ttl=durations.record_ttl,
    )


def removal_timings(pool: NodePool | None) -> RemovalTimings:
    """Return the pool's durations for a removal, or the defaults."""
    if pool is None:
        return RemovalTimings()
    durations = pool.spec.scale_down
    return RemovalTimings(
        soft_grace=durations.soft_grace,
        hard_grace=durations.hard_grace,
        drain_timeout=durations.drain_timeout,
        termination_grace_period=durations.termination_grace_period,
        max_attempts=durations.removal.max_attempts,
        retry=durations.removal.retry,
        parked_retry=durations.removal.parked_retry,
    )


@dataclass(frozen=True, slots=True)
class ServerLook:
    """A server as it was seen."""

    seen: ServerSeen
    is_progressing: bool = False
    problem: str = ""
    failure: GrowthError | None = None


async def see_server(
    ports: Ports,
    ref: ClassRef,
    name: str,
    is_ours: Callable[[Server], bool],
    *,
    get: Callable[[Provider], Awaitable[Server]] | None = None,
) -> ServerLook:
    """Return the server's state at the provider of this class; without an answer, unknown.

    Args:
        ports: the outside world.
        ref: the class.
        name: of the server.
        is_ours: whether a server of that name is the one that is looked for.
        get: how it is asked for, where that is not by its name.
    """
    provider = ports.providers.get(ref.kind)
    if provider is None:
        log.debug("no provider for %s: server %s is not looked at", ref.kind, name)
        return ServerLook(ServerSeen.UNKNOWN)
    try:
        server = await (provider.get(name, ref.name) if get is None else get(provider))
    except NotFound:
        return ServerLook(ServerSeen.ABSENT)
    except GrowthError as error:
        log.warning("the provider gives no answer about server %s: %s", name, error)
        return ServerLook(ServerSeen.UNKNOWN)
    if not is_ours(server):
        return ServerLook(ServerSeen.FOREIGN)
    return ServerLook(ServerSeen(server.state.value), server.is_progressing, server.problem, server.failure)


async def count_others(ports: Ports, resource: Resource, uid: str, counts: Callable[[Object], bool]) -> int:
    """Return the number of objects that count besides the one with this uid, by the cache; 0 while it has none."""
    try:
        objects = (await ports.reader.list(resource)).items
    except Unreachable:
        return 0
    return sum(one["metadata"]["uid"] != uid and counts(one) for one in objects)
