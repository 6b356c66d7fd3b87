"""Calls that a provider did not carry out for want of calls: they do not count, whatever comes after them."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import QuotaExceeded, RateLimited, UnknownOutcome
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act
from tests.activities.lives import NAME, START

LIMITED = RateLimited("3600 calls an hour", 40)
CREATE = Act(effect="create_server", reason="CreateServer", until=START + timedelta(minutes=10))
DELETE = Act(effect="delete_server", reason="DeleteServer")
LEAVING = {"phase": "Deprovisioning", "reason": "Empty"}


@pytest.fixture
async def new(life):
    await life.add_request()
    return life


async def rate_limited(life):
    """Make a create call that is not carried out, and return the request's status."""
    life.cloud.fail["create"] = LIMITED
    with pytest.raises(RateLimited) as raised:
        await life.do("create_server", CREATE)
    assert raised.value.retry_after_seconds == 40
    life.cloud.fail.clear()
    return (await life.request())["status"]


async def test_a_call_that_was_not_carried_out_is_raised_and_does_not_count(new):
    status = await rate_limited(new)
    assert (status["phase"], status["reason"], status["message"]) == ("Pending", "RateLimited", "3600 calls an hour")
    assert status["attempts"] == 0
    assert not {"createAttemptAt", "provisioningDeadline"} & set(status)


async def test_a_refusal_after_calls_that_were_not_carried_out_is_certain(new):
    for _ in range(3):
        await rate_limited(new)
        new.pass_time(40)
    new.cloud.fail["create"] = QuotaExceeded("no more")
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason, seen.status.attempts) == ("Unmet", "QuotaExceeded", 1)


async def test_a_call_that_was_not_carried_out_takes_no_other_attempt_back(new):
    new.cloud.fail["create"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await new.do("create_server", CREATE)
    new.pass_time(2)
    status = await rate_limited(new)
    assert status["attempts"] == 1
    assert status["provisioningDeadline"] == "2026-11-01T12:10:00Z", "the first call's"
    assert status["createAttemptAt"]
    new.cloud.fail["create"] = QuotaExceeded("no more")
    assert (await new.do("create_server", CREATE)).status.phase == "Deprovisioning", "the first call may have made one"


async def test_a_later_create_call_is_not_taken_back_for_an_earlier_one(new):
    """An attempt that was given up learns that its call was not carried out when another one has begun."""
    later = {"attempts": 2, "createAttemptAt": "2026-11-01T12:00:05Z"}

    async def another_attempt():
        await new.set_status(NODE_REQUESTS, (await new.request())["status"] | later)

    new.cloud.during["create"] = another_attempt
    status = await rate_limited(new)
    assert {key: status[key] for key in later} == later
    assert status["provisioningDeadline"] == "2026-11-01T12:10:00Z"


async def test_a_change_during_a_create_call_does_not_keep_its_attempt(new):
    async def seats():
        await new.cluster.put(NODE_REQUESTS, NAME, "/spec/reservedFor", [{"namespace": "a", "name": "b", "uid": "c"}])

    new.cloud.during["create"] = seats
    status = await rate_limited(new)
    assert (status["attempts"], status["reason"]) == (0, "RateLimited")


async def test_the_time_of_a_server_begins_with_the_call_that_is_carried_out(new):
    await rate_limited(new)
    new.pass_time(3600)
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.attempts) == ("Provisioning", 1)
    assert seen.status.provisioning_deadline == START + timedelta(seconds=3600) + timedelta(minutes=10)


async def test_a_request_deleted_after_such_a_call_ends_without_a_removal(new):
    await rate_limited(new)
    await new.cluster.delete(NODE_REQUESTS, NAME)
    assert not (await new.do("finish_request")).exists
    assert await new.removal() is None


@pytest.mark.parametrize("call", ["delete", "get"])
async def test_a_delete_call_that_was_not_carried_out_is_raised_and_does_not_count(life, call):
    await life.add_leaving(LEAVING)

    async def limit():
        life.cloud.fail[call] = LIMITED

    # The look before the call is answered.
    life.cloud.during["get"] = limit
    with pytest.raises(RateLimited):
        await life.do("delete_server", DELETE)
    status = (await life.removal())["status"]
    assert (status["phase"], status["reason"]) == ("Deprovisioning", "RateLimited")
    assert status["message"] == "3600 calls an hour"
    assert status["removalAttempts"] == 0
    assert "removeAttemptedAt" not in status


async def test_a_removal_never_parks_for_calls_that_were_not_carried_out(life):
    before = LEAVING | {"removalAttempts": 4, "removeAttemptedAt": START - timedelta(minutes=1)}
    await life.add_leaving(before)
    life.cloud.fail["delete"] = LIMITED
    for _ in range(20):
        with pytest.raises(RateLimited):
            await life.do("delete_server")
        life.pass_time(40)
    status = (await life.removal())["status"]
    assert (status["removalAttempts"], status["removeAttemptedAt"]) == (4, "2026-11-01T11:59:00Z")
    life.cloud.fail.clear()
    assert (await life.do("delete_server")).server is ServerSeen.ABSENT


async def test_a_change_during_a_delete_call_does_not_keep_its_attempt(life):
    await life.add_leaving(LEAVING)

    async def note():
        await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/annotations", {"example.com/note": "x"})

    life.cloud.during["delete"] = note
    life.cloud.fail["delete"] = LIMITED
    with pytest.raises(RateLimited):
        await life.do("delete_server", DELETE)
    assert (await life.removal())["status"]["removalAttempts"] == 0


async def test_a_later_delete_call_is_not_taken_back_for_an_earlier_one(life):
    await life.add_leaving(LEAVING)
    later = {"removalAttempts": 2, "removeAttemptedAt": "2026-11-01T12:00:30Z"}

    async def another_attempt():
        await life.set_status(NODE_REMOVAL_REQUESTS, (await life.removal())["status"] | later)

    life.cloud.during["delete"] = another_attempt
    life.cloud.fail["delete"] = LIMITED
    with pytest.raises(RateLimited):
        await life.do("delete_server", DELETE)
    status = (await life.removal())["status"]
    assert {key: status[key] for key in later} == later
