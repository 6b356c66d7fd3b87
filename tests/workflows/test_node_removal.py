from datetime import timedelta

import pytest
from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError, WorkflowUpdateStage
from temporalio.exceptions import ApplicationError

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import RemovalTimings, ServerSeen
from tests.tables import rows
from tests.workflows.scripts import NAME, leaving, running_removal, start_removal, stubborn
from tests.workflows.world import PlannerEar, running
from workflows.messages import PHASE, Asked, LifecycleReport


async def parked(env, handle: WorkflowHandle) -> None:
    """Let time pass until the removal is parked: 60 s of cool-off, then 5 calls 30 s apart."""
    await env.sleep(220)
    assert (await handle.query("state", result_type=LifecycleReport)).reason == "Parked"


async def refused(handle: WorkflowHandle, update: str) -> str:
    """Send an update that has no effect and return why."""
    with pytest.raises(WorkflowUpdateFailedError) as error:
        await handle.execute_update(update, Asked(by="Ann"))
    cause = error.value.cause
    assert isinstance(cause, ApplicationError)
    assert cause.type == "Refused"
    return cause.message


async def test_an_empty_machine_goes_after_its_cool_off(skipping):
    script = leaving()
    script.see(timings=RemovalTimings(soft_grace=timedelta(minutes=10)))
    before = await skipping.get_current_time()
    async with PlannerEar(skipping.client, "test") as planner, running(skipping.client, script.activities()):
        assert await (await start_removal(skipping)).result() == "Removed: The server no longer exists"
        heard = await planner.heard()
    assert script.deeds == ["taint_node", "commit_removal", "delete_server", "delete_node", "finish_removal"]
    assert await skipping.get_current_time() - before >= timedelta(minutes=10)
    assert heard == [f"removal {NAME} ended"]


async def test_an_occupied_machine_stays(skipping):
    script = leaving()
    script.see(occupants=("default/web",), occupant_count=1)
    async with running_removal(skipping, script) as handle:
        await handle.result()
    assert script.deeds == ["taint_node", "cancel_removal", "untaint_node", "finish_removal"]
    assert script.seen.status.cancel.by == "NotEmpty"


async def test_an_update_cancels_during_the_cool_off_and_returns_when_it_is_recorded(skipping):
    script = leaving()
    async with PlannerEar(skipping.client, "test") as planner, running(skipping.client, script.activities()):
        handle = await start_removal(skipping)
        await skipping.sleep(20)
        answer = await handle.execute_update("cancel", Asked(by="Ann", reason="I need it"), result_type=str)
        assert "cancel_removal" in script.deeds
        assert await handle.result() == "Cancelled: by Ann: I need it; the machine stays"
        heard = await planner.heard()
    assert answer == "cancelled; the machine stays"
    assert script.deeds == ["taint_node", "cancel_removal", "untaint_node", "finish_removal"]
    cancel = script.seen.status.cancel
    assert (cancel.by, cancel.reason) == ("Ann", "I need it")
    assert heard[0] == f"removal {NAME} was cancelled by Ann"


async def test_a_cancel_that_lost_a_race_is_not_answered_before_it_is_recorded(skipping):
    """Somebody else has written on the removal: the effect changes nothing, and is asked for again after a pause."""
    script = leaving()
    record, lost = script.does(RemovalEffect.CANCEL), iter([True])
    script.on(RemovalEffect.CANCEL, lambda asked: None if next(lost, None) else record(asked))
    async with running_removal(skipping, script, seconds=20) as handle:
        update = await handle.start_update("cancel", result_type=str, wait_for_stage=WorkflowUpdateStage.ACCEPTED)
        # Nobody who waits for an update lets the server skip time.
        await skipping.sleep(10)
        assert await update.result() == "cancelled; the machine stays"
        assert (await handle.result()).startswith("Cancelled: by Person")
    assert script.deeds == ["taint_node", "cancel_removal", "cancel_removal", "untaint_node", "finish_removal"]


@rows(
    ("send", "end"),
    {
        "a signal": (lambda handle: handle.signal("cancel", Asked(by="Ann")), "Cancelled: by Ann"),
        "an update without a body": (lambda handle: handle.execute_update("cancel"), "Cancelled: by Person"),
        "a cancellation of the workflow": (
            lambda handle: handle.cancel(),
            "Cancelled: by Person: The workflow was cancelled; the machine stays",
        ),
    },
)
async def test_a_cool_off_is_cancelled_by(skipping, send, end):
    script = leaving()
    async with running_removal(skipping, script, seconds=20) as handle:
        assert await send(handle) in {None, "cancelled; the machine stays"}
        assert (await handle.result()).startswith(end)
    assert script.deeds == ["taint_node", "cancel_removal", "untaint_node", "finish_removal"]
    assert script.seen.status.cancel.by == end.removeprefix("Cancelled: by ").partition(":")[0]


async def test_a_cancel_before_the_first_look_is_kept(skipping):
    script = leaving()
    handle = await start_removal(skipping)
    await handle.signal("cancel", Asked(by="Ann"))
    async with running(skipping.client, script.activities()):
        await handle.result()
    assert script.deeds == ["cancel_removal", "finish_removal"]


async def test_a_cancel_after_the_point_of_no_return_is_refused_and_the_machine_goes(skipping):
    script = stubborn()
    async with running_removal(skipping, script, seconds=90) as handle:  # cool-off 60 s, then a delete call each 30 s
        assert script.seen.status.phase is RemovalPhase.DEPROVISIONING
        why = await refused(handle, "cancel")
        assert why.startswith(f"{NAME}: too late to cancel: the server is being deleted; ")
        await handle.signal("cancel", Asked(by="Bob"))
        await handle.cancel()
        script.see(server=ServerSeen.ABSENT)
        assert await handle.result() == "Removed: The server no longer exists"
    assert script.seen.status.cancel is None
    assert script.deeds[-2:] == ["delete_node", "finish_removal"]


async def test_a_cancellation_that_came_too_late_is_answered_once(skipping):
    """Taken again at each step, it would wake its own removal for ever."""
    script = stubborn()
    async with running_removal(skipping, script, seconds=90) as handle:
        assert script.seen.status.phase is RemovalPhase.DEPROVISIONING
        before = len(script.calls)
        await handle.cancel()
        await skipping.sleep(20)
        calls = len(script.calls) - before
        script.see(server=ServerSeen.ABSENT)
        assert await handle.result() == "Removed: The server no longer exists"
    # The look that it asks for, one about each 5 s, and a delete call.
    assert 1 <= calls <= 12


@pytest.mark.parametrize("update", ["retry", "skip", "abandon"])
async def test_what_is_for_parked_removals_is_refused_before(skipping, update):
    script = leaving()
    async with running_removal(skipping, script, seconds=20) as handle:
        why = await refused(handle, update)
        assert why.startswith(f"{NAME}: cannot {update}: the removal is not parked, it cools off; cancel it")


async def test_a_stubborn_server_parks_the_removal_and_retry_makes_it_go(skipping):
    script = stubborn()
    async with running_removal(skipping, script) as handle:
        await parked(skipping, handle)
        assert script.deeds[-6:] == ["delete_server"] * 5 + ["park_removal"]  # 5: the default of `RemovalTimings`
        assert (await handle.describe()).typed_search_attributes.get(PHASE) == "CouldNotRemove"
        script.on(RemovalEffect.DELETE_SERVER, lambda _: script.see(server=ServerSeen.ABSENT))
        answer = await handle.execute_update("retry", Asked(by="Ann", reason="unlocked it"), result_type=str)
        assert await handle.result() == "Removed: The server no longer exists"
    assert answer == "tried again; its delete calls begin anew"
    assert script.deeds[-4:] == ["resume_removal", "delete_server", "delete_node", "finish_removal"]


async def test_a_retry_is_taken_while_the_answer_of_the_parking_is_lost(skipping):
    """As when the worker that parked it was killed: its object is parked, and its workflow does not know yet."""
    script = stubborn()

    def park(asked):
        is_first = script.seen.status.phase is not RemovalPhase.COULD_NOT_REMOVE
        script.status(phase=RemovalPhase.COULD_NOT_REMOVE, reason="RemovalFailed", retry_at=asked.act.until)
        if is_first:
            raise ApplicationError("the answer is lost", next_retry_delay=timedelta(seconds=60))

    script.on(RemovalEffect.PARK, park)
    async with running_removal(skipping, script, seconds=220) as handle:
        assert script.deeds[-1] == "park_removal"
        assert (await handle.query("state", result_type=LifecycleReport)).phase == "Deprovisioning"
        script.on(RemovalEffect.DELETE_SERVER, lambda _: script.see(server=ServerSeen.ABSENT))
        update = await handle.start_update(
            "retry", Asked(by="Ann"), result_type=str, wait_for_stage=WorkflowUpdateStage.ACCEPTED
        )
        # Nobody who waits for an update lets the server skip time.
        await skipping.sleep(60)
        answer = await update.result()
        assert await handle.result() == "Removed: The server no longer exists"
    assert answer == "tried again; its delete calls begin anew"
    assert script.deeds[-5:] == ["park_removal", "resume_removal", "delete_server", "delete_node", "finish_removal"]


@pytest.mark.parametrize(
    ("update", "effect", "end"), [("skip", "skip_server", "Skipped"), ("abandon", "abandon_server", "Abandoned")]
)
async def test_a_person_ends_a_parked_removal(skipping, update, effect, end):
    script = stubborn()
    async with running_removal(skipping, script) as handle:
        await parked(skipping, handle)
        await handle.execute_update(update, Asked(by="Ann"), result_type=str)
        assert (await handle.result()).startswith(f"{end}: by Ann: ")
    assert script.deeds[-1] == effect
    assert script.acts[-1].act.by == "Ann"


async def test_a_parked_removal_tries_again_by_itself(skipping):
    script = stubborn()
    before = await skipping.get_current_time()

    def resume(_):
        script.status(phase=RemovalPhase.DEPROVISIONING, removal_attempts=0)
        script.see(server=ServerSeen.ABSENT)

    script.on(RemovalEffect.RESUME, resume)
    async with running_removal(skipping, script) as handle:
        await handle.result()
    assert "resume_removal" in script.deeds
    assert await skipping.get_current_time() - before >= timedelta(hours=4)  # the default of `RemovalTimings`


async def test_of_two_decisions_the_second_is_answered_with_what_the_first_left(skipping):
    script = stubborn()
    async with running_removal(skipping, script) as handle:
        await parked(skipping, handle)
        first = await handle.start_update("skip", Asked(by="Ann"), wait_for_stage=WorkflowUpdateStage.ACCEPTED)
        second = await handle.start_update("retry", Asked(by="Bob"), wait_for_stage=WorkflowUpdateStage.ACCEPTED)
        assert await first.result() == "skipped; its server counts as gone, and its Node is deleted"
        with pytest.raises(WorkflowUpdateFailedError) as error:
            await second.result()
        assert "the removal has ended" in str(error.value.cause)
        assert await handle.result() == "Skipped: by Ann: Treat the server as gone: delete the Node object and end"
