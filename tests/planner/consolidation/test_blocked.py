"""Which machines are told as kept from consolidation: those that are less than half used."""

import pytest

from tests.builders import node, pod
from tests.planner.consolidation.quiet_scenes import consolidating, planned


@pytest.mark.parametrize(
    ("cpu", "is_told"), [("200m", True), ("900m", True), ("1100m", False)], ids=["little", "less than half", "more"]
)
def test_one_of_which_less_than_half_is_asked_for_is_told(cpu, is_told):
    # A cx22 has 1.9 of its 2 cores for pods.
    given = consolidating(node("a"), node("b"), types=["cx22"], pods=[pod("bare", cpu=cpu, node="a")])
    blocked = [(machine.node, machine.trigger, machine.reason) for machine in planned(given).blocked]
    assert blocked == ([("a", "Consolidation", "BlockedByBarePod")] if is_told else [])


def test_one_that_nothing_keeps_is_not_told():
    given = consolidating(node("a"), types=["cx22"], pods=[pod("x", cpu="200m", node="a", owner="web")])
    assert planned(given).blocked == ()
