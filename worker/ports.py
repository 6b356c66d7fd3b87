"""The ports on a cluster, for the worker and for commands that only look: these load no client of Temporal."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import ClassVar, Final, Protocol, runtime_checkable

from activities.kube.client import KubeCluster
from activities.ports.cluster import (
    NODE_CLASSES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    Cluster,
)
from activities.ports.errors import Rejected
from activities.ports.ports import Ports, Reader
from activities.providers.hetzner.api.facts import DEFAULT_ENDPOINT
from activities.providers.kwok.provider import KwokProvider
from activities.round.observe import SURROUNDINGS
from planner.model.stages import Stage
from planner.packing.greedy.pack import pack
from planner.packing.problem import Packer
from worker.errors import USAGE_ERROR, CommandError
from worker.settings import Settings

WATCHED: Final = (
    *SURROUNDINGS,
    NODE_POOLS,
    *NODE_CLASSES,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
)
"""What rounds read from the cache, and what messages come from."""
LIST_SECONDS: Final = 30.0
"""For each page of a list, while nobody waits for it."""


@runtime_checkable
class Tended(Protocol):
    """A provider that does something between calls, too, and holds connections."""

    class_kind: ClassVar[str]

    async def tend(self) -> float:
        """Do what is due, and return in how many seconds it wants to be called again."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def utc_now() -> datetime:
    """Return the wall clock's time, UTC."""
    return datetime.now(UTC)


async def kube_cluster(settings: Settings, *, list_timeout_seconds: float = LIST_SECONDS) -> KubeCluster:
    """Return the cluster that the settings name; no call is made yet.

    Raises:
        CommandError: kubeconfig, context or service account cannot be used.
    """
    kubeconfig = None if settings.kubeconfig is None else str(settings.kubeconfig)
    try:
        return await KubeCluster.connect(kubeconfig, settings.context, list_timeout_seconds=list_timeout_seconds)
    except Rejected as error:
        raise CommandError(str(error), USAGE_ERROR) from error


def ports_on(
    cluster: Cluster,
    reader: Reader,
    *,
    cluster_name: str,
    namespace: str,
    own_pods: frozenset[str] = frozenset(),
    hcloud_endpoint: str = DEFAULT_ENDPOINT,
    now: Callable[[], datetime] = utc_now,
    packer: Packer = pack,
    tell_stages: Callable[[Mapping[Stage, float]], None] = lambda _: None,
) -> Ports:
    """Return the ports on a cluster, with every provider there is."""
    # It loads the client of Hetzner's API, and commands that draw up no ports import this module, too.
    from activities.providers.hetzner.provider import HetznerProvider  # noqa: PLC0415

    kwok = KwokProvider(cluster, namespace, now)
    hetzner = HetznerProvider(cluster, now=now, cluster_name=cluster_name, endpoint=hcloud_endpoint)
    return Ports(
        cluster=cluster,
        reader=reader,
        providers={kwok.class_kind: kwok, hetzner.class_kind: hetzner},
        now=now,
        cluster_name=cluster_name,
        namespace=namespace,
        own_pods=own_pods,
        packer=packer,
        tell_stages=tell_stages,
    )


def tended(ports: Ports) -> list[Tended]:
    """Return the providers that have to be tended and closed."""
    return [one for one in ports.providers.values() if isinstance(one, Tended)]
