"""What a person would see of the cluster and its provider at one moment."""

from dataclasses import dataclass

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS, Object
from activities.ports.provider import Server
from simulator.scheduling.pod_request import occupies
from simulator.world import World


@dataclass(frozen=True, slots=True)
class View:
    """Objects by name, as they are stored: nobody may change them. Pods that have finished are left out."""

    pods: dict[str, Object]
    """By namespace/name."""
    nodes: dict[str, Object]
    requests: dict[str, Object]
    removals: dict[str, Object]
    servers: dict[str, Server]

    def placement(self) -> dict[str, str]:
        """Return the node name of each pod, empty for one that waits."""
        return {key: pod["spec"].get("nodeName", "") for key, pod in self.pods.items()}

    def pending(self) -> list[str]:
        """Return the pods without a node."""
        return [key for key, node in self.placement().items() if not node]

    def taints(self, key: str) -> list[str]:
        """Return the nodes that carry a taint of this key."""
        return [n for n, node in self.nodes.items() if any(t["key"] == key for t in node["spec"].get("taints") or ())]

    def removal_phase(self, name: str) -> str:
        """Return the phase of the removal of that name: empty without one, and before its first status."""
        return self.removals.get(name, {}).get("status", {}).get("phase", "")

    def phases(self) -> dict[str, str]:
        """Return the phase of each request and removal, by kind and name."""
        objects = [*self.requests.values(), *self.removals.values()]
        return {f"{o['kind']}/{o['metadata']['name']}": o.get("status", {}).get("phase", "Pending") for o in objects}


async def look(world: World) -> View:
    """Return what there is now."""
    cluster = world.cluster
    pods = cluster.peek(PODS)
    return View(
        pods={f"{p['metadata']['namespace']}/{p['metadata']['name']}": p for p in pods if occupies(p)},
        nodes=_by_name(cluster.peek(NODES)),
        requests=_by_name(cluster.peek(NODE_REQUESTS)),
        removals=_by_name(cluster.peek(NODE_REMOVAL_REQUESTS)),
        servers={s.name: s for s in await world.servers()},
    )


def _by_name(items: list[Object]) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in items}
