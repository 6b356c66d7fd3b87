"""Objects that cannot be read are not taken for absent."""

from datetime import timedelta

import pytest

from planner.parsing.objects import UnreadableObject, parse_node, parse_pod
from planner.plan import plan
from tests.builders import Json, node, pod
from tests.planner.scenes import scene

GRACE = {"scaleDown": {"idleAfter": "1m"}}


def broken_pod(**changes: object) -> Json:
    return pod("odd", "a lot", node="n", labels={"app": "web"}) | changes


def broken_node(name: str) -> Json:
    made = node(name)
    made["status"]["allocatable"]["cpu"] = "many"
    return made


@pytest.mark.parametrize(
    "item",
    [
        broken_pod(),
        broken_pod(status=[]),
        broken_pod(metadata={"name": "odd", "namespace": "default", "labels": ["x"]}),
    ],
)
def test_a_pod_on_a_node_stays_there(item: Json):
    with pytest.raises(UnreadableObject) as raised:
        parse_pod(item)
    remains = raised.value.remains
    assert remains is not None
    assert (remains.key, remains.node_name, remains.is_unreadable) == ("default/odd", "n", True)


@pytest.mark.parametrize("item", [pod("odd", "a lot"), {"spec": {"nodeName": "n"}}, {"metadata": "x"}, 7])
def test_nothing_remains_of_a_pod_without_a_name_or_a_node(item: Json):
    with pytest.raises(UnreadableObject) as raised:
        parse_pod(item)
    assert raised.value.remains is None


def test_a_node_stays_a_machine_that_takes_no_pods():
    with pytest.raises(UnreadableObject) as raised:
        parse_node(broken_node("n"))
    remains = raised.value.remains
    assert remains is not None
    assert (remains.name, remains.labels["growth.dev/pool"], remains.takes_pods) == ("n", "default", False)


def test_a_node_with_such_a_pod_is_not_idle_and_not_free():
    idle = scene(nodes=[node("n")])
    first = plan(idle.snapshot())
    assert set(first.idle_since) == {"n"}

    given = scene(broken_pod(), pod("web", "1"), nodes=[node("n")])
    made = plan(given.snapshot())
    assert (made.idle_since, made.placed, len(made.requests)) == ({}, (), 1)
    assert [p.name for p in made.problems] == ["default/odd"]

    given.nodes[0]["metadata"].setdefault("annotations", {})["growth.dev/idle-since"] = given.now.isoformat()
    given.now += timedelta(minutes=5)
    assert plan(given.snapshot()).removals == ()


def test_such_a_node_counts_towards_the_max_of_its_pool():
    given = scene(pod("web", "1"), nodes=[broken_node("n")])
    given.pools[0]["spec"]["limits"] = {"max": 1}
    made = plan(given.snapshot())
    assert made.requests == ()
    assert made.unplaced[0].reasons[0].code == "LimitReached"
