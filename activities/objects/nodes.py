"""Nodes as lifecycles see and change them: whose they are, their taints and labels.

Taints are one atomic list with several owners, so a change replaces the list as it was read, on
condition of the Node's resourceVersion. Source: docs/design.md#keys.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from activities.kube.json_patch import escape, guarded, set_field
from activities.ports.cluster import NODES, Cluster, Object, PatchOp, find_object
from api.keys import (
    ANNOTATION_DO_NOT_REMOVE,
    EXCLUDED_BY_GROWTH,
    LABEL_EXCLUDED,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    TAINT_RESERVED,
    TAINT_SCALE_DOWN,
    TAINT_UNREGISTERED,
)
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.json_predicates import is_ready
from planner.lifecycle.seen import NodeSeen
from planner.objects.provider_ids import NodeMarks, ServerMarks, is_same_machine
from planner.supply import node_template
from planner.supply.node_template import pool_taints

Taint = dict[str, str]
"""key, value, effect, as in the API."""

UNREGISTERED: Final[Taint] = {"key": TAINT_UNREGISTERED, "effect": "NoSchedule"}
"""The taint with which a machine starts."""


def reserved(request: str) -> Taint:
    """Return the taint of a request's reservation."""
    return {"key": TAINT_RESERVED, "value": request, "effect": "NoSchedule"}


def scale_down(unix_seconds: int) -> Taint:
    """Return the taint of a cool-off that began then."""
    return {"key": TAINT_SCALE_DOWN, "value": str(unix_seconds), "effect": "NoSchedule"}


def without_exclusion(node: Object) -> dict[str, str | None]:
    """Return the change of labels that brings the Node back to load balancers, if it was Growth that took it off."""
    return {LABEL_EXCLUDED: None} if exclusion(node) == EXCLUDED_BY_GROWTH else {}


def exclusion(node: Object) -> str | None:
    """Return the value of the label by which load balancers leave the Node out, None if it has none."""
    return (node["metadata"].get("labels") or {}).get(LABEL_EXCLUDED)


def taints_of(node: Object) -> list[Taint]:
    """Return the Node's taints."""
    return list(node.get("spec", {}).get("taints") or ())


def has_taint(node: Object, key: str, value: str | None = None) -> bool:
    """Return whether the Node carries a taint of this key, and of this value if one is given."""
    return any(taint["key"] == key and (value is None or taint.get("value", "") == value) for taint in taints_of(node))


def own_labels(request: NodeRequest) -> dict[str, str]:
    """Return the labels of the request's server and Node, which tell whose machine it is."""
    spec, metadata = request.spec, request.metadata
    return node_template.own_labels(spec.pool, spec.server_type, metadata.name, metadata.uid)


def template_taints(pool: NodePool) -> list[dict[str, str]]:
    """Return the taints that the pool gives to its Nodes, as in the API."""
    return [
        {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
        for taint in pool_taints(pool)
    ]


def see_node(node: Object, request: str, missing: str = "") -> NodeSeen:
    """Return the Node of the machine named `request` as the step functions take it, and what it still lacks."""
    metadata = node["metadata"]
    return NodeSeen(
        name=metadata["name"],
        ready=is_ready(node),
        missing=missing,
        unregistered=has_taint(node, TAINT_UNREGISTERED),
        reserved=has_taint(node, TAINT_RESERVED, request),
        scale_down=has_taint(node, TAINT_SCALE_DOWN),
        keep=bool((metadata.get("annotations") or {}).get(ANNOTATION_DO_NOT_REMOVE)),
    )


async def get_node(cluster: Cluster, name: str) -> Object | None:
    """Return the Node of this name, whoever made it, or None if there is none."""
    return await find_object(cluster, NODES, name)


def is_of(node: Object, *, request_uid: str | None, provider_id: str | None) -> bool:
    """Return whether the Node, whose name it bears, is that of the machine with these marks: `is_same_machine`."""
    return is_same_machine(marks_of(node), ServerMarks(request_uid or "", provider_id or ""))


def marks_of(node: Object) -> NodeMarks:
    """Return what the Node says of its machine."""
    return NodeMarks(
        request_uid=str((node["metadata"].get("labels") or {}).get(LABEL_REQUEST_UID) or ""),
        provider_id=str(node.get("spec", {}).get("providerID") or ""),
        is_unregistered=has_taint(node, TAINT_UNREGISTERED),
    )


def request_of(node: Object) -> str:
    """Return the name of the request that made the machine, as the Node tells it; empty if Growth did not make it."""
    metadata = node["metadata"]
    labelled = (metadata.get("labels") or {}).get(LABEL_REQUEST)
    if labelled:
        return str(labelled)
    # One that is not registered yet may come without labels; it bears the name of its request.
    return str(metadata["name"]) if has_taint(node, TAINT_UNREGISTERED) else ""


async def change_node(
    cluster: Cluster,
    node: Object,
    *,
    taints: Sequence[Taint] | None = None,
    labels: Mapping[str, str | None] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Give the Node exactly `taints`, and labels and annotations besides its others, and return it.

    What is None stays as it is, but for a label, which goes; without any change nothing is written.

    Raises:
        Conflict: it has changed since it was read; nothing was written.
        NotFound: it does not exist any more.
    """
    operations: list[PatchOp] = []
    if taints is not None and list(taints) != taints_of(node):
        operations += set_field(node, ("spec", "taints"), list(taints) or None)
    for key, value in (labels or {}).items():
        if value is None:
            operations += set_field(node, ("metadata", "labels", key), None)
    operations += _added(node, "labels", {key: value for key, value in (labels or {}).items() if value is not None})
    operations += _added(node, "annotations", annotations or {})
    if not operations:
        return node
    return await cluster.patch(NODES, node["metadata"]["name"], guarded(node, operations))


def _added(node: Object, field: str, wanted: Mapping[str, str]) -> list[PatchOp]:
    present = node["metadata"].get(field) or {}
    missing = {key: value for key, value in wanted.items() if present.get(key) != value}
    if missing and not present:
        return [{"op": "add", "path": f"/metadata/{field}", "value": missing}]
    return [{"op": "add", "path": f"/metadata/{field}/{escape(key)}", "value": value} for key, value in missing.items()]


async def lift_taint(cluster: Cluster, node: Object, key: str, value: str | None = None) -> Object:
    """Take the taint of this key, and of this value if one is given, off the Node, and return it.

    Raises:
        Conflict: it has changed since it was read; nothing was written.
        NotFound: it does not exist any more.
    """
    remaining = [
        taint
        for taint in taints_of(node)
        if taint["key"] != key or (value is not None and taint.get("value", "") != value)
    ]
    return await change_node(cluster, node, taints=remaining)
