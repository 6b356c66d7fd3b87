"""What rounds and lives are given, as a client sends it: objects of the namespace shop and of the pool default."""

from activities.ports.cluster import CRDS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.providers.kinds import node_classes
from api.keys import FINALIZER, LABEL_INSTANCE_TYPE, LABEL_REQUEST_UID, LABEL_SERVER_TYPE
from tests import builders
from tests.builders import as_sent


def pool(name, **spec):
    """A pool of up to 1000 machines."""
    return as_sent(builders.node_pool(name, ("cx22", "cx32", "cx52"), **{"limits": {"max": 1000}} | spec))


def node_class(name="default"):
    """A class that only the provider of `rounds` reads."""
    types = [["cx22", 2000, 4, "0.0066"], ["cx32", 4000, 8, "0.0106"], ["cx52", 16000, 32, "0.0314"]]
    return builders.kwok_node_class(name=name) | {"spec": {"serverTypes": types}}


def pod(name, *, cpu="1", memory="1Gi", node_name=None, owner=None, **spec):
    """A pod of a ReplicaSet, by default that of its name without the last part."""
    owner = owner or name.rsplit("-", 1)[0]
    return as_sent(builders.pod(name, cpu, memory, namespace="shop", node=node_name, owner=owner, **spec))


def unschedulable():
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return [{"op": "add", "path": "/status", "value": {"phase": "Pending", "conditions": [condition]}}]


def node(name, pool_name="default", server_type="cx32", cpu="4", memory="8Gi", **metadata):
    """A Ready Node that does not say of which request of its name it is."""
    body = builders.node(name, pool=pool_name, allocatable={"cpu": cpu, "memory": memory})
    labels = body["metadata"]["labels"] | {LABEL_SERVER_TYPE: server_type, LABEL_INSTANCE_TYPE: server_type}
    del labels[LABEL_REQUEST_UID]
    return body | {"metadata": {"name": name, "labels": labels, **metadata}}


def request(name, *, pool_name="default", server_type="cx32", seats=(), **metadata):
    """A request that Growth holds and no pool owns."""
    metadata = {"finalizers": [FINALIZER]} | metadata
    return as_sent(
        builders.node_request(name, server_type, pool=pool_name, seats=seats, by_hand=True, metadata=metadata)
    )


def removal(name, *, pool_name="default", server_type="cx32", **spec):
    """A removal that names no Node unless it is told one."""
    body = as_sent(builders.node_removal_request(name, server_type, pool=pool_name, spec=spec))
    if "nodeName" not in spec:
        del body["spec"]["nodeName"]
    return body


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
