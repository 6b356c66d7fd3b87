"""The NodeRemovalRequest as it is created, whoever creates it: a round, a request that gives up, or a sweep."""

from typing import Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Object
from api.keys import FINALIZER, LABEL_POOL, LABEL_REQUEST, LABEL_REQUEST_UID, LABEL_SERVER_TYPE
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec

UNKNOWN: Final = "unknown"
"""Pool, type or location of a machine that has lost its labels: its deletion needs none of them."""


def removal_body(spec: NodeRemovalRequestSpec, *, request_uid: str | None) -> Object:
    """Return the body to create: named after the server, with the labels by which people and lifecycles select it.

    Args:
        spec: of the removal.
        request_uid: uid of the request that made the machine, None if no trace of it is left. Names are given again,
            uids are not: without it a later machine of the same name could be removed instead.
    """
    labels = {LABEL_POOL: spec.pool, LABEL_SERVER_TYPE: spec.server_type, LABEL_REQUEST: spec.server_name}
    if request_uid:
        labels[LABEL_REQUEST_UID] = request_uid
    return {
        "apiVersion": NODE_REMOVAL_REQUESTS.api_version,
        "kind": NODE_REMOVAL_REQUESTS.kind,
        "metadata": {"name": spec.server_name, "labels": labels, "finalizers": [FINALIZER]},
        "spec": spec.to_json(),
    }
