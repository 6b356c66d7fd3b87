"""Each input converts, is read back by the models, and a round plans for pods with it."""

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml

from tests.api.cel_rules import complaints
from tests.worker.commands.convert.inputs_read import CLASS, INPUTS, cases, converted, objects
from tests.worker.hetzner_dump import hetzner_class
from worker.commands.convert.command import convert
from worker.commands.plan.command import plan

CASES = [pytest.param(peer, files, id=f"{peer}-{files[-1].rsplit('/', 1)[-1]}") for peer, files in cases()]
CATALOGUE = {
    "apiVersion": "growth.dev/v1alpha1",
    "kind": "KwokNodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "serverTypes": [
            {
                "name": name,
                "capacity": {"cpu": str(cores), "memory": f"{cores * 2}Gi"},
                "pricePerHour": f"0.0{cores}",
                "architecture": "arm64" if name == "cax11" else "amd64",
                "locations": [{"name": "fsn1"}, {"name": "nbg1"}, {"name": "hel1"}],
            }
            for name, cores in (("cx22", 2), ("cx32", 4), ("cx42", 8), ("cax11", 2), ("spot-2", 2), ("general-2", 2))
        ]
    },
}
SILENT = {"unmanaged.yaml"}
"""Whose only pool is paused, as its peer leaves the group alone."""


def pod_for(pool: dict) -> dict:
    """Return a pod that only Nodes of this pool can take."""
    template = pool["spec"].get("template", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"for-{pool['metadata']['name']}", "namespace": "default"},
        "spec": {
            "nodeSelector": {"growth.dev/pool": pool["metadata"]["name"], **template.get("labels", {})},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}}}],
        },
    }


def planned(items: list[dict], folder: Path) -> list[dict]:
    """Return the requests of a round for these objects."""
    (folder / "objects.yaml").write_text(yaml.safe_dump_all(items))
    with redirect_stdout(io.StringIO()) as printed:
        assert plan(file=(str(folder / "objects.yaml"),), now="2026-03-01T12:00:00Z", output="yaml") == 0
    return yaml.safe_load(printed.getvalue())["requests"]


def test_each_peer_has_five_inputs():
    for peer in ("escalator", "vpsie", "cluster-autoscaler", "karpenter"):
        assert len(list((INPUTS / peer).iterdir())) >= 5


@pytest.mark.parametrize(("peer", "files"), CASES)
def test_an_input_becomes_objects_that_can_be_read(peer, files):
    items = objects(converted(peer, *files))
    of_pools = [item for item in items if item["kind"] == "NodePool"]
    named = {item["spec"]["template"]["classRef"]["name"] for item in of_pools}
    assert of_pools
    assert named == {item["metadata"]["name"] for item in items if item["kind"] == "HetznerNodeClass"}
    assert [complaint for item in items for complaint in complaints(item)] == []
    assert converted(peer, *files) == converted(peer, *files)


@pytest.mark.parametrize(("peer", "files"), CASES)
def test_a_round_plans_with_what_an_input_becomes(peer, files, tmp_path):
    items = objects(converted(peer, *files, node_class=CLASS))
    assert {item["kind"] for item in items} == {"NodePool"}
    bought = [pool for pool in items if not (pool["spec"].get("paused") or pool["spec"].get("dryRun"))]
    requests = planned([*items, CATALOGUE, *(pod_for(pool) for pool in items)], tmp_path)
    packs = [pool for pool in bought if "estimators" not in pool["spec"].get("scaleUp", {})]
    assert {request["pool"] for request in requests} >= {pool["metadata"]["name"] for pool in packs}
    assert packs or peer == "escalator" or files[-1].rsplit("/", 1)[-1] in SILENT


def test_a_round_plans_with_a_class_of_hetzner_cloud(tmp_path):
    items = objects(converted("cluster-autoscaler", INPUTS / "cluster-autoscaler" / "hetzner.yaml"))
    of_pools = [item for item in items if item["kind"] == "NodePool"]
    of_pools[0]["spec"]["serverTypes"] = [{"name": "cx33"}]
    requests = planned([*of_pools, hetzner_class(), pod_for(of_pools[0])], tmp_path)
    assert {(request["pool"], request["serverType"]) for request in requests} == {("workers", "cx33")}


@pytest.mark.parametrize(("peer", "files"), CASES)
def test_no_secret_is_printed(peer, files):
    text = converted(peer, *files) + converted(peer, *files, check=True)
    assert "nobody-may-see" not in text
    assert "c2VjcmV0" not in text


def test_only_what_has_no_equal_is_listed_and_an_unknown_setting_is_exit_code_1(capsys):
    assert convert("escalator", str(INPUTS / "escalator" / "from-zero.yaml"), check=True) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("NodePool nightly: cloud_provider_group_name: Growth buys each machine by itself")
    assert convert("escalator", str(INPUTS / "escalator" / "cloud-bounds.yaml"), check=True) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "max_nodes",
        "max_node_age",
        "cloud_provider_group_name",
        "circuit_breaker_threshold",
    ]
    assert "not known" in lines[-1]


def test_objects_of_others_are_passed_over_and_told(capsys):
    file = str(INPUTS / "cluster-autoscaler" / "discovered.yaml")
    assert convert("cluster-autoscaler", file) == 0
    told = f"passed over, as it is none of cluster-autoscaler's settings: {file}: ServiceAccount cluster-autoscaler"
    assert capsys.readouterr().err == f"growth: {told}\n"
