"""While an account may not have more, pools of its class buy nothing; then one machine is tried first."""

from datetime import timedelta

import pytest

from planner.lifecycle.request import next_step
from planner.lifecycle.step import Act
from planner.plan import plan
from planner.supply.machine_kind import kinds_of_pools
from tests.builders import NOW, after, before, kwok_node_class, node, node_pool, node_request, pod
from tests.planner import scenes
from tests.planner.lifecycle import test_request as steps
from tests.planner.wishes import apart


def pause(until):
    times = {"lastFailureAt": before(minutes=5), "until": until}
    return {"message": "server limit exceeded", "failures": 1} | times


def paused_class(until, name="default", **parts):
    found = kwok_node_class(name=name, **parts)
    found["status"]["pause"] = pause(until)
    return found


def scene(*pods, until, types=("cx22", "cx32"), **parts):
    return scenes.scene(*pods, types=types, classes=[paused_class(until)], **parts)


def bought(given):
    return [(r.server_type, r.location) for r in plan(given.snapshot()).requests]


def test_while_the_account_may_not_have_more_nothing_is_bought():
    given = scene(pod("a"), until=after(seconds=1))
    found = plan(given.snapshot())
    assert found.requests == ()
    ((reason,),) = [unplaced.reasons for unplaced in found.unplaced]
    assert reason.code == "BuyingPaused"
    assert reason.message == ("KwokNodeClass/default buys nothing until 2026-03-01T12:00:01Z: server limit exceeded")


def test_a_pod_that_shuns_all_machines_there_are_is_told_of_the_pause_first():
    web = {"labels": {"app": "web"}, "affinity": apart(app="web")}
    given = scene(pod("a", **web), pod("b", node="n", **web), until=after(seconds=1), nodes=[node("n")])
    (unplaced,) = plan(given.snapshot()).unplaced
    assert [reason.code for reason in unplaced.reasons] == ["BuyingPaused", "AntiAffinity"]


def test_the_pool_says_so_itself():
    (found,) = kinds_of_pools(scene(until=after(seconds=1)).snapshot()).values()
    assert found.obstacle is not None
    assert found.obstacle.code == "BuyingPaused"
    assert found.blocked_by is None, "no edit of pool or class would open it"


def test_from_the_end_of_the_pause_on_it_is_tried():
    assert bought(scene(pod("a"), until=before(seconds=0))) == [("cx22", "fsn1")]


def test_the_plan_is_made_again_at_the_end_of_the_pause():
    assert plan(scene(pod("a"), until=after(seconds=70)).snapshot()).wake_at == NOW + timedelta(seconds=70)
    assert plan(scene(until=before(seconds=1)).snapshot()).wake_at is None


def test_a_pool_of_another_class_buys_on():
    given = scene(pod("a"), until=after(minutes=5))
    given.classes.append(kwok_node_class(name="other"))
    other = node_pool("other", types=("cx32",), template={"classRef": {"kind": "KwokNodeClass", "name": "other"}})
    given.pools.append(other)
    given.pods = [pod("b", nodeSelector={"growth.dev/pool": "other"})]
    assert bought(given) == [("cx32", "fsn1")]


@pytest.mark.parametrize("reason", ["QuotaExceeded", "BuyingPaused"])
def test_an_unmet_request_of_the_account_does_not_leave_its_offering_out(reason):
    """Once the class has been mended, as by a new project, the offering can be had."""
    unmet = node_request("m", "cx22", phase="Unmet", reason=reason, expiresAt=after(seconds=60))
    given = scene(pod("a"), until=before(seconds=1), requests=[unmet])
    assert bought(given) == [("cx22", "fsn1")]
    given.classes = [kwok_node_class()]
    assert bought(given) == [("cx22", "fsn1")]
    unmet["status"]["reason"] = "InsufficientCapacity"
    assert bought(given) == [("cx32", "fsn1")]


def probed(given):
    (found,) = kinds_of_pools(given.snapshot()).values()
    return {kind.is_probe_of_class for kind in found.kinds}


def test_after_the_pause_the_class_is_probed_until_it_has_a_server_that_was_asked_for_since():
    given = scene(until=before(seconds=10))
    assert probed(given) == {True}
    given.requests = [node_request("m", "cx32", phase="Provisioning", createAttemptAt=before(seconds=11))]
    assert probed(given) == {True}, "asked for within the pause"
    given.requests = [node_request("m", "cx32", phase="Pending", createAttemptAt=before(seconds=9))]
    assert probed(given) == {True}, "not answered yet"
    for phase in ("Provisioning", "Ready"):
        given.requests = [node_request("m", "cx32", phase=phase, createAttemptAt=before(seconds=9))]
        assert probed(given) == {False}
    given.requests[0]["spec"]["classRef"]["name"] = "other"
    assert probed(given) == {True}


def test_without_a_pause_and_within_it_nothing_is_probed():
    given = scene(until=after(seconds=1))
    assert probed(given) == {False}
    given.classes = [kwok_node_class()]
    assert probed(given) == {False}


def test_after_the_pause_one_machine_of_the_class_is_tried_and_then_the_rest():
    pods = [pod(str(k), "2") for k in range(3)]
    given = scene(*pods, until=before(seconds=1))
    given.pools = [node_pool(types=("cx22",)), node_pool("big", types=("cx32",), serverTypes=[{"name": "cx32"}])]
    given.pods.append(pod("b", "2", nodeSelector={"growth.dev/pool": "big"}))
    assert len(bought(given)) == 1
    given.requests = [node_request("probe", "cx22", seats=[])]
    assert bought(given) == [], "it has not been answered yet"
    given.requests = [node_request("probe", "cx22", phase="Provisioning", createAttemptAt=before(seconds=0))]
    assert bought(given) == [("cx22", "fsn1"), ("cx22", "fsn1"), ("cx32", "fsn1")]


def test_pods_that_wait_for_the_machine_that_is_tried_are_told_so():
    given = scene(pod("a", "2"), pod("b", "2"), until=before(seconds=1), types=("cx22",))
    (unplaced,) = plan(given.snapshot()).unplaced
    assert [reason.code for reason in unplaced.reasons] == ["BuyingPaused"]
    assert unplaced.reasons[0].message == "KwokNodeClass/default was refused more machines: one is tried first"


STEPS = {
    "new, buying paused": (
        steps.pending(buying_paused_until=steps.ahead(60), pause_message="10 of 10 servers"),
        "mark_unmet",
        "BuyingPaused",
        steps.ahead(60),
    ),
    "new, buying paused and offering left out": (
        steps.pending(buying_paused_until=steps.ahead(60), offering_unavailable_until=steps.ahead(90)),
        "mark_unmet",
        "BuyingPaused",
        steps.ahead(60),
    ),
    "new, pause is over, offering left out": (
        steps.pending(buying_paused_until=steps.NOW, offering_unavailable_until=steps.ahead(90)),
        "mark_unmet",
        "OfferingUnavailable",
        steps.ahead(90),
    ),
    "new, pause is over": (
        steps.pending(buying_paused_until=steps.NOW),
        "create_server",
        "CreateServer",
        steps.ahead(180),
    ),
    "asked, buying paused since": (
        steps.pending(
            {"create_attempt_at": steps.ago(5), "provisioning_deadline": steps.ahead(70)},
            buying_paused_until=steps.ahead(60),
        ),
        "create_server",
        "CreateServer",
        steps.ahead(70),
    ),
    "deleted before asked, buying paused": (
        steps.pending(deleting=True, buying_paused_until=steps.ahead(60)),
        "finish_request",
        "Cancelled",
        None,
    ),
}


@pytest.mark.parametrize(("given", "effect", "reason", "until"), STEPS.values(), ids=STEPS)
def test_the_next_step_of_a_pending_request(given, effect, reason, until):
    step = next_step(given, steps.NOW)
    assert isinstance(step, Act)
    assert (step.effect, step.reason, step.until) == (effect, reason, until)


def test_an_unmet_request_says_which_of_the_two_it_is():
    paused = next_step(steps.pending(buying_paused_until=steps.ahead(60), pause_message="10 of 10 servers"), steps.NOW)
    assert paused.message == "Nothing of its class is bought until then: 10 of 10 servers"
    left_out = next_step(steps.pending(offering_unavailable_until=steps.ahead(60)), steps.NOW)
    assert left_out.message == "Another request found this offering without capacity"
