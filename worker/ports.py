"""The ports on a cluster, for the worker and for commands that only look: these load no client of Temporal."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from activities.cluster import (
    KWOK_NODE_CLASSES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    Cluster,
)
from activities.errors import Rejected
from activities.kube import KubeCluster
from activities.observe import SURROUNDINGS
from activities.ports import Ports, Reader
from activities.providers.kwok import KwokProvider
from planner.pack import pack
from planner.packing import Packer
from planner.stages import Stage
from worker.command_error import USAGE_ERROR, CommandError
from worker.settings import Settings

WATCHED: Final = (
    *SURROUNDINGS,
    NODE_POOLS,
    KWOK_NODE_CLASSES,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
)
"""What rounds read from the cache, and what messages come from."""
LIST_SECONDS: Final = 30.0
"""For each page of a list, while nobody waits for it."""


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
    now: Callable[[], datetime] = utc_now,
    packer: Packer = pack,
    tell_stages: Callable[[Mapping[Stage, float]], None] = lambda _: None,
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
        packer=packer,
        tell_stages=tell_stages,
    )
