from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RequestTimings
from tests.workflows.scripts import NAME, REQUEST_ID, booting, machine, running_request, start_request
from tests.workflows.world import PlannerEar, Script, clock, running
from workflows.messages import CLUSTER, DEADLINE, FAILING, NODE, PHASE, POOL, REASON, LifecycleReport


async def lives(env, script: Script) -> str:
    """Run one request to its end and return how it ended."""
    async with running(env.client, script.activities()):
        return await (await start_request(env)).result()


async def test_a_machine_comes_and_its_record_goes_after_its_time(skipping):
    script = machine()
    assert await lives(skipping, script) == "Ready: the machine came and stays; only its record ends"
    assert script.deeds == [
        "create_server",
        "mark_running",
        "register_node",
        "tolerate_pods",
        "mark_ready",
        "release_node",
        "finish_request",
    ]


async def test_activities_are_told_which_object_and_why(skipping):
    script = machine()
    await lives(skipping, script)
    first = script.acts[0]
    assert (first.name, first.uid) == (NAME, REQUEST_ID.uid)
    assert first.act is not None
    assert first.act.reason == "CreateServer"


async def test_an_unmet_request_tells_the_planner_and_goes_after_its_time(skipping):
    script = machine()

    def sold_out(_):
        script.status(
            phase=RequestPhase.UNMET,
            reason="InsufficientCapacity",
            expires_at=clock() + timedelta(seconds=120),
        )

    script.on(RequestEffect.CREATE_SERVER, sold_out)
    async with PlannerEar(skipping.client, "test") as planner:
        assert await lives(skipping, script) == "InsufficientCapacity: no machine came"
        heard = await planner.heard()
    assert script.deeds == ["create_server", "finish_request"]
    assert heard == [f"request {NAME} is Unmet: InsufficientCapacity", f"request {NAME} ended"]


async def test_a_server_that_does_not_run_in_time_is_handed_over(skipping):
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(seconds=62)))
    before = await skipping.get_current_time()
    await lives(skipping, script)
    assert script.deeds == ["create_server", "give_up", "hand_over"]
    assert script.acts[1].act.reason == "ProvisioningTimeout"
    waited = await skipping.get_current_time() - before
    # No upper bound: the server's clock leaps while other work is under way. The looks show that it did not oversleep.
    assert waited >= timedelta(seconds=62)
    assert 10 <= script.calls.count("look_request") <= 14  # at the start, about each 5 s, and at the deadline


async def test_a_node_that_does_not_come_in_time_is_handed_over(skipping):
    script = machine()
    script.see(timings=RequestTimings(join_timeout=timedelta(seconds=60)))
    script.on(
        RequestEffect.MARK_RUNNING,
        lambda asked: script.status(running_at=clock(), join_deadline=asked.act.until),
    )
    await lives(skipping, script)
    assert script.deeds == ["create_server", "mark_running", "give_up", "hand_over"]
    assert script.acts[2].act.reason == "JoinTimeout"


async def test_a_deleted_request_is_handed_over_when_a_wake_comes(skipping):
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(hours=20)))
    async with running_request(skipping, script, seconds=60) as handle:
        script.see(deleting=True)
        await handle.signal("wake", "object changed")
        assert await handle.result() == f"Cancelled: removal {NAME} deletes the server"
    assert script.deeds == ["create_server", "give_up", "hand_over"]
    assert script.acts[1].act.reason == "Cancelled"


async def test_cancelling_the_workflow_is_deleting_the_request(skipping):
    script = booting()
    async with running_request(skipping, script, seconds=60) as handle:
        await handle.cancel()
        assert await handle.result() == f"Cancelled: removal {NAME} deletes the server"
    assert script.deeds == ["create_server", "give_up", "hand_over"]


async def test_an_error_that_passes_is_retried(skipping):
    script = machine()
    failures = iter(range(3))

    def create(_):
        if next(failures, None) is not None:
            raise ApplicationError("no answer", type="Unreachable")
        script.status(phase=RequestPhase.FAILED, expires_at=clock())

    script.on(RequestEffect.CREATE_SERVER, create)
    await lives(skipping, script)
    assert script.deeds == ["create_server"] * 4 + ["finish_request"]
    assert script.calls.count("look_request") == 1  # retried by the activity's own policy


async def test_an_outside_that_stays_away_is_asked_for_ever_and_the_deadline_holds(skipping):
    script = machine()

    def create(asked):
        script.status(
            create_attempt_at=clock(), provisioning_deadline=script.seen.status.provisioning_deadline or asked.act.until
        )
        raise ApplicationError("no answer", type="UnknownOutcome")

    script.on(RequestEffect.CREATE_SERVER, create)
    before = await skipping.get_current_time()
    assert await lives(skipping, script) == f"ProvisioningTimeout: removal {NAME} deletes the server"
    assert script.deeds[-2:] == ["give_up", "hand_over"]
    assert script.acts[-2].act.reason == "ProvisioningTimeout"
    # The activity is given 2 minutes before the step function is asked again, which then gives up.
    assert await skipping.get_current_time() - before < timedelta(minutes=14)


@pytest.mark.parametrize("name", ["Rejected", "AuthenticationFailed", "Unreadable"])
async def test_a_refusal_is_told_and_looked_at_again_after_a_minute(skipping, name):
    script = machine()
    finish = iter([True])

    def forget(_):
        if next(finish, None):
            raise ApplicationError("noderequests is forbidden", type=name)
        script.see(exists=False)

    script.see(status=script.seen.status.model_copy(update={"phase": RequestPhase.UNMET}))
    script.on(RequestEffect.FINISH, forget)
    async with running_request(skipping, script, seconds=30) as handle:
        report = await handle.query("state", result_type=LifecycleReport)
        assert report.trouble == f"finish_request: {name}: noderequests is forbidden"
        assert script.deeds == ["finish_request"]
        assert (await handle.describe()).typed_search_attributes.get(REASON) == FAILING
        assert await handle.result() == "Unmet: no machine came"
    assert script.deeds == ["finish_request"] * 2


async def test_an_effect_that_changes_nothing_does_not_go_round_and_round(skipping):
    script = machine()
    lost = iter(range(3))
    script.on(RequestEffect.CREATE_SERVER, lambda _: None if next(lost, None) is not None else script.see(exists=False))
    before = await skipping.get_current_time()
    await lives(skipping, script)
    assert script.deeds == ["create_server"] * 4
    assert await skipping.get_current_time() - before >= timedelta(seconds=15)


async def test_what_is_awaited_can_be_read(skipping):
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(hours=1)))
    async with running_request(skipping, script, seconds=60) as handle:
        report = await handle.query("state", result_type=LifecycleReport)
        shown = (await handle.describe()).typed_search_attributes
        details = await handle.query("__temporal_workflow_metadata")
    deadline = script.seen.status.provisioning_deadline
    assert (report.phase, report.reason, report.until) == ("Provisioning", "ServerBoot", deadline)
    assert shown.get(CLUSTER) == "test"
    assert shown.get(NODE) == NAME
    assert shown.get(POOL) == "default"
    assert shown.get(PHASE) == "Provisioning"
    assert shown.get(REASON) == "ServerBoot"
    assert shown.get(DEADLINE) == deadline
    assert "The server boots. At the deadline the server is removed" in details.current_details
    assert f"{deadline:%Y-%m-%d %H:%M:%S} UTC" in details.current_details


async def test_a_look_by_the_timer_of_a_rest_may_be_one_off_caches_and_one_by_a_message_never(skipping):
    script = machine()
    at_rest: list[bool] = []
    script.on(RequestEffect.LOOK, lambda asked: at_rest.append(asked.at_rest))
    async with running_request(skipping, script, seconds=150) as handle:
        before = len(at_rest)
        assert script.seen.status.phase is RequestPhase.READY
        # At the start, and at least one by the timer since, each minute.
        assert (at_rest[0], at_rest[-1]) == (False, True)
        await handle.signal("wake", "node changed")
        while len(at_rest) == before:
            await skipping.sleep(0.1)
        assert at_rest[before] is False
        await handle.result()
    # The deadline is one, too.
    assert at_rest[-1] is True
