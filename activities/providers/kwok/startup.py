"""The slow start of a simulated Node: not Ready at first, with taints of its start, and without its devices."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from activities.kube.json_patch import set_field
from activities.ports.cluster import Object, PatchOp
from api.v1alpha1.kwok_node_class import KwokStartup

FAKE: Final = {"kwok.x-k8s.io/node": "fake"}
"""The annotation by which KWOK knows the Nodes that it plays, from their creation on: it takes up none later."""
UNPLAYED: Final = {"kwok.x-k8s.io/node": "unplayed"}
"""The same on a Node that nobody plays: the policies of the base let Growth create none without that annotation."""
READY_DELAY: Final = "node-initialize.stage.kwok.x-k8s.io/delay"
"""The annotation that says for how long KWOK's stage leaves the Node not Ready, named as its own stages name theirs.

Source: KWOK docs, "Stages Configuration", durationFrom.
"""

NOT_READY: Final = {
    "type": "Ready",
    "status": "False",
    "reason": "KubeletNotReady",
    "message": "the simulated kubelet starts",
}
"""The condition of a Node that joins before it is Ready."""


def startup_of(startup: KwokStartup | None) -> dict[str, Any]:
    """Return the start as a record keeps it, seconds from the end of the boot; nothing where it takes no time."""
    if startup is None:
        return {}
    taints = [taint.to_json() for taint in startup.taints] if startup.taints_for else []
    seconds = {
        "ready": startup.ready_after.total_seconds(),
        "taints": startup.taints_for.total_seconds() if taints else 0,
        "devices": startup.devices_after.total_seconds(),
    }
    return (
        {"seconds": {what: time for what, time in seconds.items() if time}, "taints": taints}
        if any(seconds.values())
        else {}
    )


def node_at(
    template: Mapping[str, Any], startup: Mapping[str, Any], age: timedelta, *, is_played: bool
) -> dict[str, Any]:
    """Return annotations, taints, capacity and allocatable of a Node that joined so long ago, from those in the end."""
    late = {what for what, seconds in startup.get("seconds", {}).items() if age < timedelta(seconds=seconds)}
    delay = {READY_DELAY: f"{startup['seconds']['ready']:g}s"} if "ready" in late else {}
    started = {
        "annotations": {**FAKE, **delay} if is_played else {},
        "taints": [*template["taints"], *(startup["taints"] if "taints" in late else ())],
    }
    for amounts in ("capacity", "allocatable"):
        known = template[amounts].items()
        started[amounts] = {name: text for name, text in known if "/" not in name or "devices" not in late}
    return started


def next_change(startup: Mapping[str, Any], joined_at: datetime, now: datetime) -> datetime | None:
    """Return when the Node changes next; None when it has started."""
    times = (joined_at + timedelta(seconds=seconds) for seconds in startup.get("seconds", {}).values())
    return min((time for time in times if time > now), default=None)


def changes(node: Object, startup: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[list[PatchOp], list[PatchOp]]:
    """Return what brings the Node on: the changes of itself and of its status; none where there is nothing to do."""
    operations: list[PatchOp] = []
    present = node["metadata"].get("annotations") or {}
    annotations = {key: text for key, text in present.items() if key != READY_DELAY} | wanted["annotations"]
    if annotations != present:
        operations += set_field(node, ("metadata", "annotations"), annotations)
    taints = node["spec"].get("taints") or []
    passing = [taint for taint in startup.get("taints", ()) if taint not in wanted["taints"]]
    remaining = [taint for taint in taints if not any(_is_same(taint, each) for each in passing)]
    if remaining != taints:
        operations += set_field(node, ("spec", "taints"), remaining or None)
    status: list[PatchOp] = []
    for amounts in ("capacity", "allocatable"):
        stated = node.get("status", {}).get(amounts) or {}
        missing = {name: text for name, text in wanted[amounts].items() if name not in stated}
        if missing:
            status += set_field(node, ("status", amounts), {**stated, **missing})
    return operations, status


def _is_same(taint: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(taint.get(part, "") == other.get(part, "") for part in ("key", "value", "effect"))
