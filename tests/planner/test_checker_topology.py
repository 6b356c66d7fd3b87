"""The checker sees every way in which pods can stand wrongly to other pods: each planted fault is told.

Plans are written by hand: what the planner would say is of no matter here.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from planner.model.plan import Placed, Plan, PlanResult
from tests.builders import Json, daemon_set, node, pod
from tests.planner import scenes
from tests.planner.checker import violations
from tests.planner.scenes import Scene
from tests.planner.wishes import HOST, ZONE, affinity, apart, named, on_port, spread, term

ZONES = {"a1": "a", "a2": "a", "b1": "b", "c1": "c"}
"""Zone of each node."""
DB = {"app": "db"}
WEB = {"app": "web"}


def told(scene: Scene, **places: str) -> str:
    """Return what the checker says of pods that a plan puts on nodes."""
    made = Plan(
        result=PlanResult.ALL_PLACED,
        placed=tuple(
            Placed(f"{p['metadata']['namespace']}/{name}", node=where)
            for name, where in places.items()
            for p in scene.pods
            if p["metadata"]["name"] == name
        ),
        optimal=True,
    )
    return "\n".join(violations(scene, made))


def scene(*pods: Json, zones: Mapping[str, str] = ZONES, **parts: Any) -> Scene:
    nodes = [node(name, labels={ZONE: zone}) for name, zone in zones.items()]
    return scenes.scene(*pods, **{"nodes": nodes} | parts)


def resident(name: str, where: str, labels: dict[str, str] = DB, **spec: Any) -> Json:
    return pod(name, "100m", "64Mi", node=where, labels=labels, **spec)


def small(name: str, labels: dict[str, str] = WEB, **spec: Any) -> Json:
    return pod(name, "100m", "64Mi", labels=labels, **spec)


# Keeping away.

AWAY = affinity(away=term(ZONE, DB))


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"affinity": AWAY}, {}),
        ({}, {"affinity": affinity(away=term(ZONE, WEB))}),
        ({"affinity": affinity(away=term(ZONE, DB, namespaces=["default"]))}, {}),
        ({"affinity": affinity(away=term(ZONE, DB, namespaceSelector={}))}, {}),
        ({"affinity": affinity(away=term(ZONE, labelSelector={}))}, {}),
        (
            {
                "affinity": affinity(
                    away={
                        "topologyKey": ZONE,
                        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
                    }
                )
            },
            {},
        ),
        ({"affinity": affinity(away=term(ZONE, labelSelector={}, mismatchLabelKeys=["app"]))}, {}),
    ],
)
def test_a_pod_in_the_zone_of_one_it_keeps_away_from(mine: Json, theirs: Json):
    given = scene(small("new", **mine), resident("db", "a1", **theirs))
    assert "default/new on a2 must keep away from default/db on a1" in told(given, new="a2")
    assert told(given, new="b1") == ""


@pytest.mark.parametrize(
    "term_",
    [
        term(ZONE),
        term(ZONE, DB, namespaces=["other"]),
        term(ZONE, DB, namespaceSelector={"matchLabels": {"team": "blue"}}),
        term(ZONE, labelSelector={}, matchLabelKeys=["app"]),
        term("rack", DB),
    ],
)
def test_a_term_that_does_not_speak_of_that_pod(term_: Json):
    given = scene(small("new", affinity=affinity(away=term_)), resident("db", "a1"))
    assert told(given, new="a2") == ""


def test_namespaces_are_told_by_name_and_by_labels():
    db = resident("db", "a1") | {}
    db["metadata"]["namespace"] = "data"
    for more in ({"namespaces": ["data"]}, {"namespaceSelector": {"matchLabels": {"team": "blue"}}}):
        given = scene(small("new", affinity=affinity(away=term(ZONE, DB, **more))), db)
        given.namespaces = {"data": {"team": "blue"}}
        assert "must keep away from data/db" in told(given, new="a2")
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "data"}}
    given = scene(small("new", affinity=affinity(away=term(ZONE, DB, namespaceSelector=by_name))), db)
    assert "must keep away from data/db" in told(given, new="a2")
    assert told(scene(small("new", affinity=AWAY), db), new="a2") == ""


def test_two_new_pods_that_keep_away_from_each_other():
    given = scene(small("one", affinity=affinity(away=term(ZONE, WEB))), small("two"))
    assert "default/one on a1 must keep away from default/two on a2" in told(given, one="a1", two="a2")
    assert told(given, one="a1", two="b1") == ""


def test_a_terminating_pod_is_kept_away_from_and_a_finished_one_is_not():
    leaving, done = resident("db", "a1"), resident("db", "a1", phase="Succeeded")
    leaving["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert "must keep away" in told(scene(small("new", affinity=AWAY), leaving), new="a2")
    assert told(scene(small("new", affinity=AWAY), done), new="a2") == ""


def test_pods_on_one_machine_that_keep_away_by_host():
    given = scene(small("one", affinity=apart(app="web")), small("two"))
    assert "default/one and default/two must not share a1" in told(given, one="a1", two="a1")
    assert told(given, one="a1", two="a2") == ""


# Coming together.

NEAR = affinity(near=term(ZONE, DB))


def test_a_pod_without_the_company_it_needs():
    given = scene(small("new", affinity=NEAR), resident("db", "a1"))
    assert "default/new can land in no order" in told(given, new="b1")
    assert told(given, new="a2") == ""


def test_company_by_host():
    given = scene(small("new", affinity=affinity(near=term(HOST, DB))), resident("db", "a1"))
    assert "default/new can land in no order" in told(given, new="a2")
    assert told(given, new="a1") == ""


def test_company_that_is_planned_too_or_not_there_at_all():
    given = scene(small("new", affinity=NEAR), small("db", labels=DB))
    assert told(given, new="a1", db="a2") == ""
    assert "default/new can land in no order" in told(given, new="a1", db="b1")
    assert "default/new can land in no order" in told(scene(small("new", affinity=NEAR)), new="a1")


def test_the_first_of_its_own_kind_goes_anywhere_and_the_others_follow():
    group = [small(name, labels=DB, affinity=NEAR) for name in ("one", "two")]
    assert told(scene(*group), one="a1", two="a2") == ""
    assert "can land in no order" in told(scene(*group), one="a1", two="b1")
    assert "can land in no order" in told(scene(*group, resident("db", "c1")), one="a1", two="a2")


def test_the_first_of_its_own_kind_may_come_before_others_that_look_like_it():
    group = [small(name, labels=DB, affinity=NEAR) for name in ("one", "two")]
    lone = small("lone", labels=DB, affinity=affinity(away=term(ZONE, DB)))
    assert told(scene(*group, lone), one="a1", two="a2", lone="b1") == ""


def test_the_first_of_its_own_kind_needs_the_label_too():
    group = small("one", labels=DB, affinity=affinity(near=term("rack", DB)))
    assert "default/one can land in no order" in told(scene(group), one="a1")


def test_two_that_wait_for_each_other():
    one = small("one", labels={"app": "one"}, affinity=affinity(near=term(ZONE, {"app": "two"})))
    two = small("two", labels={"app": "two"}, affinity=affinity(near=term(ZONE, {"app": "one"})))
    assert "default/one, default/two can land in no order" in told(scene(one, two), one="a1", two="a2")


# Spreading.


def three(**more: Any) -> list[Json]:
    return [small(f"w{k}", topologySpreadConstraints=[spread(app="web", **more)]) for k in range(3)]


def test_a_skew_that_is_too_large():
    assert "makes a skew of 2 over topology.kubernetes.io/zone" in told(scene(*three()), w0="a1", w1="a2", w2="b1")
    assert told(scene(*three()), w0="a1", w1="b1", w2="c1") == ""
    assert told(scene(*three(max_skew=2)), w0="a1", w1="a2", w2="b1") == ""


def test_a_spread_over_a_label_that_the_node_has_not():
    assert "spreads over rack, which a1 has not" in told(scene(*three(topology_key="rack")), w0="a1")


def test_pods_that_run_count_and_those_that_end_do_not():
    runs = [resident(f"r{k}", "a1", labels=WEB) for k in range(2)]
    given = scene(*three()[:1], *runs)
    assert "makes a skew of 3" in told(given, w0="a2")
    for r in runs:
        r["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert told(given, w0="a2") == ""


def test_pods_of_another_namespace_do_not_count():
    runs = resident("r", "a1", labels=WEB)
    runs["metadata"]["namespace"] = "other"
    assert told(scene(*three()[:1], runs), w0="a2") == ""


def test_too_few_domains():
    assert "makes a skew of 2" in told(scene(*three(minDomains=4)), w0="a1", w1="a2", w2="b1")
    two_each = [small(f"w{k}", topologySpreadConstraints=[spread(app="web", minDomains=4)]) for k in range(4)]
    assert "makes a skew of 2" in told(scene(*two_each), w0="a1", w1="a2", w2="b1", w3="c1")
    assert told(scene(*three(minDomains=4)), w0="a1", w1="b1", w2="c1") == ""


@pytest.mark.parametrize(
    ("policy", "skewed"),
    [({}, False), ({"nodeAffinityPolicy": "Honor"}, False), ({"nodeAffinityPolicy": "Ignore"}, True)],
)
def test_nodes_that_the_pod_does_not_want(policy: Json, skewed):
    pods = three(**policy)
    for p in pods:
        p["spec"]["nodeSelector"] = {ZONE: "a"}
    assert ("makes a skew" in told(scene(*pods), w0="a1", w1="a2", w2="a1")) == skewed


@pytest.mark.parametrize(
    ("policy", "skewed"),
    [({}, True), ({"nodeTaintsPolicy": "Ignore"}, True), ({"nodeTaintsPolicy": "Honor"}, False)],
)
@pytest.mark.parametrize("how", ["taint", "cordon"])
def test_nodes_that_the_pod_does_not_tolerate(policy: Json, skewed, how: str):
    given = scene(*three(**policy), zones={"a1": "a", "b1": "b"})
    if how == "taint":
        given.nodes[1]["spec"]["taints"].append({"key": "team", "effect": "NoSchedule"})
    else:
        given.nodes[1]["spec"]["unschedulable"] = True
    assert ("makes a skew" in told(given, w0="a1", w1="a1", w2="a1")) == skewed


def test_match_label_keys_count_one_version_only():
    old = resident("old", "a1", labels=WEB | {"version": "1"})
    new = small(
        "new",
        labels=WEB | {"version": "2"},
        topologySpreadConstraints=[spread(app="web", matchLabelKeys=["version", "absent"])],
    )
    assert told(scene(new, old), new="a2") == ""
    old["metadata"]["labels"]["version"] = "2"
    assert "makes a skew of 2" in told(scene(new, old), new="a2")


def test_a_spread_that_no_order_of_landing_respects():
    # The pods do not count themselves: zone a already has two of those they look at, and nobody else comes.
    looking = small("new", labels={"app": "look"}, topologySpreadConstraints=[spread(app="web")])
    runs = [resident(f"r{k}", "a1", labels=WEB) for k in range(2)]
    assert "default/new can land in no order" in told(scene(looking, *runs), new="a2")
    assert told(scene(looking, *runs), new="b1") == ""
    # With others to come to the other zones it can: they land first.
    more = [small("fill-b"), small("fill-c")]
    assert told(scene(looking, *runs, *more), new="a2", **{"fill-b": "b1", "fill-c": "c1"}) == ""


def test_a_selector_that_says_nothing_counts_nobody():
    for pods in (three(labelSelector={}), [small("w0", topologySpreadConstraints=[spread()])]):
        assert told(scene(*pods), **{p["metadata"]["name"]: "a1" for p in pods}) == ""


def test_schedule_anyway_is_a_wish_only():
    assert told(scene(*three(whenUnsatisfiable="ScheduleAnyway")), w0="a1", w1="a2", w2="a1") == ""


# On one machine.


@pytest.mark.parametrize(
    ("one", "two", "clash"),
    [
        ({}, {}, True),
        ({"hostIP": "10.0.0.1"}, {}, True),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "0.0.0.0"}, True),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, False),
        ({"protocol": "UDP"}, {}, False),
        ({"number": 9090}, {}, False),
    ],
)
def test_a_port_asked_for_twice(one: Json, two: Json, clash):
    for given in (
        scene(on_port(small("new"), **one), on_port(resident("r", "a1"), **two)),
        scene(on_port(small("new"), **one), on_port(small("r"), **two)),
    ):
        there = {} if given.pods[1]["spec"].get("nodeName") else {"r": "a1"}
        assert ("of a1 is asked for by" in told(given, new="a1", **there)) == clash


def test_a_port_that_a_daemon_set_takes_on_every_machine():
    agent = daemon_set("agent", "0", "0")
    agent["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
    assert "port 8080 of a1" in told(scene(on_port(small("new")), daemon_sets=[agent]), new="a1")


def test_the_network_of_the_host_makes_every_port_one_of_the_node():
    one, two = (small(name, hostNetwork=True) for name in ("one", "two"))
    for p in (one, two):
        p["spec"]["containers"][0]["ports"] = [{"containerPort": 443}]
    assert "port 443 of a1" in told(scene(one, two), one="a1", two="a1")


def test_a_node_asked_for_by_name():
    given = scene(small("new", affinity=affinity(fields=named("a1"))))
    assert "default/new does not want a2" in told(given, new="a2")
    assert told(given, new="a1") == ""
    assert "does not want a1" in told(
        scene(small("new", affinity=affinity(fields=named("a1", operator="NotIn")))), new="a1"
    )
