"""`growth plan` where pods fit on fewer or cheaper machines: what goes, what comes first, and who moves where."""

import json

import pytest

from planner.consolidation.quiet import pods_hash
from planner.parsing.objects import parse_pod
from tests.worker.commands.plan.test_command import written
from worker.commands.plan.command import plan

CLUSTER = """
apiVersion: growth.dev/v1alpha1
kind: KwokNodeClass
metadata: {name: default}
spec:
  serverTypes:
    - {name: small, capacity: {cpu: 2, memory: 4Gi}, pricePerHour: "0.01", locations: [{name: a}]}
    - {name: large, capacity: {cpu: 16, memory: 32Gi}, pricePerHour: "0.08", locations: [{name: a}]}
---
apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata: {name: default}
spec:
  serverTypes: [{name: small}, {name: large}]
  limits: {max: 50}
  scaleDown: {mode: drain, consolidate: {after: 15m}}
"""
OWNER = "{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs, controller: true}"
NOW = "2026-11-29T12:00:00Z"


def machine(name, server_type, cpu, *pods):
    texts = [
        f"""---
apiVersion: v1
kind: Pod
metadata: {{name: {pod}, namespace: default, uid: uid-{pod}, ownerReferences: [{OWNER}]}}
spec: {{nodeName: {name}, containers: [{{name: main, resources: {{requests: {{cpu: {amount}}}}}}}]}}
status: {{phase: Running}}
"""
        for pod, amount in pods
    ]
    seen = pods_hash(
        parse_pod({"metadata": {"name": pod, "uid": f"uid-{pod}"}, "spec": {"containers": []}}) for pod, _ in pods
    )
    return f"""---
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{growth.dev/pool: default, growth.dev/server-type: {server_type}, growth.dev/request: {name}, topology.kubernetes.io/region: a}}
  annotations: {{growth.dev/pods-since: "2026-11-29T11:00:00Z {seen}"}}
status:
  allocatable: {{cpu: {cpu}, memory: 3500Mi, pods: 110}}
  conditions: [{{type: Ready, status: "True", lastTransitionTime: "2026-11-28T12:00:00Z"}}]
""" + "".join(texts)  # noqa: E501


@pytest.fixture
def two_to_one(tmp_path):
    text = CLUSTER + machine("m-1", "small", "2", ("x", "500m")) + machine("m-2", "small", "2", ("y", "1"))
    return written(tmp_path, text)


def test_the_data_of_a_move(capsys, two_to_one):
    assert plan(file=(two_to_one,), now=NOW, output="json") == 0
    [removal] = json.loads(capsys.readouterr().out)["removals"]
    assert removal == {
        "node": "m-1",
        "reason": "Consolidation",
        "at": "2026-11-29T12:01:00Z",
        "savingPerHour": "0.01",
        "replacement": [],
        "moves": [{"pod": "default/x", "node": "m-2"}],
    }


def test_the_data_of_a_replacement(capsys, tmp_path):
    file = written(tmp_path, CLUSTER + machine("m-1", "large", "16", ("x", "500m")))
    assert plan(file=(file,), now=NOW, output="json") == 0
    data = json.loads(capsys.readouterr().out)
    assert [(request["name"], request["serverType"], request["pods"]) for request in data["requests"]] == [
        ("default-new-1", "small", ["default/x"])
    ]
    [removal] = data["removals"]
    assert (removal["savingPerHour"], removal["replacement"], removal["moves"]) == ("0.07", ["default-new-1"], [])
    assert (data["costPerHour"], data["optimal"]) == ("0.01", False)


def test_the_table_for_people(capsys, two_to_one):
    assert plan(file=(two_to_one,), now=NOW) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Saves 7.30 EUR a month: this machine goes, 1 pod moves" in text
    assert "To move from to pods m-1 m-2 default/x" in text
