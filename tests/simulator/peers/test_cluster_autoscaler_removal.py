"""Which machines Cluster Autoscaler finds unneeded.

Source: Cluster Autoscaler 1.36, core/scaledown/eligibility and planner, simulator/drainability.
"""

import pytest

from simulator.peers.cluster_autoscaler_removal import unneeded
from tests.simulator.peers.fleets import SMALL, fleet, kind, machine


def found(of, *, may_go=lambda _: True, **flags) -> set[str]:
    return {one.name for one in unneeded(of, may_go, **flags)}


@pytest.mark.parametrize(("cpu", "is_unneeded"), [(500, True), (999, True), (1000, False), (1200, False)])
def test_half_used_is_needed(cpu: int, is_unneeded: bool):  # noqa: FBT001 - a row of the table
    of = fleet(kind(cpu), kind(1000))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (1,))
    # y has room for another pod of 1,000; what is larger does not fit beside it.
    assert ("x" in found(of)) is is_unneeded


def test_memory_counts_as_cpu_does():
    of = fleet(kind(100, 2048), kind(1000, 64))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (1,))
    assert found(of) == set()


def test_an_empty_machine_is_unneeded():
    of = fleet(kind())
    machine(of, "x", SMALL)
    assert found(of) == {"x"}


def test_of_two_that_could_take_each_others_pods_one_goes():
    of = fleet(kind(900))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0,))
    assert len(found(of)) == 1


def test_a_pod_with_an_empty_dir_keeps_its_machine_by_default():
    of = fleet(kind(is_local=True), kind(1000))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (1,))
    assert found(of) == set()
    assert found(of, local_stays=False) == {"x"}


def test_a_pod_that_asks_to_stay_keeps_its_machine():
    of = fleet(kind(stays=True), kind(1000))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (1,))
    assert found(of) == set()


def test_a_budget_without_room_keeps_its_machine():
    of = fleet(kind(), kind(1000))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (1,))
    assert found(of, may_go=lambda pod: pod.workload == 1) == set()


def test_room_on_machines_that_come_or_go_is_none():
    of = fleet(kind())
    machine(of, "x", SMALL, (0,))
    machine(of, "coming", SMALL, is_ready=False)
    machine(of, "going", SMALL).is_closed = True
    assert found(of) == set()


def test_a_spread_over_hosts_keeps_a_machine():
    of = fleet(kind(host_skew=1))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0,))
    assert found(of) == set()
