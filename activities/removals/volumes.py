"""The volumes attached to a machine that goes, as its removal waits for them.

A volume that a pod on the node still uses does not detach before the server is gone: none of a DaemonSet's pods, nor of
those that an immediate removal takes with it, is waited for.
Source: Karpenter, controllers/node/termination, filterVolumeAttachments.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from activities.ports.cluster import PERSISTENT_VOLUMES, PODS, VOLUME_ATTACHMENTS, Object
from activities.ports.errors import Forbidden, NotFound, Unreachable
from activities.ports.ports import Ports
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.json_predicates import is_finished
from planner.lifecycle.leaving import see_volumes
from planner.lifecycle.seen import VolumesSeen
from planner.lifecycle.step import shortened


async def volumes_on(ports: Ports, node: str, status: NodeRemovalRequestStatus) -> VolumesSeen:
    """Return the volumes attached to the node that no unfinished pod on it uses.

    A cluster in which they cannot be listed, for want of the right or of the kind, has none; the problem says so.

    Raises:
        Unreachable: the API server does not answer.
    """
    try:
        attachments = (await ports.cluster.list(VOLUME_ATTACHMENTS)).items
    except (Forbidden, NotFound) as error:
        return VolumesSeen(problem=_unseen(error))
    attached = sorted(_name(one) for one in attachments if one["spec"].get("nodeName") == node)
    if not attached:
        return VolumesSeen()
    pods = (await ports.cluster.list(PODS, fields=f"spec.nodeName={node}")).items
    used = {claim for pod in pods if not is_finished(pod) for claim in _claims(pod)}
    claims = await _claims_of_volumes(ports) if used else {}
    awaited = [name for name in attached if claims.get(name) not in used]
    return see_volumes(awaited, status)


def _unseen(error: Exception) -> str:
    return shortened(f"The server goes without a look at the volumes attached to it: {error}")


def _name(attachment: Object) -> str:
    source: Mapping[str, Any] = attachment["spec"].get("source") or {}
    return source.get("persistentVolumeName") or attachment["metadata"]["name"]


def _claims(pod: Object) -> Iterator[str]:
    """Yield the claims of the pod as namespace/name; that of an ephemeral volume is named after both.

    Source: Kubernetes docs, "Ephemeral volumes", PersistentVolumeClaim naming.
    """
    metadata = pod["metadata"]
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim") is not None:
            yield f"{metadata['namespace']}/{volume['persistentVolumeClaim']['claimName']}"
        elif volume.get("ephemeral") is not None:
            yield f"{metadata['namespace']}/{metadata['name']}-{volume['name']}"


async def _claims_of_volumes(ports: Ports) -> dict[str, str]:
    """Return the claim of each bound volume, as far as the cache knows."""
    try:
        volumes = (await ports.reader.list(PERSISTENT_VOLUMES)).items
    except Unreachable:
        return {}
    return {
        volume["metadata"]["name"]: f"{ref['namespace']}/{ref['name']}"
        for volume in volumes
        if (ref := volume["spec"].get("claimRef")) is not None
    }
