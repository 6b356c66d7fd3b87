"""Escalator's rules on unhealthy Nodes, and what is left of a pool below its minimum, as rounds of a NodePool.

Source: atlassian/escalator, pkg/controller/controller_test.go (`TestIsNodegroupHealthy`), scale_down_test.go; rows by
their numbers in the table of its behaviours. Rules that differ:

- row 46: tainted machines do not count toward max there; here each server that costs money does, so max is a bound on
  the bill, and a machine that is closed comes back before another is bought.
- row 52: with fewer machines than the minimum there is an error there; here none goes, and the minimum is bought.
- B5: there tainted machines are removed first, and only then others are tainted, so that a failure of the first stops
  nothing. Here each removal is an object with a lifecycle of its own: one that parks keeps no other from beginning.
- B6: three categories there, and a fourth with force-tainted nodes; here the same four: open, under removal,
  `growth.dev/remove-now`, cordoned.
- B7: the effect of the taint may be chosen there; here it is NoSchedule, as the proof of emptiness needs pods to stay.
"""

import pytest

from activities.objects.nodes import scale_down
from planner.plan import plan
from planner.policies.safety.frozen_pools import frozen_pools
from tests.builders import node, node_pool, node_removal_request, pod
from tests.planner.policies.triggers.fleet import aged, condition
from tests.planner.scenes import scene
from tests.tables import rows

HOUR = 1 / 24
EMPTY = {"reason": "Empty"}
IDLE = {"growth.dev/idle-since": "2026-01-01T00:00:00Z"}


def health(most=0, newest=100, grace="30m"):
    return {"grace": grace, "newestPercent": newest, "maxUnhealthyPercent": most}


def pool_of(*ready, most=0, newest=100, days=HOUR, **spec):
    """Nodes from the newest to the oldest, an hour apart, Ready or not, in a pool that judges their health."""
    nodes = [aged(f"n{i}", days=days + i * HOUR, ready=is_ready) for i, is_ready in enumerate(ready)]
    return scene(*nodes, health=health(most, newest), **spec)


def is_frozen(of):
    return bool(frozen_pools(of.snapshot()))


def test_row_61_no_nodes_are_healthy():
    assert not is_frozen(pool_of())


def test_row_61_nodes_younger_than_grace_are_not_judged():
    assert not is_frozen(scene(*(aged(f"n{i}", ready=False) for i in range(4)), health=health()))


@rows(
    ("ready", "most", "frozen"),
    {
        "4 of 4 bad, max 50": ((False,) * 4, 50, True),
        "4 of 4 bad, max 99": ((False,) * 4, 99, True),
        "0 of 4 bad, max 0": ((True,) * 4, 0, False),
        "equal is not above": ((False, False, True, True), 50, False),
        "33 of a third, rounded down": ((False, True, True), 33, False),
        "one of three, max 32": ((False, True, True), 32, True),
    },
)
def test_row_62_the_share_of_bad_ones(ready, most, frozen):
    assert is_frozen(pool_of(*ready, most=most)) is frozen


@rows(
    ("newest", "frozen"),
    {
        "the newest of four": (25, True),
        "rounded up: one of four": (1, True),
        "two of four": (50, False),
        "all": (100, False),
    },
)
def test_the_sample_is_the_newest_rounded_up(newest, frozen):
    """Of four only the newest is bad: alone it is 100 %, of two 50 %, of four 25 %."""
    assert is_frozen(pool_of(False, True, True, True, newest=newest, most=50)) is frozen


def test_the_age_of_grace_is_old_enough():
    assert is_frozen(scene(aged("a", days=HOUR / 2, ready=False), health=health()))
    assert not is_frozen(scene(aged("a", days=HOUR / 2.01, ready=False), health=health()))


def test_a_cordoned_node_is_not_bad():
    assert not is_frozen(scene(aged("a", days=1, ready=False, spec={"unschedulable": True}), health=health()))


def test_a_frozen_pool_buys_nothing_and_its_pods_are_told_why():
    of = pool_of(False, False, pods=[pod("web", "3")], limits={"min": 4})
    made = plan(of.snapshot())
    assert made.requests == ()
    ((reason,),) = (one.reasons for one in made.unplaced)
    why = (
        "pool default is frozen, so it buys nothing and only repairs begin removals: 2 of the 2 newest Nodes that are "
        "as old as health.grace are not Ready (100 %), and 0 % may be"
    )
    assert (reason.code, reason.message) == ("PoolFrozen", why)
    told = condition(of, "Frozen")
    assert (told.status, told.reason) == ("True", "PoolFrozen")


def test_a_frozen_pool_begins_no_removal_but_repairs_and_persons_orders():
    """Escalator's step 17: the change is 0, and only unhealthy machines that are tainted go."""
    old = {"annotations": IDLE, "days": 2}
    wanted_gone = aged("c", taints=[{"key": "growth.dev/remove-now", "effect": "NoSchedule"}], **old)
    nodes = [aged("a", **old), aged("b", days=1, ready=False), wanted_gone]
    assert {r.node for r in plan(scene(*nodes).snapshot()).removals} == {"a", "c"}
    assert {r.node for r in plan(scene(*nodes, health=health()).snapshot()).removals} == {"c"}
    # Not Ready for an hour and without pods: with `repair` it is a dead machine, and the way out.
    repaired = scene(*nodes, health=health(), scaleDown={"repair": {"after": "10m"}})
    assert {(r.node, r.reason) for r in plan(repaired.snapshot()).removals} == {("b", "Dead"), ("c", "RemoveNow")}


def test_that_a_pool_is_frozen_is_told_once():
    of = pool_of(False)
    (event,) = (one for one in plan(of.snapshot()).events if one.kind == "NodePool")
    assert event.reason == "PoolFrozen"
    of.pools[0]["status"] = {"conditions": [condition(of, "Frozen").to_json()]}
    assert [one.reason for one in plan(of.snapshot()).events if one.kind == "NodePool"] == []


def test_other_pools_go_on():
    of = pool_of(False, pods=[pod("web", "1")])
    of.pools.append(node_pool("other", matchUnselectedPods=True))
    assert [request.pool for request in plan(of.snapshot()).requests] == ["other"]


def test_the_next_round_comes_when_a_node_is_old_enough():
    of = scene(aged("a", days=HOUR / 3), health=health())
    assert (plan(of.snapshot()).wake_at - of.now).total_seconds() == 10 * 60


def test_a_pool_that_is_well_again_thaws():
    of = pool_of(True, True, pods=[pod("web", "3")])
    of.pools[0]["status"] = {"conditions": [condition(pool_of(False), "Frozen").to_json()]}
    assert (condition(of, "Frozen").status, condition(of, "Frozen").reason) == ("False", "NotFrozen")


@pytest.mark.parametrize("most", [12, 11])
def test_row_46_machines_under_removal_count_toward_max_here(most):
    """8 open and 4 closed machines: 0 too many there with max 10. Here 12 cost money, and one more may not come."""
    nodes = [node(f"n{i}") for i in range(12)]
    removals = [node_removal_request(f"n{i}", spec=EMPTY) for i in range(4)]
    pods = [pod(f"web-{i}", "1800m", node=f"n{i}", owner="rs") for i in range(4, 12)]
    of = scene(*nodes, pods=[*pods, pod("new", "1800m")], removals=removals, limits={"max": most}, types=("cx22",))
    made = plan(of.snapshot())
    # Nor are the closed ones too many that go already: none of the open ones does.
    assert (made.requests, made.removals) == ((), ())
    # A closed one comes back instead.
    assert len(made.removal_cancels) == 1


def test_row_52_below_its_minimum_no_machine_goes_and_the_minimum_is_bought():
    nodes = [node(name, annotations=IDLE) for name in "ab"]
    made = plan(scene(*nodes, limits={"min": 3}, types=("cx22",)).snapshot())
    assert (made.removals, len(made.requests)) == ((), 1)


def test_ambiguity_b5_a_removal_that_failed_keeps_no_other_from_beginning():
    parked = node_removal_request("a", phase="CouldNotRemove", spec=EMPTY)
    made = plan(scene(node("a"), node("b", annotations=IDLE), removals=[parked]).snapshot())
    assert [removal.node for removal in made.removals] == ["b"]


def test_ambiguity_b6_four_kinds_of_nodes():
    cordoned = node("cordoned", annotations=IDLE, spec={"unschedulable": True})
    forced = node("forced", taints=[{"key": "growth.dev/remove-now", "effect": "NoSchedule"}])
    closed, opened = node("closed"), node("opened", annotations=IDLE)
    of = scene(cordoned, forced, closed, opened, removals=[node_removal_request("closed", spec=EMPTY)])
    made = plan(of.snapshot())
    assert {(removal.node, removal.reason) for removal in made.removals} == {
        ("forced", "RemoveNow"),
        ("opened", "Empty"),
    }


def test_ambiguity_b7_the_taint_is_noschedule():
    assert scale_down(1) == {"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}
