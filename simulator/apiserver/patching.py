"""What a patch may change: JSON patch (RFC 6902), then the API server's own rules on the result."""

from collections.abc import Sequence
from typing import Final

import jsonpatch

from activities.ports.cluster import PODS, Object, PatchOp, Resource
from activities.ports.errors import Conflict, Rejected
from simulator.apiserver.copying import checked_json, copy_json
from simulator.apiserver.kinds import has_generation, has_status, is_custom

_SET_BY_SERVER: Final = ("creationTimestamp", "generation")
_SET_BY_DELETION: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")
_MAY_BE_EMPTY: Final = ("annotations", "finalizers", "labels", "ownerReferences")
_TOP_LEVEL: Final = ("apiVersion", "kind")


def apply(name: str, read: Object, operations: Sequence[PatchOp]) -> Object:
    """Return what `read` becomes by the operations alone; it may be changed in place.

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
    """Return what `stored` becomes, its resourceVersion unchanged; `stored` itself is not touched.

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
    kept = old.get("tolerations") or []
    offered = new.get("tolerations") or []
    if any(toleration not in offered for toleration in kept):
        raise Rejected(f"{name}: spec.tolerations: existing ones cannot be changed or removed")
    if {**old, "tolerations": None} != {**new, "tolerations": None}:
        raise Rejected(f"{name}: spec: only tolerations may be added")


def _wish(resource: Resource, item: Object) -> Object:
    """Return what counts as the wish: the whole object of a custom kind, the spec of a built-in one."""
    if not is_custom(resource):
        return item.get("spec") or {}
    return {key: value for key, value in item.items() if key not in {"metadata", "status"}}
