"""Servers with the cluster's name and without its uid: an earlier version made them, perhaps another cluster's.

What is proven to be this cluster's is marked; the rest is told of, and never removed.
"""

import logging
from collections.abc import Collection, Iterable
from typing import Final

from activities.garbage.look import Providers
from activities.ports.errors import GrowthError, RateLimited
from activities.ports.identity import ClusterIdentity
from activities.ports.provider import Server
from api.keys import LABEL_CLUSTER_UID, LABEL_REQUEST_UID
from planner.lifecycle.garbage import GarbageSeen, ServerFact

MARKED_AT_ONCE: Final = 20
"""Servers that one sweep marks: each costs two calls of an account that may make few; the rest comes next."""
_NAMED: Final = 5

log = logging.getLogger(__name__)


Proofs = Collection[tuple[str, str]]
"""Names of this cluster's machines, each with the uid of the request that made it."""


def proofs_of(seen: GarbageSeen) -> Proofs:
    """Return the machines that a request or a Node of this cluster speaks for."""
    requests = {(request.name, request.uid) for request in seen.requests.values()}
    return requests | {(node.name, node.request_uid) for node in seen.nodes if node.request_uid}


async def adopt(
    identity: ClusterIdentity, providers: Providers, servers: Iterable[ServerFact], proofs: Proofs
) -> tuple[ServerFact, ...]:
    """Mark the servers that a request or a Node here proves to be this cluster's; return those without a proof.

    What cannot be marked now is marked by the next sweep.
    """
    unproven = [server for server in servers if not server.is_proven]
    proven = [server for server in unproven if (server.name, server.request_uid) in proofs]
    for server in proven[:MARKED_AT_ONCE]:
        labels = {LABEL_CLUSTER_UID: identity.uid}
        try:
            await providers[server.class_kind].label(server.name, labels, server.class_name or None)
        except RateLimited as error:
            log.info("servers of an earlier version are marked later: %s", error)
            break
        except GrowthError as error:
            log.warning("server %s could not be labelled %s: %s", server.name, LABEL_CLUSTER_UID, error)
        else:
            log.info("server %s of an earlier version was labelled %s", server.name, LABEL_CLUSTER_UID)
    return tuple(server for server in unproven if (server.name, server.request_uid) not in proofs)


def why_unproven(identity: ClusterIdentity, servers: Collection[ServerFact]) -> str:
    """Return what people are told of servers that nothing here proves to be this cluster's."""
    return (
        f"{_names([server.name for server in servers])} of cluster {identity.name} without the label "
        f"{LABEL_CLUSTER_UID}, and without a NodeRequest or Node here that has their {LABEL_REQUEST_UID}: they stay, "
        "as another cluster may bear the same name. Delete at the provider those that nobody needs; label "
        f"{LABEL_CLUSTER_UID}={identity.uid} those that are this cluster's"
    )


def why_namesakes(identity: ClusterIdentity, servers: Collection[Server]) -> str:
    """Return what people are told when another cluster has this one's name."""
    uids = sorted({server.labels.get(LABEL_CLUSTER_UID, "") for server in servers})
    return (
        f"Another Kubernetes cluster is named {identity.name} too, and buys in the same project: "
        f"{_names([server.name for server in servers])} with {LABEL_CLUSTER_UID}={','.join(uids)}, and this cluster's "
        f"is {identity.uid}. None of them is touched. Give one of the two clusters another name (GROWTH_CLUSTER), or "
        "delete these servers at the provider if their cluster is gone"
    )


def _names(names: Collection[str]) -> str:
    listed = sorted(names)
    rest = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{len(listed)} server{'s' if len(listed) > 1 else ''} ({', '.join(listed[:_NAMED])}{rest})"
