"""A class that is not used on a cluster with real Nodes: what its pools and its requests come to."""

from dataclasses import replace
from datetime import timedelta

import pytest

from planner.lifecycle.request import next_step
from planner.plan import plan
from tests.builders import after, kwok_node_class, node, node_pool, node_request, pod
from tests.planner.lifecycle import test_request as steps
from tests.planner.scenes import Scene, scene, seat

BARRIER = "Node cp-1 is real"


def barred(given: Scene):
    """Return the snapshot whose class default is not used."""
    snapshot = given.snapshot()
    return replace(
        snapshot,
        classes=tuple(replace(each, barrier=BARRIER * (each.ref.name == "default")) for each in snapshot.classes),
    )


def test_nothing_of_it_is_bought_for_pods_or_for_a_minimum():
    given = scene(pods=[pod("web")])
    given.pools = [node_pool(types=("cx22",), limits={"min": 2, "max": 5})]
    assert len(plan(given.snapshot()).requests) == 2
    made = plan(barred(given))
    assert made.requests == ()
    (unplaced,) = made.unplaced
    assert [(each.code, each.message) for each in unplaced.reasons] == [
        ("RealCluster", f"KwokNodeClass/default of pool default is not used: {BARRIER}")
    ]
    (ready,) = (each for each in made.pools[0].status.conditions if each.type == "Ready")
    assert (ready.status, ready.reason) == ("False", "RealCluster")


def test_a_machine_on_its_way_still_takes_its_pods():
    waits = pod("web")
    coming = node_request("m-1", seats=[seat(waits)], phase="Provisioning", provisioningDeadline=after(minutes=5))
    made = plan(barred(scene(pods=[waits], requests=[coming])))
    assert [(each.pod, each.request) for each in made.placed] == [("default/web", "m-1")]
    assert (made.removals, made.cancelled) == ((), ())


def test_a_machine_that_is_there_is_priced_and_kept():
    made = plan(barred(scene(nodes=[node("m-1")], pods=[pod("web", node="m-1")])))
    assert made.removals == ()
    assert made.pools[0].status.currency == "EUR"
    assert made.pools[0].status.nodes.ready == 1


def test_a_pool_of_another_class_buys_on():
    given = scene(pods=[pod("web", nodeSelector={"growth.dev/pool": "other"})])
    given.classes.append(kwok_node_class(name="other"))
    other = node_pool("other", types=("cx32",), template={"classRef": {"kind": "KwokNodeClass", "name": "other"}})
    given.pools.append(other)
    assert [each.pool for each in plan(barred(given)).requests] == ["other"]


def test_pods_that_wait_longer_and_longer_are_tried_at_once_when_it_is_used_again():
    given = scene(pods=[pod("web")])
    memory = plan(barred(given)).memory
    for _ in range(8):
        memory = plan(replace(barred(given), memory=memory)).memory
    assert plan(replace(barred(given), memory=memory)).requests == ()
    assert len(plan(replace(given.snapshot(), memory=memory)).requests) == 1


@pytest.mark.parametrize(("reason", "types"), [("RealCluster", ["cx22"]), ("InsufficientCapacity", ["cx32"])])
def test_a_request_that_ended_for_it_does_not_leave_its_offering_out(reason, types):
    unmet = node_request("m", "cx22", phase="Unmet", reason=reason, expiresAt=after(seconds=60))
    given = scene(pods=[pod("web")], requests=[unmet])
    assert [each.server_type for each in plan(given.snapshot()).requests] == types


def test_a_request_without_a_call_ends_before_what_else_is_known_of_its_class():
    seen = steps.pending(class_barrier=BARRIER, buying_paused_until=steps.ahead(60), pause_message="10 of 10 servers")
    step = next_step(seen, steps.NOW)
    assert (step.effect, step.reason, step.message) == ("mark_unmet", "RealCluster", BARRIER)
    assert step.until == steps.NOW + timedelta(seconds=120)


def test_a_request_that_is_deleted_ends_as_such():
    step = next_step(steps.pending(deleting=True, class_barrier=BARRIER), steps.NOW)
    assert (step.effect, step.reason) == ("finish_request", "Cancelled")


def test_the_longest_name_of_a_node_is_cut():
    assert len(next_step(steps.pending(class_barrier="x" * 2000), steps.NOW).message) == 1024
