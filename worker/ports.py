"""The ports on a cluster, for the worker and for commands that only look: these load no client of Temporal."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from activities.kube.cache import Cache, followed_since
from activities.kube.client import KubeCluster
from activities.objects.kinds import STORED_KINDS
from activities.ports.cluster import (
    CAPACITY_BUFFERS,
    NAMESPACES,
    NODE_POOLS,
    NODES,
    PROVISIONING_REQUESTS,
    Cluster,
    Resource,
)
from activities.ports.errors import Rejected
from activities.ports.ports import Packers, Ports, Reader, ReadyPackers
from activities.ports.provider_kind import Surroundings
from activities.ports.simulated_kinds import SimulatedKinds
from activities.providers.kinds import connected, node_classes, provider_kinds
from activities.providers.templates import templates
from activities.round.observe import SURROUNDINGS
from worker.errors import USAGE_ERROR, CommandError
from worker.settings import Settings

OLDEST_NAMESPACE: Final = "kube-system"
"""Each cluster has it from its first moment, and nobody can delete it."""
_UID_SECONDS: Final = 4.0
LIST_SECONDS: Final = 30.0
"""For each page of a list, while nobody waits for it."""


def watched() -> tuple[Resource, ...]:
    """Return the resources that rounds read from the cache, and whose changes become messages."""
    own = (NODE_POOLS, *node_classes(), *(stored.resource for stored in STORED_KINDS))
    return (*SURROUNDINGS, PROVISIONING_REQUESTS, *CAPACITY_BUFFERS, *own)


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


async def cluster_uid(cluster: Cluster) -> str:
    """Return the uid of the cluster's namespace kube-system, which tells it from all others.

    Raises:
        GrowthError: it cannot be read.
        TimeoutError: the API server does not answer.
    """
    async with asyncio.timeout(_UID_SECONDS):
        namespace = await cluster.get(NAMESPACES, OLDEST_NAMESPACE)
    return str(namespace["metadata"]["uid"])


def ports_on(
    cluster: Cluster,
    reader: Reader,
    *,
    cluster_name: str,
    namespace: str,
    cluster_uid: str = "",
    own_pods: frozenset[str] = frozenset(),
    endpoints: Mapping[str, str] | None = None,
    simulated_machines: bool | None = None,
    now: Callable[[], datetime] = utc_now,
    packers: Packers = ReadyPackers(),  # noqa: B008 - frozen
    watched_for: Callable[[], timedelta | None] = lambda: None,
) -> Ports:
    """Return the ports on a cluster, with every provider there is.

    Args:
        cluster: a connection to it.
        reader: where rounds read from.
        cluster_name: tells its servers from others'.
        namespace: of Growth's own objects.
        cluster_uid: of its namespace kube-system: tells its servers from those of another cluster of its name.
        own_pods: of the worker and its Temporal, as namespace/name.
        endpoints: where the APIs of clouds are, by kind of node class; without one, where the provider knows it to be.
        simulated_machines: whether simulated machines are bought beside real Nodes; None: as the worker that buys them
            has written on their classes.
        now: the time, UTC.
        packers: give each round what puts its pods on machines.
        watched_for: for how long worker and API server have been there together.
    """
    known = endpoints or {}
    providers = connected(
        provider_kinds(),
        lambda kind: Surroundings(
            cluster, cluster_name, namespace, now, cluster_uid=cluster_uid, endpoint=known.get(kind), reader=reader
        ),
    )
    return Ports(
        cluster=cluster,
        reader=reader,
        providers=providers,
        now=now,
        cluster_name=cluster_name,
        namespace=namespace,
        accounts={kind.kind: kind.account for kind in provider_kinds()},
        templates=templates(),
        simulated=SimulatedKinds(
            {kind.kind: kind.is_simulated for kind in provider_kinds() if kind.is_simulated is not None},
            simulated_machines,
        ),
        cluster_uid=cluster_uid,
        watched_since=followed_since(reader, NODES, now, watched_for) if isinstance(reader, Cache) else lambda: None,
        own_pods=own_pods,
        packers=packers,
        watched_for=watched_for,
    )
