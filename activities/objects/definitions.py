"""Growth's own definitions: where node classes live, and whether the definitions are being removed.

Deleting a CustomResourceDefinition marks all its objects as deleted, which must not read as a wish
to delete the machines: then nothing is decided and no cloud is called. Source: docs/design.md#deleting.
"""

from activities.ports.cluster import CRDS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, Object, Resource
from activities.ports.errors import NotFound
from activities.ports.ports import Ports
from api.keys import GROUP, VERSION


def class_resource(kind: str) -> Resource:
    """Return where the node classes of this kind live, such as KwokNodeClass."""
    return Resource(GROUP, VERSION, kind, f"{kind.lower()}es", namespaced=False)


async def are_going(ports: Ports) -> bool:
    """Return whether the definition of one of our kinds is being deleted or is gone, read live.

    Raises:
        Unreachable: the API server does not answer.
    """
    found = await _found(ports)
    return None in found or any(_is_deleted(one) for one in found)


async def are_being_deleted(ports: Ports) -> bool:
    """Return whether the definition of one of our kinds is being deleted and still there, read live.

    Raises:
        Unreachable: the API server does not answer.
    """
    return any(_is_deleted(one) for one in await _found(ports))


async def _found(ports: Ports) -> list[Object | None]:
    """Return the definitions of our kinds, None for one that does not exist."""
    ours = (NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS, *(class_resource(kind) for kind in ports.providers))
    found: list[Object | None] = []
    for resource in ours:
        try:
            found.append(await ports.cluster.get(CRDS, f"{resource.plural}.{resource.group}"))
        except NotFound:
            found.append(None)
    return found


def _is_deleted(definition: Object | None) -> bool:
    return definition is not None and "deletionTimestamp" in definition["metadata"]
