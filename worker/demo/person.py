"""What a person does in the demo: the messages that `growth removals` sends, and the cloud mended."""

from typing import Final

from temporalio.client import Client

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_POOLS, NODES, Object
from api.keys import ANNOTATION_DO_NOT_REMOVE
from planner.lifecycle.kinds import REMOVAL, ObjectId
from simulator.world import CLUSTER_NAME, World
from workflows.messages import Asked

NAME: Final = "demo"
"""Who asks, as the objects will tell."""
NO_CONSOLIDATION: Final = '{"spec":{"scaleDown":{"consolidate":null}}}'
"""The merge patch of a pool by which its consolidation ends."""


class Person:
    """Acts on removals through Temporal, and on the cluster as kubectl would.

    Args:
        client: of the Temporal server that the worker uses.
        world: the cluster.
    """

    def __init__(self, client: Client, world: World) -> None:
        self._client = client
        self._world = world

    async def cancel(self, removal: Object, reason: str) -> None:
        """Send the signal `cancel` to the removal's workflow."""
        await self._client.get_workflow_handle(_workflow_id(removal)).signal("cancel", Asked(by=NAME, reason=reason))

    async def retry(self, removal: Object, reason: str) -> str:
        """Send the update `retry` to a parked removal's workflow and return its answer."""
        handle = self._client.get_workflow_handle(_workflow_id(removal))
        return await handle.execute_update("retry", Asked(by=NAME, reason=reason), result_type=str)

    async def keep(self, node: str, why: str) -> None:
        """Annotate the node so that no removal of it begins."""
        current = await self._world.cluster.get(NODES, node)
        operations = set_field(current, ("metadata", "annotations", ANNOTATION_DO_NOT_REMOVE), why)
        await self._world.cluster.patch(NODES, node, operations)

    async def end_consolidation(self, pool: str) -> None:
        """Take consolidation out of the pool: what has begun goes on, and nothing begins."""
        await self._world.cluster.patch(NODE_POOLS, pool, [{"op": "remove", "path": "/spec/scaleDown/consolidate"}])

    async def mend_the_cloud(self) -> None:
        """Take the scripted faults off the node class: from now on servers can be deleted."""
        await self._world.cluster.patch(
            self._world.node_classes, "default", [{"op": "add", "path": "/spec/faults", "value": []}]
        )


def _workflow_id(removal: Object) -> str:
    metadata = removal["metadata"]
    return REMOVAL.workflow_id(CLUSTER_NAME, ObjectId(name=metadata["name"], uid=metadata["uid"]))
