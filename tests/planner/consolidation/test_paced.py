"""No more machines go than budgets let go: a smaller step, or none, and the round wakes when that may change."""

from datetime import timedelta

import pytest

from tests.builders import NOW, node, node_pool
from tests.planner.consolidation.quiet_scenes import CONSOLIDATES, consolidating, going, planned, pod, quiet
from tests.planner.scenes import scene

SHUT = {"nodes": 0, "start": "11:00", "end": "13:00"}
"""Open at `NOW`, for another hour."""


def paced(*budgets):
    return CONSOLIDATES | {"budgets": list(budgets)}


def fleet(number, *budgets, cpu="300m"):
    """Machines with so little on each that most of them could go."""
    names = [f"n{i:02}" for i in range(number)]
    pods = [pod(f"x-{name}", cpu=cpu, memory="64Mi", node=name) for name in names]
    return consolidating(*map(node, names), types=["cx22"], pods=pods, scaleDown=paced(*budgets))


@pytest.mark.parametrize(
    ("number", "budgets", "goes"),
    [
        (4, [{"nodes": "100%"}], 3),
        (4, [{"nodes": 2}], 2),
        (4, [{"nodes": 2, "reasons": ["Drift"]}], 1),
        (4, [], 1),
        (4, [SHUT], 0),
        # Too many for every set to be looked at.
        (24, [{"nodes": "100%"}], 4),
        (24, [], 3),
        (24, [{"nodes": 1}], 1),
        (24, [SHUT], 0),
    ],
)
def test_so_many_go(number, budgets, goes):
    made = planned(fleet(number, *budgets))
    assert len(going(made)) == goes
    # What does not go is not held back: nobody has said that it should.
    assert made.blocked == ()


def three_for_one(*budgets):
    """Three machines that only together make way for a cheaper one."""
    pods = [pod(f"x{n}", cpu="1500m", memory="2Gi", node=n) for n in "abc"]
    pods += [pod(f"y{n}", cpu="100m", memory="512Mi", node=n) for n in "abc"]
    return consolidating(*map(node, "abc"), types=["cx42", "cx22"], pods=pods, scaleDown=paced(*budgets))


def test_a_step_that_is_larger_than_its_budget_is_none():
    assert len(going(planned(three_for_one({"nodes": 3})))) == 3
    assert planned(three_for_one({"nodes": 2})).removals == ()


def test_what_was_looked_at_within_a_smaller_budget_is_looked_at_again_within_a_larger_one():
    given = three_for_one({"nodes": 2})
    (report,) = planned(given).pools
    given.pools[0]["status"] = {"consolidation": {"restedAt": report.status.consolidation.rested_at}}
    assert planned(given).removals == ()
    given.pools[0]["spec"]["scaleDown"] = paced({"nodes": 3})
    assert len(planned(given).removals) == 3


def test_a_closed_window_wakes_the_round_when_it_ends():
    made = planned(fleet(3, SHUT))
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(hours=1))
    # Of machines that are not quiet yet nobody asks.
    early = quiet(fleet(3, SHUT), minutes=14)
    assert planned(early).wake_at == NOW + timedelta(minutes=1)


def test_a_pool_whose_budget_is_closed_keeps_its_machines_and_takes_pods_of_others():
    pools = [
        node_pool("open", ["cx22"], scaleDown=CONSOLIDATES),
        node_pool("shut", ["cx22"], scaleDown=paced(SHUT), matchUnselectedPods=True),
    ]
    x, y = pod("x", node="a", cpu="300m"), pod("y", node="b", cpu="200m")
    either = [{"matchExpressions": [{"key": "growth.dev/pool", "operator": "In", "values": ["open", "shut"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": either}}
    x["spec"]["affinity"] = y["spec"]["affinity"] = {"nodeAffinity": required}
    given = quiet(scene(node("a", pool="open"), node("b", pool="shut"), pods=[x, y], pools=pools))
    made = planned(given)
    assert [(removal.node, [move.node for move in removal.moves]) for removal in made.removals] == [("a", ["b"])]
