"""A live cluster for commands that only look: read the way a round reads it, each failure told in one line."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from activities.kube.client import KubeCluster
from activities.kube.kubeconfig import Access
from activities.objects.events import CONTROLLER
from activities.objects.node_usage import sample_usage
from activities.ports.cluster import EVENTS, NODE_POOLS, Object, Resource
from activities.ports.errors import Forbidden, GrowthError, NotFound
from activities.ports.ports import Ports
from activities.round.observe import DefinitionsGoing, Observer
from planner.model.plan import PlannerMemory
from worker.commands.shared.cluster_view import ClusterView, ToldEvent, cluster_view
from worker.commands.shared.next_steps import next_steps
from worker.commands.shared.read_once import ReadOnce
from worker.errors import CommandError
from worker.ports import OLDEST_NAMESPACE, cluster_uid, kube_cluster, ports_on, watched
from worker.settings import load
from worker.unreadable_cluster import trouble, unlistable

log = logging.getLogger(__name__)

_LIST_SECONDS: Final = 10.0
"""For each page of a list: a person waits for it."""
_REPORT: Final = "a defect: report it with the objects of `growth plan -f`"
_FIRST_SECONDS: Final = 4.0
"""For the first list, which is short: a server that hangs is reported soon."""


class LiveCluster:
    """Reads the cluster behind some ports, and writes nothing."""

    def __init__(self, ports: Ports, access: Access) -> None:
        self._ports = ports
        self._access = access

    @property
    def namespace(self) -> str:
        """Of objects that are named without one."""
        return self._access.namespace

    @property
    def ports(self) -> Ports:
        """Of the cluster and its providers."""
        return self._ports

    async def objects(self, resource: Resource) -> list[Object]:
        """Return all objects of a kind, read live.

        Raises:
            CommandError: they cannot be read.
        """
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                return (await self._ports.cluster.list(resource)).items
        except (GrowthError, TimeoutError) as error:
            raise await self._told(error) from error

    async def look(self) -> ClusterView:
        """Return the cluster as it is now, and the plan that a round would make.

        Raises:
            CommandError: the API server cannot be read, or Growth's kinds are missing.
        """
        try:
            # Asked first and alone, so that a cluster without Growth is told of as such, and a hanging one soon.
            async with asyncio.timeout(_FIRST_SECONDS):
                await self._ports.cluster.list(NODE_POOLS)
            read = ReadOnce(self._ports.cluster)
            ports = replace(self._ports, cluster=read, reader=read)
            await sample_usage(ports)
            seen = await Observer(ports).observe(PlannerMemory(), {})
        except (GrowthError, DefinitionsGoing, TimeoutError) as error:
            raise await self._told(error) from error
        steps = await next_steps(self._ports, read)
        try:
            return await self._ports.compute(lambda: cluster_view(seen.snapshot, seen.nodes, steps))
        except Exception as error:
            # Whoever looks because rounds fail is told why, and not where in our code.
            log.debug("the cluster cannot be planned", exc_info=True)
            raise CommandError(
                f"planning failed, as it does in the worker's rounds: {type(error).__name__}: {error} ({_REPORT})"
            ) from error

    async def events_about(self, kind: str, name: str, namespace: str) -> list[ToldEvent]:
        """Return the events that Growth wrote about an object and that are still kept, the oldest first.

        Raises:
            GrowthError: events cannot be read.
        """
        events = (await self._ports.cluster.list(EVENTS, namespace=namespace)).items
        about = [event for event in events if _is_about(event, kind, name)]
        own_events = [
            ToldEvent(str(e.get("eventTime", "")), str(e.get("reason", "")), str(e.get("note", ""))) for e in about
        ]
        return sorted(own_events, key=lambda event: event.at)

    async def _told(self, error: Exception) -> CommandError:
        hint = "" if self._access.context is None else "; --context chooses another"
        return CommandError(f"{await self._reason(error)} ({self._access.where}{hint})")

    async def _reason(self, error: Exception) -> str:
        """Return the problem with the cluster: of missing or forbidden kinds, all of them at once."""
        if isinstance(error, TimeoutError):
            return "the API server did not answer in time: is it up?"
        if isinstance(error, NotFound | Forbidden | DefinitionsGoing):
            problem = trouble(await unlistable(self._ports.cluster, watched()))
            return problem or "Growth's definitions are being deleted, or have been since"
        return trouble({NODE_POOLS: error}) if isinstance(error, GrowthError) else str(error)


@asynccontextmanager
async def live_cluster(
    kubeconfig: Path | None, context: str | None, *, name: str | None = None, removes: bool = False
) -> AsyncIterator[LiveCluster]:
    """Lend the cluster that the options name, else the settings, else the user's kubeconfig.

    Args:
        kubeconfig: kubeconfig file.
        context: context in it.
        name: of the cluster, as its servers bear it.
        removes: whether servers are removed, so that those of another cluster of that name have to be told apart.

    Raises:
        CommandError: there is no usable kubeconfig or context, or the cluster does not tell its uid.
    """
    given = {"kubeconfig": kubeconfig, "context": context, "cluster": name}
    settings = load(**{name: value for name, value in given.items() if value is not None})
    cluster = await kube_cluster(settings, list_timeout_seconds=_LIST_SECONDS)
    ports = ports_on(
        cluster,
        cluster,
        cluster_name=settings.cluster,
        namespace=settings.namespace,
        cluster_uid=await _uid(cluster) if removes else "",
        own_pods=settings.own_pods,
        endpoints=settings.endpoints,
    )
    try:
        yield LiveCluster(ports, cluster.access)
    finally:
        for provider in ports.providers.values():
            await provider.close()
        await cluster.close()


async def _uid(cluster: KubeCluster) -> str:
    try:
        return await cluster_uid(cluster)
    except (GrowthError, TimeoutError) as error:
        await cluster.close()
        reason = str(error) or "the API server did not answer in time: is it up?"
        raise CommandError(
            f"nothing was removed, as the uid of Namespace {OLDEST_NAMESPACE} is needed: {reason}"
        ) from error


async def list_known(ports: Ports, resource: Resource) -> Sequence[Object]:
    """Return all objects of a kind; of one that the API server does not know, none."""
    try:
        return (await ports.cluster.list(resource)).items
    except NotFound:
        return ()


def _is_about(event: Object, kind: str, name: str) -> bool:
    regarding = event.get("regarding") or {}
    return (
        event.get("reportingController") == CONTROLLER
        and regarding.get("kind") == kind
        and regarding.get("name") == name
    )
