"""What the API server does with a kind beyond storing it: status subresource, generation, first status, grace.

Source: measured on kube-apiserver 1.36; the conformance suite keeps it true.
"""

from collections.abc import Mapping
from typing import Final

from activities.ports.cluster import (
    CRDS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    Object,
    Resource,
)

_WITHOUT_STATUS: Final = frozenset(
    {
        "configmaps",
        "csinodes",
        "events",
        "leases",
        "limitranges",
        "priorityclasses",
        "secrets",
        "serviceaccounts",
        "storageclasses",
    }
)
_WITHOUT_GENERATION: Final = _WITHOUT_STATUS | {
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "volumeattachments",
}
_FIRST_STATUS: Final[Mapping[Resource, Object]] = {
    PODS: {"phase": "Pending"},
    NAMESPACES: {"phase": "Active"},
    PERSISTENT_VOLUMES: {"phase": "Pending"},
    PERSISTENT_VOLUME_CLAIMS: {"phase": "Pending"},
    CRDS: {"conditions": [{"type": "Established", "status": "True"}]},
}
_DEFAULT_GRACE_SECONDS: Final = 30


def has_status(resource: Resource) -> bool:
    """Return whether the status of the kind is written through its own subresource."""
    return resource.plural not in _WITHOUT_STATUS


def has_generation(resource: Resource) -> bool:
    """Return whether metadata.generation counts the changes of the wish."""
    return resource.plural not in _WITHOUT_GENERATION


def is_custom(resource: Resource) -> bool:
    """Return whether the kind is defined by a CustomResourceDefinition: its group is a domain of others."""
    return "." in resource.group and not resource.group.endswith(".k8s.io")


def first_status(resource: Resource, sent: Object | None) -> Object | None:
    """Return the status of an object at its creation; None for none.

    Only a Node keeps what its creator sent, because a kubelet registers itself with its capacity.
    """
    if resource == NODES or not has_status(resource):
        return sent
    first = _FIRST_STATUS.get(resource)
    return dict(first) if first else None


def grace_seconds(resource: Resource, item: Object) -> int:
    """Return the seconds that a deleted object stays for its kubelet to stop it: only bound, unfinished pods do."""
    if resource != PODS or not item.get("spec", {}).get("nodeName"):
        return 0
    if item.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return 0
    return int(item["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS))
