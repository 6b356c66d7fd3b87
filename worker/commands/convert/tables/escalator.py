"""What becomes of each setting of Escalator.

Source: atlassian/escalator, docs/configuration (command line, nodegroup), and its code of 2026-03.
"""

from typing import Final

from worker.commands.convert.peer_setting import PeerTable, equal, none

_CLOUD_GROUP: Final = (
    "Growth buys each machine by itself: no group in the cloud has a min or target of its own. Name in serverTypes what"
    " the pool may buy: * is each type of its class"
)
_PROCESS: Final = "of the process, not of pools"
_AWS: Final = "of AWS"

OPTIONS: Final[PeerTable] = {
    "name": equal("metadata.name"),
    "label_key": equal("template.labels", "key of the label that pods select"),
    "label_value": equal("template.labels", "value of the label that pods select"),
    "cloud_provider_group_name": none(_CLOUD_GROUP),
    "min_nodes": equal("limits.min"),
    "max_nodes": equal("limits.max"),
    "dry_mode": equal("dryRun"),
    "taint_upper_capacity_threshold_percent": equal("scaleDown.group.upperPercent"),
    "taint_lower_capacity_threshold_percent": equal("scaleDown.group.lowerPercent"),
    "scale_up_threshold_percent": equal("scaleUp.thresholdPercent", "with scaleUp.estimators [threshold]"),
    "slow_node_removal_rate": equal("scaleDown.group.slow", "per scaleDown.group.every"),
    "fast_node_removal_rate": equal("scaleDown.group.fast", "per scaleDown.group.every"),
    "soft_delete_grace_period": equal("scaleDown.softGrace", "with scaleDown.mode wait"),
    "hard_delete_grace_period": equal("scaleDown.hardGrace"),
    "scale_up_cool_down_period": equal("scaleUp.lock.min"),
    "scale_up_cool_down_timeout": equal("scaleUp.lock.max", "Escalator itself ignores it"),
    "scale_on_starve": equal("scaleUp.starvation"),
    "taint_effect": none(
        "NoSchedule always: a machine is empty for sure only if no new pod can land on it, and NoExecute throws pods"
        " out past every budget"
    ),
    "max_node_age": equal("rotation.maxNodeAge", "with rotation.onlyAtMin, as Escalator rotates at its minimum only"),
    "unhealthy_node_grace_period": equal("health.grace"),
    "health_check_newest_nodes_percent": equal("health.newestPercent"),
    "max_unhealthy_nodes_percent": equal("health.maxUnhealthyPercent"),
    "aws.launch_template_id": none(f"{_AWS}: image, keys and user data are of the node class"),
    "aws.launch_template_version": none(f"{_AWS}: image, keys and user data are of the node class"),
    "aws.fleet_instance_ready_timeout": equal("scaleUp.provisioningTimeout"),
    "aws.lifecycle": none("there are no spot machines: Hetzner Cloud sells none"),
    "aws.instance_type_overrides": none(f"types {_AWS}: serverTypes name those of the class"),
    "aws.resource_tagging": none(
        "each server has labels of its cluster and pool; serverLabels of the class are further ones"
    ),
}
"""Of a node group."""

FLAGS: Final[PeerTable] = {
    "--nodegroups": equal("one pool each", "the file itself is converted"),
    "--scaninterval": equal("scaleDown.group.every", "rounds come by events; only rates hold for a time"),
    "--drymode": equal("dryRun", "of every pool"),
    "--cloud-provider": none("the class of a pool says its provider"),
    "--aws-assume-role-arn": none("the class names the Secret with its API token"),
    "--kubeconfig": none(f"{_PROCESS}: `growth run --kubeconfig`"),
    "--address": none(f"{_PROCESS}: `growth run --http-address`"),
    "--loglevel": none(f"{_PROCESS}: `growth run --log-level`"),
    "-v": none(f"{_PROCESS}: `growth run --log-level`"),
    "--logfmt": none(f"{_PROCESS}: `growth run --log-format`"),
    **dict.fromkeys(
        (
            "--leader-elect",
            "--leader-elect-lease-duration",
            "--leader-elect-renew-deadline",
            "--leader-elect-retry-period",
            "--leader-elect-config-namespace",
            "--leader-elect-config-name",
        ),
        none("workers elect none: each round is one workflow in Temporal, whichever worker runs it"),
    ),
}
"""Of the process."""
BOOLEAN_FLAGS: Final = frozenset({"--drymode", "--leader-elect"})
SETTINGS: Final[PeerTable] = {**OPTIONS, **FLAGS}
