"""What becomes of each setting of VPSie's autoscaler.

Source: VPSie autoscaler v0.7.0, its CRDs of the group autoscaler.vpsie.com/v1alpha1, flags and annotations.
"""

from typing import Final

from worker.commands.convert.peer_setting import PeerTable, equal, none

_CLOUD: Final = "of VPSie's cloud: the node class says project, image, keys and place"
_NOT_OBEYED: Final = "VPSie's own code obeys it nowhere"
_ONE_PLACE: Final = "no weights between regions: spec.locations says where machines are bought, pods spread themselves"
_SAVINGS: Final = "no classes of savings: scaleDown.consolidate moves pods for what saves more than minSavingPercent"
_PROCESS: Final = "of the process, not of pools"

NODE_GROUP: Final[PeerTable] = {
    "spec.minNodes": equal("limits.min"),
    "spec.maxNodes": equal("limits.max"),
    "spec.offeringIDs": equal("serverTypes[].name"),
    "spec.preferredInstanceType": equal("serverTypes[].priority", "with scaleUp.choose priority"),
    "spec.allowMixedInstances": equal("serverTypes", "false: one type"),
    "spec.labels": equal("template.labels"),
    "spec.taints": equal("template.taints"),
    **dict.fromkeys(
        (
            "spec.datacenterID",
            "spec.resourceIdentifier",
            "spec.project",
            "spec.kubeSizeID",
            "spec.kubernetesVersion",
            "spec.osImageID",
            "spec.sshKeyIDs",
        ),
        none(_CLOUD),
    ),
    "spec.tags": none("serverLabels of the node class"),
    "spec.notes": none("annotations of the pool are for people"),
    "spec.scaleUpPolicy.enabled": none("a pool that may shrink and not grow does not exist: spec.paused stops both"),
    "spec.scaleUpPolicy.stabilizationWindowSeconds": none(f"{_NOT_OBEYED}; scaleUp.podGrace lets pods wait"),
    "spec.scaleUpPolicy.cpuThreshold": none(f"{_NOT_OBEYED}; scaleUp.thresholdPercent grows by a threshold"),
    "spec.scaleUpPolicy.memoryThreshold": none(f"{_NOT_OBEYED}; scaleUp.thresholdPercent grows by a threshold"),
    "spec.scaleDownPolicy.enabled": equal("scaleDown.mode", "false: none"),
    "spec.scaleDownPolicy.stabilizationWindowSeconds": equal("scaleDown.node.window"),
    "spec.scaleDownPolicy.cooldownSeconds": equal("scaleDown.cooldownAfterScaleDown"),
    "spec.scaleDownPolicy.cpuThreshold": equal("scaleDown.node.cpuPercent"),
    "spec.scaleDownPolicy.memoryThreshold": equal("scaleDown.node.memoryPercent"),
    "spec.spotConfig": none("there are no spot machines: Hetzner Cloud sells none"),
    "spec.multiRegion": none(_ONE_PLACE),
    "spec.costOptimization": none(_SAVINGS),
    "metadata.labels[autoscaler.vpsie.com/managed]": equal("paused", "VPSie leaves a group without it alone"),
    "metadata.annotations[autoscaler.vpsie.com/scale-down]": equal("scaleDown.mode", "disabled: none"),
    "metadata.annotations[autoscaler.vpsie.com/scale-down-allowed-hours]": equal("scaleDown.budgets", "closed outside"),
}
"""Of a NodeGroup."""

CONFIG: Final[PeerTable] = {
    "spec.scaleUpCooldown": equal("scaleUp.cooldown"),
    "spec.scaleDownCooldown": equal("scaleDown.cooldownAfterScaleDown", "of groups that say none"),
    "spec.unschedulablePodGracePeriod": equal("scaleUp.podGrace"),
    "spec.nodeReadyTimeout": equal("scaleUp.joinTimeout"),
    "spec.podEvictionTimeout": equal("scaleDown.drainTimeout"),
    "spec.dynamicNodeGroupCreation": none(
        "no pool is made by itself: a pool with several serverTypes or a pattern fits more pods"
    ),
    "spec.rebalancing": equal("scaleDown.consolidate"),
    "spec.maxConcurrentScaleUps": equal("scaleUp.maxInFlight"),
    "spec.maxConcurrentScaleDowns": equal("scaleDown.budgets"),
    "spec.maxClusterWorkers": none("limits are of each pool"),
    "spec.nodeGroupDefaults": none("for groups that VPSie makes on demand, which Growth does not"),
}
"""Of the AutoscalerConfig."""

FLAGS: Final[PeerTable] = {
    "--failed-vpsienode-ttl": equal("scaleUp.failedTTL"),
    "--sync-period": none("rounds come by events and on a timer of their own"),
    "--vpsie-secret-name": none("tokenSecretRef of the node class"),
    "--vpsie-secret-namespace": none("tokenSecretRef of the node class"),
    **dict.fromkeys(
        (
            "--default-datacenter-id",
            "--default-offering-ids",
            "--resource-identifier",
            "--kubernetes-version",
            "--kube-size-id",
        ),
        none("for groups that VPSie makes on demand, which Growth does not"),
    ),
    "--leader-election": none("workers elect none: each round is one workflow in Temporal, whichever worker runs it"),
    "--kubeconfig": none(f"{_PROCESS}: `growth run --kubeconfig`"),
    "--metrics-addr": none(f"{_PROCESS}: `growth run --http-address`"),
    "--health-addr": none(f"{_PROCESS}: `growth run --http-address`"),
    "--log-level": none(f"{_PROCESS}: `growth run --log-level`"),
    "--log-format": none(f"{_PROCESS}: `growth run --log-format`"),
    "--development": none(f"{_PROCESS}: `growth run --log-format console`"),
    **dict.fromkeys(
        ("--enable-webhook", "--webhook-addr", "--webhook-cert-dir", "--webhook-cert-file", "--webhook-key-file"),
        none("rules of the definitions are checked by the API server itself, without a webhook"),
    ),
    **dict.fromkeys(
        ("--sentry-dsn", "--sentry-environment", "--sentry-error-sample-rate", "--sentry-traces-sample-rate"),
        none(f"{_PROCESS}: traces and metrics go out by OTEL_EXPORTER_OTLP_ENDPOINT"),
    ),
}
"""Of the process."""
BOOLEAN_FLAGS: Final = frozenset({"--leader-election", "--development", "--enable-webhook"})
SETTINGS: Final[PeerTable] = {
    **NODE_GROUP,
    **{f"AutoscalerConfig {name}": row for name, row in CONFIG.items()},
    **FLAGS,
}
