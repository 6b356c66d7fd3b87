"""Objects of kinds that the API server may not know."""

from collections.abc import Sequence

from activities.ports.cluster import Object, Resource
from activities.ports.errors import NotFound
from activities.ports.ports import Ports


async def list_known(ports: Ports, resource: Resource) -> Sequence[Object]:
    """Return all objects of a kind; of one that the API server does not know, none."""
    try:
        return (await ports.cluster.list(resource)).items
    except NotFound:
        return ()
