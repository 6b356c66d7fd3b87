"""Builds scenes out of raw API JSON, as the API server would hold it, and turns them into snapshots."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from activities.providers.kwok.catalogue import offerings
from api.timestamp import format_timestamp
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.model.plan import NodeClass, PlannerMemory, Snapshot
from planner.parsing.objects import parse_objects, parse_pod
from planner.supply.pod_group import GroupKeys, seat_of

Json = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GROUP = "growth.dev/v1alpha1"
KINDS = {  # vCPU, GiB, architecture, price
    "cx22": (2, 4, "amd64", "0.0066"),
    "cx32": (4, 8, "amd64", "0.0106"),
    "cx42": (8, 16, "amd64", "0.0170"),
    "cax11": (2, 4, "arm64", "0.0050"),
}


@dataclass
class Scene:
    """Raw objects, as lists by kind."""

    pods: list[Json] = field(default_factory=list)
    nodes: list[Json] = field(default_factory=list)
    daemon_sets: list[Json] = field(default_factory=list)
    pools: list[Json] = field(default_factory=list)
    classes: list[Json] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    removals: list[Json] = field(default_factory=list)
    claims: list[Json] = field(default_factory=list)
    volumes: list[Json] = field(default_factory=list)
    storage_classes: list[Json] = field(default_factory=list)
    csi_nodes: list[Json] = field(default_factory=list)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels by name."""
    protected: set[str] = field(default_factory=set)
    now: datetime = NOW

    def snapshot(self, memory: PlannerMemory | None = None) -> Snapshot:
        parsed = parse_objects(
            pods=self.pods,
            nodes=self.nodes,
            daemon_sets=self.daemon_sets,
            namespaces=[namespace(name, labels) for name, labels in self.namespaces.items()],
            claims=self.claims,
            volumes=self.volumes,
            storage_classes=self.storage_classes,
            csi_nodes=self.csi_nodes,
        )
        kwok = [KwokNodeClass.model_validate(c) for c in self.classes]
        return Snapshot(
            now=self.now,
            pods=parsed.pods,
            nodes=parsed.nodes,
            daemon_sets=parsed.daemon_sets,
            namespaces=parsed.namespaces,
            volumes=parsed.volumes,
            pools=tuple(NodePool.model_validate(p) for p in self.pools),
            classes=tuple(
                NodeClass(
                    ref=ClassRef(name=c.metadata.name),
                    offerings=offerings(c),
                    status=c.status,
                    generation=c.metadata.generation or 0,
                )
                for c in kwok
            ),
            requests=tuple(NodeRequest.model_validate(r) for r in self.requests),
            removals=tuple(NodeRemovalRequest.model_validate(r) for r in self.removals),
            protected_nodes=frozenset(self.protected),
            memory=memory or PlannerMemory(),
            problems=parsed.problems,
        )


def before(**amount: float) -> str:
    """Return a time before NOW."""
    return format_timestamp(NOW - timedelta(**amount))


def after(**amount: float) -> str:
    """Return a time after NOW."""
    return format_timestamp(NOW + timedelta(**amount))


def node_class(*server_types: Json, name: str = "default", unavailable: list[Json] | None = None) -> Json:
    return {
        "apiVersion": GROUP,
        "kind": "KwokNodeClass",
        "metadata": {"name": name},
        "spec": {"serverTypes": list(server_types or (server_type(t) for t in KINDS))},
        "status": {"unavailable": unavailable or []},
    }


def server_type(name: str, *, locations: tuple[str, ...] = ("fsn1",), sold_out: bool = False, **changes: Any) -> Json:
    cpu, memory, architecture, price = KINDS.get(name, (1, 1, "amd64", "1"))
    return {
        "name": name,
        "capacity": {"cpu": str(cpu), "memory": f"{memory}Gi"},
        "architecture": architecture,
        "pricePerHour": price,
        "locations": [{"name": location, "available": not sold_out} for location in locations],
    } | changes


def pool(name: str = "default", types: Any = ("cx22", "cx32", "cx42"), **spec: Any) -> Json:
    listed = [{"name": t} if isinstance(t, str) else t for t in types]
    spec = {"serverTypes": listed, "limits": {"max": 100}} | spec
    return {"apiVersion": GROUP, "kind": "NodePool", "metadata": {"name": name, "uid": f"pool-{name}"}, "spec": spec}


def pod(
    name: str,
    cpu: str | None = "500m",
    memory: str | None = "512Mi",
    *,
    node: str | None = None,
    owner: str | tuple[str, str] | None = None,
    labels: dict[str, str] | None = None,
    requests: dict[str, str] | None = None,
    namespace: str = "default",
    phase: str | None = None,
    **spec: Any,
) -> Json:
    """Return a pod that the scheduler found no place for, or one that runs on `node`."""
    asked = {k: v for k, v in {"cpu": cpu, "memory": memory}.items() if v is not None} | (requests or {})
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}}
    if owner is not None:
        kind, uid = ("ReplicaSet", owner) if isinstance(owner, str) else owner
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": kind, "name": uid, "uid": uid, "controller": True}
        ]
    status: Json = {"phase": phase or ("Running" if node else "Pending")}
    if node is None:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    body: Json = {"containers": [{"name": "main", "resources": {"requests": asked}}]} | spec
    if node is not None:
        body["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body, "status": status}


def node(
    name: str,
    kind: str = "cx22",
    *,
    of_pool: str | None = "default",
    ready: bool = True,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    taints: list[Json] | None = None,
    deleting: bool = False,
    **changes: Any,
) -> Json:
    """Return a Ready node that Growth has bought for a pool, or a foreign one."""
    cpu, memory, architecture, _ = KINDS[kind]
    own = {
        "kubernetes.io/arch": architecture,
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/zone": "fsn1",
    }
    if of_pool is not None:
        own |= {
            "growth.dev/pool": of_pool,
            "growth.dev/server-type": kind,
            "growth.dev/request": name,
            "growth.dev/request-uid": f"uid-{name}",
        }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": own | (labels or {}),
            "annotations": annotations or {},
        }
        | ({"deletionTimestamp": before(seconds=1)} if deleting else {}),
        "spec": {"taints": taints or [], "providerID": f"kwok://{name}"} | changes.pop("spec", {}),
        "status": {
            "allocatable": {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def request(
    name: str,
    kind: str = "cx22",
    *,
    of_pool: str = "default",
    seats: list[Json] | None = None,
    by_hand: bool = False,
    location: str = "fsn1",
    deleting: bool = False,
    **status: Any,
) -> Json:
    """Return a NodeRequest; keyword arguments are its status, Pending and without a create call by default."""
    metadata: Json = {"name": name, "uid": f"uid-{name}"}
    if not by_hand:
        metadata["ownerReferences"] = [
            {"apiVersion": GROUP, "kind": "NodePool", "name": of_pool, "uid": f"pool-{of_pool}"}
        ]
    if deleting:
        metadata["deletionTimestamp"] = before(seconds=1)
    spec = {
        "pool": of_pool,
        "serverType": kind,
        "location": location,
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "reservedFor": seats or [],
    }
    return {"apiVersion": GROUP, "kind": "NodeRequest", "metadata": metadata, "spec": spec, "status": status}


def removal(name: str, kind: str = "cx22", *, of_pool: str = "default", deleting: bool = False, **status: Any) -> Json:
    """Return a NodeRemovalRequest; keyword arguments are its status, in its cool-off by default."""
    metadata: Json = {"name": name, "uid": f"uid-removal-{name}"}
    if deleting:
        metadata["deletionTimestamp"] = before(seconds=1)
    spec = {
        "serverName": name,
        "nodeName": name,
        "pool": of_pool,
        "serverType": kind,
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "immediate": status.pop("immediate", False),
    }
    return {"apiVersion": GROUP, "kind": "NodeRemovalRequest", "metadata": metadata, "spec": spec, "status": status}


def namespace(name: str, labels: dict[str, str]) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def seat(raw: Json) -> Json:
    """Return the seat of a pod on a request, as a round wrote it."""
    made = parse_pod(raw)
    return seat_of(made, GroupKeys().of(made)).to_json()


def daemon_set(name: str, cpu: str = "100m", memory: str = "128Mi", **spec: Any) -> Json:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "agent", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]} | spec,
    }
    metadata = {"name": name, "namespace": "kube-system", "uid": f"uid-{name}"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}}


def apart(**labels: str) -> Json:
    """Return the affinity that keeps a pod off nodes with pods of these labels."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def needs(*terms: list[Json]) -> Json:
    """Return the affinity that asks for one of these lists of expressions."""
    listed = [{"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}}
