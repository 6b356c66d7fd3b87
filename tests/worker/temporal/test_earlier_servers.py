"""Growth works with earlier Temporal servers: machines come and go, and the keeper mends what was lost."""

import asyncio
import time

import pytest
from temporalio.worker import Worker

from planner.lifecycle.kinds import REQUEST
from planner.model.round import planner_workflow_id
from tests.worker.conftest import free_port, serves, temporal_at
from tests.worker.runtime.test_keeper import Broken, BrokenPlanner, cluster, keeper, request_in, run_id, until
from tests.worker.runtime.test_wiring import test_a_worker_on_any_ports_makes_machines_come_and_go
from tests.worker.temporal.servers import VERSIONS, program_of
from worker.runtime import failing_workflows
from worker.settings import task_queue

__all__ = ["cluster", "keeper", "test_a_worker_on_any_ports_makes_machines_come_and_go"]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture(scope="module", params=VERSIONS)
def dev_server(request):
    """Address of a server of an earlier version."""
    port = free_port()
    with temporal_at(port, str(program_of(request.param))):
        deadline = time.monotonic() + 30
        while not asyncio.run(serves(f"127.0.0.1:{port}")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"


async def test_workflows_whose_tasks_keep_failing_are_ended_and_started_again(
    client, keeper, cluster, cluster_name, monkeypatch
):
    # After its first failed task instead of the fifth, which takes a minute.
    monkeypatch.setattr(failing_workflows, "FAILED_TASKS", 1)
    request = REQUEST.workflow_id(cluster_name, await request_in(cluster))
    ids = (request, planner_workflow_id(cluster_name))
    await keeper.ensure()
    await keeper.sweep()
    before = {one: await run_id(client, one) for one in ids}
    assert None not in before.values()

    async def pass_over():
        await keeper.end_failing()
        await keeper.sweep()

    async def are_begun_anew():
        runs = {one: await run_id(client, one) for one in ids}
        return None not in runs.values() and all(runs[one] != before[one] for one in ids)

    async with Worker(client, task_queue=task_queue(cluster_name), workflows=[Broken, BrokenPlanner]):
        await until(pass_over, are_begun_anew)
