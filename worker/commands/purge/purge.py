"""Carries a purge out: workflows end, objects go, then every server, until none is left and none can appear.

Objects go before servers, so that no workflow that somebody still runs asks for another one. Killed at
any point, the same command goes on: servers are found by their label, everything else by its kind.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from temporalio.service import RPCError, RPCStatusCode

from activities.objects.record import drop_finalizer
from activities.ports.cluster import NODE_POOLS, NODES, Object, Resource
from activities.ports.errors import AuthenticationFailed, Conflict, GrowthError, InvalidConfiguration, NotFound
from activities.ports.ports import Ports
from activities.ports.provider import ServerState
from api.keys import LABEL_CLUSTER_UID
from planner.lifecycle.json_predicates import is_terminating
from planner.lifecycle.kinds import KINDS
from worker.commands.lifecycles.running import CALL_LIMIT, UnderWay
from worker.commands.purge.look import ClusterContents, FoundNode, FoundServer, look, servers_of
from worker.commands.shared.tables import count, names
from worker.commands.shared.times import span
from worker.errors import CommandError

SERVERS_GONE_WITHIN: Final = timedelta(minutes=5)
"""A cloud needs seconds for a deletion; what takes longer needs a person."""
LOOK_SECONDS: Final = 2.0
_ASK_AGAIN_AFTER: Final = timedelta(seconds=30)
"""A server that is being deleted needs no further call before this; each counts against what an account may call."""
_TRIES: Final = 10
"""At an object that others write to."""

Tell = Callable[[str], None]


async def purge(
    ports: Ports,
    contents: ClusterContents,
    running: UnderWay | None,
    *,
    pools: bool,
    abandoned: bool,
    tell: Tell,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Remove what was found, and what appears meanwhile.

    Args:
        ports: the outside world.
        contents: what there is.
        running: Temporal; None leaves the workflows alone.
        pools: pools and classes go as well.
        abandoned: abandoned servers go as well.
        tell: takes lines that say how far it has come.
        sleep: waits for seconds.

    Raises:
        CommandError: something does not go; what is left can be purged by the same command.
    """
    try:
        # While their requests are there to prove it: killed half-way, the same command has to know them again.
        await _mark(ports, contents)
        if running is not None:
            await _end_workflows(running, tell)
        if pools:
            # Before the machines: as long as there is a pool, a worker that is up buys again.
            await _take_away(ports, [one for one in contents.pools if one[0] == NODE_POOLS], "pools", tell)
        await _take_away(ports, contents.objects, " and ".join(f"{kind.word}s" for kind in KINDS), tell)
        await _delete_servers(ports, contents, abandoned=abandoned, tell=tell, sleep=sleep)
        await _delete_nodes(ports, contents.nodes, tell)
        # Those of servers that appeared late.
        await _delete_nodes(ports, (await look(ports, abandoned=abandoned)).nodes, tell)
        for resource, name in contents.own:
            with suppress(NotFound):
                await ports.cluster.delete(resource, name, namespace=ports.namespace)
                tell(f"{resource.kind} {ports.namespace}/{name} is gone")
        if pools:
            # Last: a server's class says which account its deletion asks.
            await _take_away(ports, [one for one in contents.pools if one[0] != NODE_POOLS], "node classes", tell)
    except GrowthError as error:
        raise CommandError(f"the purge has stopped, the same command goes on with it: {error}") from error


async def _mark(ports: Ports, contents: ClusterContents) -> None:
    """Mark the servers of an earlier version that are this cluster's.

    Raises:
        ProviderError: one could not be marked.
    """
    for server in contents.servers:
        if not server.stays and not server.is_marked:
            labels, fact = {LABEL_CLUSTER_UID: ports.cluster_uid}, server.fact
            with suppress(NotFound):
                await ports.providers[fact.class_kind].label(fact.name, labels, fact.class_name or None)


async def _end_workflows(running: UnderWay, tell: Tell) -> None:
    # The planner first: it starts others.
    executions = sorted(await running.everything(), key=lambda execution: not execution.id.startswith("planner:"))
    for execution in executions:
        try:
            await running.client.get_workflow_handle(execution.id).terminate("growth purge", rpc_timeout=CALL_LIMIT)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise running.failure(error) from error
    if executions:
        tell(f"{count(len(executions), 'workflow')} ended")


async def _take_away(ports: Ports, objects: Sequence[tuple[Resource, Object]], title: str, tell: Tell) -> None:
    for resource, item in objects:
        await _end(ports, resource, item)
    if objects:
        tell(f"{title} gone: {names([item['metadata']['name'] for _, item in objects])}")


async def _end(ports: Ports, resource: Resource, item: Object) -> None:
    """Delete the object and let it go.

    Raises:
        Conflict: it keeps changing.
    """
    name, uid = item["metadata"]["name"], item["metadata"]["uid"]
    tries = 0
    while True:
        tries += 1
        try:
            live = await ports.cluster.get(resource, name)
            if live["metadata"]["uid"] != uid:
                return
            if not is_terminating(live):
                await ports.cluster.delete(resource, name, uid=uid)
                live = await ports.cluster.get(resource, name)
            await drop_finalizer(ports.cluster, resource, live)
        except NotFound:
            return
        except Conflict:
            if tries >= _TRIES:
                raise
        else:
            return


async def _delete_servers(
    ports: Ports,
    contents: ClusterContents,
    *,
    abandoned: bool,
    tell: Tell,
    sleep: Callable[[float], Awaitable[object]],
) -> None:
    """Delete servers until none is listed and none can appear any more.

    Raises:
        CommandError: some are still there after a long time.
        ProviderError: the provider refuses for good.
    """
    began, settled_at = ports.now(), contents.settled_at()
    names_ever: set[str] = set()
    going_since: dict[str, datetime] = {}
    last_line = ""
    while True:
        left = [server for server in await servers_of(ports, contents.proofs, abandoned=abandoned) if not server.stays]
        names_ever |= {server.fact.name for server in left}
        now = ports.now()
        line = f"{len(names_ever) - len(left)} of {count(len(names_ever), 'server')} gone" if names_ever else ""
        if not left and settled_at is not None and now < settled_at:
            line = f"waiting until {settled_at:%H:%M:%S} UTC: a server that was asked for may appear until then"
        if line and line != last_line:
            tell(line)
            last_line = line
        if not left and (settled_at is None or now >= settled_at):
            return
        if now - began > SERVERS_GONE_WITHIN:
            still = f"{count(len(left), 'server')} still there after {span(SERVERS_GONE_WITHIN)}"
            listed = names([server.fact.name for server in left])
            raise CommandError(f"{still}, the same command goes on with it: {listed}")
        going = [server.fact.provider_id for server in left if server.state == ServerState.DELETING]
        going_since = {each: going_since.get(each, now) for each in going}
        for server in left:
            since = going_since.get(server.fact.provider_id)
            if since is None or now - since >= _ASK_AGAIN_AFTER:
                # Counted anew from the next look on.
                going_since.pop(server.fact.provider_id, None)
                await _delete_server(ports, server)
        await sleep(LOOK_SECONDS)


async def _delete_server(ports: Ports, server: FoundServer) -> None:
    provider = ports.providers[server.fact.class_kind]
    try:
        await provider.delete(server.fact.name, server.fact.class_name or None)
    except (AuthenticationFailed, InvalidConfiguration):
        raise
    except GrowthError:
        # What passes is asked for again after the next look.
        return


async def _delete_nodes(ports: Ports, nodes: Sequence[FoundNode], tell: Tell) -> None:
    deleted = 0
    for node in nodes:
        if not node.stays:
            with suppress(NotFound, Conflict):
                await ports.cluster.delete(NODES, node.fact.name, uid=node.fact.uid)
                deleted += 1
    if deleted:
        tell(f"{count(deleted, 'Node')} gone")
