"""The end of a server: asked for again and again, never another's, never unseen; and the ways out of a removal."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CRDS, NODE_POOLS, NODE_REQUESTS, NODES
from activities.ports.errors import (
    AuthenticationFailed,
    Conflict,
    InsufficientCapacity,
    InvalidConfiguration,
    QuotaExceeded,
    UnknownOutcome,
    Unreachable,
)
from activities.ports.provider import ServerState
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act, EffectInput
from tests.activities.lives import NAME, START
from tests.activities.rounds import Crash

OTHER = {"key": "other.example/taint", "value": "x", "effect": "NoSchedule"}
SCALE_DOWN = {"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}
LEAVING = {"phase": "Deprovisioning", "reason": "Empty"}
USED_UP = LEAVING | {"removalAttempts": 5, "removeAttemptedAt": START - timedelta(minutes=1), "message": "locked"}
USED_UP["reason"] = "DeleteFailed"
PARKED = USED_UP | {"phase": "CouldNotRemove", "retryAt": START + timedelta(hours=4)}
DELETE = Act(effect="delete_server", reason="DeleteServer")
ERRORS = [
    InsufficientCapacity("?"),
    QuotaExceeded("?"),
    UnknownOutcome("?"),
    InvalidConfiguration("?"),
    AuthenticationFailed("?"),
    Unreachable("?"),
]


async def with_server(life, status=LEAVING, *, node=True, labels=None, **spec):
    await life.add_removal(status, labels=labels, **{"nodeName": NAME, "providerID": f"kwok://test/{NAME}"} | spec)
    life.add_server()
    if node:
        await life.add_node(OTHER, SCALE_DOWN)
    return life


async def test_a_delete_call_is_counted_before_it_is_made(life):
    await with_server(life)
    seen = {}

    async def during():
        seen.update((await life.removal())["status"])

    life.cloud.during["delete"] = during
    after = await life.do("delete_server")
    assert (seen["removalAttempts"], seen["removeAttemptedAt"]) == (1, "2026-11-01T12:00:00Z")
    assert after.server is ServerSeen.ABSENT
    assert life.cloud.servers == {}


async def test_executed_twice_it_calls_once_until_the_wait_is_over(life):
    await with_server(life)
    life.cloud.fail["delete"] = UnknownOutcome("time-out")
    first = await life.do("delete_server", DELETE)
    assert await life.do("delete_server", DELETE) == first
    assert life.cloud.calls.count("delete") == 1
    life.pass_time(30)
    assert (await life.do("delete_server")).status.removal_attempts == 2


async def test_what_the_provider_says_is_wrong_with_the_server_is_seen(life):
    await with_server(life)
    life.cloud.servers[NAME] = replace(life.cloud.servers[NAME], state=ServerState.BROKEN, problem="x" * 2000)
    seen = await life.removals.look_removal(EffectInput(name=NAME, uid=life.uid))
    assert (seen.server, seen.server_problem) == (ServerSeen.BROKEN, f"{'x' * 1021}...")


@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_the_count_it_is_made_later(life, when):
    await with_server(life)
    setattr(life.cluster, when, len(life.cluster.writes) + 1)
    with pytest.raises(Crash):
        await life.do("delete_server", DELETE)
    life.restart()
    life.pass_time(30)
    await life.do("delete_server", DELETE)
    assert life.cloud.servers == {}


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.reason)
@pytest.mark.parametrize("call", ["delete", "get"])
async def test_what_the_provider_answers_is_written_down_and_told(life, call, error):
    await with_server(life)
    life.cloud.fail[call] = error
    seen = await life.do("delete_server", DELETE)
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "DeleteFailed")
    assert seen.status.message == f"Delete call 1: {error.reason}: ?"
    assert seen.status.removal_attempts == 1
    assert ("NodeRemovalRequest", "DeleteFailed") in await life.event_reasons()


async def test_a_lost_reply_of_the_delete_call_is_seen_by_the_look(life):
    await with_server(life)
    life.cloud.loses_reply["delete"] = UnknownOutcome("time-out")
    seen = await life.do("delete_server")
    assert seen.server is ServerSeen.ABSENT


@pytest.mark.parametrize(
    ("labels", "marks", "spec"),
    [
        ({"growth.dev/request-uid": "mine"}, {"growth.dev/request-uid": "later"}, {}),
        ({}, {"growth.dev/cluster": "another"}, {}),
        ({}, {}, {"providerID": "kwok://test/earlier"}),
    ],
)
async def test_another_server_of_that_name_is_never_deleted(life, labels, marks, spec):
    await with_server(life, node=False, labels=labels, **spec)
    life.add_server(**marks)
    seen = await life.do("delete_server", DELETE)
    assert seen.server is ServerSeen.FOREIGN
    assert list(life.cloud.servers) == [NAME]
    assert not (await life.do("finish_removal")).exists
    assert list(life.cloud.servers) == [NAME]


async def test_a_server_that_turns_out_to_be_anothers_during_the_call_is_left(life):
    """The provider was silent at the look; the call itself looks again."""
    await with_server(life, labels={"growth.dev/request-uid": "mine"})
    life.add_server(**{"growth.dev/request-uid": "later"})
    life.cloud.fail["get"] = UnknownOutcome("time-out")

    async def answers_again():
        life.cloud.during["get"] = back

    async def back():
        life.cloud.fail.clear()

    life.cloud.during["get"] = answers_again
    await life.do("delete_server", DELETE)
    assert list(life.cloud.servers) == [NAME]


async def test_without_a_provider_the_attempts_are_used_up_and_say_why(life):
    life.ports.providers.clear()
    await with_server(life)
    seen = await life.do("delete_server")
    assert "no provider serves KwokNodeClass" in seen.status.message


async def test_the_node_goes_when_the_server_is_gone(life):
    await with_server(life)
    life.cloud.servers.clear()
    seen = await life.do("delete_node")
    assert seen.node is None
    assert await life.node() is None
    assert await life.do("delete_node", Act(effect="delete_node", reason="ServerGone")) == seen
    assert not (await life.do("finish_removal")).exists
    assert await life.removal() is None


async def test_a_node_is_not_deleted_while_its_server_exists(life):
    await with_server(life)
    await life.do("delete_node", Act(effect="delete_node", reason="ServerGone"))
    assert await life.node() is not None


async def test_a_later_node_of_that_name_is_not_deleted(life):
    await with_server(life)
    life.cloud.servers.clear()

    def replace_first(verb, resource, _):
        if (verb, resource) == ("delete", NODES):
            life.cluster.refuse = None
            stored = life.cluster._store.find(NODES, ("", NAME))
            changed = {**stored, "metadata": {**stored["metadata"], "uid": "later", "labels": {}}}
            changed["metadata"]["labels"] = {"growth.dev/request-uid": "later"}
            changed["spec"] = {"providerID": "kwok://test/later"}
            life.cluster._store.put(NODES, ("", NAME), changed)

    life.cluster.refuse = replace_first
    await life.do("delete_node", Act(effect="delete_node", reason="ServerGone"))
    assert (await life.node())["metadata"]["uid"] == "later"


async def test_used_up_attempts_park_the_removal_and_tell_it(life):
    await with_server(life, USED_UP)
    seen = await life.do("park_removal")
    assert (seen.status.phase, seen.status.reason) == ("CouldNotRemove", "RemovalFailed")
    assert seen.status.message == "The server still exists after 5 delete calls: locked"
    assert seen.status.retry_at == START + timedelta(hours=4)
    assert {("NodeRemovalRequest", "RemovalFailed"), ("Node", "RemovalFailed")} <= await life.event_reasons()
    again = await life.do("park_removal", Act(effect="park_removal", reason="RemovalFailed"))
    assert again == seen
    note = (
        "The server still exists after 5 delete calls: locked. Retry, skip or abandon it: "
        f"kubectl annotate noderemovalrequest {NAME} growth.dev/decision=retry. "
        "By itself it is tried again at 2026-11-01T16:00:00Z"
    )
    assert [event["note"] for event in await life.events()] == [note, note]


async def test_each_parking_without_a_person_in_between_is_longer_up_to_a_day(life):
    await with_server(life, USED_UP)
    life.cloud.fail["delete"] = UnknownOutcome("locked")
    waits = []
    for _ in range(5):
        seen = await life.do("park_removal")
        waits.append(seen.status.retry_at - life.now())
        life.pass_time(waits[-1].total_seconds())
        await life.do("resume_removal")
        for _ in range(5):
            await life.do("delete_server")
            life.pass_time(30)
    # 4 h are the default of `spec.scaleDown.removal.parkedRetry`.
    assert waits == [timedelta(hours=hours) for hours in (4, 8, 16, 24, 24)]
    await life.do("park_removal")
    act = Act(effect="resume_removal", reason="Retry", message="Unlocked it", by="Ada")
    assert (await life.do("resume_removal", act)).status.times_parked == 0


async def test_a_person_lets_it_be_tried_again(life):
    await with_server(life, PARKED)
    act = Act(effect="resume_removal", reason="Retry", message="Unlocked it", by="Ada")
    seen = await life.do("resume_removal", act)
    assert (seen.status.phase, seen.status.removal_attempts, seen.status.retry_at) == ("Deprovisioning", 0, None)
    assert (await life.removal())["status"]["events"][-1]["reason"] == "By Ada: Unlocked it"
    assert await life.do("resume_removal", act) == seen
    assert (await life.do("delete_server")).server is ServerSeen.ABSENT


ABANDON = Act(effect="abandon_server", reason="Abandoned", message="Keep it", by="Ada")


async def test_an_abandoned_server_is_left_marked_and_its_node_open(life):
    await with_server(life, PARKED)
    assert not (await life.do("abandon_server", ABANDON)).exists
    assert await life.removal() is None
    assert life.cloud.servers[NAME].labels["growth.dev/abandoned"] == "true"
    node = await life.node()
    assert node["spec"]["taints"] == [OTHER]
    assert node["metadata"]["annotations"] == {"growth.dev/do-not-remove": "abandoned"}, "else it is removed when idle"
    assert "delete" not in life.cloud.calls
    assert not (await life.do("abandon_server", ABANDON)).exists


@pytest.mark.parametrize("write", range(1, 6))
@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_any_write_abandoning_is_completed_by_the_next(life, write, when):
    await with_server(life, PARKED)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("abandon_server", ABANDON)
    life.restart()
    assert not (await life.do("abandon_server", ABANDON)).exists
    assert life.cloud.servers[NAME].labels["growth.dev/abandoned"] == "true"
    assert await life.taints() == [OTHER]


async def test_a_silent_provider_is_asked_again_before_a_server_is_abandoned(life):
    await with_server(life, PARKED)
    life.cloud.fail["label"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await life.do("abandon_server", ABANDON)
    assert await life.removal() is not None


async def test_a_refusal_to_mark_the_server_does_not_hold_its_people_up(life):
    await with_server(life, PARKED)
    life.cloud.fail["label"] = AuthenticationFailed("token")
    assert not (await life.do("abandon_server", ABANDON)).exists
    assert ("NodeRemovalRequest", "NotLabelled") in await life.event_reasons()


@pytest.mark.parametrize("gone", ["server", "node", "both"])
async def test_what_is_gone_need_not_be_marked(life, gone):
    await with_server(life, PARKED, node=gone == "server")
    if gone != "node":
        life.cloud.servers.clear()
    assert not (await life.do("abandon_server", ABANDON)).exists


async def test_a_skipped_server_is_treated_as_gone(life):
    await with_server(life, PARKED)
    act = Act(effect="skip_server", reason="Skipped", message="It is gone, trust me", by="Ada")
    assert not (await life.do("skip_server", act)).exists
    assert (await life.node(), await life.removal()) == (None, None)
    assert "delete" not in life.cloud.calls
    assert not (await life.do("skip_server", act)).exists


async def test_a_skipped_server_is_spared_by_sweeps_if_its_provider_answers(life):
    await with_server(life, PARKED)
    act = Act(effect="skip_server", reason="Skipped", by="Ada")
    assert not (await life.do("skip_server", act)).exists
    assert life.cloud.servers[NAME].labels["growth.dev/abandoned"] == "true"


async def test_a_silent_provider_does_not_hold_a_skip_up(life):
    await with_server(life, PARKED)
    life.cloud.fail["label"] = UnknownOutcome("time-out")
    act = Act(effect="skip_server", reason="Skipped", by="Ada")
    assert not (await life.do("skip_server", act)).exists
    assert (await life.node(), await life.removal()) == (None, None)


async def test_the_record_of_a_skipped_machine_goes_before_its_node(life):
    """Else its workflow would see a server without a Node, and order another removal."""
    await life.add_request({"phase": "Ready"})
    uid = life.uid
    await with_server(life, PARKED, labels={"growth.dev/request-uid": uid})
    act = Act(effect="skip_server", reason="Skipped", by="Ada")
    with pytest.raises(Conflict, match=f"NodeRequest {NAME} still ends"):
        await life.do("skip_server", act)
    record = await life.cluster.get(NODE_REQUESTS, NAME)
    assert record["metadata"]["deletionTimestamp"]
    assert await life.node() is not None
    await life.cluster.put(NODE_REQUESTS, NAME, "/metadata/finalizers", None)
    assert not (await life.do("skip_server", act)).exists
    assert (await life.node(), await life.removal()) == (None, None)


@pytest.mark.parametrize(("uid", "phase"), [("another", "Ready"), (None, "Provisioning")])
async def test_a_skip_leaves_other_requests_alone(life, uid, phase):
    await life.add_request({"phase": phase})
    await with_server(life, PARKED, labels={"growth.dev/request-uid": uid or life.uid})
    assert not (await life.do("skip_server", Act(effect="skip_server", reason="Skipped", by="Ada"))).exists
    assert "deletionTimestamp" not in (await life.cluster.get(NODE_REQUESTS, NAME))["metadata"]


@pytest.mark.parametrize("effect", ["abandon_server", "skip_server", "resume_removal"])
async def test_decisions_about_a_removal_that_is_not_parked_do_nothing(life, effect):
    await with_server(life)
    before = await life.removal()
    await life.do(effect, Act(effect=effect, reason="Any", by="Ada"))
    assert await life.removal() == before


async def test_its_pools_patience_is_obeyed_and_without_a_pool_the_defaults_hold(life):
    removal = {"maxAttempts": 2, "retry": "7s", "parkedRetry": "1h"}
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown", {"softGrace": "9s", "removal": removal})
    await with_server(life)
    timings = (await life.do("park_removal", Act(effect="park_removal", reason="Any"))).timings
    assert (timings.soft_grace, timings.max_attempts) == (timedelta(seconds=9), 2)
    assert (timings.retry, timings.parked_retry) == (timedelta(seconds=7), timedelta(hours=1))
    await life.cluster.delete(NODE_POOLS, "default")
    timings = (await life.do("park_removal", Act(effect="park_removal", reason="Any"))).timings
    assert (timings.soft_grace, timings.max_attempts) == (timedelta(minutes=1), 5)


@pytest.mark.parametrize("status", [None, LEAVING, PARKED])
async def test_removing_the_definitions_never_deletes_a_server(life, status):
    await with_server(life, status)
    await life.cluster.delete(CRDS, "noderemovalrequests.growth.dev")
    assert not (await life.do("forget_removal")).exists
    assert (list(life.cloud.servers), life.cloud.calls) == ([NAME], [])
    assert await life.node() is not None


async def test_a_removal_that_keeps_changing_is_a_conflict(life):
    await with_server(life)
    life.cluster.refuse = lambda *_: (_ for _ in ()).throw(Conflict("changed"))
    with pytest.raises(Conflict):
        await life.do("delete_server", DELETE)
    assert "delete" not in life.cloud.calls


@pytest.mark.parametrize("effect", ["delete_server", "delete_node", "park_removal", "finish_removal"])
async def test_an_object_that_is_gone_is_no_error(life, effect):
    await with_server(life)
    life.uid = "another"
    assert not (await life.do(effect, Act(effect=effect, reason="Any"))).exists
    assert life.cloud.calls == []


async def test_a_server_that_goes_slowly_is_waited_for(life):
    await with_server(life, LEAVING | {"removalAttempts": 1, "removeAttemptedAt": START})
    life.cloud.set_state(ServerState.DELETING)
    seen = await life.do("delete_server", DELETE)
    assert (seen.server, seen.status.removal_attempts) == (ServerSeen.DELETING, 1)
