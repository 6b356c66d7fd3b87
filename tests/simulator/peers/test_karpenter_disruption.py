"""Karpenter's consolidation on small fleets whose outcome its rule decides.

Source: Karpenter v1.14, pkg/controllers/disruption: emptiness, multinodeconsolidation and singlenodeconsolidation.go.
"""

from simulator.peers.fleet import FleetMachine, FleetOffering, FleetPod
from simulator.peers.karpenter_disruption import Command, Disruption
from tests.simulator.peers.fleets import LARGE, OFFERINGS, SMALL, fleet, kind, machine


def command(of, **known) -> Command | None:
    """Return what it does with all machines that are Ready as candidates."""
    ready = [one for one in of.machines.values() if one.is_ready and not one.is_closed]
    return Disruption(of, **known).command(ready, going=0)


def names(machines: tuple[FleetMachine, ...]) -> set[str]:
    return {one.name for one in machines}


def filled(of, number: int) -> None:
    """Add so many full machines with many pods, so that a budget of 10 % is more than one."""
    for k in range(number):
        machine(of, f"full-{k}", LARGE, (1,) * 8)


def test_empty_machines_go_together_within_the_budget():
    of = fleet(kind(), kind())
    filled(of, 17)
    for k in range(4):
        machine(of, f"empty-{k}", SMALL)
    decided = command(of)
    assert decided is not None
    # A tenth of 21, rounded up.
    assert len(decided.machines) == 3
    assert not decided.replacement
    assert not any(one.pods for one in decided.machines)


def test_a_used_up_budget_lets_nothing_go():
    of = fleet(kind())
    machines = [machine(of, f"empty-{k}", SMALL) for k in range(3)]
    assert Disruption(of).command(machines, going=1) is None


def test_a_machine_whose_pods_have_room_elsewhere_goes_without_replacement():
    of = fleet(kind())
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0, 0))
    decided = command(of)
    assert decided is not None
    assert names(decided.machines) == {"x"}  # the better saving a pod
    assert not decided.replacement


def test_a_machine_is_replaced_by_a_cheaper_one():
    of = fleet(kind())
    machine(of, "x", LARGE, (0, 0))
    decided = command(of)
    assert decided is not None
    assert names(decided.machines) == {"x"}
    assert decided.replacement == (SMALL,)


def test_a_machine_is_never_split():
    # Two small ones of 8 would hold its pods, for less than this one of 18 costs.
    cheap = FleetOffering("small", "a", 8.0, OFFERINGS[SMALL].capacity)
    of = fleet(kind(1000, 1024), offerings=(cheap, OFFERINGS[LARGE]))
    machine(of, "x", LARGE, (0, 0, 0))
    assert command(of) is None


def test_two_are_replaced_by_one_that_is_cheaper_than_both():
    of = fleet(kind(1100), kind())
    filled(of, 15)
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0,))
    decided = command(of)
    assert decided is not None
    assert names(decided.machines) == {"x", "y"}
    assert decided.replacement == (LARGE,)  # 18 instead of 20


def test_several_are_not_replaced_by_one_of_the_same_type():
    # x, y onto one small: that is the same as removing x, which single-node consolidation does.
    of = fleet(kind(), kind())
    filled(of, 15)
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0,))
    decided = command(of)
    assert decided is not None
    assert len(decided.machines) == 1
    assert not decided.replacement


def test_pods_do_not_move_to_machines_within_consolidate_after():
    of = fleet(kind())
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0, 0))
    assert command(of, shielded=frozenset({"x", "y"})) is None


def test_pods_that_wait_take_room_first():
    of = fleet(kind(), kind(1500))
    machine(of, "x", SMALL, (0,))
    machine(of, "y", SMALL, (0, 0))
    waiting = [FleetPod(-k, 0, 0) for k in range(1, 6)]
    assert command(of, waiting=waiting) is None


def test_nothing_moves_onto_a_machine_that_is_not_ready_or_goes():
    of = fleet(kind())
    machine(of, "x", SMALL, (0,))
    machine(of, "coming", SMALL, is_ready=False)
    machine(of, "going", SMALL).is_closed = True
    assert command(of) is None


def test_a_spread_over_zones_keeps_a_machine():
    there, elsewhere = OFFERINGS[SMALL], FleetOffering("small", "b", 10.0, OFFERINGS[SMALL].capacity)
    for skew, goes in ((1, False), (2, True)):
        of = fleet(kind(zone_skew=skew), zones=("a", "b"), offerings=(there, elsewhere))
        machine(of, "x", 0, (0,))
        machine(of, "y", 1, (0,))
        assert (command(of) is not None) is goes


def test_a_command_is_decided_anew_before_it_begins():
    of = fleet(kind())
    x = machine(of, "x", SMALL, (0,))
    y = machine(of, "y", SMALL, (0, 0))
    decided = command(of)
    assert decided is not None
    assert Disruption(of).holds(decided)
    y.is_closed = True
    assert not Disruption(of).holds(Command((x,)))
