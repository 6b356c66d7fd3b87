"""Builds raw storage objects: claims, volumes, classes and what nodes can attach."""

from typing import Any

from tests.planner.reading import Json
from tests.planner.wishes import ZONE

DRIVER = "csi.disks.example"


def claim(
    name: str,
    volume: str | None = None,
    *,
    storage_class: str | None = "waits",
    mode: str = "ReadWriteOnce",
    namespace: str = "default",
) -> Json:
    """Return a claim that is bound to a volume, or one that has none yet."""
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"uid-claim-{name}"}
    spec: Json = {"accessModes": [mode], "resources": {"requests": {"storage": "10Gi"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    if volume is not None:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = volume
    status = {"phase": "Bound" if volume is not None else "Pending"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def volume(
    name: str, *, zone: str | None = None, key: str = ZONE, labels: dict[str, str] | None = None, **spec: Any
) -> Json:
    """Return a volume of the driver, tied to a zone by this label or to none."""
    body: Json = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "waits",
        "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
    }
    if zone is not None:
        expression = {"key": key, "operator": "In", "values": [zone]}
        body["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    metadata = {"name": name, "uid": f"uid-volume-{name}", "labels": labels or {}}
    status = {"phase": "Bound"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": body | spec,
        "status": status,
    }


def storage_class(
    name: str = "waits", *zones: str, waits: bool = True, provisioner: str = DRIVER, key: str = ZONE
) -> Json:
    """Return a class whose volumes are made in these zones, or anywhere."""
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
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "uid": f"uid-csi-{name}"},
        "spec": {"drivers": drivers},
    }


def using(pod: Json, *claims: str) -> Json:
    """Give the pod volumes of these claims, and return it."""
    pod["spec"]["volumes"] = [
        {"name": f"v{k}", "persistentVolumeClaim": {"claimName": c}} for k, c in enumerate(claims)
    ]
    return pod


def own_disk(pod: Json, name: str = "scratch") -> Json:
    """Give the pod a volume whose claim is made for it, named after pod and volume, and return it."""
    pod["spec"]["volumes"] = [{"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    return pod
