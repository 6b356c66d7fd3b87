"""What CapacityBuffers are told: how many pods count, whether they have room, and why not.

The conditions are those of Cluster Autoscaler, with reasons that tell who has written them. Only what changes is
written, and on the very version that was read: whoever else answers at the same time is not overwritten.
"""

from datetime import datetime
from typing import Any, Final

from activities.kube.json_patch import guarded, set_field
from activities.ports.cluster import Cluster, Object, Resource
from activities.round.capacity_buffers import ObservedBuffers
from activities.round.fence import RoundWrites
from api.meta import format_timestamp
from api.quantity import rounded_amounts
from planner.model.plan import Plan, Reason
from planner.objects.capacity_buffer import CapacityBuffer
from planner.parsing.capacity_buffers import (
    ACTIVE_CAPACITY,
    NO_ROOM,
    PROVISIONING,
    READ,
    READY,
    ROOM_KEPT,
    conditions_of,
)

_LONGEST: Final = 1000
"""Of a message; the API takes 32,768 characters."""
_FIELDS: Final = frozenset({"conditions", "replicas", "podTemplateRef", "podTemplateGeneration"})
"""Those that are written anew."""


async def answer_buffers(
    cluster: Cluster, writes: RoundWrites, observed: ObservedBuffers, plan: Plan, now: datetime
) -> None:
    """Tell each buffer that is served what the plan means for it, where it does not say so yet."""
    due: list[tuple[Resource, Object, Object]] = []
    for buffer in observed.buffers:
        resource, item = observed.objects[buffer.uid]
        status = status_of(item, buffer, plan.short_buffers.get(buffer.key), now)
        if _compared(status) != _compared(item.get("status") or {}):
            due.append((resource, item, status))
    await writes.each(
        due,
        lambda each: f"status of CapacityBuffer {each[1]['metadata'].get('namespace')}/{each[1]['metadata']['name']}",
        lambda each: _write(cluster, *each),
    )


def status_of(item: Object, buffer: CapacityBuffer, short: Reason | None, now: datetime) -> Object:
    """Return the status of the buffer; what others have written beside it stays."""
    own = [_condition(item, READY, buffer.code or READ, is_true=not buffer.code, message=_ready(buffer), now=now)]
    if not buffer.code:
        message = "" if short is None else f"{short.code}: {short.message}"
        reason = ROOM_KEPT if short is None else NO_ROOM
        own.append(_condition(item, PROVISIONING, reason, is_true=short is None, message=message, now=now))
    others = [each for each in conditions_of(item) if each.get("type") not in (READY, PROVISIONING)]
    before = item.get("status") or {}
    answer = {key: value for key, value in before.items() if key not in _FIELDS} | {"conditions": [*others, *own]}
    if buffer.code:
        return answer
    answer |= {"replicas": buffer.count, "provisioningStrategy": ACTIVE_CAPACITY}
    if buffer.template_name:
        answer["podTemplateRef"] = {"name": buffer.template_name}
        if buffer.template_generation is not None:
            answer["podTemplateGeneration"] = buffer.template_generation
    return answer


def _compared(status: Object) -> Object:
    """Return the status but for the field that early definitions have not, and that an API server then drops."""
    return {key: value for key, value in status.items() if key != "provisioningStrategy"}


def _ready(buffer: CapacityBuffer) -> str:
    if buffer.code or buffer.template is None:
        return buffer.message
    size = rounded_amounts({name: n for name, n in buffer.template.requests.items() if name != "pods"})
    pods = f"{buffer.count} {'pod' if buffer.count == 1 else 'pods'} of {size or 'no size'}"
    return f"{pods}: {buffer.message}" if buffer.message else pods


def _condition(item: Object, kind: str, reason: str, *, is_true: bool, message: str, now: datetime) -> dict[str, Any]:
    status = "True" if is_true else "False"
    before = next((each for each in conditions_of(item) if each.get("type") == kind), {})
    changed = before.get("status") != status or not before.get("lastTransitionTime")
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message[:_LONGEST],
        "lastTransitionTime": format_timestamp(now.replace(microsecond=0)) if changed else before["lastTransitionTime"],
        "observedGeneration": item["metadata"].get("generation", 0),
    }


async def _write(cluster: Cluster, resource: Resource, item: Object, status: Object) -> Object:
    metadata = item["metadata"]
    patch = guarded(item, set_field(item, ("status",), status))
    return await cluster.patch(
        resource, metadata["name"], patch, namespace=metadata.get("namespace"), subresource="status"
    )
