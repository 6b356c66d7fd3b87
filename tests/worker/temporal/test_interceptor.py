import asyncio
from datetime import timedelta

import pytest
from temporalio import activity, workflow
from temporalio.client import WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, ApplicationErrorCategory
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.ports.errors import Conflict, GrowthError, RateLimited, Rejected, Unreachable
from activities.providers.hetzner.api.refusals import Locked, Protected
from worker.temporal.interceptor import ActivityInterceptor, _as_application_error
from workflows.policies import NON_RETRYABLE


@workflow.defn(sandboxed=False)
class One:
    @workflow.run
    async def run(self) -> str:
        return await workflow.execute_activity(
            "work",
            result_type=str,
            start_to_close_timeout=timedelta(seconds=20),
            heartbeat_timeout=timedelta(seconds=0.9),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
        )


async def work_of(client, name: str, work) -> str:
    """Run one activity with the interceptor in a workflow and return what it returns."""
    async with Worker(
        client,
        task_queue=name,
        workflows=[One],
        activities=[activity.defn(name="work")(work)],
        interceptors=[ActivityInterceptor()],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        return await client.execute_workflow("One", id=name, task_queue=name, result_type=str)


async def test_an_activity_that_takes_longer_than_its_heartbeat_goes_on(client, cluster_name):
    async def work() -> str:
        await asyncio.sleep(2)
        return "done"

    assert await work_of(client, cluster_name, work) == "done"


async def test_an_error_that_does_not_pass_is_not_retried(client, cluster_name):
    attempts = []

    async def work() -> str:
        attempts.append(1)
        raise Rejected("noderequests is forbidden")

    with pytest.raises(WorkflowFailureError) as error:
        await work_of(client, cluster_name, work)
    cause = error.value.cause
    assert isinstance(cause, ActivityError)
    assert isinstance(cause.cause, ApplicationError)
    assert (cause.cause.type, cause.cause.message) == ("Rejected", "noderequests is forbidden")
    assert len(attempts) == 1


async def test_an_error_that_may_pass_is_retried(client, cluster_name):
    attempts = []

    async def work() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise Conflict("changed meanwhile")
        return "done"

    assert await work_of(client, cluster_name, work) == "done"
    assert len(attempts) == 3


def test_the_servers_wish_for_a_pause_is_kept():
    error = _as_application_error(Unreachable("too many requests", retry_after_seconds=7))
    assert error.next_retry_delay == timedelta(seconds=7)
    assert _as_application_error(Unreachable("no answer")).next_retry_delay is None


def test_a_call_that_was_not_carried_out_is_repeated_when_the_provider_says():
    error = _as_application_error(RateLimited("3600 calls an hour", 40))
    assert (error.type, error.next_retry_delay) == ("RateLimited", timedelta(seconds=40))
    assert (error.non_retryable, error.category) == (False, ApplicationErrorCategory.BENIGN)


def kinds(root: type[GrowthError] = GrowthError) -> list[type[GrowthError]]:
    """Return the project's errors, without those that only one provider tells apart."""
    found = [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]
    return [kind for kind in found if kind.__module__ == GrowthError.__module__]


def test_an_error_of_one_provider_says_of_itself_whether_it_may_pass():
    assert _as_application_error(Protected("delete protection")).non_retryable
    assert not _as_application_error(Locked("busy")).non_retryable


def test_the_retry_policy_knows_exactly_the_errors_that_do_not_pass():
    assert set(NON_RETRYABLE) == {kind.__name__ for kind in kinds() if not kind.retryable}
