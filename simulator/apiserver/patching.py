"""What a patch may change: JSON patch (RFC 6902), then the API server's own rules on the object or its subresource.

Source: Kubernetes API reference, Scale of autoscaling/v1; Kubernetes docs, "Resize CPU and Memory Resources assigned
to Containers"; the conformance suite keeps both true.
"""

from collections.abc import Sequence
from typing import Any, Final

import jsonpatch

from activities.ports.cluster import PODS, Object, PatchOp, Resource
from activities.ports.errors import Conflict, NotFound, Rejected
from simulator.apiserver.copying import checked_json, copy_json
from simulator.apiserver.kinds import has_generation, has_status, is_custom

_SET_BY_SERVER: Final = ("creationTimestamp", "generation")
_SET_BY_DELETION: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")
_MAY_BE_EMPTY: Final = ("annotations", "finalizers", "labels", "ownerReferences")
_TOP_LEVEL: Final = ("apiVersion", "kind")


_SCALED: Final = frozenset({"deployments", "replicasets", "statefulsets"})
_RESIZED: Final = ("resources", "resizePolicy")
"""Parts of a container that the subresource `resize` writes; all else stays, without a word."""


def apply(name: str, read: Object, operations: Sequence[PatchOp]) -> Object:
    """Return the result of the operations alone on `read`, which may be changed in place.

    Raises:
        Conflict: a `test` failed.
        Rejected: an operation cannot be applied.
    """
    try:
        return jsonpatch.JsonPatch(checked_json(operations)).apply(read, in_place=True)
    except jsonpatch.JsonPatchTestFailed as failure:
        raise Conflict(f"{name}: {failure}") from failure
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as failure:
        raise Rejected(f"{name}: the patch cannot be applied: {failure}") from failure


def patched(
    resource: Resource, stored: Object, operations: Sequence[PatchOp], *, is_status: bool, is_resize: bool = False
) -> Object:
    """Return the patched object, its resourceVersion unchanged; `stored` itself is not touched.

    Raises:
        Conflict: a `test` failed, or resourceVersion was set to another than the stored one.
        Rejected: an operation cannot be applied, or the result is invalid.
    """
    name = f"{resource.kind} {stored['metadata']['name']}"
    result = apply(name, copy_json(stored), operations)
    _check_identity(name, stored, result)
    _keep_what_others_own(resource, stored, result, is_status=is_status)
    _check_finalizers(name, stored, result)
    drop_empty_metadata(result)
    if resource == PODS and not (is_status or is_resize):
        _check_pod_spec(name, stored.get("spec", {}), result.get("spec", {}))
    if has_generation(resource) and _wish(resource, result) != _wish(resource, stored):
        result["metadata"]["generation"] = stored["metadata"]["generation"] + 1
    return result


def drop_empty_metadata(item: Object) -> None:
    """Drop the empty lists and maps of metadata, as the API server does when it stores an object."""
    for key in _MAY_BE_EMPTY:
        if not item["metadata"].get(key, True):
            del item["metadata"][key]


def _check_identity(name: str, stored: Object, result: Object) -> None:
    old, new = stored["metadata"], result.get("metadata")
    if not isinstance(new, dict):
        raise Rejected(f"{name}: metadata must stay an object")
    for key, error in (("uid", Rejected), ("resourceVersion", Conflict)):
        if new.get(key, old[key]) != old[key]:
            raise error(f"{name}: {key} is {old[key]}, not {new[key]}")
        new[key] = old[key]
    if new.get("name") != old["name"] or new.get("namespace") != old.get("namespace"):
        raise Rejected(f"{name}: name and namespace cannot be changed")
    for key in _SET_BY_DELETION:
        if key in new and new[key] != old.get(key):
            raise Rejected(f"{name}: metadata.{key} cannot be set: delete the object instead")
    if any(result.get(key) != stored[key] for key in _TOP_LEVEL):
        raise Rejected(f"{name}: apiVersion and kind cannot be changed")


def _keep_what_others_own(resource: Resource, stored: Object, result: Object, *, is_status: bool) -> None:
    """Undo, without a word, changes of fields that this endpoint does not write."""
    for key in (*_SET_BY_SERVER, *_SET_BY_DELETION):
        _restore(stored["metadata"], result["metadata"], key)
    if not has_status(resource):
        return
    if not is_status:
        _restore(stored, result, "status")
    elif is_custom(resource):
        for key in (set(stored) | set(result)) - {"status"}:
            _restore(stored, result, key)
    else:
        _restore(stored, result, "spec")


def _restore(stored: Object, result: Object, key: str) -> None:
    if key in stored:
        result[key] = copy_json(stored[key])
    else:
        result.pop(key, None)


def _check_finalizers(name: str, stored: Object, result: Object) -> None:
    if "deletionTimestamp" not in stored["metadata"]:
        return
    added = set(result["metadata"].get("finalizers") or ()) - set(stored["metadata"].get("finalizers") or ())
    if added:
        raise Rejected(f"{name}: metadata.finalizers: {', '.join(sorted(added))}: none can be added during deletion")


def _check_pod_spec(name: str, old: Object, new: Object) -> None:
    """Refuse all changes but added tolerations.

    Source: Kubernetes docs, "Pod update and replacement". Images, deadlines and gates may change too on
    an API server; nothing here does that.
    """
    before = old.get("tolerations") or []
    offered = new.get("tolerations") or []
    if any(toleration not in offered for toleration in before):
        raise Rejected(f"{name}: spec.tolerations: existing ones cannot be changed or removed")
    if {**old, "tolerations": None} != {**new, "tolerations": None}:
        raise Rejected(f"{name}: spec: only tolerations may be added")


def _wish(resource: Resource, item: Object) -> Object:
    """Return the part that `generation` counts: the whole object of a custom kind, the spec of a built-in one."""
    if not is_custom(resource):
        return item.get("spec") or {}
    return {key: value for key, value in item.items() if key not in {"metadata", "status"}}


def patched_subresource(
    resource: Resource, stored: Object, operations: Sequence[PatchOp], subresource: str | None
) -> Object:
    """Return `stored` after a patch of itself or of one of its subresources.

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
