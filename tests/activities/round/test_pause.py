"""An account that may not have more pauses all buying of its class, and one machine ends the pause."""

from datetime import timedelta

import pytest

from activities.objects.node_classes import note_pause
from activities.ports.errors import Conflict, InsufficientCapacity, QuotaExceeded, UnknownOutcome, Unreachable
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.request import OF_THE_ACCOUNT, QUOTA_EXCEEDED
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import START

CREATE = Act(effect="create_server", reason="CreateServer", until=START + timedelta(minutes=10))
LEARNED = {
    "serverType": "cx32",
    "image": "1",
    "allocatable": {"memory": "3814Mi"},
    "lastSeenAt": "2026-11-01T11:00:00Z",
}


def paused(until="2026-11-01T12:05:00Z", failures=1, message="server limit exceeded"):
    times = {"lastFailureAt": "2026-11-01T12:00:00Z", "until": until}
    return {"message": message, "failures": failures} | times


async def status_of(life):
    return (await life.find(KWOK_NODE_CLASSES, "default")).get("status", {})


async def set_status(life, status):
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", status)


async def refused(life, error=None):
    """A request whose create call the account is refused."""
    await life.add_request()
    life.cloud.fail["create"] = error or QuotaExceeded("server limit exceeded")
    seen = await life.do("create_server")
    life.cloud.fail.clear()
    return seen


async def end_record(life):
    await life.do("finish_request")
    assert await life.request() is None


async def test_a_quota_pauses_the_class_and_not_the_offering(life):
    seen = await refused(life)
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "QuotaExceeded")
    assert seen.status.message == "server limit exceeded"
    assert seen.status.expires_at == START + timedelta(minutes=5)
    assert await status_of(life) == {"pause": paused()}
    assert ("NodeRequest", "QuotaExceeded") in await life.event_reasons()


async def test_the_word_of_the_planner_is_the_reason_of_the_error():
    assert QuotaExceeded.reason == QUOTA_EXCEEDED
    assert QuotaExceeded.reason in OF_THE_ACCOUNT
    assert InsufficientCapacity.reason not in OF_THE_ACCOUNT


async def test_what_else_the_class_knows_stays(life):
    await set_status(life, {"learned": [LEARNED], "serverTypes": [{"name": "a kind of its own"}]})
    await refused(life)
    status = await status_of(life)
    assert status.pop("pause") == paused()
    assert status == {"learned": [LEARNED], "serverTypes": [{"name": "a kind of its own"}]}


async def test_a_second_refusal_in_the_same_pause_does_not_count_and_ends_with_it(life):
    before = paused("2026-11-01T12:20:00Z", failures=3)

    async def sibling():
        await set_status(life, {"pause": before})

    life.cloud.during["create"] = sibling
    seen = await refused(life)
    assert (await status_of(life))["pause"] == before
    assert seen.status.expires_at == START + timedelta(minutes=20)


async def test_a_refusal_after_the_pause_doubles_it(life):
    await refused(life)
    life.pass_time(300)
    await end_record(life)
    seen = await refused(life, QuotaExceeded("Primary IP limit exceeded"))
    assert seen.status.expires_at == START + timedelta(minutes=5 + 10)
    pause = (await status_of(life))["pause"]
    assert (pause["failures"], pause["message"]) == (2, "Primary IP limit exceeded")


async def test_a_pending_request_of_the_class_is_unmet_without_a_call(life):
    await set_status(life, {"pause": paused()})
    await life.add_request()
    seen = await life.do("create_server", CREATE)
    assert (seen.status.phase, life.cloud.calls) == ("Pending", [])
    assert (seen.buying_paused_until, seen.pause_message) == (START + timedelta(minutes=5), "server limit exceeded")
    assert seen.offering_unavailable_until is None
    seen = await life.do("mark_unmet")
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "BuyingPaused")
    assert seen.status.message == "Nothing of its class is bought until then: server limit exceeded"
    assert seen.status.expires_at == START + timedelta(minutes=5)
    assert life.cloud.calls == []
    assert ("NodeRequest", "BuyingPaused") in await life.event_reasons()


async def test_once_the_pause_is_over_it_is_asked_for(life):
    await set_status(life, {"pause": paused()})
    await life.add_request()
    life.pass_time(300)
    seen = await life.do("create_server")
    assert (seen.status.phase, life.cloud.calls.count("create")) == ("Provisioning", 1)


async def test_the_way_of_a_request_that_may_have_a_server_is_not_cut_short(life):
    await life.add_request()
    life.cloud.fail["create"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await life.do("create_server")
    await set_status(life, {"pause": paused()})
    life.cloud.fail.clear()
    assert (await life.do("create_server")).status.phase == "Provisioning"


async def test_a_refusal_after_an_unknown_outcome_pauses_too(life):
    await life.add_request({"phase": "Pending", "attempts": 1, "createAttemptAt": START})
    life.cloud.fail["create"] = QuotaExceeded("server limit exceeded")
    seen = await life.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "CapacityAfterUnknown")
    assert await status_of(life) == {"pause": paused()}


async def become_ready(life):
    await life.add_node(ready=True)
    await life.do("register_node")
    await life.do("mark_ready")


async def test_a_machine_that_was_asked_for_after_the_pause_ends_the_memory_of_it(life):
    await refused(life)
    life.pass_time(300)
    await end_record(life)
    await life.add_request()
    await life.do("create_server")
    assert "pause" in await status_of(life), "a server that was had is no machine yet"
    await become_ready(life)
    assert "pause" not in await status_of(life)


async def test_a_machine_that_was_asked_for_in_the_pause_does_not_end_it(life):
    """It was under way beside the one that was refused, and took what the account still had."""
    await life.add_request()
    await life.do("create_server")
    await set_status(life, {"pause": paused()})
    await become_ready(life)
    assert (await status_of(life))["pause"] == paused()


async def test_one_machine_ends_the_memory_of_its_misses_and_of_the_pause_at_once(life):
    miss = {"serverType": "cx32", "location": "fsn1", "failures": 2}
    times = {"lastFailureAt": "2026-11-01T11:50:00Z", "until": "2026-11-01T12:00:00Z"}
    await set_status(life, {"pause": paused("2026-11-01T12:00:00Z"), "unavailable": [miss | times]})
    await life.add_request()
    await life.do("create_server")
    await become_ready(life)
    assert await status_of(life) == {"unavailable": []}


@pytest.mark.parametrize("error", [Unreachable("?"), Conflict("?")], ids=lambda e: e.reason)
async def test_a_note_that_cannot_be_written_does_not_undo_the_providers_answer(life, error):
    life.cluster.refuse_writes(error, "patch", KWOK_NODE_CLASSES)
    seen = await refused(life)
    assert (seen.status.phase, seen.status.expires_at) == ("Unmet", START + timedelta(minutes=5))
    assert "pause" not in await status_of(life)


async def test_a_class_that_is_gone_pauses_its_request_alone(life):
    async def tear():
        await MemoryCluster.delete(life.cluster, KWOK_NODE_CLASSES, "default")

    life.cloud.during["create"] = tear
    seen = await refused(life)
    assert (seen.status.phase, seen.status.expires_at) == ("Unmet", START + timedelta(minutes=5))


async def test_the_longest_words_of_a_provider_are_cut(life):
    await life.add_request()
    life.cloud.fail["create"] = QuotaExceeded("x" * 5000)
    await life.do("create_server")
    # 1024 is the longest that the definition of the class takes.
    assert (await status_of(life))["pause"]["message"] == f"{'x' * 1021}..."


async def test_many_requests_that_are_refused_at_once_count_once(life, caplog):
    await life.add_request()
    spec = NodeRequest.model_validate(await life.request()).spec
    ends = [await note_pause(life.ports, spec, f"refusal {number}") for number in range(5)]
    assert set(ends) == {START + timedelta(minutes=5)}
    pause = (await status_of(life))["pause"]
    assert (pause["failures"], pause["message"]) == (1, "refusal 0")
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "KwokNodeClass/default buys nothing until 2026-11-01 12:05:00 UTC: refusal 0"
    ]
