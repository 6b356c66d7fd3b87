"""Conditions of pods and nodes, which other parts of Kubernetes write and Growth only reads."""

from datetime import datetime
from typing import Literal

from activities.kube.json_patch import set_field
from activities.ports.cluster import Object, PatchOp
from api.meta import format_timestamp


def with_condition(
    read: Object,
    kind: str,
    status: Literal["True", "False", "Unknown"],
    *,
    reason: str,
    message: str = "",
    now: datetime,
) -> list[PatchOp]:
    """Return the operations that set the condition, none when it already says the same.

    As in Kubernetes, the time of transition moves with the status and not with the message.
    """
    conditions = read.get("status", {}).get("conditions") or []
    before = next((c for c in conditions if c["type"] == kind), None)
    wanted = {"type": kind, "status": status, "reason": reason, "message": message}
    if before is not None and all(before.get(key) == value for key, value in wanted.items()):
        return []
    moved = before is None or before["status"] != status
    wanted["lastTransitionTime"] = format_timestamp(now) if moved or before is None else before["lastTransitionTime"]
    others = [c for c in conditions if c["type"] != kind]
    return set_field(read, ("status", "conditions"), [*others, wanted])


def condition_status(read: Object, kind: str) -> str:
    """Return the status of a condition, empty when it is not set."""
    conditions = read.get("status", {}).get("conditions") or ()
    return next((c["status"] for c in conditions if c["type"] == kind), "")
