"""Every name Growth writes on objects that others also see: group, labels, taints, annotations.

They are part of the product's interface: people select by them and other controllers keep them,
so a change here is a breaking change.
"""

from collections.abc import Mapping
from typing import Final

GROUP: Final = "growth.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = "growth.dev/v1alpha1"
CATEGORY: Final = "growth"

FINALIZER: Final = "growth.dev/lifecycle"
"""Held by NodePool, NodeRequest and NodeRemovalRequest until their last step has run."""

LABEL_POOL: Final = "growth.dev/pool"
LABEL_SERVER_TYPE: Final = "growth.dev/server-type"
LABEL_REQUEST: Final = "growth.dev/request"
LABEL_REQUEST_UID: Final = "growth.dev/request-uid"
LABEL_STEP: Final = "growth.dev/step"
"""On a NodeRemovalRequest whose pods move, and on a NodeRequest that replaces machines: the step that it is part of,
and of how many removals, as ID.NUMBER."""
LABEL_CLUSTER: Final = "growth.dev/cluster"
LABEL_CLUSTER_UID: Final = "growth.dev/cluster-uid"
"""On a server and a placement group: uid of the namespace kube-system of the cluster that it was made for. Two clusters
may bear one name; one that an earlier version made has no such label."""
LABEL_ABANDONED: Final = "growth.dev/abandoned"
"""On a server whose removal a person abandoned: sweeps leave it alone."""
LABEL_NODE_CLASS: Final = "growth.dev/node-class"
"""On a server: the node class it was made by."""
LABEL_NETWORK: Final = "growth.dev/network"
"""On a server that was made stopped: a network to attach it to before it starts, as id_range."""
LABEL_KWOK_SERVER: Final = "growth.dev/kwok-server"
"""On a ConfigMap that is the record of a simulated server."""

TAINT_UNREGISTERED: Final = "growth.dev/unregistered"
"""NoSchedule, from the machine's first second until its request has registered it. NoExecute would delete pods that are
bound in the moment after it was taken off: taint eviction may see them before it sees the Node without the taint."""
TAINT_RESERVED: Final = "growth.dev/reserved"
"""NoSchedule, value = request name: only the pods the plan put there may land."""
TAINT_SCALE_DOWN: Final = "growth.dev/scale-down"
"""NoSchedule, value = unix seconds of tainting: the node is in its cool-off."""
TAINT_REMOVE_NOW: Final = "growth.dev/remove-now"
"""By whoever looks after machines, with any effect: the machine goes as soon as it is empty, at once. With the value
`force`, also where the Node is annotated do-not-remove. Taken off before the point of no return, the machine stays."""
FORCED: Final = "force"
"""Value of that taint."""

ANNOTATION_DO_NOT_REMOVE: Final = "growth.dev/do-not-remove"
"""Any non-empty value keeps the node; on a pod, it keeps the pod where it is."""
ANNOTATION_SAFE_TO_EVICT: Final = "growth.dev/safe-to-evict"
"""On a pod: `true` lets a drain move it, whatever it keeps; `false` keeps it where it is until it ends."""
ANNOTATION_SAFE_VOLUMES: Final = "growth.dev/safe-to-evict-local-volumes"
"""On a pod: names of its volumes, with commas between, whose data nobody misses."""
LABEL_HARD_GRACE_OVER: Final = "growth.dev/hard-grace-over"
"""On a pod that Growth deletes whatever keeps it: the policies of the base let Growth delete no other, and let nobody
put it on a pod of a Node that Growth has not bought."""
LABEL_BOUNDED: Final = "growth.dev/bounded"
"""On a ClusterRoleBinding: the policies of the base bound what whoever it names may do."""
OTHERS_SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
OTHERS_SAFE_VOLUMES: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
"""The same words of Cluster Autoscaler, which others set on their pods; ours go before them."""
OTHERS_SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
"""On a Node, Cluster Autoscaler's word: `true` keeps it from being emptied by a policy."""
OTHERS_DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
"""Karpenter's word: `true` on a Node or pod keeps it where it is; on a pod also a duration from its start, as `30m`."""
OTHERS_DAEMON_EVICTION: Final = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
"""On a pod of a DaemonSet: `false` leaves it alone in a drain."""
ANNOTATION_IDLE_SINCE: Final = "growth.dev/idle-since"
ANNOTATION_UNDERUSED_SINCE: Final = "growth.dev/underused-since"
"""On a Node of a pool with `scaleDown.node`: since when it has been used little without a break."""
ANNOTATION_PODS_SINCE: Final = "growth.dev/pods-since"
"""On a Node of a pool that consolidates: since when it has had the same pods, and their hash."""
ANNOTATION_SPARED_AT: Final = "growth.dev/spared-at"
"""On a Node: when a person cancelled its removal as a dead one. It counts as dead again only as long after that."""
ANNOTATION_CANCELLED_AT: Final = "growth.dev/removal-cancelled-at"
"""On a Node: when a person last cancelled its removal. No other is begun by itself for a while."""
ANNOTATION_TIMES_CANCELLED: Final = "growth.dev/removals-cancelled"
"""On a Node: how often that was, without a long time between. Each time doubles the while."""
ANNOTATION_DRAIN_PAUSE: Final = "growth.dev/drain-pause"
"""On a Node whose drain was given up: until when Growth begins none again by itself, and how long that is."""
ANNOTATION_MOVE_FAILED: Final = "growth.dev/move-failed"
"""On a Node: until when its pods are not moved again, as they could not be, and how long that is."""
ANNOTATION_MOVE_FAILED_BY: Final = "growth.dev/move-failed-by"
"""On a Node: the machines that were to take its place then, or the removal: what failed at once counts once."""
ANNOTATION_PRICE: Final = "growth.dev/price-per-hour"
"""On a Node: what its machine costs per hour, as it was when it was bought, a decimal number."""
ANNOTATION_CURRENCY: Final = "growth.dev/currency"
"""Currency of that price."""
ANNOTATION_TEMPLATE_HASH: Final = "growth.dev/template-hash"
"""On a Node: hash of what class and pool asked of its machine when it was bought, after the version of the hash."""
ANNOTATION_PAUSED: Final = "growth.dev/paused"
"""On a NodePool, by a person: why it buys nothing and begins no removal. `false` is no pause."""
ANNOTATION_PAUSED_UNTIL: Final = "growth.dev/paused-until"
"""Beside it: when that ends, as 2026-01-31T18:00:00Z; without it, when somebody ends it."""
ANNOTATION_CAPACITY_BUFFER: Final = "growth.dev/capacity-buffer"
"""On a CapacityBuffer: `false` leaves it to another program, `true` takes over what another one has answered."""
ANNOTATION_DELETE_MACHINES: Final = "growth.dev/delete-machines"
"""On a NodePool that is being deleted: its Ready machines are removed too."""
ANNOTATION_DECISION: Final = "growth.dev/decision"
"""On a NodeRemovalRequest, by a person: cancel, retry, skip or abandon. Taken off once it is answered."""
ANNOTATION_DECISION_REASON: Final = "growth.dev/decision-reason"
"""Why, beside the decision."""

ANNOTATION_DELETE_LOCAL_DATA: Final = "growth.dev/delete-local-data"
"""On a NodeRemovalRequest, by a person: `true` lets the data go that is on the machine alone."""

TAINT_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
"""On a Node that a cloud-controller-manager has not looked at yet. Source: Kubernetes "Well-Known Taints"."""
LABEL_EXCLUDED: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
"""On a Node: load balancers send it nothing, whatever the value. Source: Kubernetes "Well-Known Labels"."""
EXCLUDED_BY_GROWTH: Final = "growth"
"""Its value where Growth has set it: only that is taken off again."""
LABEL_HOSTNAME: Final = "kubernetes.io/hostname"
LABEL_ARCH: Final = "kubernetes.io/arch"
LABEL_OS: Final = "kubernetes.io/os"
LABEL_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
LABEL_REGION: Final = "topology.kubernetes.io/region"
LABEL_ZONE: Final = "topology.kubernetes.io/zone"
OLD_LABELS: Final[Mapping[str, str]] = {
    LABEL_OS: "beta.kubernetes.io/os",
    LABEL_ARCH: "beta.kubernetes.io/arch",
    LABEL_INSTANCE_TYPE: "beta.kubernetes.io/instance-type",
    LABEL_REGION: "failure-domain.beta.kubernetes.io/region",
    LABEL_ZONE: "failure-domain.beta.kubernetes.io/zone",
}
"""Deprecated names by the label whose value they repeat. Kubelets and Kubernetes' node controller still set those of
system and architecture, cloud-controller-managers the others; charts still select by them.
Source: Kubernetes "Well-Known Labels"; kubernetes/kubernetes, node_lifecycle_controller.go, labelReconcileInfo."""
