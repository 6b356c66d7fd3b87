"""Growth's own definitions: where node classes live, and whether the definitions are being removed.

Deleting a CustomResourceDefinition marks all its objects as deleted, which must not read as a wish
to delete the machines: then nothing is decided and no cloud is called. Source: design §3, Deleting.
"""

from activities.cluster import CRDS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, Resource
from activities.errors import NotFound
from activities.ports import Ports
from api.keys import GROUP, VERSION


def class_resource(kind: str) -> Resource:
    """Return where the node classes of this kind live, such as KwokNodeClass."""
    return Resource(GROUP, VERSION, kind, f"{kind.lower()}es", namespaced=False)


async def are_going(ports: Ports) -> bool:
    """Return whether the definition of one of our kinds is being deleted or is gone, read live.

    Raises:
        Unreachable: the API server does not answer.
    """
    ours = (NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS, *(class_resource(kind) for kind in ports.providers))
    for resource in ours:
        try:
            definition = await ports.cluster.get(CRDS, f"{resource.plural}.{resource.group}")
        except NotFound:
            return True
        if "deletionTimestamp" in definition["metadata"]:
            return True
    return False
