"""Objects as watches report them, with what wakes are decided on and nothing else."""

from activities.ports.cluster import (
    CONFIG_MAPS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    Object,
    Resource,
    WatchEvent,
)
from activities.providers.built_in import KWOK_NODE_CLASSES


def event(before: Object | None, after: Object | None) -> WatchEvent:
    """Return the event of a change, as the cache reports it."""
    if after is None:
        assert before is not None
        return WatchEvent("DELETED", before)
    return WatchEvent("MODIFIED" if before else "ADDED", after)


def meta(name: str, uid: str, **more) -> dict:
    return {"name": name, "uid": uid, "resourceVersion": "1", **more}


def pod(*, node: str = "", unschedulable: bool = False, phase: str = "Pending", nominated: str = "") -> dict:
    reason = {"reason": "Unschedulable"} if unschedulable else {}
    return {
        "metadata": meta("web", "p-1", namespace="default"),
        "spec": {"nodeName": node} if node else {},
        "status": {
            "phase": phase,
            "conditions": [{"type": "PodScheduled", "status": "False", **reason}],
            "nominatedNodeName": nominated,
        },
    }


def node(*, ready: bool = True, cordoned: bool = False, memory: str = "1Gi", **more) -> dict:
    return {
        "metadata": meta("m-1", "n-1", **more),
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "allocatable": {"memory": memory},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def request(*, status: dict | None = None, seats: tuple[str, ...] = (), **more) -> dict:
    return {
        "metadata": meta("m-1", "r-1", **{"generation": 1, **more}),
        "spec": {"reservedFor": [{"uid": uid} for uid in seats]},
        "status": {"workflowId": "x", **(status or {})},
    }


def removal(*, status: dict | None = None, **more) -> dict:
    return {
        "metadata": meta("m-1", "d-1", **{"generation": 1, **more}),
        "status": {"workflowId": "x", **(status or {})},
    }


def pool(generation: int) -> dict:
    return {"metadata": meta("default", "o-1", generation=generation), "status": {}}


def hetzner(**status) -> dict:
    whole = {
        "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 1}],
        "serverTypes": [{"name": "cx23", "locations": [{"name": "fsn1", "pricePerHour": "0.0088"}]}],
        "ipv4": [{"location": "fsn1", "pricePerHour": "0.0008"}],
        "readAt": "2026-03-01T12:00:00Z",
    }
    return {"metadata": meta("default", "k-1", generation=1), "status": whole | status}


def claim(*, bound: bool = False) -> dict:
    more = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if bound else {}
    return {"metadata": meta("data", "c-1", **more), "spec": {"volumeName": "pvc-1"}}


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
KEPT = {"annotations": {"growth.dev/do-not-remove": "busy"}}
ORPHAN = {**request(), "status": {}}

COURSE: list[tuple[Resource, Object | None, Object | None]] = [
    (CONFIG_MAPS, None, {"metadata": meta("a", "b")}),
    (NODE_POOLS, None, pool(1)),
    (NODE_POOLS, pool(1), pool(2)),
    (KWOK_NODE_CLASSES, None, hetzner()),
    (KWOK_NODE_CLASSES, hetzner(), hetzner(currency="USD")),
    (KWOK_NODE_CLASSES, hetzner(), hetzner(readAt="2026-03-01T12:10:00Z")),
    (PODS, None, pod(unschedulable=True)),
    (PERSISTENT_VOLUME_CLAIMS, claim(), claim(bound=True)),
    (NODE_REQUESTS, None, ORPHAN),
    (NODE_REQUESTS, ORPHAN, request(seats=("p-1",))),
    (NODES, None, node(ready=False)),
    (NODES, node(ready=False), node()),
    (PODS, pod(unschedulable=True), pod(node="m-1")),
    (NODE_REMOVAL_REQUESTS, None, removal()),
    (NODE_REMOVAL_REQUESTS, removal(), removal(status={"cancel": {"by": "Planner"}})),
    (NODES, node(), node(**KEPT)),
    (PODS, pod(node="m-1"), pod(node="m-1", phase="Succeeded")),
    (NODE_REQUESTS, request(seats=("p-1",)), request(seats=("p-1",), **GOING)),
    (NODE_REQUESTS, request(seats=("p-1",), **GOING), None),
    (NODES, node(**KEPT), None),
    (KWOK_NODE_CLASSES, hetzner(), None),
]
"""One change after another, of each kind that is reported to anybody and of some that are not."""
