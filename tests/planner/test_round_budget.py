"""No input takes the time of a round: work is counted in comparisons, as a clock tells of the machine that it runs on.

Source: docs/design.md#round. Each of these took longer than the 45 s that a round has, and so stopped all purchases.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from api.model import read
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Plan, Snapshot
from planner.objects import predicates
from planner.parsing.objects import parse_objects
from planner.plan import plan
from tests.builders import claim, differing, node, node_pool, pod, storage_class, volume
from tests.planner.wishes import using

Json = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return how often a requirement was compared with labels so far."""
    number = 0
    holds = predicates.holds

    def counted(*arguments: Any) -> bool:
        nonlocal number
        number += 1
        return holds(*arguments)

    monkeypatch.setattr(predicates, "holds", counted)
    return lambda: number


def planned(*pods: Json, **others: Any) -> Plan:
    nodes = tuple(differing(node(f"n{i}"), {"metadata": {"labels": {ZONE: "abc"[i % 3]}}}) for i in range(30))
    parsed = parse_objects(pods=pods, nodes=nodes, **others)
    return plan(
        Snapshot(
            now=datetime(2026, 1, 1, tzinfo=UTC),
            pods=parsed.pods,
            nodes=parsed.nodes,
            volumes=parsed.volumes,
            pools=(read(NodePool, node_pool()),),
            problems=parsed.problems,
        )
    )


def of_app(name: str, spec: Json) -> Json:
    small = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}
    return differing(pod(name), {"metadata": {"labels": {"app": name}}, "spec": {**small, **spec}})


def kept_apart(name: str, key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    return of_app(name, {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}})


def near(name: str, key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    return of_app(name, {"affinity": {"podAffinity": {REQUIRED: [term]}}})


def spread(name: str, key: str) -> Json:
    selector = {"matchLabels": {"app": name}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return of_app(name, {"topologySpreadConstraints": [constraint]})


@pytest.mark.parametrize("key", [HOSTNAME, ZONE])
@pytest.mark.parametrize("made", [kept_apart, near, spread])
def test_the_work_grows_with_the_number_of_rules_and_not_with_its_square(
    made: Callable[[str, str], Json], key: str, comparisons: Callable[[], int]
):
    done = [0]
    for number in (100, 200):
        assert planned(*(made(f"p{i}", key) for i in range(number))).unplaced == ()
        done.append(comparisons())
    first, both = done[1:]
    # Twice the rules are four times the work where each is compared with each.
    assert both - first <= 2.5 * first


def test_rules_that_mean_everybody_wait_and_others_are_planned(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("planner.placement.decide.MOST_OF_ROUND", 3000)
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    affinity = {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": selector}]}}
    hostile = [of_app(f"all{i}", {"affinity": affinity}) for i in range(200)]
    made = planned(*hostile, pod("good"))
    assert "default/good" in {placed.pod for placed in made.placed}
    assert {entry.reasons[0].code for entry in made.unplaced} == {"TooMuchToJudge"}
    # 3,000 comparisons are fourteen classes with 201 classes and a few machines each.
    assert len(made.unplaced) == 186


def test_rules_of_pods_that_run_count_for_those_whom_they_look_at(
    monkeypatch: pytest.MonkeyPatch, comparisons: Callable[[], int]
):
    monkeypatch.setattr("planner.policies.class_budget.MOST_OF_CLASS", 2000)
    terms = [
        {"topologyKey": HOSTNAME, "labelSelector": {"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]}}
        for i in range(50)
    ]

    def running(i: int) -> Json:
        affinity = {"podAntiAffinity": {REQUIRED: [{**term, "topologyKey": f"{HOSTNAME}/{i}"} for term in terms]}}
        return differing(pod(f"r{i}", node="n0"), {"spec": {"affinity": affinity}})

    others = [differing(pod(f"good{i}", f"{i + 1}m"), {"metadata": {"namespace": "shop"}}) for i in range(20)]
    made = planned(*(running(i) for i in range(100)), *(pod(f"a{i}", f"{i + 1}m") for i in range(20)), *others)
    assert {entry.reasons[0].code for entry in made.unplaced} == {"TooMuchToJudge"}
    assert {entry.pod for entry in made.unplaced} == {f"default/a{i}" for i in range(20)}
    assert len(made.placed) == 20
    # 5,000 rules and 20 classes in their namespace.
    assert comparisons() < 50_000


def test_claims_multiply_out_over_topologies_no_more():
    storage = storage_class("waits", "a", "b", "c")
    free = differing(volume("left"), {"status": {"phase": "Available"}})
    claims = [claim(f"c{i}") for i in range(12)]
    made = planned(
        using(pod("db"), *(f"c{i}" for i in range(12))), claims=claims, volumes=(free,), storage_classes=(storage,)
    )
    assert [placed.pod for placed in made.placed] == ["default/db"]


def test_claims_that_multiply_out_are_named():
    keys = [f"example.com/{i}" for i in range(12)]
    classes = [
        differing(
            storage_class(),
            {
                "metadata": {"name": f"s{i}"},
                "allowedTopologies": [{"matchLabelExpressions": [{"key": key, "values": [v]}]} for v in "abc"],
            },
        )
        for i, key in enumerate(keys)
    ]
    claims = [differing(claim(f"c{i}"), {"spec": {"storageClassName": f"s{i}"}}) for i in range(12)]
    free = differing(volume("left"), {"status": {"phase": "Available"}, "spec": {"storageClassName": "s0"}})
    db = using(pod("db"), *(f"c{i}" for i in range(12)))
    made = planned(db, pod("good"), claims=claims, volumes=(free,), storage_classes=classes)
    assert [placed.pod for placed in made.placed] == ["default/good"]
    (left,) = made.unplaced
    assert "its claims can be bound in more than 10,000 combinations of places" in left.reasons[0].message


def test_thousands_of_classes_with_rules_of_their_own_are_work_in_proportion_and_others_are_planned(
    comparisons: Callable[[], int],
):
    def own(i: int) -> Json:
        name = f"p{i}"
        selector = {"matchLabels": {"app": name}}
        constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        term = {"matchExpressions": [{"key": f"not-{i}", "operator": "DoesNotExist"}]}
        spec = {
            "nodeSelector": {f"own-{i}": "yes"},
            "affinity": {
                "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}},
                "podAntiAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": selector}]},
            },
            "topologySpreadConstraints": [{**constraint, "labelSelector": selector}],
        }
        return of_app(name, spec)

    made = planned(*(own(i) for i in range(5_000)), pod("good"))
    assert [placed.pod for placed in made.placed] == ["default/good"]
    assert len({entry.pod for entry in made.unplaced}) == 5_000
    assert all(entry.reasons for entry in made.unplaced)
    # Each class with each of the 30 nodes, as a domain of its spread, and with a few labels that nodes have in common.
    assert comparisons() <= 5_000 * (30 + 10)
