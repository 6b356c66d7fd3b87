"""Growth by a threshold in whole rounds. Source: docs/growth.md; the seed's numbers are golden tests."""

from decimal import Decimal

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from planner.plan import plan
from tests.builders import (
    before,
    kwok_node_class,
    node,
    node_pool,
    node_removal_request,
    node_request,
    pod,
    server_type,
)
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene

BOTH = {"estimators": ["binPack", "threshold"], "thresholdPercent": 50}
ALONE = {"estimators": ["threshold"], "thresholdPercent": 50}


def busy(number, cpu="1500m"):
    """Return Nodes of two cores with a pod each."""
    return [
        *[node(f"n-{k}") for k in range(number)],
        *[pod(f"on-{k}", cpu, "1Gi", node=f"n-{k}") for k in range(number)],
    ]


def test_the_larger_of_the_two_wins():
    # 75 % of 4 Nodes: two more by the threshold. A waiting pod of two cores brings one of them, and needs it.
    assert types(planned(scene(*busy(4), types=("cx22",), scaleUp=BOTH))) == ["cx22"] * 2
    made = planned(scene(*busy(4), pod("a", "2", "1Gi"), types=("cx22",), scaleUp=BOTH))
    # 8 of 10 cores are requested then: 6 Nodes more in all would be 16 cores.
    assert types(made) == ["cx22"] * 4
    assert [bool(r.seats) for r in made.requests] == [True, False, False, False]
    assert [r.ordinal for r in made.requests] == [0, 1, 2, 3]


def test_what_it_buys_is_no_part_of_what_is_proven():
    made = planned(scene(*busy(4), types=("cx22",), scaleUp=BOTH))
    assert (made.cost_per_hour, made.lower_bound_per_hour, made.optimal) == (Decimal("0.0132"), 0, False)


def test_machines_in_flight_are_capacity():
    coming = [node_request(f"r-{k}", phase="Provisioning") for k in range(2)]
    assert planned(scene(*busy(4), *coming, types=("cx22",), scaleUp=BOTH)).requests == ()


def test_the_cheapest_machines_cover_what_is_missing():
    # 6 cores are missing: cx32 has four for .0106, cx22 two for .0066.
    assert types(planned(scene(*busy(5, "1600m"), types=("cx22", "cx32"), scaleUp=BOTH))) == ["cx22", "cx32"]


def test_a_higher_priority_comes_first():
    entries = ({"name": "cx22", "priority": 5}, "cx32")
    made = planned(scene(*busy(5, "1600m"), types=entries, scaleUp=BOTH | {"choose": "priority"}))
    assert types(made) == ["cx22"] * 3
    few = ({"name": "cx22", "priority": 5, "max": 7}, "cx32")
    made = planned(scene(*busy(5, "1600m"), types=few, scaleUp=BOTH | {"choose": "priority"}))
    assert types(made) == ["cx22", "cx22", "cx32"]


def test_limits_hold():
    assert len(planned(scene(*busy(4), types=("cx22",), limits={"max": 5}, scaleUp=BOTH)).requests) == 1
    assert len(planned(scene(*busy(4), types=("cx22",), scaleUp=BOTH | {"batchMax": 1})).requests) == 1
    assert planned(scene(*busy(4), types=("cx22",), paused=True, scaleUp=BOTH)).requests == ()


def test_a_machine_without_pods_stays_where_it_is_needed():
    idle = {"growth.dev/idle-since": before(hours=1)}
    given = scene(
        *busy(1), node("e-1", annotations=idle), node("e-2", annotations=idle), types=("cx22",), scaleUp=ALONE
    )
    # 1.5 of 6 cores: one of the two may go, and 1.5 of 4 are left.
    made = planned(given)
    assert (len(made.removals), made.requests) == (1, ())
    assert planned(scene(*given.nodes[:2], *given.pods, types=("cx22",), scaleUp=ALONE)).removals == ()


def test_a_request_that_the_threshold_made_is_not_taken_back():
    request = node_request("r", phase="Pending")
    assert planned(scene(*busy(1), request, types=("cx22",), scaleUp=ALONE)).cancelled == ()
    assert planned(scene(*busy(1, "1"), request, types=("cx22",), scaleUp=ALONE)).cancelled == ("r",)


@pytest.mark.parametrize(("reason", "returns"), [("Empty", True), ("OverMax", False), ("Drift", False)])
def test_only_machines_that_went_for_want_of_pods_come_back(reason, returns):
    removal = node_removal_request("t", spec={"reason": reason})
    made = planned(scene(*busy(1), node("t"), removal, types=("cx22",), scaleUp=ALONE))
    assert (len(made.removal_cancels), len(made.requests)) == ((1, 0) if returns else (0, 1))


def test_pods_that_may_never_run_there_do_not_count():
    given = scene(*busy(1, "1"), pod("a", "1", "1Gi", nodeSelector={"disk": "ssd"}), types=("cx22",), scaleUp=ALONE)
    made = planned(given)
    assert (made.requests, codes(made)) == ((), {"a": "NoCompatibleOffering"})


@settings(max_examples=40, deadline=None)
@drawn(st.integers(1, 6), st.integers(1, 150), st.lists(st.integers(100, 2000), max_size=12))
def test_for_one_type_a_round_buys_what_the_formula_says(nodes, threshold, requests):
    running = [pod(f"on-{k}", f"{cpu}m", "1Mi", node=f"n-{k % nodes}") for k, cpu in enumerate(requests)]
    given = scene(
        *[node(f"n-{k}") for k in range(nodes)],
        *running,
        types=("cx22",),
        limits={"max": 100_000},
        scaleUp={"estimators": ["threshold"], "thresholdPercent": threshold},
    )
    capacity = nodes * 2000
    formula = max(0, -(-nodes * (100 * sum(requests) - threshold * capacity) // (threshold * capacity)))
    assert len(plan(given.snapshot()).requests) == formula


def test_a_zero_price_is_no_obstacle():
    free = kwok_node_class(server_type("cx22", pricePerHour="0"), server_type("cx32", pricePerHour="0"))
    made = plan(scene(*busy(4), free, pools=[node_pool(types=("cx22", "cx32"), scaleUp=BOTH)]).snapshot())
    assert types(made) == ["cx32"]
