"""Drawn settings: what comes out can be read by the models, or one line says which setting is wrong."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.worker.commands.convert.inputs_read import converted, objects
from worker.commands.convert.peer_setting import PeerTable
from worker.commands.convert.tables import cluster_autoscaler, escalator, karpenter, vpsie
from worker.errors import USAGE_ERROR, CommandError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DURATIONS = st.sampled_from(
    ["0", "0s", "30s", "10m", "10m0s", "1h30m", "1.5h", "500ms", "720h", "87600h", "Never", "", "1w"]
)
NUMBERS = st.sampled_from([0, 1, 2, 10, 40, 70, 99, 100, 101, 1000, 5000, 100_001, -1])
SCALARS = st.one_of(NUMBERS, st.booleans(), DURATIONS, TEXT, st.none(), st.floats(allow_nan=False, width=16))
LABELS = st.dictionaries(
    st.sampled_from(["a", "example.com/b", "kubernetes.io/arch", "growth.dev/x", "ä", "-"]), TEXT, max_size=3
)
TAINTS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["a", "example.com/b", "growth.dev/x", ""]),
            "effect": st.sampled_from(["NoSchedule", "NoExecute", "x"]),
        },
        optional={"value": TEXT},
    ),
    max_size=2,
)
WILD = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
VALUES = st.one_of(SCALARS, LABELS, TAINTS, WILD)
DRAWN = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def outcome(peer: str, documents: list[Any], folder: Path) -> str:
    """Return what is printed, read back; empty if the input is refused in one line."""
    file = folder / "drawn.yaml"
    file.write_text(yaml.safe_dump_all(documents, allow_unicode=True))
    try:
        text = converted(peer, file)
    except CommandError as error:
        refusal = error
    else:
        assert objects(text)
        assert converted(peer, file) == text
        return text
    assert refusal.code == USAGE_ERROR
    assert str(refusal).startswith(f"{file}: ")
    assert "\n" not in str(refusal)
    # What only our models refuse, a converter should have refused by its peer's key.
    assert "would become" not in str(refusal)
    return ""


def placed(paths: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping with values at dotted paths."""
    for path, value in paths.items():
        *above, last = path.split(".")
        inner: Any = whole
        for part in above:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                break
        else:
            inner[last] = value
    return whole


def drawn_from(table: PeerTable) -> st.SearchStrategy[dict[str, Any]]:
    names = [name for name in table if "[" not in name and "/" not in name]
    return st.dictionaries(st.sampled_from(names), VALUES, max_size=6)


@DRAWN
@given(drawn_from(escalator.OPTIONS))
def test_escalator(tmp_path, drawn):
    group = {
        "name": "a",
        "label_key": "k",
        "label_value": "v",
        "min_nodes": 0,
        "max_nodes": 3,
        "scale_up_threshold_percent": 70,
    }
    outcome("escalator", [{"node_groups": [placed(drawn, group)]}], tmp_path)


@DRAWN
@given(drawn_from(vpsie.NODE_GROUP), drawn_from(vpsie.CONFIG), LABELS, TAINTS)
def test_vpsie(tmp_path, drawn, config, labels, taints):
    version = "autoscaler.vpsie.com/v1alpha1"
    group = {"apiVersion": version, "kind": "NodeGroup", "metadata": {"name": "a"}}
    group["spec"] = {"minNodes": 0, "maxNodes": 3, "offeringIDs": ["cx22"], "labels": labels, "taints": taints}
    common = placed(config, {"apiVersion": version, "kind": "AutoscalerConfig", "metadata": {"name": "default"}})
    outcome("vpsie", [placed(drawn, group), common], tmp_path)


@DRAWN
@given(
    st.lists(st.tuples(st.sampled_from(list(cluster_autoscaler.FLAGS)), SCALARS), max_size=5),
    st.dictionaries(
        st.sampled_from(["labels", "taints", "serverLabels", "firewalls", "imagesForArch", "cloudInit"]),
        VALUES,
        max_size=3,
    ),
    st.dictionaries(st.sampled_from(list(cluster_autoscaler.VARIABLES)), TEXT, max_size=3),
    st.dictionaries(NUMBERS, st.lists(TEXT, max_size=2), max_size=2),
)
def test_cluster_autoscaler(tmp_path, flags, config, variables, priorities):
    args = ["--nodes=0:3:cx22:fsn1:a", *(f"{name}={value}" for name, value in flags)]
    encoded = base64.b64encode(json.dumps({"nodeConfigs": {"a": config}}).encode()).decode()
    env = [{"name": name, "value": value} for name, value in ({"HCLOUD_CLUSTER_CONFIG": encoded} | variables).items()]
    container = {"name": "cluster-autoscaler", "args": args, "env": env}
    workload = {
        "kind": "Deployment",
        "metadata": {"name": "ca"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    expander = {"kind": "ConfigMap", "metadata": {"name": "cluster-autoscaler-priority-expander"}}
    expander["data"] = {"priorities": yaml.safe_dump(priorities)}
    outcome("cluster-autoscaler", [workload, expander], tmp_path)


REQUIREMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from([*karpenter.REQUIREMENTS, "example.com/team", "growth.dev/pool", "ä"]),
            "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]),
        },
        optional={
            "values": st.lists(
                st.one_of(st.sampled_from(["4", "4096", "amd64", "fsn1", "on-demand"]), TEXT), max_size=22
            )
        },
    ),
    max_size=12,
)
BUDGETS = st.lists(
    st.fixed_dictionaries(
        {"nodes": st.sampled_from([0, "0", "10%", 5, "100%"])},
        optional={
            "reasons": st.lists(st.sampled_from(["Empty", "Underutilized", "Drifted"]), max_size=3),
            "schedule": st.sampled_from(["@daily", "0 9 * * mon-fri", "*/30 * * * *", "0 0 1 * *", "x"]),
            "duration": DURATIONS,
        },
    ),
    max_size=4,
)


@DRAWN
@given(st.tuples(drawn_from(karpenter.POOL), drawn_from(karpenter.EC2_CLASS)), REQUIREMENTS, BUDGETS, LABELS)
def test_karpenter(tmp_path, drawn, requirements, budgets, labels):
    of_pool, of_class = drawn
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}}
    pool["spec"] = {
        "disruption": {"budgets": budgets},
        "template": {"metadata": {"labels": labels}, "spec": {"nodeClassRef": ref, "requirements": requirements}},
    }
    kept = {path: value for path, value in of_pool.items() if path not in ("spec.disruption.budgets", "spec.limits")}
    ec2 = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}}
    outcome("karpenter", [placed(kept, pool), placed(of_class, ec2)], tmp_path)


NASTY = "x\n---\nkind: Secret # \x1b[31m\u2028\x85\ufeff\uffff"


@pytest.mark.parametrize(
    ("peer", "documents"),
    [
        ("escalator", [{"node_groups": [{"name": NASTY, "label_key": "k", "label_value": NASTY, NASTY: 1,
                                         "max_nodes": 3, "scale_up_threshold_percent": 70}]}]),
        ("vpsie", [{"apiVersion": "autoscaler.vpsie.com/v1alpha1", "kind": "NodeGroup", "metadata": {"name": NASTY},
                    "spec": {"minNodes": 0, "maxNodes": 1, "offeringIDs": ["a"], NASTY: 1, "labels": {NASTY: NASTY}}}]),
    ],
)  # fmt: skip
def test_text_of_others_never_leaves_its_comment(tmp_path, peer, documents):
    text = outcome(peer, documents, tmp_path)
    assert {item["kind"] for item in yaml.safe_load_all(text)} == {"NodePool", "HetznerNodeClass"}
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(text.split("\n")) - 1
