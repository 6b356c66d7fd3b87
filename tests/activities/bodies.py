"""Bodies of the objects that rounds read: pools, classes, pods, nodes, requests, removals, definitions."""

import hashlib

from activities.ports.cluster import CRDS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.providers.kinds import node_classes
from api.keys import FINALIZER, LABEL_INSTANCE_TYPE, LABEL_POOL, LABEL_REGION, LABEL_REQUEST, LABEL_SERVER_TYPE


def pool(name, *, uid=None, **spec):
    wanted = {"serverTypes": [{"name": "cx22"}, {"name": "cx32"}, {"name": "cx52"}], "limits": {"max": 1000}, **spec}
    metadata = {"name": name, **({"uid": uid} if uid else {})}
    return {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "metadata": metadata, "spec": wanted}


def node_class(name="default"):
    types = [["cx22", 2000, 4, "0.0066"], ["cx32", 4000, 8, "0.0106"], ["cx52", 16000, 32, "0.0314"]]
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "KwokNodeClass",
        "metadata": {"name": name},
        "spec": {"serverTypes": types},
    }


def pod(name, *, cpu="1", memory="1Gi", node_name=None, owner=None, **spec):
    owner = owner or name.rsplit("-", 1)[0]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": owner,
                    "uid": hashlib.sha256(owner.encode()).hexdigest()[:8],
                    "controller": True,
                }
            ],
        },
        "spec": {"containers": [container], **({"nodeName": node_name} if node_name else {}), **spec},
    }


def unschedulable():
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return [{"op": "add", "path": "/status", "value": {"phase": "Pending", "conditions": [condition]}}]


def node(name, pool_name, server_type, cpu, memory, **metadata):
    labels = {
        LABEL_POOL: pool_name,
        LABEL_SERVER_TYPE: server_type,
        LABEL_REQUEST: name,
        LABEL_INSTANCE_TYPE: server_type,
        LABEL_REGION: "fsn1",
        "topology.kubernetes.io/zone": "fsn1",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
    }
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, **metadata},
        "spec": {"providerID": f"kwok://{name}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def request(name, *, pool_name="default", server_type="cx32", seats=(), **metadata):
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodeRequest",
        "metadata": {"name": name, "finalizers": [FINALIZER], **metadata},
        "spec": {
            "pool": pool_name,
            "serverType": server_type,
            "location": "fsn1",
            "classRef": {"kind": "KwokNodeClass", "name": "default"},
            **({"reservedFor": list(seats)} if seats else {}),
        },
    }


def removal(name, *, pool_name="default", server_type="cx32", **spec):
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodeRemovalRequest",
        "metadata": {"name": name, "finalizers": [FINALIZER]},
        "spec": {
            "serverName": name,
            "pool": pool_name,
            "serverType": server_type,
            "location": "fsn1",
            "classRef": {"kind": "KwokNodeClass", "name": "default"},
            **spec,
        },
    }


def definitions():
    return [
        {
            "apiVersion": CRDS.api_version,
            "kind": CRDS.kind,
            "metadata": {"name": f"{resource.plural}.{resource.group}"},
            "spec": {"group": resource.group, "names": {"kind": resource.kind, "plural": resource.plural}},
        }
        for resource in (NODE_POOLS, *node_classes(), NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
    ]
