"""Cool-downs hold every removal that begins by itself, after a purchase and after another removal, and no person's.

Source: VPSie's `cooldownSeconds`; Cluster Autoscaler, `scale-down-delay-after-add` and `-after-delete`.
"""

from datetime import timedelta

from planner.plan import plan
from tests.builders import NOW, after, before, node, node_removal_request, node_request, pod
from tests.planner.scenes import scene
from tests.tables import rows

IDLE = {"growth.dev/idle-since": before(hours=1)}
UP = {"cooldownAfterScaleUp": "10m"}
DOWN = {"cooldownAfterScaleDown": "10m"}


def given(*objects, status=None, **down):
    """Return a pool with two idle Nodes that may go."""
    of = scene(node("a", annotations=IDLE), node("b", annotations=IDLE), *objects, scaleDown=down)
    of.pools[0]["status"] = status or {}
    return of


def request(name, **created):
    made = node_request(name, phase="Ready", readyAt=before(minutes=4), releasedAt=before(minutes=4))
    made["metadata"]["creationTimestamp"] = before(**created)
    return made


def removal(name, reason="Empty", **created):
    meta = {"creationTimestamp": before(**created), "labels": {"growth.dev/request": name}}
    return node_removal_request(name, spec={"reason": reason}, metadata=meta)


@rows(
    ("objects", "status", "down", "ends"),
    {
        "25: never": ((), {}, UP, None),
        "25: just now": ((), {"lastGrowthAt": before()}, UP, 600),
        "25: 11 minutes ago": ((), {"lastGrowthAt": before(minutes=11)}, UP, None),
        "to the second": ((), {"lastGrowthAt": before(minutes=10)}, UP, None),
        "a request that the status has missed": ((node("c"), request("c", minutes=5)), {}, UP, 300),
        "one of long ago": ((node("c"), request("c", minutes=15)), {}, UP, None),
        "the later one": ((node("c"), request("c", minutes=5)), {"lastGrowthAt": before(minutes=2)}, UP, 480),
        "a clock that was ahead": ((), {"lastGrowthAt": after(minutes=5)}, UP, None),
        "after a removal": ((), {"lastShrinkAt": before(minutes=1)}, DOWN, 540),
        "a removal that the status has missed": ((node("c"), removal("c", minutes=3)), {}, DOWN, 420),
        "one for somebody": ((node("c"), removal("c", "RemoveNow", minutes=3)), {}, DOWN, None),
        "of both, the longer": (
            (),
            {"lastShrinkAt": before(minutes=1), "lastGrowthAt": before(minutes=9)},
            UP | DOWN,
            540,
        ),
        "nought switches it off, C6": ((), {"lastShrinkAt": before()}, {"cooldownAfterScaleDown": "0s"}, None),
        "without the fields": ((), {"lastShrinkAt": before(), "lastGrowthAt": before()}, {}, None),
    },
)
def test_when_idle_machines_go(objects, status, down, ends):
    made = plan(given(*objects, status=status, **down).snapshot())
    assert {each.node for each in made.removals} == (set() if ends else {"a", "b"})
    # The idle time goes on meanwhile.
    assert made.idle_since.get("a", "kept") == "kept"
    if ends:
        assert made.wake_at == NOW + timedelta(seconds=ends)
        assert {(each.node, each.trigger, each.reason) for each in made.blocked} == {
            ("a", "Empty", "CoolDown"),
            ("b", "Empty", "CoolDown"),
        }


def test_what_it_says():
    made = plan(given(status={"lastShrinkAt": before(minutes=1)}, **DOWN).snapshot())
    assert {each.why for each in made.blocked} == {
        "scaleDown.cooldownAfterScaleDown of pool default, 10m, lasts until 2026-03-01 12:09:00 UTC"
    }


def test_a_purchase_of_this_round_holds_removals_and_is_written():
    # The pod goes to no Node that is there.
    of = given(pod("large", "7", "1Gi"), **UP)
    made = plan(of.snapshot())
    assert (len(made.requests), made.removals) == (1, ())
    (report,) = made.pools
    assert report.status.last_growth_at == NOW
    assert {each.why for each in made.blocked} == {
        "pool default buys a machine now, and scaleDown.cooldownAfterScaleUp holds after that"
    }


def test_what_somebody_orders_waits_for_nothing():
    of = given(status={"lastShrinkAt": before(), "lastGrowthAt": before()}, **UP, **DOWN)
    of.nodes[0]["spec"]["taints"] = [{"key": "growth.dev/remove-now", "effect": "NoSchedule"}]
    made = plan(of.snapshot())
    assert [(each.node, each.reason) for each in made.removals] == [("a", "RemoveNow")]
    # It does not begin the cool-down anew.
    assert made.pools[0].status.last_shrink_at == NOW


def test_another_pool_does_not_wait():
    of = given(status={"lastShrinkAt": before()}, **DOWN)
    of.nodes[0] = node("a", annotations=IDLE, pool="other")
    other = scene(types=("cx22",)).pools[0]
    other["metadata"]["name"] = "other"
    of.pools.append(other)
    assert [each.node for each in plan(of.snapshot()).removals] == ["a"]


def test_pods_are_not_moved_and_no_place_is_sought():
    of = given(status={"lastGrowthAt": before(minutes=1)}, **UP, mode="drain")
    of.pools[0]["spec"]["rotation"] = {"maxNodeAge": "168h"}
    for each in of.nodes:
        each["metadata"] |= {"creationTimestamp": before(days=30), "annotations": {}}
    of.pods = [pod(f"on-{name}", node=name, owner="rs") for name in "ab"]
    made = plan(of.snapshot())
    assert (made.requests, made.removals) == ((), ())
    assert {(each.trigger, each.reason) for each in made.blocked} == {("Rotation", "CoolDown")}
    assert made.wake_at == NOW + timedelta(minutes=9)


def test_a_request_that_nobody_needs_is_cancelled_all_the_same():
    of = given(node_request("r", phase="Pending"), status={"lastGrowthAt": before(minutes=1)}, **UP)
    of.requests[0]["metadata"]["ownerReferences"] = [
        {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "name": "default", "uid": "uid-default"}
    ]
    assert plan(of.snapshot()).cancelled == ("r",)
