"""What the Temporal UI shows of a life, and with how few events."""

import json
from collections.abc import Sequence
from datetime import timedelta

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHandle

from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalTimings
from planner.lifecycle.step import DecisionKind
from tests.workflows.scripts import NAME, leaving, machine
from tests.workflows.world import QUEUE, clock, running
from workflows.removal_details import description

SUBJECT = ObjectId(name=NAME, uid="u-1")
REMOVAL_ID = REMOVAL.workflow_id("test", SUBJECT)
REQUEST_ID = REQUEST.workflow_id("test", SUBJECT)


async def start(env, kind: str, workflow_id: str) -> WorkflowHandle:
    return await env.client.start_workflow(kind, SUBJECT, id=workflow_id, task_queue=QUEUE)


async def life(env, kind: str, workflow_id: str, script) -> Sequence[HistoryEvent]:
    """Live a whole life and return its history."""
    async with running(env.client, script.activities()):
        handle = await start(env, kind, workflow_id)
        await handle.result()
        return (await handle.fetch_history()).events


def upserts(events: Sequence[HistoryEvent]) -> list[dict[str, str | None]]:
    """Return what each change of search attributes changed."""
    changes = [
        event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
        for event in events
        if event.HasField("upsert_workflow_search_attributes_event_attributes")
    ]
    return [
        {key: json.loads(payload.data) if payload.data else None for key, payload in one.items()} for one in changes
    ]


def summaries(events: Sequence[HistoryEvent], kind: str) -> list[str]:
    """Return what is said of each activity or timer."""
    return [json.loads(event.user_metadata.summary.data) for event in events if event.HasField(kind)]


async def test_a_calm_removal_is_found_by_few_changes(skipping):
    events = await life(skipping, "NodeRemoval", REMOVAL_ID, leaving())
    changes = upserts(events)
    assert [(one.get("GrowthPhase"), one.get("GrowthReason")) for one in changes] == [
        ("Pending", "CoolOff"),  # all that a start by the planner or keeper would have set
        (None, None),  # the deadline, once the effect has set it
        ("Deprovisioning", "DeleteServer"),
        ("Gone", "Removed"),
    ]
    assert set(changes[1]) == {"GrowthDeadline"}


async def test_a_calm_request_is_found_by_few_changes(skipping):
    events = await life(skipping, "NodeRequest", REQUEST_ID, machine())
    assert [(one.get("GrowthPhase"), one.get("GrowthReason")) for one in upserts(events)] == [
        ("Pending", "CreateServer"),
        ("Provisioning", "Running"),
        ("Ready", "PodsBound"),
        (None, "Record"),
        ("Gone", "Ready"),
    ]


async def test_an_unmet_request_is_found_by_why_it_is_unmet(skipping):
    script = machine()
    status = {"phase": "Unmet", "reason": "InsufficientCapacity"}
    script.on(RequestEffect.CREATE_SERVER, lambda _: script.status(**status, expires_at=clock() + timedelta(minutes=2)))
    events = await life(skipping, "NodeRequest", REQUEST_ID, script)
    assert [(one.get("GrowthPhase"), one.get("GrowthReason")) for one in upserts(events)] == [
        ("Pending", "CreateServer"),
        ("Unmet", "InsufficientCapacity"),
        ("Gone", None),  # the reason stays
    ]


async def test_no_change_repeats_a_value(skipping):
    events = await life(skipping, "NodeRequest", REQUEST_ID, machine())
    known: dict[str, str | None] = {}
    for change in upserts(events):
        assert not set(change.items()) & set(known.items())
        known |= change


async def test_every_activity_and_timer_says_what_it_is_about(skipping):
    script = leaving()
    script.see(timings=RemovalTimings(soft_grace=RemovalTimings().soft_grace / 6))  # 10 s: no look in between
    events = await life(skipping, "NodeRemoval", REMOVAL_ID, script)
    assert summaries(events, "activity_task_scheduled_event_attributes") == [
        "Look: the start",
        "Cool-off: no new pods; the node goes unless pods or people want it back",
        "Look: by the timer",
        "The node is empty after its cool-off: delete it",
        "Ask the provider to delete the server",
        "Delete the Node object",
        "The server no longer exists",
    ]
    [timer] = summaries(events, "timer_started_event_attributes")
    assert timer.startswith("Until ")
    assert timer.endswith(
        " UTC: Cool-off: no new pods come, and it can be cancelled until the deadline. "
        "At the deadline its server is deleted"
    )


async def test_a_look_says_who_asked_for_it(skipping):
    script = leaving()
    async with running(skipping.client, script.activities()):
        handle = await start(skipping, "NodeRemoval", REMOVAL_ID)
        await skipping.sleep(5)
        await handle.signal("wake", "node changed")
        await skipping.sleep(5)
        await handle.execute_update("cancel", result_type=str)
        await handle.result()
        events = (await handle.fetch_history()).events
    looks = [one for one in summaries(events, "activity_task_scheduled_event_attributes") if one.startswith("Look")]
    assert looks == ["Look: the start", "Look: node changed", "Look: cancel by Person"]


async def test_of_several_wakes_before_a_look_the_first_is_told(skipping):
    """It is what the look is for: the others came while it was awaited."""
    handle = await start(skipping, "NodeRemoval", REMOVAL_ID)
    for reason in ("node changed", "pod gone"):
        await handle.signal("wake", reason)
    async with running(skipping.client, leaving().activities()):
        await handle.result()
        events = (await handle.fetch_history()).events
    looks = summaries(events, "activity_task_scheduled_event_attributes")
    assert looks[0] == "Look: node changed"


async def test_after_the_end_it_is_told_how_it_ended_and_nothing_that_was_seen_before(skipping):
    async with running(skipping.client, leaving().activities()):
        handle = await start(skipping, "NodeRemoval", REMOVAL_ID)
        assert await handle.result() == "Removed: The server no longer exists"
        metadata = await handle.query("__temporal_workflow_metadata")
    assert metadata.current_details == "**Gone** · Removed\n\nThe server no longer exists"


async def test_the_dialogs_say_what_each_message_does(skipping):
    script = leaving()
    script.on(RemovalEffect.TAINT_NODE, lambda _: script.see(exists=False))
    async with running(skipping.client, script.activities()):
        await (await start(skipping, "NodeRemoval", REMOVAL_ID)).result()
        metadata = await skipping.client.get_workflow_handle(REMOVAL_ID).query("__temporal_workflow_metadata")
    words = ("abandon", "cancel", "retry", "skip")
    updates = {one.name: one.description for one in metadata.definition.update_definitions}
    signals = {one.name: one.description for one in metadata.definition.signal_definitions}
    assert updates == {word: description(DecisionKind(word)) for word in words}
    assert {word: signals[word] for word in words} == updates
    assert signals["wake"] == "Looks at once at what is there now. Harmless; needs no input."
    assert [one.description for one in metadata.definition.query_definitions if one.name == "state"] == [
        "Tells where it stands, what is awaited, and what a person can do now."
    ]
