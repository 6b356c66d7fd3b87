"""`limits.perNamespace`: what is bought and reserved for pods of one namespace; figures are worked out by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.model.plan import Plan
from planner.plan import plan
from tests.builders import Json, daemon_set, node, node_pool, node_request, pod
from tests.planner.checker import violations
from tests.planner.outcome import planned, types
from tests.planner.placement.shares.test_turns import CROWDS, Counting, crowd, got, waiting
from tests.planner.scenes import Scene, scene, seat
from tests.planner.wishes import apart
from tests.searching import searching

RANDOM = searching(60)


def bounded(*objects: Json, most: int = 100, types: tuple[str, ...] = ("cx32",), **bounds: object) -> Scene:
    return scene(*objects, types=types, limits={"max": most, "perNamespace": bounds})


def reasons(made: Plan) -> Counter[tuple[str, str]]:
    return Counter((each.reasons[0].code, each.reasons[0].message) for each in made.unplaced)


def test_the_cpu_of_a_namespace_ends_at_its_bound():
    made = planned(bounded(*waiting("a", 9), *waiting("b", 2), cpu="4"))
    assert got(made) == {"a": 4, "b": 2}
    sentence = (
        "pool default buys no more for namespace a: limits.perNamespace.cpu is 4, its pods there, with those of "
        "this round, request 4, and this one 1"
    )
    assert reasons(made) == {("NamespaceLimit", sentence): 5}


def test_pods_that_run_and_those_with_a_seat_count():
    coming = pod("coming", "1", "1Gi", namespace="a")
    objects = [
        node("n", "cx32"),
        pod("runs", "2", "1Gi", node="n", namespace="a"),
        pod("other", "1500m", "1Gi", node="n", namespace="b"),
        daemon_set("agent", "500m"),
        coming,
        node_request("r", phase="Provisioning", serverType="cx32", seats=[seat(coming)]),
    ]
    # 2 of 4 run, 1 is coming: one more pod, wherever it goes; DaemonSet pods count for nobody.
    made = plan(bounded(*objects, *waiting("a", 3), cpu="4").snapshot())
    assert sum(code == "NamespaceLimit" for code, _ in reasons(made).elements()) == 2


def test_the_pods_of_high_priority_have_what_is_left():
    low, high = waiting("a", 2, cpu="2"), waiting("a", 1, cpu="3", priority=9)
    made = planned(bounded(*low, *high, cpu="4"))
    assert [s.name for r in made.requests for s in r.seats] == ["a-3-0"]


def test_a_bound_that_is_exceeded_already_buys_nothing():
    objects = [node("n", "cx42"), pod("runs", "6", "1Gi", node="n", namespace="a")]
    made = planned(bounded(*objects, *waiting("a", 1, cpu="3"), *waiting("b", 1, cpu="3"), cpu="4"))
    assert got(made) == {"b": 1}


def test_room_that_is_there_is_for_all():
    # The scheduler binds them there whatever a plan says.
    objects = [node("n", "cx32"), pod("runs", "2", "1Gi", node="n", namespace="a")]
    made = planned(bounded(*objects, *waiting("a", 3), cpu="2"))
    assert (made.requests, len(made.placed), len(made.unplaced)) == ((), 2, 1)


def test_no_seat_is_given_on_a_machine_that_is_coming():
    coming = pod("coming", "1", "1Gi", namespace="a")
    request = node_request("r", phase="Provisioning", serverType="cx32", seats=[seat(coming)])
    made = planned(bounded(coming, request, *waiting("a", 1), *waiting("b", 1), cpu="1"))
    # A cx22 has room for two.
    assert {(p.pod, p.request) for p in made.placed} == {("a/coming", "r"), ("b/b-1-0", "r")}
    assert [each.pod for each in made.unplaced] == ["a/a-1-0"]


def test_another_pool_buys_for_them():
    pools = [
        node_pool("default", ["cx32"], limits={"max": 9, "perNamespace": {"cpu": "2"}}),
        node_pool("dear", ["cx42"], matchUnselectedPods=True),
    ]
    # A cx42 has room for four of them, and costs less than two cx32.
    made = planned(scene(*waiting("a", 5, cpu="2"), pools=pools))
    assert types(made) == ["cx32", "cx42"]
    assert not made.unplaced


def test_a_namespace_has_so_many_machines():
    # A pod fills half a machine: five machines would be bought for a, one for b.
    made = planned(bounded(*waiting("a", 10, cpu="2"), *waiting("b", 2, cpu="2"), machines=2))
    assert got(made) == {"a": 4, "b": 2}
    sentence = "pool default buys no more for namespace a: limits.perNamespace.machines is 2, and so many count for it"
    assert reasons(made) == {("NamespaceLimit", sentence): 6}


def test_machines_that_are_there_count_for_whose_pods_request_most_cpu_of_them():
    objects = [
        node("n1", "cx32"),
        pod("r1", "3", "1Gi", node="n1", namespace="a"),
        pod("r2", "1", "6Gi", node="n1", namespace="b"),
        node("n2", "cx32"),
        pod("r3", "2", "1Gi", node="n2", namespace="a"),
        pod("r4", "2", "2Gi", node="n2", namespace="b"),
    ]
    # n1 is a's by cpu; n2 is b's by memory, as both request as much cpu.
    made = planned(bounded(*objects, *waiting("a", 1, cpu="4"), *waiting("b", 1, cpu="4"), machines=1))
    assert (got(made), len(made.unplaced)) == ({}, 2)
    made = planned(bounded(*objects[:3], *waiting("a", 1, cpu="4"), *waiting("b", 1, cpu="4"), machines=1))
    assert got(made) == {"b": 1}


def test_who_was_to_be_beside_is_planned_anew():
    # Whatever machines are taken off, pods of b have a place in the same round, or in a later one, as it says.
    made = planned(bounded(*waiting("a", 30, cpu="1500m"), *waiting("b", 2, cpu="1"), machines=2))
    assert got(made)["b"] == 2
    assert got(made)["a"] in {4, 5}


def test_a_tenant_that_comes_first_leaves_room_under_a_bound():
    # Without one, a takes the whole pool in the first round, and b finds nothing in the second.
    first = planned(bounded(*waiting("a", 50), most=4, cpu="8"))
    assert len(first.requests) == 2
    running = [node(f"n{k}", "cx32") for k in range(2)]
    running += [pod(f"r{k}", "4", "1Gi", node=f"n{k}", namespace="a") for k in range(2)]
    second = planned(bounded(*running, *waiting("a", 42), *waiting("b", 5), most=4, cpu="8"))
    assert got(second) == {"b": 5}


def test_it_is_planned_for_in_each_round():
    # Pods of other namespaces are of the same class, so that none of them may wait for long.
    made = plan(bounded(*waiting("a", 9), cpu="4").snapshot())
    assert made.memory.backoff == {}


@pytest.mark.parametrize("bounds", [{}, {"cpu": "1000"}, {"machines": 50}, {"cpu": "1000", "machines": 50}])
def test_bounds_that_are_not_reached_change_nothing(bounds: Json):
    objects = [*waiting("a", 9), *waiting("b", 5, cpu="3"), node("n", "cx32"), pod("r", node="n")]
    without, packer = plan(scene(*objects, types=["cx22", "cx32"]).snapshot()), Counting()
    made = plan(bounded(*objects, types=("cx22", "cx32"), **bounds).snapshot(), packer)
    assert (made.requests, made.placed, made.unplaced) == (without.requests, without.placed, without.unplaced)
    assert packer.asked == 1


BOUNDS = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from(["0", "1", "2500m", "6"]), "machines": st.integers(1, 3)}
)


@RANDOM
@given(CROWDS, BOUNDS, st.integers(1, 6), st.sampled_from([0, 1]))
def test_no_plan_gives_a_namespace_more_than_its_bounds(drawn: list, bounds: Json, most: int, nodes: int):
    there = [node("n", "cx32"), pod("r", "3", "1Gi", node="n", namespace="a")][: 2 * nodes]
    given_scene = bounded(*there, *crowd(drawn), most=most, types=("cx22", "cx42"), **bounds)
    made = plan(given_scene.snapshot())
    assert violations(given_scene, made) == []


@pytest.mark.parametrize(
    ("fault", "bounds", "sentence"),
    [
        ("bar_by_cpu", {"cpu": "4"}, "pods of a are given 9000m beside 0m in pool default"),
        ("trim_of_machines", {"machines": 2}, "3 machines of pool default count for a"),
    ],
)
def test_the_judge_finds_a_plan_that_ignores_a_bound(
    monkeypatch: pytest.MonkeyPatch, fault: str, bounds: Json, sentence: str
):
    given_scene = bounded(*waiting("a", 9), **bounds)
    ignored = None if fault == "trim_of_machines" else lambda *_: None
    monkeypatch.setattr(f"planner.placement.shares.fair.NamespaceBounds.{fault}", ignored)
    assert violations(given_scene, plan(given_scene.snapshot())) == [sentence]


def test_pods_that_keep_apart_get_no_more_machines_than_may_count():
    # Five pods that share no machine are five machines at once, of which three may count.
    pods = [
        pod(
            f"a{n}",
            "1",
            "1Gi",
            namespace="a",
            labels={"app": "web"},
            affinity=apart(app="web"),
        )
        for n in range(5)
    ]
    made = planned(bounded(*pods, machines=3))
    assert len(made.requests) == 3
    assert [code for code, _ in reasons(made).elements()] == ["NamespaceLimit"] * 2


def test_a_machine_that_does_not_come_counts():
    coming = pod("coming", "4", "1Gi", namespace="a")
    request = node_request("r", "cx32", phase="Provisioning", seats=[seat(coming)])
    made = planned(bounded(coming, request, *waiting("a", 1, cpu="4"), machines=1))
    assert (made.requests, [each.pod for each in made.unplaced]) == ((), ["a/a-4-0"])


def test_a_bound_below_what_is_there_removes_nothing():
    objects = [node(f"n{k}", "cx32") for k in range(3)]
    objects += [pod(f"r{k}", "4", "1Gi", node=f"n{k}", namespace="a") for k in range(3)]
    made = planned(bounded(*objects, *waiting("a", 1), machines=1, cpu="1"))
    assert (made.requests, made.removals) == ((), ())
