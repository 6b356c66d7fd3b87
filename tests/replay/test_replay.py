import json

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from tests.replay.careless import Careless
from tests.replay.record import HISTORIES, LIVES, path_of
from worker.temporal.sandbox import WORKFLOWS, workflow_runner

IDS = {"request": "node-request:test:m:u", "removal": "node-removal:test:m:u", "planner": "planner:test"}


def history(name: str) -> WorkflowHistory:
    """Return a stored history under an id as the workflow expects it."""
    return WorkflowHistory.from_json(IDS[name.split("-", maxsplit=1)[0]], json.loads(path_of(name).read_text()))


def replayer(*workflows: type) -> Replayer:
    return Replayer(workflows=workflows, data_converter=pydantic_data_converter, workflow_runner=workflow_runner())


@pytest.mark.parametrize("name", sorted(one.stem for one in HISTORIES.glob("*.json")))
async def test_workflows_under_way_go_on_with_this_version(name):
    await replayer(*WORKFLOWS).replay_workflow(history(name))


def test_every_life_is_recorded():
    assert {one.stem for one in HISTORIES.glob("*.json")} >= {*LIVES, "planner"}


async def test_a_change_that_does_not_fit_is_caught():
    with pytest.raises(workflow.NondeterminismError):
        await replayer(Careless).replay_workflow(history("request-comes"))


def test_no_history_tells_of_the_machine_that_recorded_it():
    texts = [path.read_text() for path in HISTORIES.glob("*.json")]
    assert len(texts) >= 10
    assert not any("stackTrace" in text for text in texts)
