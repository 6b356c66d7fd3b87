"""JSON patches that apply only to the object that was read: `test` on uid and resourceVersion first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from activities.ports.cluster import Cluster, Object, PatchOp, Resource
from activities.ports.errors import Conflict


def guarded(read: Object, operations: Sequence[PatchOp]) -> list[PatchOp]:
    """Return `operations` behind tests that the object is still the one that was read.

    Source: docs/design.md#keys; taints, tolerations and finalizers are atomic lists with several owners.
    """
    metadata = read["metadata"]
    return [
        {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        *operations,
    ]


def set_field(read: Object, path: Sequence[str], value: Any) -> list[PatchOp]:
    """Return the operations that set the field at `path`, making the maps on the way; None removes it."""
    operations: list[PatchOp] = []
    here: Any = read
    pointer = ""
    for key in path[:-1]:
        pointer += f"/{escape(key)}"
        here = here.get(key) if isinstance(here, Mapping) else None
        if here is None:
            if value is None:
                return operations
            operations.append({"op": "add", "path": pointer, "value": {}})
    pointer += f"/{escape(path[-1])}"
    if value is not None:
        operations.append({"op": "add", "path": pointer, "value": value})
    elif isinstance(here, Mapping) and path[-1] in here:
        operations.append({"op": "remove", "path": pointer})
    return operations


def escape(key: str) -> str:
    """Return `key` as one part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


async def patch_if_same(
    cluster: Cluster,
    resource: Resource,
    read: Object,
    operations: Callable[[Object], Sequence[PatchOp]],
    is_same: Callable[[Object], bool],
    *,
    subresource: str | None = None,
) -> Object:
    """Patch a cluster-scoped object on condition that it is as it was read, and return it.

    When it changed, it is read again, and patched if `is_same` says that nothing changed on which
    the patch was decided.

    Raises:
        NotFound: it does not exist any more.
        Conflict: it is another object, or differs in what matters, or keeps changing.
        Rejected: the result is invalid.
    """
    name = read["metadata"]["name"]
    try:
        return await cluster.patch(resource, name, guarded(read, operations(read)), subresource=subresource)
    except Conflict:
        # Once: who meets a second conflict decides anew on what the next look or round reads.
        live = await cluster.get(resource, name)
        if live["metadata"]["uid"] != read["metadata"]["uid"] or not is_same(live):
            raise
        return await cluster.patch(resource, name, guarded(live, operations(live)), subresource=subresource)
