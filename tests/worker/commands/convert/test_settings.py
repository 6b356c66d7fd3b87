"""What settings become, against the peers' own documents, and what people's unusual files become."""

import pytest
import yaml

from tests.project.documents import ROOT
from tests.worker.commands.convert.inputs_read import CLASS, INPUTS, converted, objects, pool_of, pools

ESCALATOR, VPSIE = INPUTS / "escalator", INPUTS / "vpsie"
SCALER, KARPENTER = INPUTS / "cluster-autoscaler", INPUTS / "karpenter"
EXAMPLES = ROOT / "deploy" / "examples" / "pools"
NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: a}}
spec:
  template: {{spec: {{expireAfter: Never, nodeClassRef: {{group: g, kind: K, name: default}}, requirements: []}}}}
  {}
"""
WORKLOAD = """\
kind: Deployment
metadata: {{name: ca}}
spec: {{template: {{spec: {{containers: [{{name: cluster-autoscaler, args: ["--nodes=0:2:cx22:fsn1:a", {}]}}]}}}}}}
"""
HELD = ["Empty", "Consolidation", "Drift"]


def example(name: str) -> dict[str, dict]:
    """Return the specs of the pools of an example."""
    items = yaml.safe_load_all((EXAMPLES / name).read_text())
    return {item["metadata"]["name"]: item["spec"] for item in items if item["kind"] == "NodePool"}


def test_escalator_becomes_thresholds_waiting_taints_and_a_lock():
    assert pools("escalator", ESCALATOR / "all-options.yaml", node_class=CLASS)["build-farm"] == {
        "serverTypes": [{"pattern": "*"}],
        "limits": {"min": 1, "max": 30},
        "matchUnselectedPods": True,
        "template": {"classRef": {"kind": "KwokNodeClass", "name": "default"}, "labels": {"build": "yes"}},
        "scaleUp": {
            "estimators": ["threshold"],
            "thresholdPercent": 110,
            "starvation": True,
            "lock": {"min": "1m30s", "max": "1m30s"},
            "provisioningTimeout": "4m",
        },
        "scaleDown": {
            "mode": "wait",
            "softGrace": "30s",
            "hardGrace": "1h30m",
            "group": {"lowerPercent": 5, "upperPercent": 25, "slow": 0, "fast": 6, "every": "1m"},
            "order": "oldest",
        },
        "rotation": {"maxNodeAge": "168h", "onlyAtMin": True},
        "health": {"grace": "5m", "newestPercent": 40, "maxUnhealthyPercent": 20},
        "dryRun": True,
    }


def test_escalators_flags_hold_for_all_groups():
    spec = pools("escalator", ESCALATOR / "config-map.yaml")["jobs"]
    assert (spec["scaleDown"]["group"]["every"], spec["dryRun"]) == ("2m", True)


def test_vpsies_defaults_are_those_of_its_algorithm():
    spec = pools("vpsie", VPSIE / "defaults.yaml")["plain"]
    assert spec["scaleUp"]["cooldown"] == "0s"
    assert spec["scaleDown"] == {
        "mode": "drain",
        "cooldownAfterScaleDown": "10m",
        "budgets": [{"nodes": 1}],
        "node": {"cpuPercent": 50, "memoryPercent": 50, "window": "10m", "basis": "usage", "fraction": 80},
        "order": "oldest",
    }


def test_vpsies_own_settings_go_before_its_defaults():
    spec = pools("vpsie", VPSIE / "group.yaml")["web"]
    assert spec["scaleDown"]["cooldownAfterScaleDown"] == "5m"
    assert spec["scaleDown"]["node"] == {
        "cpuPercent": 40,
        "memoryPercent": 60,
        "window": "15m",
        "basis": "usage",
        "fraction": 80,
    }
    assert spec["serverTypes"] == [{"name": "cx22"}, {"name": "cx32", "priority": 1}]
    assert spec["scaleUp"]["choose"] == "priority"


def test_vpsies_allowed_hours_are_a_budget_that_is_closed_outside():
    found = pools("vpsie", VPSIE / "hours.yaml")
    closed = found["office"]["scaleDown"]["budgets"][1]
    assert (closed["nodes"], closed["start"], closed["end"]) == (0, "06:00", "22:00")
    assert found["databases"]["scaleDown"] == {"mode": "none"}


def test_karpenters_weights_are_the_example_of_the_document():
    expected = example("karpenter-weights.yaml")
    for name, spec in pools("karpenter", KARPENTER / "weights.yaml").items():
        assert {key: spec[key] for key in expected[name]} == expected[name]


def test_the_priority_expander_alone_is_the_example_of_the_document():
    expected = example("priority-expander.yaml")["default"]
    spec = pools("cluster-autoscaler", SCALER / "expander-alone.yaml")["default"]
    assert spec["scaleUp"] == expected["scaleUp"]
    assert spec["serverTypes"] == [{k: v for k, v in each.items() if k != "max"} for each in expected["serverTypes"]]


def test_priorities_of_groups_are_those_of_pools():
    found = pools("cluster-autoscaler", SCALER / "priorities.yaml")
    assert {name: spec["priority"] for name, spec in found.items()} == {"reserved-a": 50, "usual": 10}


@pytest.mark.parametrize(
    ("flag", "path", "value"),
    [
        ("--scale-down-utilization-threshold=0.65", "scaleDown.node.cpuPercent", 65),
        ("--scale_down_utilization_threshold=0.29", "scaleDown.node.memoryPercent", 29),
        ("--scale-down-utilization-threshold=0", "scaleDown.node", None),
        ("--scale-down-unneeded-time=1h30m0s", "scaleDown.idleAfter", "1h30m"),
        ("--scale-down-unneeded-time=0s", "scaleDown.node.window", "1s"),
        ("--scale-down-delay-after-add=0s", "scaleDown.cooldownAfterScaleUp", "0s"),
        ("--scale-down-delay-after-delete=2m", "scaleDown.cooldownAfterScaleDown", "2m"),
        ("--scale-down-unready-enabled=false", "scaleDown.repair", None),
        ("--scale-down-unready-time=5m", "scaleDown.repair.after", "5m"),
        ("--max-drain-parallelism=0", "scaleDown.node", None),
        ("--max-empty-bulk-delete=3", "scaleDown.budgets", [{"nodes": 3}, {"nodes": 1, "reasons": ["Underused"]}]),
        ("--scale-down-enabled=False", "scaleDown", {"mode": "none"}),
        ("--expendable-pods-priority-cutoff=-99", "scaleUp.expendablePriority", -99),
        ("--v=4", "scaleUp.expendablePriority", -10),
        ("--new-pod-scale-up-delay=30s", "scaleUp.podGrace", "30s"),
        ("--max-node-provision-time=5m0s", "scaleUp.joinTimeout", "5m"),
        ("--ignore-taint=a.b/c", "scaleUp.startupTaints", [{"key": "a.b/c"}]),
        ("--max-nodes-per-scaleup=4", "scaleUp.batchMax", 4),
    ],
)
def test_a_flag_becomes_a_field(tmp_path, flag, path, value):
    spec = pool_of("cluster-autoscaler", WORKLOAD.format(f'"{flag}"'), tmp_path)
    for part in path.split("."):
        spec = None if spec is None else spec.get(part)
    assert spec == value


@pytest.mark.parametrize(
    "arguments",
    [
        "--scale-down-unneeded-time=7m",
        "--scale-down-unneeded-time 7m",
        "-scale-down-unneeded-time=7m",
        "--scale_down_unneeded_time=7m",
        "  --scale-down-unneeded-time=7m  ",
        '--scale-down-unneeded-time=1m", "--scale-down-unneeded-time=7m',
        '--balance-similar-node-groups", "--scale-down-unneeded-time", "7m',
        "--scale-down-unneeded-time='7m'",
    ],
)
def test_a_flag_is_read_in_all_its_forms(tmp_path, arguments):
    spec = pool_of("cluster-autoscaler", WORKLOAD.format(f'"{arguments}"'), tmp_path)
    assert spec["scaleDown"]["idleAfter"] == "7m"


def test_hetzners_configuration_becomes_classes():
    files = SCALER / "hetzner.yaml", SCALER / "node-configs.json"
    items = {
        (item["kind"], item["metadata"]["name"]): item["spec"]
        for item in objects(converted("cluster-autoscaler", *files))
    }
    workers, arm = items["NodePool", "workers"], items["NodePool", "arm"]
    assert workers["template"]["labels"] == {"tier": "web"}
    assert (workers["serverTypes"], workers["locations"]) == ([{"name": "cx32"}], ["fsn1"])
    assert workers["scaleUp"]["provisioningTimeout"] == "7m"
    assert arm["template"]["classRef"]["name"] == "arm"
    assert items["HetznerNodeClass", "arm"] | {"userData": None, "sshKeys": ["ops"]} == {
        "tokenSecretRef": {"namespace": "kube-system", "name": "hcloud", "key": "token"},
        "image": {"name": "ubuntu-24.04"},
        "imageByArchitecture": {"amd64": {"id": 114}, "arm64": {"selector": "os=talos"}},
        "networks": [{"name": "cluster", "subnetIPRange": "10.0.1.0/24"}],
        "sshKeys": ["ops"],
        "firewalls": ["inner"],
        "serverLabels": {"billed": "team-b"},
        "placement": {"strategy": "spread"},
        "userData": None,
    }
    assert converted("cluster-autoscaler", *reversed(files)).count("subnetIPRange") == 2


@pytest.mark.parametrize(
    ("disruption", "expected"),
    [
        ("", {"idleAfter": "0s", "consolidate": {"after": "1s"}, "budgets": [{"nodes": "10%", "reasons": HELD}]}),
        ("disruption: {consolidateAfter: Never}", {"idleAfter": "87600h"}),
        ("disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}", {"idleAfter": "30s"}),
        ("disruption: {consolidateAfter: 1h30m}", {"idleAfter": "1h30m", "consolidate": {"after": "1h30m"}}),
        ("disruption: {budgets: [{nodes: 0, reasons: [Drifted]}]}", {"budgets": [{"nodes": 0, "reasons": ["Drift"]}]}),
    ],
)
def test_karpenters_disruption_becomes_scale_down(tmp_path, disruption, expected):
    spec = pool_of("karpenter", NODE_POOL.format(disruption), tmp_path)["scaleDown"]
    assert {key: spec.get(key) for key in expected} == expected
    assert ("consolidate" in spec) == ("consolidate" in expected or "budgets" in expected)
    assert spec["mode"] == "drain"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("limits: {cpu: 1k}", {"max": 50, "cpu": "1000"}),
        ("limits: {cpu: 0.5, memory: 1500M}", {"max": 50, "cpu": "500m", "memory": "1464843Ki"}),
        ('limits: {memory: "1073741824", nodes: 7}', {"max": 7, "memory": "1Gi"}),
        ("replicas: 4", {"min": 4, "max": 4}),
        ('limits: {nodes: "0"}', {"max": 1}),
    ],
)
def test_karpenters_limits_become_limits(tmp_path, limits, expected):
    spec = pool_of("karpenter", NODE_POOL.format(limits), tmp_path)
    assert spec["limits"] == expected
    assert spec.get("paused") == (True if limits.endswith('"0"}') else None)


def test_karpenters_budgets_become_windows():
    assert pools("karpenter", KARPENTER / "budgets.yaml")["office"]["scaleDown"]["budgets"] == [
        {"nodes": "10%", "reasons": HELD},
        {"nodes": "0", "reasons": HELD, "days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "16:00", "end": "08:00"},
        {"nodes": "0", "reasons": HELD, "days": ["Sat", "Sun"]},
        {"nodes": "1", "reasons": ["Drift"]},
        {"nodes": "0", "reasons": ["Consolidation"]},
    ]


def test_names_of_another_cloud_are_no_types_and_places_of_ours():
    spec = pools("karpenter", KARPENTER / "ec2-class.yaml")["default"]
    assert (spec["serverTypes"], spec.get("locations")) == ([{"pattern": "*"}], None)
    spec = pools("karpenter", KARPENTER / "hetzner.yaml")["european"]
    assert (spec["serverTypes"], spec["locations"]) == ([{"name": "cx22"}, {"name": "cx32"}], ["fsn1", "nbg1"])


def test_names_that_become_the_same_are_told_apart(tmp_path):
    group = "{{name: {}, label_key: k, label_value: v, min_nodes: 0, max_nodes: 2, scale_up_threshold_percent: 70}}"
    names = ["Web", "web", "web_", "x" * 50, "x" * 51, "ö"]
    file = tmp_path / "names.yaml"
    file.write_text("node_groups: [" + ", ".join(group.format(name) for name in names) + "]")
    assert list(pools("escalator", file)) == ["web", "web-2", "web-3", "x" * 40, "x" * 38 + "-2", "pool"]
    assert "# " + "  name: named web-2 here: another object has the name web already" in converted("escalator", file)
