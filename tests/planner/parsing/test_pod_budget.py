"""A pod that asks for more than a round judges is named with the field, and others are planned.

Source: docs/design.md#round. The API server takes each of these pods: they are below its 1.5 MB.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from api.model import read
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Snapshot
from planner.parsing.objects import UnreadableObject, parse_objects, parse_pod
from planner.plan import plan
from tests.builders import differing, node, node_pool, pod

Json = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(value: str) -> Json:
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": value}}}


def anti(number: int) -> Json:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term(f"v{i}") for i in range(number)]}}}


def values(number: int) -> Json:
    expression = {"key": "k", "operator": "NotIn", "values": [f"v{i}" for i in range(number)]}
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}}


def container(**change: Any) -> Json:
    return {"name": "main", **change}


TOO_MUCH = {
    f"spec.affinity.podAntiAffinity.{REQUIRED}: 10,000 terms; at most 100 are judged": anti(10_000),
    f"spec.affinity.podAffinity.{PREFERRED}: 101 terms; at most 100 are judged": {
        "affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term("v")}] * 101}}
    },
    f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]: 50,001 expressions and values up to here; "
    "at most 10,000 are judged": values(50_000),
    "spec.topologySpreadConstraints: 101 constraints; at most 100 are judged": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": f"k{i}", "whenUnsatisfiable": "DoNotSchedule"} for i in range(101)
        ]
    },
    "spec.tolerations: 501 tolerations; at most 500 are judged": {
        "tolerations": [{"key": f"k{i}", "operator": "Exists"} for i in range(501)]
    },
    "spec.volumes: 501 volumes; at most 500 are judged": {"volumes": [{"name": f"v{i}"} for i in range(501)]},
    "spec.containers: 501 containers; at most 500 are judged": {"containers": [container()] * 501},
    "spec.containers[0].ports: 1,001 ports up to here; at most 1,000 are judged": {
        "containers": [container(ports=[{"containerPort": i, "hostPort": i} for i in range(1, 1002)])]
    },
    "spec.containers[0].resources: 101 kinds of resources up to here; at most 100 are judged": {
        "containers": [container(resources={"requests": {f"example.com/{i}": "1" for i in range(101)}})]
    },
}


@pytest.mark.parametrize(
    ("message", "spec"), TOO_MUCH.items(), ids=lambda one: one[:40] if isinstance(one, str) else ""
)
def test_what_is_too_much_is_named(message: str, spec: Json):
    with pytest.raises(UnreadableObject) as raised:
        parse_pod(differing(pod("bad"), {"spec": spec}))
    assert raised.value.problem.message == message
    assert raised.value.problem.name == "default/bad"
    assert raised.value.problem.reason == "TooMuchToJudge"


def test_as_much_as_the_budget_is_judged():
    assert len(parse_pod(differing(pod("good"), {"spec": anti(100)})).pod_anti_affinity) == 100


def snapshot(*pods: Json, nodes: tuple[Json, ...] = ()) -> Snapshot:
    parsed = parse_objects(pods=pods, nodes=nodes)
    return Snapshot(
        now=datetime(2026, 1, 1, tzinfo=UTC),
        pods=parsed.pods,
        nodes=parsed.nodes,
        pools=(read(NodePool, node_pool()),),
        problems=parsed.problems,
    )


def test_a_waiting_one_has_a_reason_and_one_event_and_others_their_places():
    made = plan(snapshot(differing(pod("bad"), {"spec": anti(10_000)}), pod("good"), nodes=(node("n1"),)))
    assert [placed.pod for placed in made.placed] == ["default/good"]
    (left,) = made.unplaced
    assert (left.pod, left.reasons[0].code) == ("default/bad", "TooMuchToJudge")
    assert "10,000 terms; at most 100 are judged" in left.reasons[0].message
    assert [(event.name, event.reason) for event in made.events if event.kind == "Pod"] == [("bad", "TooMuchToJudge")]
    assert [problem.name for problem in made.problems] == ["default/bad"]
    # It is no miss: its class has no back-off to serve once somebody has mended it.
    assert made.memory.backoff == {}


def test_a_running_one_closes_its_node_alone():
    bad = differing(pod("bad"), {"spec": {**anti(10_000), "nodeName": "n1"}, "status": {"phase": "Running"}})
    made = plan(snapshot(bad, pod("good"), nodes=(node("n1"), node("n2"))))
    assert [(placed.pod, placed.node) for placed in made.placed] == [("default/good", "n2")]
    assert [(event.name, event.reason) for event in made.events if event.kind == "Pod"] == [("bad", "TooMuchToJudge")]
