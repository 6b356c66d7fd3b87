"""What a person decides about a removal without waiting for an answer: by signal, or on the object."""

from datetime import timedelta

import pytest

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import DecisionSeen, ServerSeen
from tests.workflows.scripts import NAME, leaving, running_removal, start_removal, stubborn
from tests.workflows.world import PlannerEar, Script, running
from workflows.messages import Asked, LifecycleReport

TO_PARKED_SECONDS = 220
"""60 s of cool-off, then 5 delete calls 30 s apart: the defaults of `RemovalTimings`."""
RETRIED = ["resume_removal", "delete_server", "delete_node", "finish_removal"]


def decidable(script: Script) -> Script:
    """Let the annotation go when it is answered, and the server at the first call after a retry."""

    def resume(_):
        script.status(phase="Deprovisioning", reason="Retry", removal_attempts=0, retry_at=None)
        script.on(RemovalEffect.DELETE_SERVER, lambda _: script.see(server=ServerSeen.ABSENT))

    script.on(RemovalEffect.ANSWER, lambda _: script.see(decision=None))
    script.on(RemovalEffect.RESUME, resume)
    return script


async def annotate(handle, script: Script, word: str) -> None:
    """Write the annotation; the watch wakes the workflow."""
    script.see(decision=DecisionSeen(word=word, by="kubectl-annotate"))
    await handle.signal("wake", "object changed")


async def test_an_annotation_cancels_and_the_planner_hears_of_it(skipping):
    script = decidable(leaving())
    async with PlannerEar(skipping.client, "test") as planner, running(skipping.client, script.activities()):
        handle = await start_removal(skipping)
        await skipping.sleep(20)
        await annotate(handle, script, "cancel")
        await handle.result()
        heard = await planner.heard()
    assert script.deeds == ["taint_node", "cancel_removal", "untaint_node", "finish_removal"]
    assert script.seen.status.cancel.reason == "Cancelled by annotation"
    assert heard[0] == f"removal {NAME} was cancelled by kubectl-annotate"


async def test_an_annotation_retries_once_and_goes_before_the_next_call(skipping):
    script = decidable(stubborn())
    async with running_removal(skipping, script, seconds=TO_PARKED_SECONDS) as handle:
        await annotate(handle, script, "retry")
        await handle.result()
    assert script.deeds[-5:] == ["resume_removal", "answer_decision", *RETRIED[1:]]


@pytest.mark.parametrize(("word", "reason"), [("retry", "DecisionRefused"), ("stop", "DecisionUnknown")])
async def test_an_annotation_without_an_effect_is_answered_and_the_wait_goes_on(skipping, word, reason):
    script = decidable(leaving())
    async with running_removal(skipping, script, seconds=20) as handle:
        await annotate(handle, script, word)
        await skipping.sleep(10)
        assert (await handle.query("state", result_type=LifecycleReport)).reason == "CoolOff"
        assert [asked.act.reason for asked in script.acts] == ["CoolOff", reason]
        await handle.result()
    assert script.deeds.count("answer_decision") == 1


async def test_a_message_waits_until_the_annotation_is_answered(skipping):
    script = decidable(stubborn())
    async with running_removal(skipping, script, seconds=TO_PARKED_SECONDS) as handle:
        script.see(decision=DecisionSeen(word="rtry"))
        answer = await handle.execute_update("retry", Asked(by="Ann", reason="unlocked it"), result_type=str)
        await handle.result()
    assert answer == "tried again; its delete calls begin anew"
    assert script.deeds[-5:] == ["answer_decision", *RETRIED]


@pytest.mark.parametrize(
    ("signal", "deeds"), [("retry", RETRIED), ("skip", ["skip_server"]), ("abandon", ["abandon_server"])]
)
async def test_a_signal_decides_about_a_parked_removal_also_while_no_worker_is_up(skipping, signal, deeds):
    script = decidable(stubborn())
    retry_at = await skipping.get_current_time() + timedelta(hours=4)
    script.status(phase=RemovalPhase.COULD_NOT_REMOVE, reason="RemovalFailed", retry_at=retry_at)
    # Without a cache no task waits for the worker that is gone.
    async with running_removal(skipping, script, seconds=20, max_cached_workflows=0) as handle:
        assert (await handle.query("state", result_type=LifecycleReport)).reason == "Parked"
    assert script.deeds == []
    await handle.signal(signal, Asked(by="Ann"))
    async with running(skipping.client, script.activities(), max_cached_workflows=0):
        await handle.result()
    assert script.deeds == deeds
    assert next(asked.act.by for asked in script.acts if asked.act.effect == deeds[0]) == "Ann"


@pytest.mark.parametrize("signal", ["retry", "skip", "abandon"])
async def test_a_signal_that_comes_too_early_has_no_effect_later(skipping, signal):
    script = decidable(leaving())
    async with running_removal(skipping, script, seconds=20) as handle:
        await handle.signal(signal)
        await handle.result()
    assert script.deeds == ["taint_node", "commit_removal", "delete_server", "delete_node", "finish_removal"]
