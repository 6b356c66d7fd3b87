"""The machines of the benchmark: check values of the study that they come from."""

from decimal import Decimal

import pytest

from benchmarks.catalogue import HOURS, machines


@pytest.mark.parametrize(
    ("name", "cpu", "memory", "disk"),
    [("cx22", 1780, 3207, 27304), ("cpx21", 2775, 3207, 59729), ("ccx63", 47660, 181296, 773074)],
)
def test_what_is_left_for_pods(name, cpu, memory, disk):
    found = next(machine for machine in machines() if machine.name == name)
    assert (found.cpu, found.memory, found.disk, found.pods) == (cpu, memory, disk, 105)


def test_prices_include_an_address_and_are_exact_per_month():
    prices = {machine.name: machine.price_per_hour * HOURS for machine in machines()}
    assert prices["cx22"] == Decimal("4.29")
    assert prices["ccx63"] == Decimal("288.99")


def test_arm_machines_are_those_of_one_family():
    assert {machine.family for machine in machines() if machine.architecture == "arm64"} == {"cax"}
    assert {machine.family for machine in machines()} == {"cx", "cpx", "cax", "ccx"}


def test_zonal_machines_are_there_once_per_zone_next_to_each_other():
    assert len(machines()) == 19
    zonal = machines(zonal=True)
    assert len(zonal) == 57
    assert [(machine.name, machine.zone) for machine in zonal[:4]] == [
        ("cx22", "fsn1"),
        ("cx22", "nbg1"),
        ("cx22", "hel1"),
        ("cx32", "fsn1"),
    ]
