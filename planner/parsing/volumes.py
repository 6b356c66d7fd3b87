"""API JSON of storage to planner objects.

Source: Kubernetes docs, "Persistent Volumes", "Storage Classes" and "Node-specific Volume Limits"; names of the CSI
drivers that took over from plugins in the tree: csi-translation-lib.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from planner.objects.kinds import Node, Requirement
from planner.objects.predicates import FIELD_NAME, NEVER
from planner.objects.storage import Claim, CsiNode, StorageClass, Volume, VolumeNeed
from planner.parsing.json_part import Part
from planner.parsing.selectors import node_terms, optional_selector

_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_DRIVERS: Final = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""By provisioner of the plugin in the tree."""
_SOURCES: Final = {
    "awsElasticBlockStore": ("ebs.csi.aws.com", "volumeID"),
    "azureDisk": ("disk.csi.azure.com", "diskURI"),
    "cinder": ("cinder.csi.openstack.org", "volumeID"),
    "gcePersistentDisk": ("pd.csi.storage.gke.io", "pdName"),
    "portworxVolume": ("pxd.portworx.com", "volumeID"),
}
"""CSI driver and the field that names the disk, by source of a volume of a plugin in the tree."""


def claim_from(root: Part) -> Claim:
    """Return a PersistentVolumeClaim.

    Raises:
        FieldError: a field cannot be read.
    """
    metadata, spec, status = root.part("metadata"), root.part("spec"), root.part("status")
    annotations = metadata.text_map("annotations")
    volume = spec.text("volumeName")
    return Claim(
        namespace=metadata.text("namespace") or "default",
        name=metadata.name("name"),
        uid=metadata.text("uid"),
        need=_need(spec, annotations, spec.part("resources").amounts("requests").get("storage", 0)),
        selector=optional_selector(spec, "selector"),
        volume=volume,
        is_bound=bool(volume) and _BIND_COMPLETED in annotations,
        is_lost=status.text("phase") == "Lost",
        is_terminating=metadata.has("deletionTimestamp"),
        selected_node=annotations.get(_SELECTED_NODE, ""),
    )


def volume_from(root: Part) -> Volume:
    """Return a PersistentVolume.

    Raises:
        FieldError: a field cannot be read.
    """
    metadata, spec = root.part("metadata"), root.part("spec")
    affinity, claim = spec.part("nodeAffinity"), spec.part("claimRef")
    driver, handle = _source(spec)
    required = node_terms(affinity.part("required").parts("nodeSelectorTerms")) if affinity.has("required") else ()
    return Volume(
        name=metadata.name("name"),
        offer=_need(spec, metadata.text_map("annotations"), spec.amounts("capacity").get("storage", 0)),
        labels=metadata.text_map("labels"),
        node_affinity=tuple(_without_names(term) for term in required),
        located=required,
        claim=f"{claim.text('namespace')}/{claim.text('name')}" if spec.has("claimRef") else "",
        claim_uid=claim.text("uid"),
        phase=root.part("status").text("phase"),
        # The API server fills in Retain.
        is_retained=spec.text("persistentVolumeReclaimPolicy") in ("", "Retain"),
        # One from a file has no phase yet; the cluster would offer it at once.
        is_available=root.part("status").text("phase") in ("", "Available"),
        is_terminating=metadata.has("deletionTimestamp"),
        driver=driver,
        handle=handle,
    )


def storage_class_from(root: Part) -> StorageClass:
    """Return a StorageClass.

    Raises:
        FieldError: a field cannot be read.
    """
    provisioner = root.text("provisioner")
    return StorageClass(
        name=root.part("metadata").name("name"),
        driver="" if provisioner == _NO_PROVISIONER else _DRIVERS.get(provisioner, provisioner),
        waits=root.text("volumeBindingMode") == "WaitForFirstConsumer",
        allowed_topologies=tuple(_topology(term) for term in root.parts("allowedTopologies")),
    )


def csi_node_from(root: Part) -> CsiNode:
    """Return a CSINode; a driver that tells no count has no limit.

    Raises:
        FieldError: a field cannot be read.
    """
    drivers = tuple(root.part("spec").parts("drivers"))
    limits = {
        driver.name("name"): driver.part("allocatable").number("count")
        for driver in drivers
        if driver.part("allocatable").has("count")
    }
    keys = frozenset(key for driver in drivers for key in driver.texts("topologyKeys"))
    return CsiNode(
        name=root.part("metadata").name("name"),
        drivers=frozenset(driver.name("name") for driver in drivers),
        limits=limits,
        topology_keys=keys,
    )


def _need(spec: Part, annotations: dict[str, str], size: int) -> VolumeNeed:
    return VolumeNeed(
        storage_class=annotations.get(_OLD_CLASS, spec.text("storageClassName")),
        size=size,
        access_modes=frozenset(spec.texts("accessModes")),
        mode=spec.text("volumeMode") or "Filesystem",
        attributes_class=spec.text("volumeAttributesClassName"),
    )


def _source(spec: Part) -> tuple[str, str]:
    """Return CSI driver and handle; both are empty for a volume that is not attached to nodes."""
    if spec.has("csi"):
        csi = spec.part("csi")
        return csi.text("driver"), csi.text("volumeHandle")
    for source, (driver, key) in _SOURCES.items():
        if spec.has(source):
            return driver, spec.part(source).text(key)
    return "", ""


def _topology(term: Part) -> tuple[Requirement, ...]:
    expressions = term.parts("matchLabelExpressions")
    return tuple(Requirement(e.name("key"), "In", e.texts("values")) for e in expressions) or (NEVER,)


def _without_names(term: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    # The scheduler compares a volume's terms with labels alone and passes over fields (CheckNodeAffinity).
    return tuple(r for r in term if r.key != FIELD_NAME)


def with_drivers(nodes: Iterable[Node], csi_nodes: Iterable[CsiNode]) -> tuple[Node, ...]:
    """Return the nodes with the drivers, attach limits and topology keys of the CSINodes of the same name."""
    of_name = {csi_node.name: csi_node for csi_node in csi_nodes}
    return tuple(with_drivers_of(node, of_name.get(node.name)) for node in nodes)


def with_drivers_of(node: Node, csi_node: CsiNode | None) -> Node:
    """Return the node with the drivers, attach limits and topology keys of its CSINode, if that tells any."""
    if csi_node is None or not csi_node.drivers:
        return node
    return replace(node, drivers=csi_node.drivers, attach_limits=csi_node.limits, topology_keys=csi_node.topology_keys)
