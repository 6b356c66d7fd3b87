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
from api.meta import format_timestamp
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act
from tests.activities.lives import FOREIGN, NAME, SCALE_DOWN, START, at_each_write
from tests.tables import rows

LEAVING = {"phase": "Deprovisioning", "reason": "Empty"}
USED_UP = LEAVING | {"removalAttempts": 5, "removeAttemptedAt": START - timedelta(minutes=1), "message": "locked"}
USED_UP["reason"] = "DeleteFailed"
PARKED = USED_UP | {"phase": "CouldNotRemove", "retryAt": START + timedelta(hours=4)}
MINE, LATER = {"growth.dev/request-uid": "mine"}, {"growth.dev/request-uid": "later"}
DELETE = Act(effect="delete_server", reason="DeleteServer")
DELETE_NODE = Act(effect="delete_node", reason="ServerGone")
RESUME = Act(effect="resume_removal", reason="Retry", message="Unlocked it", by="Ada")
ABANDON = Act(effect="abandon_server", reason="Abandoned", message="Keep it", by="Ada")
SKIP = Act(effect="skip_server", reason="Skipped", message="It is gone, trust me", by="Ada")
ERRORS = (InsufficientCapacity, QuotaExceeded, UnknownOutcome, InvalidConfiguration, AuthenticationFailed, Unreachable)


@pytest.fixture
async def leaving(life):
    """A removal past its point of no return."""
    await life.add_leaving(LEAVING, FOREIGN, SCALE_DOWN, ready=False)
    return life


@pytest.fixture
async def parked(life):
    """A removal that waits for a person."""
    await life.add_leaving(PARKED, FOREIGN, SCALE_DOWN, ready=False)
    return life


async def test_a_delete_call_is_counted_before_it_is_made(leaving):
    seen = {}

    async def during():
        seen.update((await leaving.removal())["status"])

    leaving.cloud.during["delete"] = during
    after = await leaving.do("delete_server")
    assert (seen["removalAttempts"], seen["removeAttemptedAt"]) == (1, "2026-11-01T12:00:00Z")
    assert after.server is ServerSeen.ABSENT
    assert leaving.cloud.servers == {}


async def test_executed_twice_it_calls_once_until_the_wait_is_over(leaving):
    leaving.cloud.fail["delete"] = UnknownOutcome("time-out")
    first = await leaving.do("delete_server", DELETE)
    assert await leaving.do("delete_server", DELETE) == first
    assert leaving.cloud.calls.count("delete") == 1
    leaving.pass_time(30)
    assert (await leaving.do("delete_server")).status.removal_attempts == 2


async def test_what_the_provider_says_is_wrong_with_the_server_is_seen(leaving):
    leaving.cloud.servers[NAME] = replace(leaving.cloud.servers[NAME], state=ServerState.BROKEN, problem="x" * 2000)
    seen = await leaving.look_removal()
    assert (seen.server, seen.server_problem) == (ServerSeen.BROKEN, f"{'x' * 1021}...")


@at_each_write(1)
async def test_killed_at_the_count_it_is_made_later(leaving, write, when):
    await leaving.die_during("delete_server", DELETE, when, write)
    leaving.pass_time(30)
    await leaving.do("delete_server", DELETE)
    assert leaving.cloud.servers == {}


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.reason)
@pytest.mark.parametrize("call", ["delete", "get"])
async def test_what_the_provider_answers_is_written_down_and_told(leaving, call, error):
    leaving.cloud.fail[call] = error("?")
    seen = await leaving.do("delete_server", DELETE)
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "DeleteFailed")
    assert seen.status.message == f"Delete call 1: {error.reason}: ?"
    assert seen.status.removal_attempts == 1
    assert ("NodeRemovalRequest", "DeleteFailed") in await leaving.event_reasons()


async def test_a_lost_reply_of_the_delete_call_is_seen_by_the_look(leaving):
    leaving.cloud.loses_reply["delete"] = UnknownOutcome("time-out")
    assert (await leaving.do("delete_server")).server is ServerSeen.ABSENT


@rows(
    ("labels", "marks", "spec"),
    {
        "of another request": (MINE, LATER, {}),
        "of another cluster": ({}, {"growth.dev/cluster": "another"}, {}),
        "of another id": ({}, {}, {"providerID": "kwok://test/earlier"}),
    },
)
async def test_another_server_of_that_name_is_never_deleted(life, labels, marks, spec):
    await life.add_leaving(LEAVING, node=False, labels=labels, **spec)
    life.add_server(**marks)
    seen = await life.do("delete_server", DELETE)
    assert seen.server is ServerSeen.FOREIGN
    assert list(life.cloud.servers) == [NAME]
    assert not (await life.do("finish_removal")).exists
    assert list(life.cloud.servers) == [NAME]


async def test_a_server_that_turns_out_to_be_anothers_during_the_call_is_left(life):
    """The provider was silent at the look; the call itself looks again."""
    await life.add_leaving(LEAVING, labels=MINE)
    life.add_server(**LATER)
    life.cloud.fail["get"] = UnknownOutcome("time-out")

    async def answers_again():
        life.cloud.during["get"] = back

    async def back():
        life.cloud.fail.clear()

    life.cloud.during["get"] = answers_again
    await life.do("delete_server", DELETE)
    assert list(life.cloud.servers) == [NAME]


async def test_without_a_provider_the_attempts_are_used_up_and_say_why(leaving):
    leaving.ports.providers.clear()
    seen = await leaving.do("delete_server")
    assert "no provider serves KwokNodeClass" in seen.status.message


async def test_the_node_goes_when_the_server_is_gone(leaving):
    await leaving.do("delete_node", DELETE_NODE)
    assert await leaving.node() is not None, "while its server exists"
    leaving.cloud.servers.clear()
    seen = await leaving.do("delete_node")
    assert seen.node is None
    assert await leaving.node() is None
    assert await leaving.do("delete_node", DELETE_NODE) == seen
    assert not (await leaving.do("finish_removal")).exists
    assert await leaving.removal() is None


async def test_a_later_node_of_that_name_is_not_deleted(leaving):
    leaving.cloud.servers.clear()

    def replace_node(node):
        node["metadata"] |= {"uid": "later", "labels": LATER}
        node["spec"] = {"providerID": "kwok://test/later"}

    leaving.cluster.overtake("delete", NODES, replace_node)
    await leaving.do("delete_node", DELETE_NODE)
    assert (await leaving.node())["metadata"]["uid"] == "later"


async def test_used_up_attempts_park_the_removal_and_tell_it(life):
    await life.add_leaving(USED_UP)
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
    await life.add_leaving(USED_UP)
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
    assert (await life.do("resume_removal", RESUME)).status.times_parked == 0


async def test_a_person_lets_it_be_tried_again(parked):
    seen = await parked.do("resume_removal", RESUME)
    assert (seen.status.phase, seen.status.removal_attempts, seen.status.retry_at) == ("Deprovisioning", 0, None)
    assert (await parked.removal())["status"]["events"][-1]["reason"] == "By Ada: Unlocked it"
    assert await parked.do("resume_removal", RESUME) == seen
    assert (await parked.do("delete_server")).server is ServerSeen.ABSENT


async def test_an_abandoned_server_is_left_marked_and_its_node_open(parked):
    assert not (await parked.do("abandon_server", ABANDON)).exists
    assert await parked.removal() is None
    assert parked.cloud.servers[NAME].labels["growth.dev/abandoned"] == "true"
    node = await parked.node()
    assert node["spec"]["taints"] == [FOREIGN]
    assert node["metadata"]["annotations"] == {"growth.dev/do-not-remove": "abandoned"}, "else it is removed when idle"
    assert "delete" not in parked.cloud.calls
    assert not (await parked.do("abandon_server", ABANDON)).exists


@at_each_write(5)
async def test_killed_at_any_write_abandoning_is_completed_by_the_next(parked, write, when):
    await parked.die_during("abandon_server", ABANDON, when, write)
    assert not (await parked.do("abandon_server", ABANDON)).exists
    assert parked.cloud.servers[NAME].labels["growth.dev/abandoned"] == "true"
    assert await parked.taints() == [FOREIGN]


async def test_a_silent_provider_is_asked_again_before_a_server_is_abandoned(parked):
    parked.cloud.fail["label"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await parked.do("abandon_server", ABANDON)
    assert await parked.removal() is not None


async def test_a_refusal_to_mark_the_server_does_not_hold_its_people_up(parked):
    parked.cloud.fail["label"] = AuthenticationFailed("token")
    assert not (await parked.do("abandon_server", ABANDON)).exists
    assert ("NodeRemovalRequest", "NotLabelled") in await parked.event_reasons()


@pytest.mark.parametrize("gone", ["server", "node", "both"])
async def test_what_is_gone_need_not_be_marked(life, gone):
    await life.add_leaving(PARKED, SCALE_DOWN, node=gone == "server", server=gone == "node")
    assert not (await life.do("abandon_server", ABANDON)).exists


@rows("error", {"and spared by sweeps": None, "while its provider is silent": UnknownOutcome("time-out")})
async def test_a_skipped_server_is_treated_as_gone(parked, error):
    if error:
        parked.cloud.fail["label"] = error
    assert not (await parked.do("skip_server", SKIP)).exists
    assert (await parked.node(), await parked.removal()) == (None, None)
    assert "delete" not in parked.cloud.calls
    assert parked.cloud.servers[NAME].labels.get("growth.dev/abandoned") == (None if error else "true")
    assert not (await parked.do("skip_server", SKIP)).exists


async def test_the_record_of_a_skipped_machine_goes_before_its_node(life):
    """Else its workflow would see a server without a Node, and order another removal."""
    await life.add_request({"phase": "Ready"})
    await life.add_leaving(PARKED, labels={"growth.dev/request-uid": life.uid})
    with pytest.raises(Conflict, match=f"NodeRequest {NAME} still ends"):
        await life.do("skip_server", SKIP)
    assert (await life.request())["metadata"]["deletionTimestamp"]
    assert await life.node() is not None
    await life.cluster.put(NODE_REQUESTS, NAME, "/metadata/finalizers", None)
    assert not (await life.do("skip_server", SKIP)).exists
    assert (await life.node(), await life.removal()) == (None, None)


@pytest.mark.parametrize(("uid", "phase"), [("another", "Ready"), (None, "Provisioning")])
async def test_a_skip_leaves_other_requests_alone(life, uid, phase):
    await life.add_request({"phase": phase})
    await life.add_leaving(PARKED, labels={"growth.dev/request-uid": uid or life.uid})
    assert not (await life.do("skip_server", SKIP)).exists
    assert "deletionTimestamp" not in (await life.request())["metadata"]


@pytest.mark.parametrize("effect", ["abandon_server", "skip_server", "resume_removal"])
async def test_decisions_about_a_removal_that_is_not_parked_do_nothing(leaving, effect):
    before = await leaving.removal()
    await leaving.do(effect, Act(effect=effect, reason="Any", by="Ada"))
    assert await leaving.removal() == before


async def test_its_pools_patience_is_obeyed_and_without_a_pool_the_defaults_hold(leaving):
    removal = {"maxAttempts": 2, "retry": "7s", "parkedRetry": "1h"}
    await leaving.cluster.put(NODE_POOLS, "default", "/spec/scaleDown", {"softGrace": "9s", "removal": removal})
    timings = (await leaving.do("park_removal", Act(effect="park_removal", reason="Any"))).timings
    assert (timings.soft_grace, timings.max_attempts) == (timedelta(seconds=9), 2)
    assert (timings.retry, timings.parked_retry) == (timedelta(seconds=7), timedelta(hours=1))
    await leaving.cluster.delete(NODE_POOLS, "default")
    timings = (await leaving.do("park_removal", Act(effect="park_removal", reason="Any"))).timings
    assert (timings.soft_grace, timings.max_attempts) == (timedelta(minutes=1), 5)


@pytest.mark.parametrize("status", [None, LEAVING, PARKED], ids=["new", "leaving", "parked"])
async def test_removing_the_definitions_never_deletes_a_server(life, status):
    await life.add_leaving(status)
    await life.cluster.delete(CRDS, "noderemovalrequests.growth.dev")
    assert not (await life.do("forget_removal")).exists
    assert (list(life.cloud.servers), life.cloud.calls) == ([NAME], [])
    assert await life.node() is not None


async def test_a_removal_that_keeps_changing_is_a_conflict(leaving):
    leaving.cluster.refuse_writes(Conflict("changed"))
    with pytest.raises(Conflict):
        await leaving.do("delete_server", DELETE)
    assert "delete" not in leaving.cloud.calls


@pytest.mark.parametrize("effect", ["delete_server", "delete_node", "park_removal", "finish_removal"])
async def test_an_object_that_is_gone_is_no_error(leaving, effect):
    leaving.uid = "another"
    assert not (await leaving.do(effect, Act(effect=effect, reason="Any"))).exists
    assert leaving.cloud.calls == []


async def test_a_server_that_goes_slowly_is_waited_for(life):
    await life.add_leaving(LEAVING | {"removalAttempts": 1, "removeAttemptedAt": START})
    life.cloud.set_state(ServerState.DELETING)
    seen = await life.do("delete_server", DELETE)
    assert (seen.server, seen.status.removal_attempts) == (ServerSeen.DELETING, 1)


@pytest.mark.parametrize(("written", "asked"), [(0, 0), (50, 50), (3600, 0)])
async def test_a_create_call_in_times_to_come_was_made_before_its_removal_was_created(life, written, asked):
    """By the API server's clock, at START in this test: a worker's clock that was ahead puts the end off no longer."""
    at = format_timestamp(START + timedelta(seconds=written))
    await life.add_leaving(LEAVING, server=False, node=False, createAttemptAt=at)
    assert (await life.look_removal()).create_attempt_at == START + timedelta(seconds=asked)
