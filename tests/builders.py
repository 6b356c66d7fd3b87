"""Builds objects as an API server would hold them: one builder a kind, each with defaults that a server accepts.

What most tests vary has an argument of its own; further keywords are fields of `spec`, those of requests and removals
fields of `status`, as the API names them. Nothing is checked, so that tests can plant wrong values. Uids are made of
names; an API server and the cluster in memory give their own.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from api.keys import (
    API_VERSION,
    FINALIZER,
    LABEL_ARCH,
    LABEL_HOSTNAME,
    LABEL_INSTANCE_TYPE,
    LABEL_OS,
    LABEL_POOL,
    LABEL_REGION,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    LABEL_SERVER_TYPE,
    LABEL_ZONE,
)
from api.meta import format_timestamp
from simulator.catalogue import machine

Json = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KINDS = {  # vCPU, GiB, architecture, price
    "cx22": (2, 4, "amd64", "0.0066"),
    "cx32": (4, 8, "amd64", "0.0106"),
    "cx42": (8, 16, "amd64", "0.0170"),
    "cax11": (2, 4, "arm64", "0.0050"),
}
DRIVER = "csi.disks.example"
_CLASS_REF = {"kind": "KwokNodeClass", "name": "default"}


def before(**amount: float) -> str:
    """Return a time before NOW."""
    return format_timestamp(NOW - timedelta(**amount))


def after(**amount: float) -> str:
    """Return a time after NOW."""
    return format_timestamp(NOW + timedelta(**amount))


def as_sent(built: Json) -> Json:
    """Return the object as a client sends it: without what the API server and controllers write."""
    metadata = {key: value for key, value in built["metadata"].items() if key not in ("uid", "deletionTimestamp")}
    return deepcopy({key: value for key, value in built.items() if key != "status"} | {"metadata": metadata})


def differing(raw: Json, change: Json) -> Json:
    """Return a copy of the object in which the fields of `change` stand; objects in it are merged, all else is set."""
    made = dict(raw)
    for key, value in change.items():
        own = made.get(key)
        made[key] = differing(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return made


# Growth's own kinds.


def server_type(name: str, *, locations: Iterable[str] = ("fsn1",), sold_out: bool = False, **changes: Any) -> Json:
    """Return a server type of a KwokNodeClass, the known ones with their own size and price."""
    cpu, memory, architecture, price = KINDS.get(name, (1, 1, "amd64", "1"))
    places = [{"name": location, "available": not sold_out} for location in locations]
    return machine(name, cpu=cpu, memory=memory, price=price, locations=places, architecture=architecture) | changes


def kwok_node_class(
    *server_types: Json, name: str = "default", unavailable: list[Json] | None = None, **spec: Any
) -> Json:
    """Return a class with these server types, or with all that are known."""
    listed = list(server_types or (server_type(known) for known in KINDS))
    return _object("KwokNodeClass", name, {"serverTypes": listed} | spec) | {
        "status": {"unavailable": unavailable or []}
    }


def hetzner_node_class(name: str = "default", *, status: Json | None = None, **spec: Any) -> Json:
    """Return a class whose token is in the Secret growth-system/hcloud."""
    usual = {
        "tokenSecretRef": {"namespace": "growth-system", "name": "hcloud", "key": "token"},
        "image": {"name": "debian-12"},
        "userData": {"template": "#!/bin/sh\nkubelet --cloud-provider=external {{ kubelet.args }}\n"},
    }
    return _object("HetznerNodeClass", name, usual | spec) | ({"status": status} if status else {})


def node_pool(
    name: str = "default",
    types: Iterable[str | Json] = ("cx22", "cx32", "cx42"),
    *,
    uid: str | None = None,
    **spec: Any,
) -> Json:
    """Return a pool of at most 100 machines."""
    listed = [{"name": each} if isinstance(each, str) else each for each in types]
    usual = {"serverTypes": listed, "limits": {"max": 100}}
    return _object("NodePool", name, usual | spec, uid=uid or f"pool-{name}")


def node_request(
    name: str,
    server_type: str = "cx22",
    *,
    pool: str = "default",
    location: str = "fsn1",
    seats: Iterable[Json] = (),
    by_hand: bool = False,
    deleting: bool = False,
    spec: Json | None = None,
    metadata: Json | None = None,
    **status: Any,
) -> Json:
    """Return a request that a pool owns, or one that was made by hand, Pending and without a create call by default."""
    owner = {"apiVersion": API_VERSION, "kind": "NodePool", "name": pool, "uid": f"pool-{pool}"}
    owned = {} if by_hand else {"finalizers": [FINALIZER], "ownerReferences": [owner]}
    wanted = {
        "pool": pool,
        "serverType": server_type,
        "location": location,
        "classRef": dict(_CLASS_REF),
        "reservedFor": list(seats),
    }
    meta = owned | _deletion(deleting=deleting) | (metadata or {})
    return _object("NodeRequest", name, wanted | (spec or {}), **meta) | {"status": status}


def node_removal_request(
    name: str,
    server_type: str = "cx22",
    *,
    pool: str = "default",
    by_hand: bool = False,
    immediate: bool = False,
    deleting: bool = False,
    spec: Json | None = None,
    metadata: Json | None = None,
    **status: Any,
) -> Json:
    """Return the removal of a server and its Node of one name, in its cool-off; by hand, without a finalizer."""
    wanted = {
        "serverName": name,
        "nodeName": name,
        "pool": pool,
        "serverType": server_type,
        "location": "fsn1",
        "classRef": dict(_CLASS_REF),
        "immediate": immediate,
    }
    owned = {} if by_hand else {"finalizers": [FINALIZER]}
    meta = {"uid": f"uid-removal-{name}"} | owned | _deletion(deleting=deleting) | (metadata or {})
    return _object("NodeRemovalRequest", name, wanted | (spec or {}), **meta) | {"status": status}


# Pods, Nodes and what makes pods.


def pod(
    name: str,
    cpu: str | None = "500m",
    memory: str | None = "512Mi",
    *,
    node: str | None = None,
    owner: str | tuple[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
    namespace: str = "default",
    phase: str | None = None,
    ready: bool | None = None,
    deleting: bool = False,
    **spec: Any,
) -> Json:
    """Return a pod that the scheduler found no place for, or one that runs on `node`.

    Args:
        name: also what its uid is made of.
        cpu, memory: requests; None for none.
        node: its Node.
        owner: uid of its ReplicaSet, or kind and uid of another controller.
        labels: none by default.
        annotations: none by default.
        requests: of further resources.
        namespace: default by default.
        phase: Running on a Node, else Pending.
        ready: what its kubelet says, which is nothing by default.
        deleting: it is on its way out.
        **spec: further fields of its spec.
    """
    asked = {k: v for k, v in {"cpu": cpu, "memory": memory}.items() if v is not None} | dict(requests or {})
    meta: Json = {"namespace": namespace, "labels": dict(labels or {})} | _deletion(deleting=deleting)
    if annotations:
        meta["annotations"] = dict(annotations)
    if owner is not None:
        kind, uid = ("ReplicaSet", owner) if isinstance(owner, str) else owner
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": uid, "uid": uid, "controller": True}]
    status: Json = {"phase": phase or ("Running" if node else "Pending")}
    if node is None:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    if ready is not None:
        status.setdefault("conditions", []).append({"type": "Ready", "status": str(ready)})
    body = {"containers": [_container("main", asked)]} | spec | ({} if node is None else {"nodeName": node})
    return _object("Pod", name, body, version="v1", **meta) | {"status": status}


def node(
    name: str,
    server_type: str = "cx22",
    *,
    pool: str | None = "default",
    ready: bool = True,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: list[Json] | None = None,
    deleting: bool = False,
    allocatable: Mapping[str, str] | None = None,
    spec: Json | None = None,
) -> Json:
    """Return a Ready node that Growth has bought for a pool, or without a pool a foreign one."""
    cpu, memory, architecture, _ = KINDS[server_type]
    own = {
        LABEL_ARCH: architecture,
        LABEL_OS: "linux",
        LABEL_HOSTNAME: name,
        LABEL_INSTANCE_TYPE: server_type,
        LABEL_REGION: "fsn1",
        LABEL_ZONE: "fsn1",
    }
    if pool is not None:
        own |= {
            LABEL_POOL: pool,
            LABEL_SERVER_TYPE: server_type,
            LABEL_REQUEST: name,
            LABEL_REQUEST_UID: f"uid-{name}",
        }
    amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"} | dict(allocatable or {})
    meta = {"labels": own | dict(labels or {}), "annotations": dict(annotations or {})} | _deletion(deleting=deleting)
    body = {"taints": taints or [], "providerID": f"kwok://{name}"} | (spec or {})
    status = {
        "capacity": dict(amounts),
        "allocatable": amounts,
        "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": before(hours=1)}],
    }
    return _object("Node", name, body, version="v1", **meta) | {"status": status}


def daemon_set(name: str, cpu: str = "100m", memory: str = "128Mi", **spec: Any) -> Json:
    """Return a DaemonSet of kube-system; keyword arguments are fields of its pods' spec."""
    template = {"containers": [_container("agent", {"cpu": cpu, "memory": memory})]} | spec
    return _controller("DaemonSet", name, "kube-system", template, {})


def limit_range(name: str, *items: Json, namespace: str = "kube-system") -> Json:
    """Return the LimitRange of a namespace; each item has a type, which is Container if it does not say."""
    rules = [{"type": "Container"} | item for item in items]
    return _object("LimitRange", name, {"limits": rules}, version="v1", namespace=namespace)


def deployment(
    name: str, replicas: int, cpu: str, memory: str, *, spread: bool = False, namespace: str = "default", **spec: Any
) -> Json:
    """Return a Deployment as a client sends it, whose pods end at once; with `spread`, no two of them share a node."""
    template = {"terminationGracePeriodSeconds": 0, "containers": [_container("main", {"cpu": cpu, "memory": memory})]}
    apart = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": LABEL_HOSTNAME}
    if spread:
        template["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return as_sent(_controller("Deployment", name, namespace, template | spec, {"replicas": replicas}))


def disruption_budget(
    name: str, labels: Mapping[str, str] | None = None, *, namespace: str = "default", **spec: Any
) -> Json:
    """Return a PodDisruptionBudget over the pods of these labels, by default those of the app of its name."""
    selector = {"matchLabels": dict(labels or {"app": name})}
    return _object("PodDisruptionBudget", name, {"selector": selector} | spec, version="policy/v1", namespace=namespace)


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Json:
    """Return a Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}}


# Storage.


def claim(
    name: str,
    volume: str | None = None,
    *,
    storage_class: str | None = "waits",
    mode: str = "ReadWriteOnce",
    namespace: str = "default",
) -> Json:
    """Return a PersistentVolumeClaim that is bound to a volume, or one that has none yet."""
    spec: Json = {"accessModes": [mode], "resources": {"requests": {"storage": "10Gi"}}}
    meta: Json = {"namespace": namespace, "uid": f"uid-claim-{name}"}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    if volume is not None:
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = volume
    status = {"phase": "Bound" if volume is not None else "Pending"}
    return _object("PersistentVolumeClaim", name, spec, version="v1", **meta) | {"status": status}


def volume(
    name: str,
    *,
    zone: str | None = None,
    key: str = LABEL_ZONE,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """Return a PersistentVolume of the driver, tied to a zone by this label or to none."""
    body: Json = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "waits",
        "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
    }
    if zone is not None:
        expression = {"key": key, "operator": "In", "values": [zone]}
        body["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    meta = {"uid": f"uid-volume-{name}", "labels": dict(labels or {})}
    return _object("PersistentVolume", name, body | spec, version="v1", **meta) | {"status": {"phase": "Bound"}}


def storage_class(
    name: str = "waits", *zones: str, waits: bool = True, provisioner: str = DRIVER, key: str = LABEL_ZONE
) -> Json:
    """Return a StorageClass whose volumes are made in these zones, or anywhere."""
    made: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "uid": f"uid-class-{name}"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }
    if zones:
        made["allowedTopologies"] = [{"matchLabelExpressions": [{"key": key, "values": list(zones)}]}]
    return made


def csi_node(name: str, count: int, driver: str = DRIVER, *, keys: tuple[str, ...] = ()) -> Json:
    """Return how many volumes of the driver a node can attach, and the labels that say where they can be used."""
    drivers = [{"name": driver, "nodeID": name, "topologyKeys": list(keys), "allocatable": {"count": count}}]
    return _object("CSINode", name, {"drivers": drivers}, version="storage.k8s.io/v1", uid=f"uid-csi-{name}")


def _object(kind: str, name: str, spec: Json, *, version: str = API_VERSION, **metadata: Any) -> Json:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"uid-{name}"} | metadata,
        "spec": spec,
    }


def _controller(kind: str, name: str, namespace: str, template: Json, spec: Json) -> Json:
    labels = {"app": name}
    pods = {"metadata": {"labels": labels}, "spec": template}
    whole = {"selector": {"matchLabels": labels}, "template": pods} | spec
    return _object(kind, name, whole, version="apps/v1", namespace=namespace)


def _container(name: str, requests: Mapping[str, str]) -> Json:
    return {"name": name, "image": "registry.example/app", "resources": {"requests": dict(requests)}}


def _deletion(*, deleting: bool) -> Json:
    return {"deletionTimestamp": before(seconds=1)} if deleting else {}
