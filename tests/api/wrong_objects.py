"""All wrong objects that both the API server and reading refuse: `REFUSALS`, and the rest."""

from tests.api.objects import MACHINE, node_class, pool, removal, request
from tests.api.refusals import REFUSALS, Refusal
from tests.api.wrong_budgets import WRONG_BUDGETS
from tests.api.wrong_headroom import WRONG_HEADROOM
from tests.api.wrong_hetzner_classes import WRONG_HETZNER_CLASSES
from tests.api.wrong_limits import WRONG_LIMITS
from tests.api.wrong_policies import WRONG_POLICIES
from tests.api.wrong_server_types import WRONG_SERVER_TYPES

_DURATION = 'must be a number with a unit, such as "30s", "10m" or "1h30m"'
_VALUE = 'must be letters, digits, "-", "_" and ".", at most 63, starting and ending with a letter or digit'
_QUANTITY = 'must be a number that is not negative, with a Kubernetes suffix such as "500m", "2" or "4Gi"'
_MACHINES_OWN = (
    "each machine has its own value of kubernetes.io/hostname, kubernetes.io/arch, kubernetes.io/os,"
    " node.kubernetes.io/instance-type, topology.kubernetes.io/region, topology.kubernetes.io/zone"
)
_TAINT = {"key": "team", "effect": "NoSchedule"}
_BAD = {"type": "KernelDeadlock", "status": "True", "after": "10m"}
_NEVER_AT_MIN = "rotation.onlyAtMin is true and the pool has no minimum: set limits.min, or min on a server type"


_FURTHER = {
    "a threshold that no field is for": Refusal(
        pool(scaleDown={"utilizationThreshold": 0.5}),
        "spec.scaleDown.utilizationThreshold: no such field",
        'unknown field "spec.scaleDown.utilizationThreshold"',
        by_rule=False,
    ),
    "priority beyond all": Refusal(
        pool({"name": "a", "max": 1, "priority": 1001}),
        "spec.serverTypes[0].priority: must be at most 1000, not 1001",
        "should be less than or equal to 1000",
        by_rule=False,
    ),
    "priority of a pool beyond all": Refusal(
        pool(priority=-1001),
        "spec.priority: must be at least -1000, not -1001",
        "should be greater than or equal to -1000",
        by_rule=False,
    ),
    "choice by an unknown word": Refusal(
        pool(scaleUp={"choose": "weight"}),
        "spec.scaleUp.choose: must be 'price' or 'priority', not 'weight'",
        'Unsupported value: "weight"',
        by_rule=False,
    ),
    "negative min": Refusal(
        pool({"name": "a", "max": 1, "min": -1}),
        "spec.serverTypes[0].min: must be at least 0, not -1",
        "should be greater than or equal to 0",
        by_rule=False,
    ),
    "host name as label": Refusal(
        pool(template={"labels": {"kubernetes.io/hostname": "a"}}),
        f"spec.template.labels: 'kubernetes.io/hostname': {_MACHINES_OWN}",
        _MACHINES_OWN,
    ),
    "zone as label of a machine": Refusal(
        node_class(MACHINE | {"labels": {"topology.kubernetes.io/zone": "a"}}),
        f"spec.serverTypes[0].labels: 'topology.kubernetes.io/zone': {_MACHINES_OWN}",
        _MACHINES_OWN,
    ),
    "taint without effect": Refusal(
        pool(template={"taints": [{"key": "team"}]}),
        "spec.template.taints[0].effect: is missing",
        "spec.template.taints[0].effect: Required value",
        by_rule=False,
    ),
    "taint of an unknown effect": Refusal(
        pool(template={"taints": [_TAINT | {"effect": "Never"}]}),
        "spec.template.taints[0].effect: must be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute', not 'Never'",
        'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        by_rule=False,
    ),
    "taint value with a slash": Refusal(
        pool(template={"taints": [_TAINT | {"value": "a/b"}]}),
        f"spec.template.taints[0].value: 'a/b' {_VALUE.replace('must be', 'must be empty or')}",
        _VALUE.replace("must be", "must be empty or"),
    ),
    "class of a pool with a slash": Refusal(
        pool(template={"classRef": {"name": "a/b"}}),
        "spec.template.classRef.name: 'a/b' must be lower-case letters, digits and \"-\", at most 63,"
        " starting and ending with a letter or digit",
        'must be lower-case letters, digits and "-", at most 63',
    ),
    **WRONG_BUDGETS,
    "an age below any use": Refusal(
        pool(rotation={"maxNodeAge": "59s"}),
        "spec.rotation.maxNodeAge: must be at least one minute",
        f"{_DURATION}, at least one minute, at most ten years",
    ),
    "an age without a unit": Refusal(
        pool(rotation={"maxNodeAge": "30"}), f"spec.rotation.maxNodeAge: '30' {_DURATION}", _DURATION
    ),
    "rotation without an age": Refusal(
        pool(rotation={"onlyAtMin": True}),
        "spec.rotation.maxNodeAge: is missing",
        "spec.rotation.maxNodeAge: Required value",
        by_rule=False,
    ),
    "rotation at a minimum that there is not": Refusal(
        pool(rotation={"maxNodeAge": "720h", "onlyAtMin": True}), f"spec: {_NEVER_AT_MIN}", _NEVER_AT_MIN
    ),
    "repair of what it is about anyway": Refusal(
        pool(scaleDown={"repair": {"conditions": [_BAD | {"type": "Ready"}]}}),
        "spec.scaleDown.repair.conditions[0].type: Ready is what repair.after is about: name another condition",
        "Ready is what repair.after is about",
    ),
    "repair by a condition that is no name": Refusal(
        pool(scaleDown={"repair": {"conditions": [_BAD | {"type": "Kernel Deadlock"}]}}),
        "spec.scaleDown.repair.conditions[0].type: 'Kernel Deadlock' must be the type of a condition, such as"
        " KernelDeadlock, at most 128 characters",
        "must be the type of a condition",
    ),
    "repair by an unknown status": Refusal(
        pool(scaleDown={"repair": {"conditions": [_BAD | {"status": "Yes"}]}}),
        "spec.scaleDown.repair.conditions[0].status: must be 'True', 'False' or 'Unknown', not 'Yes'",
        'supported values: "True", "False", "Unknown"',
        by_rule=False,
    ),
    "repair by a condition at once": Refusal(
        pool(scaleDown={"repair": {"conditions": [{"type": "KernelDeadlock", "status": "True"}]}}),
        "spec.scaleDown.repair.conditions[0].after: is missing",
        "spec.scaleDown.repair.conditions[0].after: Required value",
        by_rule=False,
    ),
    "repair by one condition twice": Refusal(
        pool(scaleDown={"repair": {"conditions": [_BAD, _BAD | {"after": "1h"}]}}),
        "spec.scaleDown.repair.conditions: each type and status may stand only once",
        "each type and status may stand only once",
    ),
    "repair by no condition": Refusal(
        pool(scaleDown={"repair": {"conditions": []}}),
        "spec.scaleDown.repair.conditions: must have at least 1 entry",
        "should have at least 1 items",
        by_rule=False,
    ),
    "no delete call at all": Refusal(
        pool(scaleDown={"removal": {"maxAttempts": 0}}),
        "spec.scaleDown.removal.maxAttempts: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    "pods that are never looked at": Refusal(
        pool(scaleUp={"podBackoff": {"afterRounds": 0}}),
        "spec.scaleUp.podBackoff.afterRounds: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    # node class
    "machine without locations": Refusal(
        node_class(MACHINE | {"locations": []}),
        "spec.serverTypes[0].locations: must have at least 1 entry",
        "should have at least 1 items",
        by_rule=False,
    ),
    "machine without a price": Refusal(
        node_class({key: value for key, value in MACHINE.items() if key != "pricePerHour"}),
        "spec.serverTypes[0].pricePerHour: is missing",
        "spec.serverTypes[0].pricePerHour: Required value",
        by_rule=False,
    ),
    "unknown architecture": Refusal(
        node_class(MACHINE | {"architecture": "x86"}),
        "spec.serverTypes[0].architecture: must be 'amd64' or 'arm64', not 'x86'",
        'supported values: "amd64", "arm64"',
        by_rule=False,
    ),
    "negative stock": Refusal(
        node_class(MACHINE | {"locations": [{"name": "a", "stock": -1}]}),
        "spec.serverTypes[0].locations[0].stock: must be at least 0, not -1",
        "should be greater than or equal to 0",
        by_rule=False,
    ),
    "boot time without unit": Refusal(
        node_class(MACHINE | {"locations": [{"name": "a", "bootTime": "10"}]}),
        f"spec.serverTypes[0].locations[0].bootTime: '10' {_DURATION}",
        _DURATION,
    ),
    "overhead that is no amount": Refusal(
        node_class(MACHINE | {"overhead": {"cpu": "some"}}),
        f"spec.serverTypes[0].overhead.cpu: 'some' {_QUANTITY}",
        _QUANTITY,
    ),
    "fault of an unknown call": Refusal(
        node_class(faults=[{"call": "reboot"}]),
        "spec.faults[0].call: must be 'create', 'delete', 'boot', 'join' or 'ready', not 'reboot'",
        'supported values: "create", "delete", "boot", "join", "ready"',
        by_rule=False,
    ),
    # requests and removals
    "request without pool": Refusal(
        request(pool=None), "spec.pool: is missing", "spec.pool: Required value", by_rule=False
    ),
    "request in no location": Refusal(request(location="fsn 1"), f"spec.location: 'fsn 1' {_VALUE}", _VALUE),
    "request with a size": Refusal(
        request(size="large"), "spec.size: no such field", 'unknown field "spec.size"', by_rule=False
    ),
    "removal at once, in words": Refusal(
        removal(immediate="yes"),
        "spec.immediate: must be true or false, not 'yes'",
        "must be of type boolean",
        by_rule=False,
    ),
    "removal without server type": Refusal(
        removal(serverType=None), "spec.serverType: is missing", "spec.serverType: Required value", by_rule=False
    ),
    "removal of a server asked for some day": Refusal(
        removal(createAttemptAt="yesterday"),
        "spec.createAttemptAt: must be a time such as \"2026-01-01T12:00:00Z\", not 'yesterday'",
        "must be of type date-time",
        by_rule=False,
    ),
}

WRONG_OBJECTS = (
    REFUSALS | _FURTHER | WRONG_HEADROOM | WRONG_HETZNER_CLASSES | WRONG_LIMITS | WRONG_POLICIES | WRONG_SERVER_TYPES
)
