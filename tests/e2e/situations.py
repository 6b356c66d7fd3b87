"""Small situations for the real scheduler: a few nodes, pods that are there, one pod to place.

All of them stand in one cluster at a time and must not meet: a pod asks for the label of its
situation, and topology keys, labels and values that others could match carry its name.
"""

from copy import deepcopy
from random import Random
from typing import Any

Json = dict[str, Any]
SITUATION = "situation"
"""Label of everything that belongs to a situation."""
HOME, BLUE, GREEN = "situations", "situations-blue", "situations-green"
NAMESPACES = {HOME: {}, BLUE: {"team": "blue"}, GREEN: {"team": "green"}}
"""Namespaces and their labels: all situations share them, because deleting hundreds takes minutes."""
RESOURCES = {"gpu": "example.com/gpu", "huge_pages": "hugepages-2Mi", "disk": "ephemeral-storage"}
"""Names of resources that are no Python names."""
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

NEW = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
"""Tolerates the taint that the API server gives to every new node, until a controller has seen that it is ready."""


class Situation:
    """What one pod is judged in.

    Attributes:
        name: unique, and part of every name in it.
        nodes, residents: objects; a resident has its node in spec.nodeName.
        nominated: pods that fit nowhere, and the node that the scheduler is told to keep for each.
        pod: the pod to place.
        others: volumes, claims, classes and the like, by path in the API, in their order of creation.
        steered_to: the node that the pod prefers, empty while it has none.
        can_be_steered: nothing here weighs more than what the pod prefers.
    """

    def __init__(self, name: str, rng: Random) -> None:
        self.name = name
        self.rng = rng
        self.nodes: list[Json] = []
        self.residents: list[Json] = []
        self.nominated: list[tuple[Json, str]] = []
        self.statuses: list[tuple[str, Json]] = []
        self.deleted: list[str] = []
        """Paths of what is deleted before the pod is placed, and stays until somebody lets go of it."""
        self.pod: Json = {}
        self.others: list[tuple[str, Json]] = []
        self.unbound_claims: set[str] = set()
        """Claims that nothing binds before the pod is placed."""
        self.has_own_claims = False
        """A controller makes claims for the pod: it is judged once they are there."""
        self.can_be_steered = True
        self.steered_to = ""

    def value(self, text: str) -> str:
        """Return a name or label value that no other situation has."""
        return f"{self.name}-{text}"

    def key(self, text: str) -> str:
        """Return a label key that no other situation has."""
        return f"{self.name}.test/{text}"

    def node(
        self,
        suffix: str,
        *,
        labels: Json | None = None,
        taints: tuple[Json, ...] = (),
        cordoned: bool = False,
        **allocatable: str | None,
    ) -> str:
        """Add a node and return its name; amounts that are not given are ample, and `None` leaves one out."""
        name = self.value(suffix)
        ample: dict[str, str | None] = {"cpu": "8", "memory": "16Gi", "disk": "100Gi", "pods": "30"}
        amounts = {RESOURCES.get(key, key): text for key, text in (ample | allocatable).items() if text is not None}
        every = {SITUATION: self.name, HOSTNAME: name} | (labels or {})
        self.nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {key: text for key, text in every.items() if text is not None}},
                "spec": {"taints": list(taints), "unschedulable": cordoned},
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": ""}],
                },
            }
        )
        return name

    def resident(
        self, node: str, *, terminating: bool = False, namespace: str = HOME, status: Json | None = None, **pod: Any
    ) -> None:
        """Add a pod that is on a node, with what its kubelet tells of it."""
        name = self.value(f"resident-{len(self.residents)}")
        made = pod_object(self, name, namespace, **pod)
        made["spec"]["nodeName"] = node
        self.residents.append(made)
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        if status:
            self.statuses.append((path, {"status": status}))
        if terminating:
            self.deleted.append(path)

    def awaited(self, node: str, **pod: Any) -> None:
        """Add a pod that the node is kept for; it fits nowhere, so that it stays on its way."""
        made = pod_object(self, self.value(f"awaited-{len(self.nominated)}"), HOME, **pod)
        made["spec"]["nodeSelector"] = {self.key("nowhere"): "yes"}
        # With any other obstacle it would be tried again when that ends, and its node be let go.
        made["spec"]["tolerations"] = [{"operator": "Exists"}]
        self.nominated.append((made, node))

    def place(self, *, namespace: str = HOME, **pod: Any) -> None:
        """Set the pod to place, which may only go to nodes of this situation."""
        self.pod = pod_object(self, self.value("pod"), namespace, **pod)
        self.pod["spec"].setdefault("nodeSelector", {})[SITUATION] = self.name
        self.pod["spec"].setdefault("tolerations", []).append(NEW)

    def steer(self, node: str) -> None:
        """Let the pod prefer a node more than all else can weigh, so that it goes there if it may."""
        self.steered_to = node
        affinity = self.pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
        name_is = {"key": "metadata.name", "operator": "In", "values": [self.steered_to]}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 100, "preference": {"matchFields": [name_is]}}
        ]


def pod_object(
    situation: Situation, name: str, namespace: str, *, labels: Json | None = None, cpu: str = "100m", **spec: Any
) -> Json:
    """Return a pod of one container, unless the spec brings its own containers."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {SITUATION: situation.name} | (labels or {})},
        "spec": {"terminationGracePeriodSeconds": 3600, "containers": [container(cpu=cpu)]} | deepcopy(spec),
    }


def container(name: str = "main", *, always: bool = False, ports: tuple[Json, ...] = (), **requests: str) -> Json:
    """Return a container that requests these amounts; `always` makes a sidecar of an init container."""
    amounts = {RESOURCES.get(key, key): amount for key, amount in requests.items()}
    made: Json = {"name": name, "image": "example.com/image", "ports": list(ports)}
    if amounts:
        # Other than cpu and memory, what is requested must be limited to the same.
        both = {r: a for r, a in amounts.items() if "/" in r or r.startswith("hugepages")}
        made["resources"] = {"requests": amounts} | ({"limits": both} if both else {})
    return made | ({"restartPolicy": "Always"} if always else {})


def expression(key: str, operator: str, *values: str) -> Json:
    """Return a requirement of a selector."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
