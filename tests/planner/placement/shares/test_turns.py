"""What a limit leaves is given in turn between namespaces of equal priority; figures are worked out by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.model.plan import Plan
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packing, PackingProblem
from planner.plan import plan
from tests.builders import Json, node, pod
from tests.planner.checker import violations
from tests.planner.outcome import planned
from tests.planner.scenes import Scene, scene
from tests.searching import searching

RANDOM = searching(60)


def waiting(namespace: str, number: int, cpu: str = "1", memory: str = "128Mi", **spec: object) -> list[Json]:
    return [pod(f"{namespace}-{cpu}-{n}", cpu, memory, namespace=namespace, **spec) for n in range(number)]


def got(made: Plan) -> Counter[str]:
    """Return how many pods of each namespace a machine is bought for."""
    return Counter(seat.namespace for request in made.requests for seat in request.seats)


def told(made: Plan, namespace: str) -> list[tuple[str, str]]:
    """Return the first reason of each pod of a namespace without a place."""
    return [
        (each.reasons[0].code, each.reasons[0].message)
        for each in made.unplaced
        if each.pod.startswith(f"{namespace}/")
    ]


def at_most(most: int, *pods: Json, types: tuple[str, ...] = ("cx32",)) -> Scene:
    return scene(*pods, types=types, limits={"max": most})


def test_each_namespace_has_its_turn():
    # Two machines of 4 cpu are 8 places: in turn b has all its three, and a the other five.
    made = planned(at_most(2, *waiting("a", 20), *waiting("b", 3)))
    assert got(made) == {"a": 5, "b": 3}
    sentence = (
        "what limits of pool default leave is given in turn between 2 namespaces whose pods have this priority: "
        "5 of 20 pods of namespace a got a place"
    )
    assert set(told(made, "a")) == {("LimitShared", sentence)}
    assert {each.reasons[1].code for each in made.unplaced} == {"LimitReached"}


def test_ten_thousand_pods_of_one_namespace_leave_three_of_another_their_place():
    made = plan(at_most(2, *waiting("a", 10_000), *waiting("b", 3)).snapshot())
    assert got(made) == {"a": 5, "b": 3}


def test_big_pods_win_nothing_over_small_ones():
    # 8 cpu: b's first pod takes 4, then a has its turn until it has as much.
    made = planned(at_most(2, *waiting("a", 20), *waiting("b", 3, cpu="4")))
    assert got(made) == {"a": 4, "b": 1}


def test_a_turn_is_counted_by_what_a_pod_takes_most_of():
    # A cx32 has 4 cpu and 8Gi: a pod of b takes half of its memory, one of a an eighth of its cpu. Two machines are
    # two wholes: each namespace gets one.
    made = planned(at_most(2, *waiting("a", 40, cpu="500m"), *waiting("b", 9, cpu="100m", memory="4Gi")))
    assert got(made)["b"] == 2
    assert got(made)["a"] >= 8


def test_priority_comes_before_turns():
    made = planned(at_most(2, *waiting("a", 20, priority=10), *waiting("b", 3)))
    assert got(made) == {"a": 8}
    # Of its priority it is alone: nothing is shared.
    assert {code for code, _ in told(made, "a")} == {"LimitReached"}
    assert {code for code, _ in told(made, "b")} == {"LimitReached"}


def test_a_pod_that_is_too_big_for_what_is_left_takes_no_turn_from_a_small_one_of_its_namespace():
    # Pods of priority 5 take 6Gi of the 8: in what they leave, a's pod of 3Gi has no room, and a's of 128Mi has.
    first, second = {"memory": "3Gi", "cpu": "250m"}, {"memory": "1Gi", "cpu": "250m"}
    pods = [
        *waiting("a", 2, **first, priority=5),
        *waiting("a", 2, cpu="260m", memory="3Gi"),
        *waiting("b", 2, **second),
        *waiting("a", 1, cpu="270m"),
    ]
    made = planned(at_most(1, *pods))
    assert {seat.name for request in made.requests for seat in request.seats if seat.namespace == "a"} == {
        "a-250m-0",
        "a-250m-1",
        "a-270m-0",
    }
    assert got(made)["b"] == 1


def test_what_one_namespace_does_not_want_the_others_get():
    made = planned(at_most(3, *waiting("a", 20), *waiting("b", 1), *waiting("c", 4)))
    assert got(made) == {"a": 7, "b": 1, "c": 4}


def test_of_equal_turns_the_namespace_with_less_comes_first():
    # One machine, and pods that fill it.
    runs = [node("n", "cx32"), pod("r", "4", "1Gi", node="n", namespace="a")]
    made = planned(
        scene(*runs, *waiting("a", 1, cpu="4"), *waiting("b", 1, cpu="4"), types=["cx32"], limits={"max": 2})
    )
    assert got(made) == {"b": 1}
    assert [code for code, _ in told(made, "a")] == ["LimitShared"]


def test_pools_are_shared_each_by_those_who_want_them():
    pools = [{"metadata": {"name": n}, "spec": {"serverTypes": [{"name": "cx32"}], "limits": {"max": 1}}} for n in "xy"]
    pods = [
        *waiting("a", 9, nodeSelector={"growth.dev/pool": "x"}),
        *waiting("b", 1, nodeSelector={"growth.dev/pool": "x"}),
        *waiting("c", 9, cpu="2", nodeSelector={"growth.dev/pool": "y"}),
    ]
    made = plan(scene(*pods, pools=pools).snapshot())
    assert got(made) == {"a": 3, "b": 1, "c": 2}
    assert {code for code, _ in told(made, "c")} == {"LimitReached"}


def test_the_max_of_a_type_is_shared_too():
    types = [{"name": "cx32", "max": 1}]
    assert got(planned(scene(*waiting("a", 9), *waiting("b", 1), types=types))) == {"a": 3, "b": 1}


def test_sharing_never_makes_pods_wait_for_others_backed_off():
    # Those that had their turn may wait for long; pods of another namespace are of the same class.
    first = at_most(1, *waiting("a", 9), *waiting("b", 1))
    made = plan(first.snapshot())
    assert made.memory.backoff == {}


class Counting:
    """The fallback, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, problem: PackingProblem) -> Packing:
        self.asked += 1
        return pack(problem)


def asked(given: Scene) -> int:
    packer = Counting()
    plan(given.snapshot(), packer)
    return packer.asked


def test_where_nothing_is_short_or_one_namespace_waits_it_is_packed_once():
    assert asked(at_most(9, *waiting("a", 20), *waiting("b", 3))) == 1
    assert asked(at_most(2, *waiting("a", 20))) == 1
    # Each has its turn as it is.
    assert asked(at_most(1, *waiting("a", 2, cpu="2"), *waiting("b", 2, cpu="2"))) <= 2
    assert asked(at_most(2, *waiting("a", 20), *waiting("b", 3))) == 2


def test_no_machine_is_left_to_share_once_all_are_there():
    full = [node("n", "cx32"), pod("r", "4", "1Gi", node="n", namespace="a")]
    made = planned(scene(*full, *waiting("a", 3), *waiting("b", 3), types=["cx32"], limits={"max": 1}))
    assert {each.reasons[0].code for each in made.unplaced} == {"LimitReached"}


SIZES = st.tuples(st.sampled_from(["250m", "500m", "1", "2", "3"]), st.sampled_from(["128Mi", "1Gi", "3Gi"]))
CROWDS = st.lists(
    st.tuples(st.sampled_from("abc"), SIZES, st.integers(1, 12), st.sampled_from([0, 0, 0, 5])), min_size=2, max_size=6
)


def crowd(drawn: list[tuple[str, tuple[str, str], int, int]]) -> list[Json]:
    return [
        pod(f"{k}-{n}", *size, namespace=namespace, priority=priority)
        for k, (namespace, size, number, priority) in enumerate(drawn)
        for n in range(number)
    ]


@RANDOM
@given(CROWDS, st.integers(1, 4), st.sampled_from([("cx32",), ("cx22", "cx42"), ("cx22", "cx32", "cx42")]))
def test_no_namespace_has_less_than_its_turn(drawn: list, most: int, types: tuple[str, ...]):
    given_scene = at_most(most, *crowd(drawn), types=types)
    made = plan(given_scene.snapshot())
    assert violations(given_scene, made) == []


@RANDOM
@given(CROWDS, st.integers(1, 4))
def test_one_namespace_alone_is_planned_as_if_nothing_were_shared(drawn: list, most: int):
    alone = at_most(most, *crowd([("a", *rest) for _, *rest in drawn]))
    packer = Counting()
    made = plan(alone.snapshot(), packer)
    assert "LimitShared" not in {reason.code for each in made.unplaced for reason in each.reasons}
    assert packer.asked == 1


def test_the_judge_finds_a_plan_that_ignores_turns(monkeypatch: pytest.MonkeyPatch):
    given_scene = at_most(2, *waiting("a", 20), *waiting("b", 3))
    monkeypatch.setattr("planner.placement.shares.fair.with_turns", lambda groups, _: list(groups))
    assert violations(given_scene, plan(given_scene.snapshot())) == [
        f"b/b-1-{n} waits although a/a-1-0 of a namespace that has more was bought for" for n in range(3)
    ]


def test_pods_that_fit_no_machine_have_no_turn():
    made = planned(at_most(1, *waiting("a", 9), *waiting("b", 9, cpu="30")))
    assert got(made) == {"a": 4}
    assert ({code for code, _ in told(made, "a")}, {code for code, _ in told(made, "b")}) == (
        {"LimitReached"},
        {"TooLarge"},
    )
