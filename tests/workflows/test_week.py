"""Workflows that go on and on: how much Temporal keeps of each stays bounded, run after run.

Times are the server's, which skips what nobody waits for.
"""

from datetime import timedelta

import pytest
from temporalio.client import WorkflowExecutionStatus

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalTimings
from planner.model.plan import PlannerMemory
from planner.model.round import STARTS_PER_ROUND
from planner.policies.next_round import QUIET_PERIOD
from tests.workflows.longest import busiest_round
from tests.workflows.runs import (
    EVENTS_SUGGESTED,
    EVENTS_WARNED,
    FOUND_BY_BYTES,
    HISTORY_BYTES_WARNED,
    PAYLOAD_BYTES_WARNED,
    SHOWN_BYTES,
    found_by_bytes,
    runs,
    shown_bytes,
)
from tests.workflows.scripts import guarded, leaving, machine, running_removal, running_request, stubborn
from tests.workflows.test_planner import QUIET, Rounds, planning
from tests.workflows.world import clock
from workflows.planner import ROUNDS_PER_RUN

HOUR_SECONDS = 3600
QUARTER_OF_A_DAY, HALF_A_DAY, TWO_DAYS, WEEK = 6, 12, 2 * 24, 7 * 24
"""Hours."""
ONE_STEP = 40
"""Events that a lifecycle may add to a run after a new one was suggested: a step, its looks and its messages."""
LIFECYCLE_BYTES = 2 * 1024 * 1024
"""A fifth of what Temporal warns of, in a run of as many events as it suggests."""
LIFECYCLE_PAYLOAD = 4 * 1024
EVENTS_PER_ROUND = 11
"""The task that begins it 3, the activity 3, the task that takes its result 3, the timer 2."""
BUSY_ROUNDS = 25
PLANNER_BYTES = 1024 * 1024


async def live_on(env, handle, *, hours):
    """Let so many hours pass, with a message in each, and return all runs."""
    first = (await handle.describe()).run_id
    latest = env.client.get_workflow_handle(handle.id)
    for _ in range(hours):
        await env.sleep(HOUR_SECONDS)
        await latest.signal("wake", "its Node changed")
    shown = await latest.describe()
    assert shown.status == WorkflowExecutionStatus.RUNNING
    assert await shown_bytes(latest) <= SHOWN_BYTES
    assert found_by_bytes(shown) <= FOUND_BY_BYTES
    assert not shown.raw_description.workflow_execution_info.memo.fields
    return await runs(env.client, handle.id, first)


def assert_bounded(lived_runs, *, at_least):
    """Assert that the workflow has gone on in new runs, none of which is long."""
    assert len(lived_runs) >= at_least
    assert {run.next_run_id != "" for run in lived_runs[:-1]} == {True}
    assert max(run.events for run in lived_runs) <= EVENTS_SUGGESTED + ONE_STEP
    # All runs are alike: none begins with what the one before has gathered.
    ended = [run.events for run in lived_runs[:-1]]
    assert min(ended) >= EVENTS_SUGGESTED
    assert max(run.bytes for run in lived_runs) <= LIFECYCLE_BYTES
    assert max(run.payload_bytes for run in lived_runs) <= LIFECYCLE_PAYLOAD


# It tries again by itself after 4, 8, 16 hours and then each day.
@pytest.mark.parametrize(
    ("hours", "at_least", "retries"), [(TWO_DAYS, 2, 3), pytest.param(WEEK, 3, 8, marks=pytest.mark.nightly)]
)
async def test_a_parked_removal_for_a_week(skipping, hours, at_least, retries):
    script = stubborn()
    park = script._does[RemovalEffect.PARK]

    def park_for_longer(asked):
        park(asked)
        script.status(times_parked=script.seen.status.times_parked + 1)

    script.on(RemovalEffect.PARK, park_for_longer)
    async with running_removal(skipping, script) as handle:
        lived_runs = await live_on(skipping, handle, hours=hours)
    assert_bounded(lived_runs, at_least=at_least)
    assert script.seen.status.phase is RemovalPhase.COULD_NOT_REMOVE
    assert script.deeds.count("resume_removal") == retries


@pytest.mark.parametrize(
    ("hours", "at_least"), [(QUARTER_OF_A_DAY, 2), pytest.param(HALF_A_DAY, 3, marks=pytest.mark.nightly)]
)
async def test_a_drain_that_is_blocked_for_hours(skipping, hours, at_least):
    script = guarded()
    async with running_removal(skipping, script) as handle:
        lived_runs = await live_on(skipping, handle, hours=hours)
    assert_bounded(lived_runs, at_least=at_least)
    assert script.seen.status.phase is RemovalPhase.DRAINING


async def test_a_cool_off_of_an_hour(skipping):
    script = leaving()
    script.seen = script.seen.model_copy(update={"timings": RemovalTimings(soft_grace=timedelta(hours=1))})
    async with running_removal(skipping, script) as handle:
        await skipping.sleep(HOUR_SECONDS - 60)
        shown = await handle.describe()
    assert script.seen.status.phase is RemovalPhase.PENDING
    assert script.deeds == ["taint_node"]
    assert shown.history_length <= 60


@pytest.mark.parametrize("hours", [QUARTER_OF_A_DAY + 2, pytest.param(HALF_A_DAY, marks=pytest.mark.nightly)])
async def test_a_ready_request_whose_record_is_kept_for_hours(skipping, hours):
    script = machine()
    ready = script._does[RequestEffect.MARK_READY]

    def keep(asked):
        ready(asked)
        script.status(expires_at=clock() + timedelta(days=30))

    script.on(RequestEffect.MARK_READY, keep)
    async with running_request(skipping, script) as handle:
        lived_runs = await live_on(skipping, handle, hours=hours)
    assert_bounded(lived_runs, at_least=2)
    assert script.deeds[-1] == "release_node"


@pytest.mark.parametrize("hours", [QUARTER_OF_A_DAY, pytest.param(HALF_A_DAY, marks=pytest.mark.nightly)])
async def test_quiet_rounds_for_hours(skipping, hours):
    memory = PlannerMemory(supply="abc")
    rounds = Rounds(lambda _: QUIET.model_copy(update={"memory": memory, "versions": {"pods": "17"}}))
    async with planning(skipping, rounds.activity()) as handle:
        first = (await handle.describe()).run_id
        await skipping.sleep(hours * HOUR_SECONDS)
        latest = skipping.client.get_workflow_handle(handle.id)
        shown = await latest.describe()
        assert await shown_bytes(latest) <= SHOWN_BYTES
        lived_runs = await runs(skipping.client, handle.id, first)
    assert shown.status == WorkflowExecutionStatus.RUNNING
    quiet_rounds = hours * HOUR_SECONDS // QUIET_PERIOD.total_seconds()
    assert len(rounds.asked) == pytest.approx(quiet_rounds, abs=2)
    assert [one.round for one in rounds.asked] == list(range(1, len(rounds.asked) + 1))
    assert len(lived_runs) == -(-len(rounds.asked) // ROUNDS_PER_RUN) >= 2
    assert max(run.events for run in lived_runs) <= ROUNDS_PER_RUN * EVENTS_PER_ROUND + ONE_STEP
    assert max(run.bytes for run in lived_runs) <= PLANNER_BYTES
    assert max(run.payload_bytes for run in lived_runs) <= LIFECYCLE_PAYLOAD


async def test_round_after_round_that_starts_as_much_as_it_may(skipping):
    """The planner goes on in a new run long before Temporal warns of its history."""
    script = stubborn()
    busiest = busiest_round().model_copy(update={"is_partial": True})
    rounds = Rounds(lambda _: busiest)
    activities = (rounds.activity(), *script.activities(), *machine().activities())
    async with planning(skipping, *activities) as handle:
        first = (await handle.describe()).run_id
        await rounds.ran(BUSY_ROUNDS)
        await skipping.client.get_workflow_handle(handle.id).terminate()
        lived_runs = await runs(skipping.client, handle.id, first)
    assert len(lived_runs) >= 2
    assert max(run.events for run in lived_runs) <= EVENTS_SUGGESTED + STARTS_PER_ROUND * 5
    assert max(run.events for run in lived_runs) < EVENTS_WARNED
    assert max(run.bytes for run in lived_runs) < HISTORY_BYTES_WARNED
    assert max(run.payload_bytes for run in lived_runs) < PAYLOAD_BYTES_WARNED
