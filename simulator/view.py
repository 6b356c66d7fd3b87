"""What a person would see of the cluster and its provider at one moment."""

from dataclasses import dataclass

from activities.ports.cluster import NODES, PODS, Object, Resource
from activities.ports.errors import NotFound
from activities.ports.provider import Server
from planner.lifecycle.kinds import REMOVAL, REQUEST
from simulator.scheduling.pod_request import occupies
from simulator.world import World


@dataclass(frozen=True, slots=True)
class View:
    """Objects by name, as they are stored: nobody may change them. Pods that have finished are left out."""

    pods: dict[str, Object]
    """By namespace/name."""
    nodes: dict[str, Object]
    lifecycles: dict[str, dict[str, Object]]
    """Objects with a lifecycle, by kind and name."""
    servers: dict[str, Server]

    @property
    def requests(self) -> dict[str, Object]:
        """NodeRequests by name."""
        return self.lifecycles[REQUEST.name]

    @property
    def removals(self) -> dict[str, Object]:
        """NodeRemovalRequests by name."""
        return self.lifecycles[REMOVAL.name]

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
        """Return the phase of each object with a lifecycle, by kind and name."""
        return {
            f"{kind}/{name}": item.get("status", {}).get("phase", "Pending")
            for kind, items in self.lifecycles.items()
            for name, item in items.items()
        }


async def look(world: World) -> View:
    """Return the view of the world now."""
    cluster = world.cluster
    pods = cluster.peek(PODS)
    return View(
        pods={f"{p['metadata']['namespace']}/{p['metadata']['name']}": p for p in pods if occupies(p)},
        nodes=_by_name(cluster.peek(NODES)),
        lifecycles={
            row.stored.lifecycle.name: _by_name(_objects(world, row.stored.resource)) for row in world.lifecycles
        },
        servers={s.name: s for s in await world.servers()},
    )


def _objects(world: World, resource: Resource) -> list[Object]:
    try:
        return world.cluster.peek(resource)
    except NotFound:
        if resource.is_optional:
            return []
        raise


def _by_name(items: list[Object]) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in items}
