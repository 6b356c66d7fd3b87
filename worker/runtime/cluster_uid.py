"""Whether this worker's cluster is the one that bears its name: by the uid of the namespace kube-system.

Names are chosen, and `default` is what is chosen without a thought. Two clusters of one name would share workflows in
one Temporal namespace, and take each other's servers for orphans in one project of a cloud.
"""

import asyncio
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, Final

import structlog
from temporalio.client import Client

from activities.garbage.adopt import why_namesakes
from activities.garbage.look import in_use, list_servers
from activities.ports.cluster import Cluster, Resource
from activities.ports.errors import Forbidden, GrowthError
from activities.ports.identity import ClusterIdentity
from activities.ports.ports import Ports
from planner.model.round import planner_workflow_id
from worker.errors import USAGE_ERROR, CommandError
from worker.log_once import LogOnce
from worker.ports import OLDEST_NAMESPACE, cluster_uid, watched
from worker.unreadable_cluster import trouble, unlistable

log = structlog.stdlib.get_logger(__name__)

CLUSTER_UID_MEMO: Final = "growth-cluster-uid"
"""In the memo of the planner workflow: the uid of the cluster whose machines it plans."""
ASK_AGAIN_SECONDS: Final = 2.0
LIST_LIMIT: Final = timedelta(seconds=20)
"""A worker starts without an answer of a cloud that hangs: its sweeps look again, and touch nobody else's servers."""


async def await_cluster_uid(cluster: Cluster, waiting_for: Callable[[str], None]) -> str:
    """Return the uid of the cluster's namespace kube-system; tries for ever.

    Who may not read it often lacks more: so all rights that are missing are told at once.

    Args:
        cluster: a connection to it.
        waiting_for: is told of the missing answer, with the reason of the last try.
    """
    warnings, subject = LogOnce(log), f"Namespace {OLDEST_NAMESPACE}, whose uid is the cluster's"
    unlisted: Collection[Resource] = watched()
    waiting_for(subject)
    while True:
        try:
            return await cluster_uid(cluster)
        except (GrowthError, TimeoutError) as error:
            reason = str(error) or "the API server did not answer in time"
            if isinstance(error, Forbidden):
                # What could be listed once is not listed again: there may be much of it.
                failures = await unlistable(cluster, unlisted)
                unlisted = failures
                reason = "; ".join(filter(None, (reason, trouble(failures))))
            waiting_for(f"{subject}: {reason}")
            warnings.warn(f"waiting for {subject}: {reason}")
        await asyncio.sleep(ASK_AGAIN_SECONDS)


async def planner_uid(client: Client, cluster_name: str) -> str:
    """Return the uid of the cluster whose planner runs under this name; empty if an earlier version started it.

    Raises:
        RPCError: Temporal does not answer, or no planner has run.
    """
    planner = await client.get_workflow_handle(planner_workflow_id(cluster_name)).describe()
    memo: dict[str, Any] = dict(await planner.memo())
    return str(memo.get(CLUSTER_UID_MEMO, ""))


def check_planner(identity: ClusterIdentity, planned_for: str, namespace: str) -> None:
    """Do nothing if the planner of this name is of this cluster.

    Args:
        identity: of this cluster.
        planned_for: uid of the planner's cluster.
        namespace: in Temporal.

    Raises:
        CommandError: it is of another one.
    """
    if planned_for not in {"", identity.uid}:
        raise CommandError(
            f"the planner of cluster {identity.name} in Temporal namespace {namespace} is another Kubernetes cluster's "
            f"(its {OLDEST_NAMESPACE} has the uid {planned_for}, this one's {identity.uid}), and nothing is done: give "
            "this cluster another name (GROWTH_CLUSTER) or another Temporal namespace (GROWTH_TEMPORAL_NAMESPACE); if "
            f"the other cluster is gone, terminate workflow {planner_workflow_id(identity.name)}",
            USAGE_ERROR,
        )


async def check_servers(ports: Ports) -> None:
    """Do nothing if no other cluster has servers under this one's name; a provider that does not answer is passed over.

    Raises:
        CommandError: another one has.
    """
    namesakes = []
    try:
        async with asyncio.timeout(LIST_LIMIT.total_seconds()):
            for kind, provider in (await in_use(ports)).items():
                try:
                    namesakes += (await list_servers(ports, kind, provider)).namesakes
                except GrowthError as error:
                    log.warning("servers are not looked at before the start", kind=kind, error=str(error))
    except (GrowthError, TimeoutError) as error:
        log.warning("servers are not looked at before the start", error=str(error) or "no answer in time")
    if namesakes:
        raise CommandError(f"nothing is done: {why_namesakes(ports.identity, namesakes)}", USAGE_ERROR)
