"""Which machines go so that fewer or cheaper ones carry their pods, and which never."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import ValidationError

from api.v1alpha1.consolidation import Consolidation
from planner.consolidation import policy
from planner.plan import plan
from tests.builders import (
    NOW,
    before,
    kwok_node_class,
    node,
    node_pool,
    node_removal_request,
    node_request,
    server_type,
)
from tests.planner.consolidation.quiet_scenes import CONSOLIDATES, consolidating, going, planned, pod, quiet
from tests.planner.scenes import scene

GONE = "Consolidation"


def half_empty(**parts):
    return consolidating(node("a"), node("b"), pods=[pod("x", node="a"), pod("y", cpu="600m", node="b")], **parts)


def test_pods_go_to_the_room_of_another_machine():
    made = planned(half_empty())
    (removal,) = made.removals
    assert (removal.node, removal.reason) == ("a", GONE)
    assert [(move.pod, move.node) for move in removal.moves] == [("default/x", "b")]
    assert (removal.saving_per_hour, removal.replacement, made.requests) == (Decimal("0.0066"), (), ())
    assert removal.why == "Saves 4.82 EUR a month: this machine goes, 1 pod moves"


def test_several_machines_make_way_for_a_cheaper_one():
    pods = [pod(f"x{n}", cpu="1500m", memory="2Gi", node=n) for n in "abc"]
    pods += [pod(f"y{n}", cpu="100m", memory="512Mi", node=n) for n in "abc"]
    given = consolidating(*map(node, "abc"), types=["cx42", "cx22"], pods=pods)
    made = planned(given)
    assert going(made) == [(n, GONE) for n in "abc"]
    (request,) = made.requests
    assert request.server_type == "cx42"
    assert {removal.replacement for removal in made.removals} == {(request.ordinal,)}
    # 3 x 0.0066 less 0.0170.
    assert {removal.saving_per_hour for removal in made.removals} == {Decimal("0.0028")}
    assert sorted(seat.name for seat in request.seats) == ["xa", "xb", "xc", "ya", "yb", "yc"]


def test_one_large_machine_is_split_into_small_ones():
    pods = [pod("x", cpu="1900m", memory="1Gi", node="big"), pod("y", cpu="1900m", memory="1Gi", node="big")]
    made = planned(consolidating(node("big", "cx42"), types=["cx42", "cx22"], pods=pods))
    assert going(made) == [("big", GONE)]
    assert [request.server_type for request in made.requests] == ["cx22", "cx22"]
    assert made.removals[0].replacement == (0, 1)


def test_pods_cross_to_a_cheaper_pool_that_they_allow():
    terms = [{"matchExpressions": [{"key": "growth.dev/pool", "operator": "In", "values": ["big", "small"]}]}]
    both = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pools = [node_pool("big", ["cx42"], scaleDown=CONSOLIDATES), node_pool("small", ["cx22"])]
    x = pod("x", node="a", affinity={"nodeAffinity": both})
    given = quiet(scene(node("a", "cx42", pool="big"), pods=[x], pools=pools))
    made = planned(given)
    assert going(made) == [("a", GONE)]
    assert [(request.pool, request.server_type) for request in made.requests] == [("small", "cx22")]


@pytest.mark.parametrize(
    "scale_down", [{}, {"mode": "drain"}, {"consolidate": {}}, {"mode": "none", "consolidate": {}}]
)
def test_only_pools_that_drain_and_consolidate_do(scale_down):
    made = planned(half_empty(scaleDown=scale_down))
    assert made.removals == made.requests == ()


def test_a_machine_is_quiet_first():
    given = quiet(half_empty(), minutes=14)
    made = planned(given)
    assert made.removals == ()
    assert made.wake_at == NOW + timedelta(minutes=1)


def test_a_pod_that_came_or_left_begins_the_time_anew():
    given = half_empty()
    given.pods.append(pod("new", node="a"))
    made = planned(given)
    # b alone is quiet, and does not fit on a any more.
    assert "a" in made.pods_since
    assert made.pods_since["a"].startswith("2026-03-01T12:00:00Z ")
    given = half_empty()
    given.pods.pop(0)
    assert "a" in planned(given).pods_since


def test_a_node_without_a_mark_is_marked_and_waits():
    given = scene(node("a"), node("b"), pods=[pod("x", node="a"), pod("y", node="b")], scaleDown=CONSOLIDATES)
    made = planned(given)
    assert (made.removals, sorted(made.pods_since)) == ((), ["a", "b"])
    for raw in given.nodes:
        raw["metadata"]["annotations"]["growth.dev/pods-since"] = made.pods_since[raw["metadata"]["name"]]
    later = replace(given.snapshot(), now=NOW + timedelta(minutes=15))
    assert plan(later).removals != ()
    assert plan(later).pods_since == {}


def test_a_node_whose_pods_come_and_go_is_not_marked_in_every_round():
    given = quiet(half_empty(), minutes=1)
    given.pods.append(pod("new", node="a"))
    assert planned(given).pods_since == {}
    given = quiet(half_empty(), minutes=3)
    given.pods.append(pod("new", node="a"))
    assert sorted(planned(given).pods_since) == ["a"]


@pytest.mark.parametrize(
    "more",
    [
        {"pods": [pod("w", cpu="100m")]},
        {"requests": [node_request("r", phase="Provisioning")]},
        {"limits": {"min": 3}},
    ],
)
def test_a_round_with_open_demand_moves_nobody(more):
    given = half_empty(limits=more.get("limits"))
    given.pods += more.get("pods", [])
    given.requests += more.get("requests", [])
    assert planned(given).removals == ()


def test_a_pod_that_no_machine_can_take_keeps_nothing_as_it_is():
    given = half_empty()
    given.pods.append(pod("huge", cpu="100"))
    assert going(planned(given)) == [("a", GONE)]


def test_minimums_are_kept():
    assert planned(half_empty(limits={"min": 2})).removals == ()
    assert planned(half_empty(types=[{"name": "cx22", "min": 2}])).removals == ()


def test_a_minimum_may_be_kept_by_what_is_bought():
    given = consolidating(node("a", "cx42"), pods=[pod("x", node="a")], limits={"min": 1})
    made = planned(given)
    assert (going(made), [request.server_type for request in made.requests]) == ([("a", GONE)], ["cx22"])


@pytest.mark.parametrize("limits", [{"cpu": 9}, {"memory": "19Gi"}, {"pricePerHour": "0.0235"}], ids=str)
def test_a_pool_without_room_under_a_limit_in_cores_memory_or_money_buys_nothing_first(limits):
    given = consolidating(node("a", "cx42"), pods=[pod("x", node="a")], limits=limits)
    assert plan(given.snapshot()).requests == ()
    roomy = consolidating(node("a", "cx42"), pods=[pod("x", node="a")], limits={"cpu": 10, "pricePerHour": "0.0236"})
    assert [request.server_type for request in plan(roomy.snapshot()).requests] == ["cx22"]


def test_a_pool_at_its_max_buys_nothing_first():
    given = consolidating(node("a", "cx42"), pods=[pod("x", node="a")], limits={"max": 1})
    made = planned(given)
    assert made.removals == made.requests == ()


def test_what_is_sold_out_replaces_nothing():
    gone = [{"serverType": "cx22", "location": "fsn1", "until": "2026-03-01T13:00:00Z", "failures": 1,
             "lastFailureAt": before(minutes=1)}]  # fmt: skip
    given = consolidating(node("a", "cx42"), types=["cx42", "cx22"], unavailable=gone, pods=[pod("x", node="a")])
    assert planned(given).removals == ()


def test_a_machine_of_unknown_price_stays():
    given = consolidating(
        node("a", labels={"growth.dev/server-type": "old"}), node("b", "cx42"), pods=[pod("x", node="a")]
    )
    given.pods.append(pod("y", cpu="6", node="b"))
    assert planned(quiet(given)).removals == ()


def test_machines_of_two_currencies_are_not_compared():
    paid = {"growth.dev/price-per-hour": "9", "growth.dev/currency": "USD"}
    given = consolidating(node("a", "cx42", annotations=paid), pods=[pod("x", node="a")])
    # Its pod would fit on a cx22, whose price is in EUR.
    assert planned(quiet(given)).removals == ()


def test_the_price_that_was_paid_counts():
    dear = {"growth.dev/price-per-hour": "0.5", "growth.dev/currency": "EUR"}
    given = consolidating(node("a", annotations=dear), pods=[pod("x", node="a")])
    made = planned(quiet(given))
    assert (going(made), [r.server_type for r in made.requests]) == ([("a", GONE)], ["cx22"])
    assert made.removals[0].saving_per_hour == Decimal("0.4934")


@pytest.mark.parametrize(
    ("settings", "goes"),
    [
        ({"minSavingPercent": 37}, True),  # 0.0106 to 0.0066 is 37.7 %
        ({"minSavingPercent": 38}, False),
        ({"minSavingPerHour": "0.0040"}, True),
        ({"minSavingPerHour": "0.0041"}, False),
        ({"maxMovedPods": 2}, True),
        ({"maxMovedPods": 1}, False),
        ({"movePrice": "0.0019"}, True),
        ({"movePrice": "0.0020"}, False),
        ({"movePrice": "37%"}, True),  # of 0.0053, what each of the two pods costs: 0.00196
        ({"movePrice": "38%"}, False),
    ],
)
def test_a_step_is_worth_it(settings, goes):
    scale_down = CONSOLIDATES | {"consolidate": {"movePrice": "5%"} | settings}
    pods = [pod(n, cpu="800m", node="a") for n in ("x", "y")]
    given = consolidating(node("a", "cx32"), types=["cx22", "cx32"], pods=pods, scaleDown=scale_down)
    assert bool(planned(given).removals) is goes


@pytest.mark.parametrize(("price", "goes"), [("0.0032", False), ("0.0031", True)])
def test_without_a_price_a_move_must_bring_seventy_percent_of_what_a_pod_costs(price, goes):
    # Each of the two costs 0.0053 and must bring 0.00371: the machine for 0.0106 makes way for one of at most 0.00318.
    pods = [pod(n, cpu="800m", node="a") for n in ("x", "y")]
    kinds = server_type("cx32"), server_type("cx22", pricePerHour=price)
    scale_down = CONSOLIDATES | {"consolidate": {}}
    given = consolidating(
        node("a", "cx32"), kwok_node_class(*kinds), types=["cx22", "cx32"], pods=pods, scaleDown=scale_down
    )
    assert bool(planned(given).removals) is goes


@pytest.mark.parametrize(("hours", "goes"), [(3, False), (4, True), (7, True)])
def test_of_a_share_half_is_left_once_nothing_has_changed_for_four_hours(hours, goes):
    scale_down = CONSOLIDATES | {"consolidate": {"movePrice": "75%"}}
    pods = [pod(n, cpu="800m", node="a") for n in ("x", "y")]
    given = consolidating(node("a", "cx32"), types=["cx22", "cx32"], pods=pods, scaleDown=scale_down)
    assert bool(planned(quiet(given, hours=hours)).removals) is goes


@pytest.mark.parametrize("price", ["-1", "70 %", "0.7%", "%", "1e3", "12345%"])
def test_a_price_of_a_move_is_an_amount_or_a_share(price):
    with pytest.raises(ValidationError, match="a share of what an average pod costs"):
        Consolidation.model_validate({"movePrice": price})


@pytest.mark.parametrize(
    "more", [{"priority": 1000}, {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "1000"}}]
)
def test_pods_of_priority_or_deletion_cost_cost_more_to_move(more):
    scale_down = {"mode": "drain", "consolidate": {"movePrice": "0.0019"}}
    pods = [pod("x", cpu="800m", node="a"), pod("y", cpu="800m", node="a", **more)]
    given = consolidating(node("a", "cx32"), types=["cx22", "cx32"], pods=pods, scaleDown=scale_down)
    assert planned(given).removals == ()


def test_an_idle_machine_is_no_place_for_moves():
    given = consolidating(node("idle"), node("a"), pods=[pod("x", node="a")])
    assert planned(given).removals == ()


def test_what_a_person_keeps_stays_and_takes_pods():
    keep = {"growth.dev/do-not-remove": "mine"}
    given = consolidating(node("a", annotations=keep), node("b"), pods=[pod("x", node="a"), pod("y", node="b")])
    assert going(planned(quiet(given))) == [("b", GONE)]


def test_nothing_is_looked_at_twice_while_nothing_changes(monkeypatch):
    given = consolidating(node("a"), pods=[pod("x", node="a")])
    made = planned(given)
    (report,) = made.pools
    state = report.status.consolidation.rested_at
    assert state
    given.pools[0]["status"] = {"consolidation": {"restedAt": state}}
    with monkeypatch.context() as patched:
        patched.setattr(policy, "Search", None)
        assert planned(given).pools[0].status.consolidation.rested_at == state
    given.pods.append(pod("y", node="a"))
    assert planned(quiet(given)).pools[0].status.consolidation.rested_at != state


def test_pods_of_a_hard_spread_stay_spread():
    spread = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": {"app": "w"}}}]  # fmt: skip
    pods = [pod(f"w{n}", cpu="100m", node=n, labels={"app": "w"}, topologySpreadConstraints=spread) for n in "abc"]
    given = consolidating(*map(node, "abc"), types=["cx22"], pods=pods)
    assert planned(given).removals == ()


def test_a_machine_that_goes_already_is_neither_moved_nor_a_place():
    removal = node_removal_request("b", phase="Draining", drainStartedAt=before(hours=1))
    given = consolidating(node("a"), node("b"), removal, pods=[pod("x", node="a"), pod("y", node="b")], types=["cx22"])
    assert planned(quiet(given)).removals == ()
