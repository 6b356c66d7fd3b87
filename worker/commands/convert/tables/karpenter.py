"""What becomes of each setting of Karpenter: NodePool v1, EC2NodeClass v1, and other classes.

Source: karpenter.sh/docs/concepts/nodepools, nodeclasses and disruption, of v1.14.
"""

from collections.abc import Mapping
from typing import Final

from worker.commands.convert.peer_setting import PeerSetting, PeerTable, equal, none

_AWS: Final = "of AWS; the HetznerNodeClass says the same of servers in Hetzner's words"
_TYPE: Final = (
    "types of another cloud: serverTypes name those of the class, or say their architecture, cores and memory"
)
_NETWORK: Final = "networks and firewalls of the HetznerNodeClass"
_STATIC: Final = "a node is known by its label growth.dev/pool"

POOL: Final[PeerTable] = {
    "metadata.name": equal("metadata.name"),
    "spec.weight": equal("priority"),
    "spec.replicas": equal("limits", "min and max alike"),
    "spec.limits.cpu": equal("limits.cpu"),
    "spec.limits.memory": equal("limits.memory"),
    "spec.limits.nodes": equal("limits.max"),
    "spec.limits": none("limits are in machines, cores, memory and money"),
    "spec.disruption.consolidationPolicy": equal(
        "scaleDown.mode drain", "with scaleDown.consolidate unless it is WhenEmpty"
    ),
    "spec.disruption.consolidateAfter": equal("scaleDown.consolidate.after", "and scaleDown.idleAfter"),
    "spec.disruption.budgets": equal("scaleDown.budgets"),
    "spec.disruption.budgets.nodes": equal("scaleDown.budgets[].nodes"),
    "spec.disruption.budgets.reasons": equal(
        "scaleDown.budgets[].reasons", "Underutilized: Consolidation, Drifted: Drift"
    ),
    "spec.disruption.budgets.schedule": equal("scaleDown.budgets[]", "days, start and end"),
    "spec.disruption.budgets.duration": equal("scaleDown.budgets[]", "days, start and end"),
    "spec.template.metadata.labels": equal("template.labels"),
    "spec.template.metadata.annotations": equal("template.annotations"),
    "spec.template.spec.requirements": equal("serverTypes, locations and template.labels"),
    "spec.template.spec.requirements.minValues": none(
        "no flexibility is kept: what is sold out is left out, and the next is bought"
    ),
    "spec.template.spec.taints": equal("template.taints"),
    "spec.template.spec.startupTaints": equal("scaleUp.startupTaints", "the user data sets them on the Node"),
    "spec.template.spec.expireAfter": equal("rotation.maxNodeAge"),
    "spec.template.spec.terminationGracePeriod": equal("scaleDown.terminationGracePeriod"),
    "spec.template.spec.nodeClassRef": equal("template.classRef"),
    "spec.template.spec.nodeClassRef.group": none(_STATIC),
    "spec.template.spec.nodeClassRef.kind": none("HetznerNodeClass, or what --node-class names"),
}
"""Of a NodePool."""

_ARCHITECTURE: Final = equal("serverTypes[].requirements", "architecture")
_CORES: Final = equal("serverTypes[].requirements", "cores")
_MEMORY: Final = equal("serverTypes[].requirements", "memory, which Karpenter counts in MiB")
_NO_SPOT: Final = "spot and reserved machines: Hetzner Cloud sells none, and each machine is on demand"


def _of_prefix(prefix: str, names: str, row: PeerSetting) -> Mapping[str, PeerSetting]:
    return {f"{prefix}/{name}": row for name in names.split()}


REQUIREMENTS: Final[PeerTable] = {
    "kubernetes.io/arch": _ARCHITECTURE,
    "beta.kubernetes.io/arch": _ARCHITECTURE,
    "kubernetes.io/os": none("each machine runs Linux"),
    "beta.kubernetes.io/os": none("each machine runs Linux"),
    "karpenter.sh/capacity-type": none(_NO_SPOT),
    "node.kubernetes.io/instance-type": equal("serverTypes[].name", "not those of another cloud"),
    "beta.kubernetes.io/instance-type": equal("serverTypes[].name", "not those of another cloud"),
    "topology.kubernetes.io/zone": equal("locations", "not those of another cloud"),
    "failure-domain.beta.kubernetes.io/zone": equal("locations", "not those of another cloud"),
    "topology.kubernetes.io/region": equal("locations", "not those of another cloud"),
    "failure-domain.beta.kubernetes.io/region": equal("locations", "not those of another cloud"),
    "topology.k8s.aws/zone-id": none("zones of another cloud: spec.locations names those of the class"),
    "karpenter.k8s.aws/instance-cpu": _CORES,
    "karpenter.k8s.aws/instance-memory": _MEMORY,
    "karpenter.azure.com/sku-cpu": _CORES,
    "karpenter.azure.com/sku-memory": _MEMORY,
    **_of_prefix(
        "karpenter.k8s.aws",
        "instance-category instance-family instance-generation instance-size instance-hypervisor instance-local-nvme"
        " instance-network-bandwidth instance-ebs-bandwidth instance-cpu-manufacturer"
        " instance-cpu-sustained-clock-speed-mhz instance-encryption-in-transit-supported instance-gpu-name"
        " instance-gpu-manufacturer instance-gpu-count instance-gpu-memory instance-accelerator-name"
        " instance-accelerator-manufacturer instance-accelerator-count instance-capability-flex",
        none(_TYPE),
    ),
    **_of_prefix(
        "karpenter.azure.com",
        "sku-family sku-name sku-version sku-storage-premium-capable sku-networking-accelerated"
        " sku-storage-ephemeralos-maxsize sku-gpu-count sku-gpu-name sku-gpu-manufacturer",
        none(_TYPE),
    ),
}
"""Keys of requirements; one that is not here is a label of the user."""

EC2_CLASS: Final[PeerTable] = {
    "spec.kubelet.maxPods": equal("kubelet.maxPods"),
    "spec.kubelet.kubeReserved": equal("kubelet.kubeReserved"),
    "spec.kubelet.systemReserved": equal("kubelet.systemReserved"),
    "spec.kubelet": none("the user data starts the kubelet, with these settings as well"),
    "spec.tags": equal("serverLabels", "where they are labels"),
    "spec.amiFamily": none(f"image of the HetznerNodeClass; AMIs are {_AWS}"),
    "spec.amiSelectorTerms": none(f"image of the HetznerNodeClass; AMIs are {_AWS}"),
    "spec.userData": none("not printed, as a token may be in it: put it into the Secret that userData names"),
    "spec.subnetSelectorTerms": none(_NETWORK),
    "spec.securityGroupSelectorTerms": none(_NETWORK),
    "spec.associatePublicIPAddress": none("enableIPv4 and enableIPv6 of the HetznerNodeClass"),
    **dict.fromkeys(
        (
            "spec.role",
            "spec.instanceProfile",
            "spec.blockDeviceMappings",
            "spec.instanceStorePolicy",
            "spec.metadataOptions",
            "spec.detailedMonitoring",
            "spec.capacityReservationSelectorTerms",
            "spec.context",
            "spec.ipPrefixCount",
            "spec.cpuOptions",
            "spec.placementGroupSelector",
        ),
        none(_AWS),
    ),
}
"""Of an EC2NodeClass."""
OTHER_CLASS: Final[PeerTable] = {
    "spec": none("of another provider: the HetznerNodeClass says the same in Hetzner's words")
}
"""Of a node class of any other kind."""
SETTINGS: Final[PeerTable] = {**POOL, **REQUIREMENTS, **EC2_CLASS}
