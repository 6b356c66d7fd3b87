"""Cluster Autoscaler's rules: against the study's own implementation, and case by case."""

from dataclasses import replace

import pytest

from benchmarks.checker import check
from planner.packing.problem import GroupRow
from simulator.peers.cluster_autoscaler import EXPANDERS, cluster_autoscaler
from simulator.peers.problem import ClassSpread
from tests.benchmarks.problems import known, on_machines, per_month, pods, problem


@pytest.mark.parametrize(
    ("name", "price", "least_waste"),
    [
        ("100 x 50 mix", "208.08", "345.78"),
        ("1,000 x 50", "964.76", "1416.24"),
        ("1,000 x 500 mix", "2182.83", "2732.22"),
        ("10,000 x 500 mix", "20778.63", "35268.93"),
    ],
)
def test_it_buys_what_the_study_measured(name, price, least_waste):
    # Source: check values of the study's instances, EUR per month.
    given = known(name)
    assert per_month(cluster_autoscaler(given, expander="price")) == price
    assert per_month(cluster_autoscaler(given, expander="least-waste")) == least_waste


@pytest.mark.parametrize(
    ("groups", "limit", "machines", "placed"),
    [
        pytest.param([(9, 400)], None, 5, 9, id="two each"),
        pytest.param([(17, 1)], None, 3, 17, id="as many pods as a machine takes"),
        pytest.param([(15, 500)], 4, 4, 8, id="a bound"),
        pytest.param([(6, 60), (6, 900)], 3, 3, 6, id="small ones fill what large ones leave, also at the bound"),
    ],
)
def test_the_estimator_packs_first_fit_largest_first(groups, limit, machines, placed):
    # Source: the cases of estimator/binpacking_estimator_test.go with other numbers; 8 pods a machine.
    waiting = [pods(count, cpu, 1, bins={0}) for count, cpu in groups]
    given = problem(waiting, [("m", (1000, 8), "1")], resources=("cpu", "pods"), limit=limit)
    for expander in EXPANDERS:
        bought = cluster_autoscaler(given, expander=expander)
        assert (bought.machines, bought.placed) == (machines, placed)


def test_caps_and_pods_that_keep_apart_open_further_machines():
    groups = [
        pods(3, 2, bins={0}, per_node=2),
        pods(1, 1, bins={0}, apart=frozenset({2})),
        pods(2, 1, bins={0}, apart=frozenset({1})),
    ]
    bought = cluster_autoscaler(problem(groups, [("m", (9,), "1")], resources=("cpu",)))
    assert on_machines(bought) == [("m", {0: 2, 1: 1}), ("m", {0: 1, 2: 2})]


CX = [("cx23", (2, 4), "5.49"), ("cx33", (4, 8), "8.49"), ("cx43", (8, 16), "15.99")]


@pytest.mark.parametrize(
    ("expander", "counts", "cost"),
    [
        ("price", {"cx33": 3}, "25.47"),
        # Nothing is wasted on either of the first two; the program draws one.
        ("least-waste", {"cx23": 6}, "32.94"),
        # All types take all pods.
        ("most-pods", {"cx23": 6}, "32.94"),
    ],
)
def test_one_type_is_bought_where_two_would_be_cheaper(expander, counts, cost):
    # One cx43 and one cx33 cost 24.48.
    bought = cluster_autoscaler(problem([pods(12, 1, 2, bins={0, 1, 2})], CX), expander=expander)
    assert bought.counts == counts
    assert str(bought.cost_per_hour) == cost


def test_least_waste_looks_at_cpu_and_memory_and_not_at_prices():
    machines = [("high-cpu", (8, 8), "1"), ("fitting", (4, 8), "9")]
    given = problem([pods(4, 1, 2, bins={0, 1})], machines)
    assert cluster_autoscaler(given, expander="least-waste").counts == {"fitting": 1}
    assert cluster_autoscaler(given, expander="price").counts == {"high-cpu": 1}


def test_most_pods_takes_the_type_that_helps_most_of_them_first():
    groups = [pods(3, 1, bins={1}), pods(2, 1, bins={0, 1}), pods(1, 1, bins={0})]
    given = problem(groups, [("few", (9,), "1"), ("many", (9,), "9")], resources=("cpu",))
    bought = cluster_autoscaler(given, expander="most-pods")
    assert on_machines(bought) == [("many", {0: 3, 1: 2}), ("few", {2: 1})]


def test_pods_are_worth_their_share_of_the_machine_where_it_costs_least():
    machines = [("small", (2,), "1"), ("large", (4,), "1.5")]
    groups = [pods(2, 1, bins={0, 1}), pods(1, 3, bins={1})]
    bought = cluster_autoscaler(problem(groups, machines, resources=("cpu",)), expander="price")
    # A unit is worth 1.5/4. Small: 1 for 2 units, 1.33 times their worth. Large: 3 for all 5, 1.6 times.
    assert on_machines(bought) == [("small", {0: 2}), ("large", {1: 1})]


def test_what_costs_nothing_comes_first_and_pods_worth_nothing_last():
    machines = [("paid", (9,), "1"), ("free", (9,), "0")]
    given = problem([pods(1, 1, bins={0, 1}), pods(1, 1, bins={0})], machines, resources=("cpu",))
    bought = cluster_autoscaler(given, expander="price")
    assert on_machines(bought) == [("free", {0: 1}), ("paid", {1: 1})]


def test_bounds_hold_over_all_its_purchases():
    groups = [pods(2, 2, bins={0}), pods(2, 2, bins={1})]
    given = problem(groups, [("a", (2,), "1"), ("b", (2,), "1")], resources=("cpu",), limit=3)
    bought = cluster_autoscaler(given)
    assert (bought.counts, bought.unplaced) == ({"a": 2, "b": 1}, 1)


def zonal(count: int, spread: ClassSpread, *others: GroupRow, cpu: int = 400):
    """Return pods that are spread, and others, before machines of one type in three zones."""
    everywhere = frozenset({0, 1, 2})
    groups = [pods(count, cpu, 1, bins={0, 1, 2}), *others]
    kinds = [(f"m {zone}", (1000, 8), "1") for zone in "abc"]
    given = problem(groups, kinds, resources=("cpu", "pods"))
    return replace(given, zones=("a", "b", "c"), spreads={0: replace(spread, counted=everywhere)})


def test_pods_spread_over_zones_are_bought_for_zone_by_zone():
    """One pod a zone in the first three loops, then each machine takes a second one: nothing more is bought."""
    bought = cluster_autoscaler(zonal(6, ClassSpread(zone_skew=1)), expander="price")
    check(bought)
    assert bought.counts == {"m a": 1, "m b": 1, "m c": 1}


def test_pods_spread_over_zones_need_all_of_them_before_a_zone_takes_more_than_the_skew():
    bought = cluster_autoscaler(zonal(2, ClassSpread(zone_skew=1)), expander="price")
    check(bought)
    assert bought.counts == {"m a": 1, "m b": 1}


def test_no_more_than_the_skew_over_hosts_share_a_machine():
    """Beside a machine without one of them the emptiest has none."""
    bought = cluster_autoscaler(zonal(4, ClassSpread(host_skew=1), pods(1, 900, 1, bins={0, 1, 2})), expander="price")
    check(bought)
    assert bought.machines == 5
