"""The subresources of a kind, and what a patch of each changes.

Source: Kubernetes API reference, Scale of autoscaling/v1; Kubernetes docs, "Resize CPU and Memory Resources assigned
to Containers"; the conformance suite keeps both true.
"""

from collections.abc import Sequence
from typing import Any, Final

from activities.ports.cluster import PODS, Object, PatchOp, Resource
from activities.ports.errors import NotFound
from simulator.apiserver.copying import copy_json
from simulator.apiserver.kinds import has_status
from simulator.apiserver.patching import apply, patched

_SCALED: Final = frozenset({"deployments", "replicasets", "statefulsets"})
_RESIZED: Final = ("resources", "resizePolicy")
"""Parts of a container that the subresource `resize` writes; all else stays, without a word."""


def patched_subresource(
    resource: Resource, stored: Object, operations: Sequence[PatchOp], subresource: str | None
) -> Object:
    """Return what `stored` becomes by a patch of itself or of one of its subresources.

    Raises:
        NotFound: the kind has no such subresource.
        Conflict: a `test` failed.
        Rejected: an operation cannot be applied, or the result is invalid.
    """
    if subresource is None:
        return patched(resource, stored, operations, is_status=False)
    if subresource == "status" and has_status(resource):
        return patched(resource, stored, operations, is_status=True)
    if subresource == "scale" and resource.plural in _SCALED:
        scale = apply(f"{resource.kind} {stored['metadata']['name']}", scale_of(stored), operations)
        replicas = {"op": "add", "path": "/spec/replicas", "value": scale.get("spec", {}).get("replicas", 0)}
        version = {"op": "test", "path": "/metadata/resourceVersion", "value": scale["metadata"]["resourceVersion"]}
        return patched(resource, stored, [version, replicas], is_status=False)
    if subresource == "resize" and resource == PODS:
        wanted = apply(f"Pod {stored['metadata']['name']}", copy_json(stored), operations)
        return patched(resource, stored, _resizes(stored, wanted), is_status=False, is_resize=True)
    raise NotFound(f"{resource.plural} {stored['metadata']['name']!r}: the kind has no subresource {subresource}")


def scale_of(stored: Object) -> Object:
    """Return the object's subresource `scale`."""
    metadata = {key: stored["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
    replicas = stored["spec"].get("replicas", 1)
    labels = stored["spec"].get("selector", {}).get("matchLabels", {})
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {**metadata, "creationTimestamp": stored["metadata"]["creationTimestamp"]},
        # None at all is left out.
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": stored.get("status", {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def _resizes(stored: Object, wanted: Object) -> list[PatchOp]:
    pairs = zip(stored["spec"].get("containers", ()), wanted["spec"].get("containers", ()), strict=False)
    return [
        {"op": "add", "path": f"/spec/containers/{number}/{part}", "value": new[part]}
        for number, (old, new) in enumerate(pairs)
        for part in _RESIZED
        if _is_changed(old, new, part)
    ]


def _is_changed(old: dict[str, Any], new: dict[str, Any], part: str) -> bool:
    return part in new and new[part] != old.get(part)
