"""A live cluster for commands that only look: read the way a round reads it, each failure told in one line."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from activities.cluster import EVENTS, NODE_POOLS, Object
from activities.errors import GrowthError, NotFound, Unreachable
from activities.events import CONTROLLER
from activities.kube import KubeCluster
from activities.observe import DefinitionsGoing, Observer
from activities.ports import Ports
from planner.model import PlannerMemory
from worker.command_error import CommandError
from worker.settings import load
from worker.sight import Sight, ToldEvent, sight_of
from worker.wiring import ports_on

_LIST_SECONDS: Final = 10.0
"""For each page of a list: a person waits for it."""
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_NOT_INSTALLED: Final = (
    "Growth's kinds are not all installed in this cluster, or are being deleted: "
    "`growth crds | kubectl apply -f -` installs them, --context chooses another cluster"
)


class LiveCluster:
    """Reads the cluster behind some ports, and writes nothing."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._observer = Observer(ports)

    async def look(self) -> Sight:
        """Return what is there now, and what a round would decide.

        Raises:
            CommandError: the API server cannot be read, or Growth's kinds are missing.
        """
        with _failures_told():
            # Asked first and alone, so that a cluster without Growth is told of as such.
            await self._ports.cluster.list(NODE_POOLS)
            seen = await self._observer.observe(PlannerMemory(), {})
        return await self._ports.compute(lambda: sight_of(seen.snapshot, seen.nodes))

    async def events_about(self, kind: str, name: str, namespace: str) -> list[ToldEvent]:
        """Return the events that Growth wrote about an object and that are still kept, the oldest first.

        Raises:
            GrowthError: events cannot be read.
        """
        found = (await self._ports.cluster.list(EVENTS, namespace=namespace)).items
        about = [event for event in found if _is_about(event, kind, name)]
        told = [ToldEvent(str(e.get("eventTime", "")), str(e.get("reason", "")), str(e.get("note", ""))) for e in about]
        return sorted(told, key=lambda event: event.at)


@asynccontextmanager
async def live_cluster(kubeconfig: Path | None, context: str | None) -> AsyncIterator[LiveCluster]:
    """Lend the cluster that the options name, else the settings, else the user's kubeconfig.

    Raises:
        CommandError: there is no usable kubeconfig or context.
    """
    given = {"kubeconfig": kubeconfig, "context": context}
    settings = load(**{name: value for name, value in given.items() if value is not None})
    _check_file(settings.kubeconfig, settings.context)
    path = None if settings.kubeconfig is None else str(settings.kubeconfig)
    try:
        cluster = await KubeCluster.connect(path, settings.context, list_timeout_seconds=_LIST_SECONDS)
    except GrowthError as error:
        hint = "" if settings.context is None else "; `kubectl config get-contexts` lists the contexts there are"
        raise CommandError(f"{' '.join(str(error).split())}{hint}") from error
    try:
        yield LiveCluster(
            ports_on(
                cluster,
                cluster,
                cluster_name=settings.cluster,
                namespace=settings.namespace,
                own_pods=settings.own_pods,
            )
        )
    finally:
        await cluster.close()


def _check_file(kubeconfig: Path | None, context: str | None) -> None:
    """Tell of a kubeconfig that is not there: the client would only say that a key is missing in it.

    Raises:
        CommandError: it is not there.
    """
    if kubeconfig is None and context is None and _IN_CLUSTER in os.environ:
        return
    named = kubeconfig or os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config"
    files = [Path(part) for part in str(named).split(os.pathsep) if part]
    if not any(file.is_file() for file in files):
        raise CommandError(f"{named}: no such kubeconfig; name one with --kubeconfig or KUBECONFIG")


@contextmanager
def _failures_told() -> Iterator[None]:
    try:
        yield
    except (DefinitionsGoing, NotFound) as error:
        raise CommandError(_NOT_INSTALLED) from error
    except Unreachable as error:
        raise CommandError(
            f"the API server cannot be reached: {error}; is it up, and is this the right kubeconfig and --context?"
        ) from error
    except GrowthError as error:
        raise CommandError(str(error)) from error


def _is_about(event: Object, kind: str, name: str) -> bool:
    regarding = event.get("regarding") or {}
    return (
        event.get("reportingController") == CONTROLLER
        and regarding.get("kind") == kind
        and regarding.get("name") == name
    )
