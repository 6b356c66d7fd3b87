"""The volumes of a machine that goes: attached ones, as its removal waits for them, and data that is there alone.

A volume that a pod on the node still uses does not detach before the server is gone: none of a DaemonSet's pods, nor of
those that an immediate removal takes with it, is waited for.
Source: Karpenter, controllers/node/termination, filterVolumeAttachments.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from activities.ports.cluster import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    Object,
    find_object,
)
from activities.ports.errors import Forbidden, NotFound, Unreachable
from activities.ports.ports import Ports
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.json_predicates import is_finished
from planner.lifecycle.leaving import VOLUMES_DETACH_WITHIN, see_volumes
from planner.lifecycle.seen import VolumesSeen
from planner.lifecycle.step import shortened
from planner.objects.local_volume import LocalVolume, LocalVolumes, VolumeHost
from planner.objects.storage import Claim, Volume
from planner.parsing.objects import parse_claim, parse_volume


async def volumes_on(ports: Ports, node: str, status: NodeRemovalRequestStatus) -> VolumesSeen:
    """Return the volumes attached to the node that no unfinished pod on it uses.

    A cluster in which they cannot be listed, for want of the right or of the kind, has none; the problem says so.

    Raises:
        Unreachable: the API server does not answer.
    """
    now = ports.now()
    committed_at = now if status.detach_until is None else status.detach_until - VOLUMES_DETACH_WITHIN
    try:
        attachments = await ports.attachments.on(ports.cluster, node, since=committed_at, now=now)
    except (Forbidden, NotFound) as error:
        return VolumesSeen(problem=_unseen(error))
    attached = sorted(map(_name, attachments))
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


async def local_data_on(ports: Ports, host: VolumeHost, *, is_certain: bool) -> tuple[LocalVolume, ...]:
    """Return the volumes whose data is on the machine alone, as the cache knows them.

    Where it knows of none and the answer must be certain, as nothing comes between it and the drain or the point of no
    return, they are listed live: a claim may have been bound a moment ago.

    Raises:
        Unreachable: the API server does not answer.
        UnreadableObject: a volume that names the machine cannot be read.
    """
    try:
        known = await _on_host(ports, host, (await ports.reader.list(PERSISTENT_VOLUMES)).items)
    except Unreachable:
        return await _listed_live(ports, host)
    return await _listed_live(ports, host) if is_certain and not known else known


async def _listed_live(ports: Ports, host: VolumeHost) -> tuple[LocalVolume, ...]:
    return await _on_host(ports, host, (await ports.cluster.list(PERSISTENT_VOLUMES)).items)


async def _on_host(ports: Ports, host: VolumeHost, items: Sequence[Object]) -> tuple[LocalVolume, ...]:
    values = frozenset(host.fields.values())
    # Among thousands few name the machine, and only those are read.
    volumes = [parse_volume(item) for item in items if _may_name(item, values)]
    if not volumes:
        return ()
    claims = [claim for volume in volumes if (claim := await _claim_of(ports, volume)) is not None]
    labels = [node["metadata"].get("labels") or {} for node in await _nodes(ports)]
    return LocalVolumes(volumes, claims, labels).on(host)


def _may_name(volume: Object, values: frozenset[str]) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    return any(
        expression["operator"] == "Exists" or not values.isdisjoint(expression.get("values") or ())
        for term in required.get("nodeSelectorTerms") or ()
        for expression in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
    )


async def _claim_of(ports: Ports, volume: Volume) -> Claim | None:
    """Return the claim of a volume whose phase does not tell whether it is bound."""
    if not volume.claim or volume.phase in ("Bound", "Released", "Failed"):
        return None
    namespace, _, name = volume.claim.partition("/")
    claim = await find_object(ports.cluster, PERSISTENT_VOLUME_CLAIMS, name, namespace=namespace)
    return None if claim is None else parse_claim(claim)


async def _nodes(ports: Ports) -> Sequence[Object]:
    try:
        return (await ports.reader.list(NODES)).items
    except Unreachable:
        return (await ports.cluster.list(NODES)).items
