"""Follows the objects of a resource, as an informer does: a list, then a watch, and again when that expires."""

from collections.abc import Callable

from activities.ports.cluster import Cluster, Resource, WatchEvent
from activities.ports.errors import Expired


async def follow(cluster: Cluster, resource: Resource, note: Callable[[WatchEvent], None]) -> None:
    """Call `note` with every object, then with every change, as long as the resource exists.

    Changes while a watch has expired are not told one by one: what exists then is told anew.

    Raises:
        NotFound: the resource does not exist.
    """
    while True:
        listed = await cluster.list(resource)
        for item in listed.items:
            note(WatchEvent("ADDED", item))
        try:
            async for event in cluster.watch(resource, resource_version=listed.resource_version):
                note(event)
        except Expired:
            continue
