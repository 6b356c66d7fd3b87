"""What a cache keeps of an object: of kinds that are read for a few fields, nothing else."""

from collections.abc import Mapping
from typing import Any, Final

from activities.ports.cluster import (
    CSI_NODES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Object,
    Resource,
)

_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
_FIELDS: Final[Mapping[Resource, frozenset[str]]] = {
    NAMESPACES: _IDENTITY,
    PERSISTENT_VOLUME_CLAIMS: _IDENTITY | {"spec", "status"},
    PERSISTENT_VOLUMES: _IDENTITY | {"spec", "status"},
    STORAGE_CLASSES: _IDENTITY | {"provisioner", "volumeBindingMode", "allowedTopologies"},
    CSI_NODES: _IDENTITY | {"spec"},
}
"""Fields kept of a kind; of a kind that is not here, all."""
_BULKY: Final = "kubectl.kubernetes.io/last-applied-configuration"


def kept(resource: Resource, item: Object) -> Object:
    """Return the object without what no decision reads.

    Who wrote which field goes, of every kind: it is up to half of an object. So does, of the kinds that nothing
    but a plan looks at, what `kubectl apply` has noted, which is the object once more; and of Nodes the list of
    their container images, which is most of a Node.
    """
    metadata: dict[str, Any] = item["metadata"]
    metadata.pop("managedFields", None)
    if resource == NODES:
        item.get("status", {}).pop("images", None)
    fields = _FIELDS.get(resource)
    if fields is None:
        return item
    (metadata.get("annotations") or {}).pop(_BULKY, None)
    return {key: value for key, value in item.items() if key in fields}
