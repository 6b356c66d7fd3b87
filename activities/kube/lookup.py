"""A live look at one object that may be gone."""

from activities.ports.cluster import Cluster, Object, Resource
from activities.ports.errors import NotFound


async def find_object(
    cluster: Cluster, resource: Resource, name: str, *, namespace: str | None = None
) -> Object | None:
    """Return the object, read live, or None if there is none of this name.

    Raises:
        Unreachable: the API server does not answer.
    """
    try:
        return await cluster.get(resource, name, namespace=namespace)
    except NotFound:
        return None
