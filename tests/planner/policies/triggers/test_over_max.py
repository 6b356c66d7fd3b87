"""A pool whose max was lowered gives up as many machines as are too many, the dearest for their use first."""

from planner.plan import plan
from tests.builders import kwok_node_class, node, node_pool, node_removal_request, node_request, pod, server_type
from tests.planner.policies.triggers.fleet import condition, leaving
from tests.planner.scenes import scene
from tests.tables import rows

DRAIN = {"scaleDown": {"mode": "drain", "budgets": [{"nodes": "100%"}]}}


def given(*nodes, uses=None, types=("cx22", "cx32", "cx42"), others=(), **spec):
    """A pool with these Nodes, and on each a pod that asks for so much cpu."""
    asked = uses or {}
    pods = [pod(f"on-{name}", cpu, "64Mi", node=name, owner="rs") for name, cpu in asked.items()]
    return scene(*nodes, *others, pods=pods, types=types, **(DRAIN | spec))


def test_the_dearest_for_its_use_goes_onto_room_that_is_there():
    of = given(node("a"), node("b", "cx42"), node("c"), uses={"a": "1", "b": "1", "c": "1500m"}, limits={"max": 2})
    made = plan(of.snapshot())
    # 0.0170 for an eighth of a machine is dearer than 0.0066 for a half, and its pod fits on a.
    (removal,) = made.removals
    assert (removal.node, removal.reason, removal.replacement) == ("b", "OverMax", ())
    assert [(move.pod, move.node) for move in removal.moves] == [("default/on-b", "a")]
    assert removal.why == "Pool default has more machines than limits.max, 2"
    assert made.requests == ()
    reported = condition(of, "OverMax")
    assert (reported.status, reported.message) == (
        "True",
        "Machines above a limit of the pool, or the max of a type in it: 1 (b)",
    )


def test_an_unused_one_goes_before_all_others():
    of = given(node("a"), node("b", "cx42"), node("c"), uses={"a": "1", "b": "1"}, limits={"max": 2})
    assert leaving(of) == [("c", "OverMax")]


@rows(
    ("limits", "types", "goes"),
    {
        "at its max": ({"max": 3}, ("cx22",), 0),
        "below": ({"max": 9}, ("cx22",), 0),
        "one above": ({"max": 2}, ("cx22",), 1),
        "of a type": ({"max": 9}, ({"name": "cx22", "max": 2},), 1),
        "of another type": ({"max": 9}, ("cx22", {"name": "cx32", "max": 1}), 0),
        "both": ({"max": 2}, ({"name": "cx22", "max": 2},), 1),
        "two above": ({"max": 1}, ("cx22",), 2),
    },
)
def test_as_many_go_as_are_too_many(limits, types, goes):
    uses = {"a": "200m", "b": "200m", "c": "200m"}
    of = given(node("a"), node("b"), node("c"), uses=uses, types=types, limits=limits)
    assert [reason for _, reason in leaving(of)] == ["OverMax"] * goes


def test_a_type_above_its_max_gives_up_machines_of_that_type():
    uses = {"a": "100m", "b": "100m", "c": "1"}
    types = ({"name": "cx22", "max": 1}, "cx32")
    of = given(node("a", "cx32"), node("b"), node("c"), uses=uses, types=types, limits={"max": 9})
    made = plan(of.snapshot())
    assert [(removal.node, removal.why) for removal in made.removals] == [
        ("b", "Pool default has more machines of type cx22 than that type's max")
    ]


def test_a_pattern_above_its_max_gives_up_machines_of_all_types_that_it_holds():
    uses = {"a": "100m", "b": "100m", "c": "1"}
    types = ("cx42", {"pattern": "cx*", "max": 1})
    of = given(node("a", "cx32"), node("b"), node("c", "cx42"), uses=uses, types=types, limits={"max": 9})
    assert [(removal.node, removal.why) for removal in plan(of.snapshot()).removals] == [
        ("a", 'Pool default has more machines of pattern "cx*" than that entry\'s max')
    ]


def test_none_is_bought_above_the_max():
    of = given(node("a"), node("b"), node("c"), uses={"a": "1500m", "b": "1500m", "c": "1500m"}, limits={"max": 2})
    made = plan(of.snapshot())
    assert (made.removals, made.requests) == ((), ())
    assert {each.reason for each in made.blocked} == {"BlockedByMisfit"}
    assert {each.trigger for each in made.blocked} == {"OverMax"}
    assert condition(of, "OverMax").status == "True"


def test_the_next_one_goes_where_the_first_cannot():
    of = given(node("a"), node("b", "cx42"), node("c"), uses={"a": "1", "b": "1", "c": "500m"}, limits={"max": 2})
    of.pods[1]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "b"}
    made = plan(of.snapshot())
    assert [removal.node for removal in made.removals] == ["c"]
    assert [each.node for each in made.blocked] == ["b"]


def test_pods_may_go_to_another_pool():
    other = node_pool("other", matchUnselectedPods=True)
    of = given(node("a"), node("b"), uses={"a": "1500m", "b": "1500m"}, others=[other])
    of.pools = [node_pool(limits={"max": 1}, **DRAIN), other]
    made = plan(of.snapshot())
    assert [(removal.pool, removal.reason) for removal in made.removals] == [("default", "OverMax")]
    assert [request.pool for request in made.requests] == ["other"]


@rows(
    ("extra", "goes"),
    {
        "one that goes does not count": ([node("d"), node_removal_request("d")], 0),
        "one that is coming counts": (
            [node_request("d", phase="Provisioning", createAttemptAt="2026-03-01T11:59:00Z")],
            1,
        ),
        "one of another pool does not count": ([node("d", pool="other")], 0),
        "a foreign one does not count": ([node("d", pool=None)], 0),
    },
)
def test_which_machines_count(extra, goes):
    of = given(node("a"), node("b"), uses={"a": "200m", "b": "200m"}, others=extra, limits={"max": 2})
    made, reported = plan(of.snapshot()), condition(of, "OverMax")
    assert (reported is not None and ": 1 (" in reported.message) is bool(goes)
    # None is emptied while another one of the pool is on its way.
    held = {each.reason for each in made.blocked if each.trigger == "OverMax"}
    assert ([r for r in made.removals if r.reason == "OverMax"], held) == ([], {"BlockedByPurchase"} if goes else set())


def test_a_minimum_is_kept():
    types = ({"name": "cx22", "min": 2, "max": 2}, {"name": "cx32", "min": 1})
    uses = {"a": "100m", "b": "100m", "c": "100m", "d": "100m"}
    of = given(node("a"), node("b"), node("c"), node("d", "cx32"), uses=uses, types=types, limits={"max": 3})
    assert len(leaving(of)) == 1
    at_min = given(node("a"), node("b"), uses={"a": "100m", "b": "100m"}, types=({"name": "cx22", "min": 2, "max": 2},))
    assert leaving(at_min) == []


def test_where_pods_are_not_asked_to_leave_it_is_reported():
    of = given(node("a"), node("b"), uses={"a": "100m", "b": "100m"}, limits={"max": 1}, scaleDown={"mode": "empty"})
    assert leaving(of) == []
    assert condition(of, "OverMax").reason == "WaitsForPodsToLeave"


PAID = {"growth.dev/price-per-hour": "0.0066", "growth.dev/currency": "EUR"}


@rows(
    ("limits", "goes", "why"),
    {
        "cores": ({"cpu": 12}, ["b"], "Pool default has machines of 14 cpu, more than limits.cpu, 12"),
        "as much as it may have": ({"cpu": 14}, [], ""),
        "memory": (
            {"memory": "27Gi"},
            ["b"],
            "Pool default has machines of 28Gi memory, more than limits.memory, 27Gi",
        ),
        "money": (
            {"pricePerHour": "0.03"},
            ["b"],
            "Pool default has machines of 0.0342 EUR per hour, more than limits.pricePerHour, 0.03",
        ),
        "one at a time where one may do": (
            {"cpu": 8},
            ["b"],
            "Pool default has machines of 14 cpu, more than limits.cpu, 8",
        ),
        "the limit by which most are too many": ({"cpu": 1, "max": 3}, ["a", "b"], ""),
        "max and cores": ({"max": 2, "cpu": 13}, ["b"], "Pool default has more machines than limits.max, 2"),
    },
)
def test_limits_in_cores_memory_and_money_are_kept_as_a_max(limits, goes, why):
    # 4, 8 and 2 cores: none has pods but the last, so that b, the dearest, goes first.
    of = given(node("a", "cx32"), node("b", "cx42"), node("c"), uses={"c": "1"}, limits={"max": 9} | limits)
    made = plan(of.snapshot())
    assert sorted(removal.node for removal in made.removals if removal.reason == "OverMax") == goes
    if why:
        assert {removal.why for removal in made.removals} == {why}


def test_a_price_that_rises_takes_no_machine_away():
    kinds = kwok_node_class(server_type("cx22") | {"pricePerHour": "1"})
    there = [node(name, annotations=PAID) for name in ("a", "b")]
    of = given(*there, kinds, uses={"a": "1", "b": "1"}, types=("cx22",), limits={"max": 9, "pricePerHour": "0.0132"})
    assert leaving(of) == []
    assert condition(of, "OverMax") is None
