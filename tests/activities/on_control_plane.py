"""What the tests of activities on the real control plane share: they begin their names alike and clear up by it."""

from contextlib import suppress

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.errors import NotFound
from activities.providers.built_in import KWOK_NODE_CLASSES


async def clear_named(cluster, beginning):
    """Delete every object and Node whose name begins so, its finalizers first."""
    for resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_POOLS, KWOK_NODE_CLASSES, NODES):
        for item in (await cluster.list(resource)).items:
            if item["metadata"]["name"].startswith(beginning):
                await clear(cluster, resource, item)


async def clear(cluster, resource, item):
    """Delete one object, whoever holds it."""
    name = item["metadata"]["name"]
    with suppress(NotFound):
        if item["metadata"].get("finalizers"):
            await cluster.patch(resource, name, [{"op": "remove", "path": "/metadata/finalizers"}])
        await cluster.delete(resource, name)
