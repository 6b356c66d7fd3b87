"""`growth plan` on a machine whose kubelet died two days ago, with a pod that cannot end."""

import json

import pytest

from tests.worker.commands.plan.test_command import planned, written
from worker.commands.plan.command import plan

DEAD = """
apiVersion: growth.dev/v1alpha1
kind: KwokNodeClass
metadata: {name: default}
spec:
  serverTypes:
    - {name: small, capacity: {cpu: 2, memory: 4Gi}, pricePerHour: "0.01", locations: [{name: a}]}
---
apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata: {name: default}
spec: {serverTypes: [{name: small}], limits: {max: 50}, scaleDown: SCALE_DOWN}
---
apiVersion: v1
kind: Node
metadata:
  name: m-1
  labels: {growth.dev/pool: default, growth.dev/server-type: small, growth.dev/request: m-1}
spec:
  taints:
    - {key: node.kubernetes.io/unreachable, effect: NoSchedule}
    - {key: node.kubernetes.io/unreachable, effect: NoExecute}
status:
  allocatable: {cpu: 1900m, memory: 3500Mi, pods: 110}
  conditions:
    - {type: Ready, status: Unknown, reason: NodeStatusUnknown, lastTransitionTime: "2026-11-27T12:00:00Z"}
---
apiVersion: v1
kind: Pod
metadata:
  name: db-0
  namespace: default
  deletionTimestamp: "2026-11-27T12:06:00Z"
  deletionGracePeriodSeconds: 30
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec: {nodeName: m-1, containers: [{name: main, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
status: {phase: Running}
"""
NOW = "2026-11-29T12:00:00Z"


@pytest.mark.parametrize(
    ("scale_down", "removed", "reason"),
    [("{}", [], "NotRepaired"), ("{repair: {}}", ["m-1"], "Repairs"), ("{repair: {after: 72h}}", [], None)],
    ids=["without the field", "with it", "not for long enough"],
)
def test_it_is_reported_and_goes_where_its_pool_says_so(capsys, tmp_path, scale_down, removed, reason):
    file = written(tmp_path, DEAD.replace("SCALE_DOWN", scale_down))
    assert plan(file=(file,), now=NOW, output="json") == 0
    data = json.loads(capsys.readouterr().out)
    assert [each["node"] for each in data["removals"]] == removed
    conditions = {each["type"]: each["reason"] for each in data["pools"][0]["conditions"]}
    assert conditions.get("DeadNodes") == reason
    assert data["requests"] == []


def test_people_read_it_in_the_table(capsys, tmp_path):
    file = written(tmp_path, DEAD.replace("SCALE_DOWN", "{repair: {}}"))
    assert plan(file=(file,), now=NOW) == 0
    shown = capsys.readouterr().out
    assert "m-1   Dead    2026-11-29T12:01:00Z  Not Ready since 2026-11-27T12:00:00Z, and no pod on it can end" in shown
    assert "Repairs: 1 Node is not Ready, and its pods cannot end: m-1" in shown
    assert planned(capsys, file)["result"] == "NoDemands"
