"""Karpenter's rules: against the study's own implementation of it, and case by case."""

import pytest

from simulator.peers.karpenter import karpenter
from tests.benchmarks.problems import known, on_machines, per_month, pods, problem


@pytest.mark.parametrize(
    ("name", "all_types", "cx_and_cax"),
    [
        ("100 x 50 mix", "339.96", "194.57"),
        ("1,000 x 50", "2088.13", "1007.86"),
        ("1,000 x 500 mix", "3625.68", "1972.99"),
        ("10,000 x 500 mix", "30555.81", "21289.93"),
    ],
)
def test_it_buys_what_the_study_measured(name, all_types, cx_and_cax):
    # Source: check values of the study's instances, EUR per month.
    given = known(name)
    assert per_month(karpenter(given)) == all_types
    assert per_month(karpenter(given, preferred=("cx", "cax"))) == cx_and_cax
    assert karpenter(given).placed == given.pods


def test_a_machine_is_filled_until_only_the_largest_type_is_left_whatever_it_costs():
    given = problem([pods(8, 1, bins={0, 1})], [("small", (2,), "0.01"), ("large", (8,), "0.1")], resources=("cpu",))
    assert karpenter(given).counts == {"large": 1}


def test_each_machine_becomes_the_cheapest_type_that_holds_its_pods_and_of_equal_ones_the_first():
    machines = [("a", (8,), "0.09"), ("b", (4,), "0.03"), ("c", (4,), "0.03")]
    given = problem([pods(9, 1, bins={0, 1, 2})], machines, resources=("cpu",))
    assert karpenter(given).counts == {"a": 1, "b": 1}


def test_large_pods_come_first_by_cpu_and_then_by_memory():
    groups = [pods(1, 1, 5, bins={0}), pods(1, 1, 6, bins={0}), pods(1, 2, 1, bins={0})]
    given = problem(groups, [("m", (2, 9), "1")])
    assert on_machines(karpenter(given)) == [("m", {2: 1}), ("m", {1: 1}), ("m", {0: 1})]


def test_of_open_machines_the_one_with_the_fewest_pods_is_tried_first_and_of_equal_ones_the_oldest():
    apart = [pods(1, 3, bins={0}, apart=frozenset({1})), pods(1, 2, bins={0}, apart=frozenset({0}))]
    given = problem([*apart, pods(3, 1, bins={0})], [("m", (6,), "1")], resources=("cpu",))
    # The first small pod goes to the older machine, the second to the one with fewer pods, the third to the older.
    assert on_machines(karpenter(given)) == [("m", {0: 1, 2: 2}), ("m", {1: 1, 2: 1})]


def test_a_pod_narrows_the_types_of_its_machine_to_those_that_may_hold_it():
    groups = [pods(1, 2, bins={0}), pods(1, 1, bins={1}), pods(1, 1, bins={0, 1})]
    machines = [("amd64", (4,), "1"), ("arm64", (4,), "1")]
    bought = karpenter(problem(groups, machines, resources=("cpu",)))
    assert on_machines(bought) == [("amd64", {0: 1, 2: 1}), ("arm64", {1: 1})]


def test_pods_that_keep_apart_or_have_a_cap_open_further_machines():
    groups = [pods(3, 1, bins={0}, per_node=2), pods(2, 1, bins={0}, per_node=1)]
    bought = karpenter(problem(groups, [("m", (9,), "1")], resources=("cpu",)))
    assert on_machines(bought) == [("m", {0: 2, 1: 1}), ("m", {0: 1, 1: 1})]


def test_bounds_are_not_looked_at_and_pods_that_fit_nothing_stay():
    given = problem([pods(3, 1, bins={0}), pods(2, 9, bins=set())], [("m", (1,), "1")], resources=("cpu",), limit=1)
    bought = karpenter(given)
    assert (bought.machines, bought.placed, bought.unplaced) == (3, 3, 2)


def test_preferred_types_bind_only_pods_that_fit_one_of_them():
    machines = [("cx1", (2,), "0.02"), ("ccx1", (9,), "0.01")]
    given = problem([pods(2, 2, bins={0, 1}), pods(1, 8, bins={1})], machines, resources=("cpu",))
    assert karpenter(given).counts == {"ccx1": 2}
    assert karpenter(given, preferred=("cx",)).counts == {"cx1": 2, "ccx1": 1}
