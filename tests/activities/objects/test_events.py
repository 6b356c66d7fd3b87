"""Kubernetes Events: the right shape, seldom, and never in the way of the work they tell of."""

import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.objects import events
from activities.objects.events import QUIET_FOR, ROUND_BUDGET, Recorder
from activities.ports.cluster import EVENTS
from activities.ports.errors import Rejected, Unreachable
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import PlannedEvent
from tests.activities.bodies import pool
from tests.activities.rounds import World

POD_EVENT = PlannedEvent(
    kind="Pod", name="web-1", namespace="shop", uid="u-1", reason="NoPlace", message="too big", warning=True
)
POOL_EVENT = PlannedEvent(kind="NodePool", name="default", namespace=None, uid="u-2", reason="AtMax", message="full")


@pytest.fixture
def world():
    return World()


@pytest.fixture
def recorder(world):
    return Recorder(world.ports)


async def stored_events(world):
    return (await world.cluster.list(EVENTS)).items


def many(count):
    return [replace(POD_EVENT, name=f"web-{n}", uid=f"u-{n}") for n in range(count)]


async def test_an_event_has_the_fields_that_the_api_server_asks_for(world, recorder):
    # Source: Kubernetes API reference, events.k8s.io/v1 Event; required are eventTime (MicroTime),
    # reportingController, reportingInstance, action, reason and type.
    await recorder.tell(POD_EVENT)
    [event] = await stored_events(world)
    assert event["metadata"]["namespace"] == "shop"
    assert event["metadata"]["name"].startswith("web-1.")
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web-1",
        "uid": "u-1",
    }
    assert event["reportingController"] == "growth.dev/growth"
    assert event["reportingInstance"] == "growth-test"
    assert event["metadata"]["labels"] == {"growth.dev/cluster": "test"}
    assert event["eventTime"] == "2026-11-01T12:00:00.000000Z"
    assert (event["reason"], event["type"], event["note"]) == ("NoPlace", "Warning", "too big")
    assert event["action"] == "Place"


async def test_an_event_on_a_cluster_scoped_object_lies_in_the_namespace_default(world, recorder):
    await recorder.tell(POOL_EVENT)
    [event] = await stored_events(world)
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"] == {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodePool",
        "name": "default",
        "uid": "u-2",
    }
    assert event["type"] == "Normal"


async def test_a_long_note_is_cut_to_1024_bytes_and_not_within_a_character(world, recorder):
    await recorder.tell(replace(POD_EVENT, message="ü" * 1000))
    [event] = await stored_events(world)
    note = event["note"]
    assert 1020 < len(note.encode()) <= 1024
    assert note.rstrip(".") == "ü" * (len(note) - 3)


async def test_the_same_event_is_told_once_in_five_minutes(world, recorder):
    await recorder.tell(POD_EVENT)
    world.pass_time(timedelta(minutes=4, seconds=59))
    await recorder.tell(replace(POD_EVENT, message="still too big"))
    assert len(await stored_events(world)) == 1
    world.pass_time(timedelta(seconds=1))
    await recorder.tell(POD_EVENT)
    assert len(await stored_events(world)) == 2


async def test_another_reason_and_another_object_are_news(world, recorder):
    await recorder.tell(POD_EVENT)
    await recorder.tell(replace(POD_EVENT, reason="Placed"))
    await recorder.tell(replace(POD_EVENT, uid="u-9"))
    assert len(await stored_events(world)) == 3


async def test_another_machine_is_news(world, recorder):
    """A pod whose machine never came must not name it for ever. Source: issue 17, section 4."""
    for machine in ("m-1", "m-2", "m-1"):
        await recorder.tell(replace(POD_EVENT, message=f"Machine {machine} is to take it", machine=machine))
    assert [event["note"] for event in await stored_events(world)] == [
        "Machine m-1 is to take it",
        "Machine m-2 is to take it",
    ]


async def test_objects_without_uid_are_told_apart_by_name(world, recorder):
    await recorder.tell(replace(POD_EVENT, uid=""))
    await recorder.tell(replace(POD_EVENT, uid="", name="web-2"))
    await recorder.tell(replace(POD_EVENT, uid="", name="web-2"))
    written = await stored_events(world)
    assert [event["regarding"]["name"] for event in written] == ["web-1", "web-2"]
    assert all("uid" not in event["regarding"] for event in written)


@pytest.mark.parametrize("error", [Unreachable("no answer"), Rejected("forbidden"), RuntimeError("a defect")])
async def test_a_failure_is_logged_and_the_event_is_told_the_next_time(world, recorder, error, caplog):
    world.cluster.fail_with = error
    with caplog.at_level(logging.WARNING):
        await recorder.tell(POD_EVENT)
    assert "NoPlace on Pod web-1 was not written" in caplog.text
    world.cluster.fail_with = None
    await recorder.tell(POD_EVENT)
    assert len(await stored_events(world)) == 1


async def test_memory_is_bounded_and_forgets_what_was_told_longest_ago(world, recorder, monkeypatch):
    monkeypatch.setattr(events, "_REMEMBERED", 3)
    for event in many(4):
        await recorder.tell(event)
    assert len(recorder._written_at) == 3
    await recorder.tell(many(4)[3])
    assert len(await stored_events(world)) == 4
    world.pass_time(timedelta(seconds=1))
    await recorder.tell(many(4)[0])
    assert len(await stored_events(world)) == 5


async def test_what_is_no_news_any_more_is_not_kept(world, recorder):
    for event in many(100):
        await recorder.tell(event)
    world.pass_time(QUIET_FOR - timedelta(seconds=1))
    await recorder.tell(many(102)[100])
    assert len(recorder._written_at) == 101
    world.pass_time(timedelta(seconds=1))
    await recorder.tell(many(102)[101])
    assert len(recorder._written_at) == 2


async def test_a_round_tells_fifty_and_sums_the_rest_up_on_the_pool_that_takes_unselected_pods(world, recorder):
    pools = [NodePool.model_validate(pool("aaa")), NodePool.model_validate(pool("default"))]
    await recorder.tell_round(many(120), pools)
    written = await stored_events(world)
    assert len(written) == ROUND_BUDGET == 50
    [summed] = [event for event in written if event["reason"] == "MoreEvents"]
    assert summed["regarding"]["name"] == "default"
    assert summed["note"] == "71 more events in this round: 71 x NoPlace on Pod"
    assert summed["type"] == "Warning"


async def test_what_was_summed_up_is_told_in_later_rounds(world, recorder):
    pools = [NodePool.model_validate(pool("default"))]
    for _ in range(3):
        await recorder.tell_round(many(120), pools)
    names = {e["regarding"]["name"] for e in await stored_events(world) if e["reason"] == "NoPlace"}
    assert len(names) == 120


async def test_fifty_events_need_no_sum_and_repeated_ones_do_not_count(world, recorder):
    await recorder.tell_round([*many(50), *many(50)], [])
    assert len(await stored_events(world)) == 50
    assert all(event["reason"] == "NoPlace" for event in await stored_events(world))


async def test_without_a_pool_the_rest_is_logged(world, recorder, caplog):
    with caplog.at_level(logging.WARNING):
        await recorder.tell_round(many(60), [])
    assert len(await stored_events(world)) == 49
    assert "11 more events in this round" in caplog.text


async def test_event_names_are_valid_for_the_longest_object_names(world, recorder):
    await recorder.tell(replace(POD_EVENT, name="a" * 229 + "." + "b" * 23))
    [event] = await stored_events(world)
    assert event["metadata"]["name"].startswith("a" * 229 + ".")
    assert ".." not in event["metadata"]["name"]
    assert len(event["metadata"]["name"]) <= 253
