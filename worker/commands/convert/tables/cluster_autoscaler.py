"""What becomes of each flag of Cluster Autoscaler, of Hetzner's variables and of its node configurations.

Source: kubernetes/autoscaler, cluster-autoscaler: FAQ.md, config/flags/flags.go, cloudprovider/hetzner/README.md.
"""

from collections.abc import Mapping
from typing import Final

from worker.commands.convert.peer_setting import PeerSetting, PeerTable, equal, none

_PROCESS: Final = "of the process, not of pools"
_WHOLE_CLUSTER: Final = (
    "limits are of each pool: limits.max, limits.cpu and limits.memory; nothing counts nodes of no pool"
)
_CUT: Final = "a search that is cut off tells how far from the least its plan may be; there is no such setting"
_SIMILAR: Final = (
    "locations of one pool need no balance between groups: pods are spread by their own constraints, at the least price"
)
_ELECTION: Final = "workers elect none: each round is one workflow in Temporal, whichever worker runs it"
_MOVES: Final = (
    "a pod says so itself: growth.dev/safe-to-evict, or the annotations of Cluster Autoscaler, which are obeyed"
)
_LOOKED_AT: Final = "each round looks at all machines: no candidate list is kept or cut"
_BACKOFF: Final = "each further miss doubles the wait by itself"
_SERVED: Final = "ProvisioningRequests are not served; spec.headroom keeps room"
_CLOUD: Final = "the class of a pool says its provider, project and token"
_REPORTS: Final = "conditions and events of pools tell it, and `growth status`"
_DEAD: Final = (
    "scaleDown.repair counts dead machines of each pool, and stops at 20 % of it or most Nodes of the cluster"
)
_DAEMONS: Final = "pods of DaemonSets leave with their Node: a drain does not evict them"
_TAINTS: Final = "a taint of status keeps pods away by itself"
_SCHEDULERS: Final = "pods of every scheduler that says Unschedulable are planned for"
_LOADED: Final = "its requests count as those of any pod: what pods of the Node use is not room"


def _each(names: str, row: PeerSetting) -> Mapping[str, PeerSetting]:
    return {f"--{name}": row for name in names.split()}


FLAGS: Final[PeerTable] = {
    "--nodes": equal("one pool each", "min:max:TYPE:LOCATION:name, or min:max:name"),
    "--node-group-auto-discovery": none(
        "groups are of another cloud and stand in no file: one pool is written for all"
    ),
    "--expander": equal(
        "priority", "priority by the ConfigMap; the price decides in any case, so the others have no equal"
    ),
    "--expendable-pods-priority-cutoff": equal("scaleUp.expendablePriority"),
    "--new-pod-scale-up-delay": equal("scaleUp.podGrace"),
    "--max-nodes-per-scaleup": equal("scaleUp.batchMax"),
    "--max-node-provision-time": equal("scaleUp.joinTimeout", "from the running server to the Ready Node"),
    "--max-node-startup-time": none("scaleUp.joinTimeout is until the Node can take its pods"),
    "--initial-node-group-backoff-duration": equal("scaleUp.unavailableTTL", "of the offering, not of the whole group"),
    "--max-node-group-backoff-duration": none(_BACKOFF),
    "--node-group-backoff-reset-timeout": none(_BACKOFF),
    "--startup-taint": equal("scaleUp.startupTaints"),
    "--ignore-taint": equal("scaleUp.startupTaints"),
    "--startup-taint-prefix": none("scaleUp.startupTaints names keys; Cluster Autoscaler's own prefixes are known"),
    "--status-taint": none(_TAINTS),
    "--scale-down-enabled": equal("scaleDown.mode", "false: none"),
    "--scale-down-unneeded-time": equal("scaleDown.idleAfter", "and scaleDown.node.window"),
    "--scale-down-utilization-threshold": equal("scaleDown.node", "cpuPercent and memoryPercent"),
    "--scale-down-gpu-utilization-threshold": none("scaleDown.node is about cpu and memory"),
    "--scale-down-delay-after-add": equal("scaleDown.cooldownAfterScaleUp", "of the same pool"),
    "--scale-down-delay-after-delete": equal("scaleDown.cooldownAfterScaleDown", "of the same pool"),
    "--scale-down-delay-after-failure": none("a drain that was given up has a pause of its own, on its Node"),
    "--scale-down-delay-type-local": none("cool-downs are of each pool always"),
    "--scale-down-unready-time": equal("scaleDown.repair.after"),
    "--scale-down-unready-enabled": equal("scaleDown.repair", "false: none"),
    "--max-scale-down-parallelism": equal("scaleDown.budgets"),
    "--max-empty-bulk-delete": equal("scaleDown.budgets", "the old name of --max-scale-down-parallelism"),
    "--max-drain-parallelism": equal("scaleDown.budgets", "reasons [Underused]"),
    "--max-graceful-termination-sec": none("pods have the grace that they ask for: no drain shortens it"),
    "--max-pod-eviction-time": equal("scaleDown.drainTimeout"),
    "--drain-priority-config": none("pods leave together; a PodDisruptionBudget says what may go at once"),
    "--skip-nodes-with-local-storage": equal(
        "scaleDown.emptyDir", "true: keep, false: evict; data of hostPath always stays"
    ),
    "--skip-nodes-with-system-pods": none(f"pods of kube-system move as others do; {_MOVES}"),
    "--blocking-system-pod-distruption-timeout": none(_MOVES),
    "--skip-nodes-with-custom-controller-pods": none(_MOVES),
    "--min-replica-count": none("a PodDisruptionBudget says how few replicas are too few"),
    "--node-delete-delay-after-taint": equal("scaleDown.softGrace"),
    "--node-deletion-delay-timeout": none(
        "annotations do not hold a deletion back: growth.dev/do-not-remove keeps a Node"
    ),
    "--enforce-node-group-min-size": equal("limits.min", "a minimum is always bought"),
    **_each("max-nodes-total cores-total memory-total gpu-total capacity-quotas-enabled", none(_WHOLE_CLUSTER)),
    "--estimator": none("one plan for all waiting pods, at the least price"),
    **_each(
        "max-nodegroup-binpacking-duration max-binpacking-time fastpath-binpacking-enabled parallel-scale-up"
        " salvo-scale-up salvo-scale-up-budget scale-down-simulation-timeout pod-injection-limit",
        none(_CUT),
    ),
    "--scale-from-unschedulable": none("an unschedulable Node is no model of a new one: sizes come from the class"),
    "--scale-up-from-zero": none("a pool grows from zero always: sizes come from the class"),
    **_each(
        "balance-similar-node-groups balancing-ignore-label balancing-label memory-difference-ratio"
        " max-allocatable-difference-ratio max-free-difference-ratio",
        none(_SIMILAR),
    ),
    "--force-ds": none("each DaemonSet that a new Node would run is counted always"),
    "--bypassed-scheduler-names": none(_SCHEDULERS),
    "--allowed-scheduler-names": none(_SCHEDULERS),
    "--enable-proactive-scaleup": none("spec.headroom keeps room for pods that are yet to come"),
    **_each(
        "capacity-buffer-controller-enabled capacity-buffer-pod-injection-enabled", none("spec.headroom is the same")
    ),
    "--max-total-unready-percentage": none(_DEAD),
    "--ok-total-unready-count": none(_DEAD),
    "--max-inactivity": none("/healthz tells it by itself"),
    "--max-failing-time": none("/healthz tells it by itself"),
    "--max-startup-time": none("/healthz tells it by itself"),
    "--force-delete-unregistered-nodes": none("a machine that does not join is deleted always, at a minimum, too"),
    "--force-delete-failed-nodes": none("a machine that failed is deleted always, at a minimum, too"),
    "--node-deletion-candidate-ttl": none("deadlines are on objects: a restart forgets none"),
    "--scale-down-non-empty-candidates-count": none(_LOOKED_AT),
    "--scale-down-candidates-pool-ratio": none(_LOOKED_AT),
    "--scale-down-candidates-pool-min-count": none(_LOOKED_AT),
    "--unremovable-node-recheck-timeout": none(_LOOKED_AT),
    "--ignore-daemonsets-utilization": none(_LOADED),
    "--ignore-mirror-pods-utilization": none(_LOADED),
    "--daemonset-eviction-for-empty-nodes": none(_DAEMONS),
    "--daemonset-eviction-for-occupied-nodes": none(_DAEMONS),
    "--cordon-node-before-terminating": none("a taint is set: cordoning is for people"),
    "--node-deletion-batcher-interval": none("each machine goes by itself"),
    "--max-bulk-soft-taint-count": none(
        "the taint of the cool-off is NoSchedule, and set on machines that shall go alone"
    ),
    "--max-bulk-soft-taint-time": none(
        "the taint of the cool-off is NoSchedule, and set on machines that shall go alone"
    ),
    "--node-info-cache-expire-time": none("sizes come from the class, in each round"),
    "--enable-csi-node-aware-scheduling": none("volumes are counted always, by CSINodes or the class's attachLimits"),
    "--enable-dynamic-resource-allocation": none("pods with resource claims get no machine, and are told so"),
    "--enable-provisioning-requests": none(_SERVED),
    "--kube-api-content-type": none(_PROCESS),
    "--provisioning-request-initial-backoff-time": none(_SERVED),
    "--provisioning-request-max-backoff-time": none(_SERVED),
    "--write-status-configmap": none(_REPORTS),
    "--status-config-map-name": none(_REPORTS),
    "--max-status-lease": none(_REPORTS),
    "--record-duplicated-events": none(_REPORTS),
    "--emit-per-nodegroup-metrics": none("metrics have the label pool always"),
    "--debugging-snapshot-enabled": none("`growth plan` and `growth why` tell what a round saw"),
    "--scan-interval": none("rounds come by events, and on a timer of their own"),
    "--frequent-loops-enabled": none("rounds come by events, and on a timer of their own"),
    "--cloud-provider": none(_CLOUD),
    "--cloud-config": none(_CLOUD),
    "--cluster-name": none(f"{_PROCESS}: `growth run --cluster`"),
    "--namespace": none(f"{_PROCESS}: `growth run --namespace`"),
    "--kubeconfig": none(f"{_PROCESS}: `growth run --kubeconfig`"),
    "--kubernetes": none(f"{_PROCESS}: `growth run --kubeconfig`"),
    "--kube-client-qps": none(_PROCESS),
    "--kube-client-burst": none(_PROCESS),
    "--address": none(f"{_PROCESS}: `growth run --http-address`"),
    "--profiling": none(_PROCESS),
    "--user-agent": none(_PROCESS),
    "--feature-gates": none(_PROCESS),
    "--grpc-expander-url": none("no program outside chooses: the price decides, and priorities"),
    "--grpc-expander-cert": none("no program outside chooses: the price decides, and priorities"),
    "--regional": none("locations are of pools: spec.locations"),
    **_each(
        "v vmodule logtostderr alsologtostderr stderrthreshold log-dir log-file log-file-max-size log-backtrace-at"
        " skip-headers skip-log-headers add-dir-header one-output logging-format log-flush-frequency",
        none(f"{_PROCESS}: `growth run --log-level` and `--log-format`"),
    ),
    **_each(
        "leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period"
        " leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace",
        none(_ELECTION),
    ),
}
"""Of the process."""
_BOOLEAN: Final = (
    "scale-down-enabled scale-down-unready-enabled scale-down-delay-type-local skip-nodes-with-local-storage"
    " skip-nodes-with-system-pods skip-nodes-with-custom-controller-pods enforce-node-group-min-size"
    " fastpath-binpacking-enabled parallel-scale-up salvo-scale-up scale-from-unschedulable scale-up-from-zero"
    " balance-similar-node-groups force-ds enable-proactive-scaleup capacity-buffer-controller-enabled"
    " capacity-buffer-pod-injection-enabled force-delete-unregistered-nodes force-delete-failed-nodes"
    " ignore-daemonsets-utilization ignore-mirror-pods-utilization daemonset-eviction-for-empty-nodes"
    " daemonset-eviction-for-occupied-nodes cordon-node-before-terminating enable-csi-node-aware-scheduling"
    " enable-dynamic-resource-allocation enable-provisioning-requests write-status-configmap"
    " record-duplicated-events emit-per-nodegroup-metrics debugging-snapshot-enabled frequent-loops-enabled"
    " profiling regional logtostderr alsologtostderr skip-headers skip-log-headers add-dir-header one-output"
    " leader-elect capacity-quotas-enabled"
)
BOOLEAN_FLAGS: Final = frozenset(f"--{name}" for name in _BOOLEAN.split())

VARIABLES: Final[PeerTable] = {
    "HCLOUD_TOKEN": equal("tokenSecretRef of the class", "where it comes from a Secret; its value is never printed"),
    "HCLOUD_ENDPOINT": none("the worker's variable of that name"),
    "HCLOUD_CLUSTER_CONFIG": equal("the class, labels and taints", "base64 of JSON, where it stands in the file"),
    "HCLOUD_CLUSTER_CONFIG_FILE": none("give the JSON as a file of its own, and it is converted"),
    "HCLOUD_CLOUD_INIT": none("not printed, as a token may be in it: put it into the Secret that userData names"),
    "HCLOUD_IMAGE": equal("image of the class"),
    "HCLOUD_NETWORK": equal("networks of the class"),
    "HCLOUD_FIREWALL": equal("firewalls of the class"),
    "HCLOUD_SSH_KEY": equal("sshKeys of the class"),
    "HCLOUD_PUBLIC_IPV4": equal("enableIPv4 of the class"),
    "HCLOUD_PUBLIC_IPV6": equal("enableIPv6 of the class"),
    "HCLOUD_SERVER_CREATION_TIMEOUT": equal("scaleUp.provisioningTimeout", "minutes"),
}
"""Of Hetzner's provider; other variables are passed over."""

CONFIG: Final[PeerTable] = {
    "imagesForArch.amd64": equal("imageByArchitecture.amd64 of the class"),
    "imagesForArch.arm64": equal("imageByArchitecture.arm64 of the class"),
    "defaultSubnetIPRange": equal("networks[].subnetIPRange of the class"),
    "nodeConfigs.cloudInit": none("not printed, as a token may be in it: put it into the Secret that userData names"),
    "nodeConfigs.placementGroup": equal("placement.strategy spread of the class", "Growth makes groups of ten itself"),
    "nodeConfigs.taints": equal("template.taints"),
    "nodeConfigs.labels": equal("template.labels"),
    "nodeConfigs.serverLabels": equal("serverLabels of the class"),
    "nodeConfigs.imagesForArch": equal("imageByArchitecture of the class"),
    "nodeConfigs.subnetIPRange": equal("networks[].subnetIPRange of the class"),
    "nodeConfigs.firewalls": equal("firewalls of the class"),
}
"""Of HCLOUD_CLUSTER_CONFIG."""

PRIORITIES: Final[PeerTable] = {
    "data.priorities": equal(
        "priority", "the highest of the expressions that match the group's name, from -1000 to 1000"
    ),
}
"""Of the ConfigMap cluster-autoscaler-priority-expander."""
SETTINGS: Final[PeerTable] = {**FLAGS, **VARIABLES, **CONFIG, **PRIORITIES}
