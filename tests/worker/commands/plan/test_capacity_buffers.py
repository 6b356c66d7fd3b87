"""CapacityBuffers in files of `growth plan`, with what they refer to, and as `growth why node` names them."""

import json
from pathlib import Path

import pytest
import yaml

from planner.objects.capacity_buffer import CapacityBuffer
from planner.objects.kinds import Pod
from tests.builders import deployment, node
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.plan.command import plan
from worker.commands.why.command import NODE, lines_about

EXAMPLE = Path(__file__).resolve().parents[4] / "deploy/examples/pools/capacity-buffer.yaml"


@pytest.fixture
def planned(tmp_path, capsys):
    """Return the buffers and the number of machines of the example's plan, with other objects beside."""

    def run(*objects, output="json"):
        path = tmp_path / "more.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        assert plan(file=(str(EXAMPLE), str(path)), now="2026-03-01T12:00:00Z", output=output) == 0
        return json.loads(capsys.readouterr().out) if output == "json" else capsys.readouterr().out

    return run


def buffer(name, version="v1beta1", **spec):
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": "2026-03-01T12:00:00Z"}
    return {
        "apiVersion": f"autoscaling.x-k8s.io/{version}",
        "kind": "CapacityBuffer",
        "metadata": metadata,
        "spec": spec,
    }


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_a_share_of_a_deployment(planned, version):
    ref = {"apiGroup": "apps", "kind": "Deployment", "name": "api"}
    api = deployment("api", 30, "250m", "64Mi")
    api["metadata"]["namespace"] = "shop"
    made = planned(api, buffer("api", version, scalableRef=ref, percentage=10))
    assert {each["name"]: each["pods"] for each in made["buffers"]} == {"shop/web": 3, "shop/api": 3}
    assert sum(request.get("headroom", 0) for request in made["requests"]) == 6


def test_what_has_no_room_says_why(planned):
    made = planned(
        buffer("gone", podTemplateRef={"name": "gone"}, replicas=1),
        buffer("many", podTemplateRef={"name": "web"}, replicas=1000),
        buffer("others", podTemplateRef={"name": "web"}, replicas=1, provisioningStrategy="example.com/cold"),
    )
    reasons = {each["name"]: each.get("reason") for each in made["buffers"]}
    assert reasons["shop/gone"] == {"code": "TemplateNotFound", "message": "PodTemplate shop/gone is in no file"}
    assert reasons["shop/many"]["code"] == "LimitReached"
    assert reasons.keys() == {"shop/web", "shop/gone", "shop/many"}
    assert made["result"] == "AllPlaced"


def test_as_a_table(planned):
    shown = planned(buffer("gone", podTemplateRef={"name": "gone"}, replicas=1), output="table")
    assert "Capacity buffers\nbuffer     pods  room\nshop/web      3  kept\n" in shown
    assert "shop/gone     0  TemplateNotFound: PodTemplate shop/gone is in no file" in shown


def test_a_node_says_which_buffer_it_stays_for():
    web = Pod("", "", "", {"cpu": 1000, "pods": 1}, is_unschedulable=True)
    given = scene(node("m-1"), buffers=[CapacityBuffer("shop", "web", "u", 1, web)])
    assert "CapacityBuffer shop/web needs its room" in "\n".join(lines_about(NODE, "m-1", sight(given)))
