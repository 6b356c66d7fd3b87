"""The drain of a removal as a workflow: what is awaited, what a person sees and decides, how it survives a loss."""

from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError

from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import Blocker, DrainSeen, RemovalTimings
from tests.workflows.scripts import crowded, forced, given_up, guarded, running_removal, start_removal
from tests.workflows.world import clock, running
from workflows.messages import DEADLINE, PHASE, REASON, Asked, LifecycleReport

GOES = ["commit_removal", "delete_server", "delete_node", "finish_removal"]


async def test_an_occupied_machine_is_drained_and_goes(skipping):
    script = crowded()
    async with running_removal(skipping, script) as handle:
        assert await handle.result() == "Removed: The server no longer exists"
    assert script.deeds == ["taint_node", "begin_drain", "evict_pods", *GOES]


async def test_a_budget_that_never_allows_it_is_seen_and_asked_rarely(skipping):
    script = guarded()
    async with running_removal(skipping, script, seconds=3600) as handle:
        report = await handle.query("state", result_type=LifecycleReport)
        attributes = (await handle.describe()).typed_search_attributes
        await handle.execute_update("cancel", Asked(by="Ann"))
        await handle.result()
    assert (report.phase, report.reason, report.choices) == ("Draining", "BlockedByBudget", ("cancel",))
    assert report.message == (
        "The disruption budget web needs 1 healthy pods. At the deadline: Evict 2 pods; system-critical ones go last"
    )
    assert (attributes.get(PHASE), attributes.get(REASON)) == ("Draining", "BlockedByBudget")
    assert attributes.get(DEADLINE) == report.until
    # 10, 20, 40, 80, 160 s, then every 5 min: 16 rounds in an hour, of which the cool-off takes a minute.
    assert 14 <= script.deeds.count("evict_pods") <= 16
    assert script.deeds[-3:] == ["cancel_removal", "untaint_node", "finish_removal"]


@pytest.mark.parametrize("way", ["update", "signal", "workflow"])
async def test_every_way_of_cancelling_ends_a_drain(skipping, way):
    script = guarded()
    async with running_removal(skipping, script, seconds=100) as handle:
        assert script.seen.status.phase == "Draining"
        if way == "update":
            assert await handle.execute_update("cancel", Asked(by="Ann")) == "cancelled; the machine stays"
        elif way == "signal":
            await handle.signal("cancel", Asked(by="Ann"))
        else:
            await handle.cancel()
        assert (await handle.result()).startswith("Cancelled: by ")
    assert script.deeds[-3:] == ["cancel_removal", "untaint_node", "finish_removal"]


async def test_what_is_for_parked_removals_is_refused(skipping):
    script = guarded()
    async with running_removal(skipping, script, seconds=100) as handle:
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update("skip", Asked(by="Ann"))
        await handle.terminate()
    assert "cannot skip: the removal is not parked, it drains its node" in str(refused.value.cause)


async def test_pods_that_must_stay_block_until_hard_grace_is_over(skipping):
    script = crowded()
    script.see(timings=RemovalTimings(hard_grace=timedelta(hours=1)))

    def begin(_):
        script.status(phase="Draining", drain_started_at=clock())
        script.see(drain=DrainSeen(in_turn=2, blocker=Blocker.BARE_POD, blockers=("shop/db has no controller",)))

    def tell(asked):
        script.status(reason=asked.act.reason, message=asked.act.message)
        script.see(drain=script.seen.drain.model_copy(update={"is_told": True}))

    script.on(RemovalEffect.DRAIN, begin)
    script.on(RemovalEffect.TELL_BLOCKERS, tell)
    before = await skipping.get_current_time()
    async with running_removal(skipping, script) as handle:
        await handle.result()
    assert script.deeds == ["taint_node", "begin_drain", "tell_blockers", "evict_pods", *GOES]
    (evicted,) = [asked.act for asked in script.acts if asked.act.effect == "evict_pods"]
    assert evicted.reason == "HardGrace"
    assert await skipping.get_current_time() - before >= timedelta(hours=1)


async def test_a_drain_goes_on_from_its_object_when_its_workflow_was_lost(skipping):
    script = guarded()
    async with running(skipping.client, script.activities()):
        lost = await start_removal(skipping)
        await skipping.sleep(100)
        await lost.terminate()
        asked_at = script.seen.status.evict_attempted_at
        script.on(RemovalEffect.EVICT, lambda _: script.see(occupants=(), occupant_count=0, drain=DrainSeen()))
        await (await start_removal(skipping)).result()
    assert script.deeds.count("begin_drain") == 1
    assert script.seen.status.evict_attempted_at == asked_at
    assert script.deeds[-5:] == ["evict_pods", *GOES]


async def test_a_drain_that_a_round_ordered_is_given_up_by_its_own_timer(skipping):
    script = given_up(timedelta(hours=2))
    cancel = script.does(RemovalEffect.CANCEL)
    times = []

    def cancel_and_note(asked):
        times.append(clock())
        cancel(asked)

    script.on(RemovalEffect.CANCEL, cancel_and_note)
    async with running_removal(skipping, script) as handle:
        ended = await handle.result()
    assert ended.startswith("DrainTimedOut: by DrainTimedOut: Not drained by ")
    assert "2 pods are still on it" in ended
    assert script.deeds[-3:] == ["cancel_removal", "untaint_node", "finish_removal"]
    # From its own beginning: how long the server skips before it depends on when its worker begins.
    (given_up_at,) = times
    assert timedelta() <= given_up_at - script.seen.status.drain_started_at - timedelta(hours=2) < timedelta(seconds=2)


async def test_its_last_pods_are_forced_by_a_timer_after_they_were_told(skipping):
    script = forced(timedelta(hours=2), told_before=timedelta(hours=1))
    tell = script.does(RemovalEffect.TELL_DEADLINE)
    times = []

    def tell_and_note(asked):
        times.append(clock())
        tell(asked)

    script.on(RemovalEffect.TELL_DEADLINE, tell_and_note)
    async with running_removal(skipping, script) as handle:
        assert await handle.result() == "Removed: The server no longer exists"
    status = script.seen.status
    (told,) = times
    assert timedelta() <= told - status.drain_started_at - timedelta(hours=1, minutes=-1) < timedelta(seconds=2)
    forcing = status.evict_attempted_at - status.drain_started_at - timedelta(hours=2, minutes=-1)
    assert timedelta() <= forcing < timedelta(seconds=2)
    assert script.deeds[-6:] == ["evict_pods", "evict_pods", *GOES]
