"""Nodes of a dump, the pool they are from, and how volumes are made on them."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from api.keys import (
    API_VERSION,
    LABEL_ARCH,
    LABEL_HOSTNAME,
    LABEL_POOL,
    LABEL_REQUEST,
    LABEL_SERVER_TYPE,
    LABEL_ZONE,
)
from benchmarks.catalogue import ZONES
from benchmarks.dump_owned import CREATED

Json = dict[str, Any]
CLASS: Final = "standard"
DRIVER: Final = "csi.example.com"
_TYPE: Final = "cx42"
_IMAGES: Final = 40
"""As many as a kubelet tells of at most is 50. Source: nodeStatusMaxImages of the kubelet's configuration."""
_ATTACH_LIMIT: Final = 16
_CONDITIONS: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


def zone(index: int) -> str:
    """Return the zone of a node."""
    return ZONES[index % len(ZONES)]


def node(name: str, index: int, random: Random) -> Json:
    """Return a Ready node of the pool."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {"csi.volume.kubernetes.io/nodeid": f'{{"{DRIVER}":"{name}"}}'},
            "creationTimestamp": CREATED,
            "labels": {
                LABEL_ARCH: "amd64",
                LABEL_HOSTNAME: name,
                LABEL_POOL: "default",
                LABEL_REQUEST: name,
                LABEL_SERVER_TYPE: _TYPE,
                LABEL_ZONE: zone(index),
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": _TYPE,
                "topology.kubernetes.io/region": zone(index),
            },
            "name": name,
            "resourceVersion": str(random.randrange(10**6, 10**8)),
            "uid": f"{random.getrandbits(128):032x}",
        },
        "spec": {"podCIDR": f"10.244.{index % 256}.0/24", "providerID": f"kwok://growth/{name}"},
        "status": {
            "addresses": [{"address": "192.0.2.1", "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
            "allocatable": {"cpu": "7820m", "ephemeral-storage": "150Gi", "memory": "14500Mi", "pods": "110"},
            "capacity": {"cpu": "8", "ephemeral-storage": "160Gi", "memory": "16Gi", "pods": "110"},
            "conditions": [
                *(_condition(kind, "False") for kind in _CONDITIONS),
                _condition("Ready", "True"),
            ],
            "images": [
                {
                    "names": [
                        f"registry.example.com/image-{i}@sha256:{random.getrandbits(256):064x}",
                        f"registry.example.com/image-{i}:v1.2.3",
                    ],
                    "sizeBytes": random.randrange(10**6, 10**9),
                }
                for i in range(_IMAGES)
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "containerRuntimeVersion": "containerd://2.0.0",
                "kubeletVersion": "v1.36.0",
                "operatingSystem": "linux",
            },
        },
    }


def csi_node(name: str) -> Json:
    """Return the number of volumes that the node takes."""
    driver = {"allocatable": {"count": _ATTACH_LIMIT}, "name": DRIVER, "nodeID": name, "topologyKeys": [LABEL_ZONE]}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"creationTimestamp": CREATED, "name": name, "uid": f"csi-{name}"},
        "spec": {"drivers": [driver]},
    }


def storage() -> Iterator[Json]:
    """Yield the storage class, the node pool and its class."""
    yield {
        "allowVolumeExpansion": True,
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"creationTimestamp": CREATED, "name": CLASS, "uid": f"class-{CLASS}"},
        "provisioner": DRIVER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    yield {
        "apiVersion": API_VERSION,
        "kind": "KwokNodeClass",
        "metadata": {"creationTimestamp": CREATED, "name": "default", "uid": "node-class"},
        "spec": {
            "serverTypes": [
                {
                    "architecture": "amd64",
                    "capacity": {"cpu": cores, "memory": memory},
                    "locations": [{"name": name} for name in ZONES],
                    "name": kind,
                    "pricePerHour": price,
                }
                for kind, cores, memory, price in (
                    ("cx32", "4", "8Gi", "0.0106"),
                    (_TYPE, "8", "16Gi", "0.0170"),
                    ("cx52", "16", "32Gi", "0.0324"),
                )
            ]
        },
    }
    yield {
        "apiVersion": API_VERSION,
        "kind": "NodePool",
        "metadata": {"creationTimestamp": CREATED, "name": "default", "uid": "pool"},
        "spec": {"limits": {"max": 400}, "serverTypes": [{"name": kind} for kind in ("cx32", _TYPE, "cx52")]},
    }


def _condition(kind: str, status: str) -> Json:
    return {
        "lastHeartbeatTime": CREATED,
        "lastTransitionTime": CREATED,
        "message": f"kubelet says {status} of {kind}",
        "reason": f"Kubelet{kind}",
        "status": status,
        "type": kind,
    }
