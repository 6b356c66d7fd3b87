"""Whether the Node of a request can take its planned pods, and whether the scheduler has tried these since."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from activities.objects.nodes import taints_of
from activities.ports.cluster import PODS, Cluster, Object, find_object
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequestStatus, Seat
from planner.lifecycle.json_predicates import is_waiting
from planner.lifecycle.step import shortened
from planner.objects.kinds import Taint
from planner.parsing.json_part import FieldError, Part
from planner.supply.observed.learned import amounts
from planner.supply.startup import still_missing

_LOOKED_AT: Final = 5
"""Pods of a machine that are read to see whether the scheduler has tried one: it comes to all of them in one go."""


def missing_on(node: Object, pool: NodePool | None, status: NodeRequestStatus) -> str:
    """Return what the Node lacks for planned pods beside its readiness; an empty text when nothing.

    Amounts that cannot be read are none that are missed.
    """
    taints = [Taint(one["key"], one.get("value", ""), one["effect"]) for one in taints_of(node)]
    planned = {} if status.planned_allocatable is None else amounts(status.planned_allocatable)
    try:
        allocatable = Part(node).part("status").amounts("allocatable")
    except FieldError:
        allocatable, planned = {}, {}
    return shortened("; ".join(still_missing(taints, allocatable, pool, planned)))


async def has_been_tried(cluster: Cluster, seats: Sequence[Seat], awaited: int, node: Object) -> bool | None:
    """Return whether the scheduler has tried a planned pod since the Node's taints are what they are; None: not known.

    It writes what it found on a pod that it cannot bind, and what it finds changes with the taints of a Node. Both
    times are the API server's, which notes when which fields were written.

    Args:
        cluster: where the pods are.
        seats: the planned pods.
        awaited: how many of them are not bound.
        node: their Node, read live, not from a cache.
    """
    opened = _latest(entry["time"] for entry in _writes(node) if _has_taints(entry))
    if awaited < len(seats):
        return True
    if opened is None:
        return None
    is_known = False
    for seat in seats[:_LOOKED_AT]:
        pod = await find_object(cluster, PODS, seat.name, namespace=seat.namespace)
        if pod is None or pod["metadata"]["uid"] != seat.uid:
            continue
        tried = _latest(entry["time"] for entry in _writes(pod) if entry.get("subresource") == "status")
        if not is_waiting(pod) or (tried is not None and tried >= opened):
            return True
        is_known = is_known or any(_writes(pod))
    return False if is_known else None


def _writes(item: Object) -> Iterator[Mapping[str, Any]]:
    """Yield who wrote which fields of the object, as far as there is a time."""
    for entry in item["metadata"].get("managedFields") or ():
        if entry.get("time"):
            yield entry


def _has_taints(entry: Mapping[str, Any]) -> bool:
    return "f:taints" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})


def _latest(times: Iterable[str]) -> datetime | None:
    """Return the latest of the API server's times, which are whole seconds."""
    return max((datetime.fromisoformat(text) for text in times), default=None)
