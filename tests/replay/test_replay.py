from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from tests.replay.careless import Careless
from tests.replay.record import HISTORIES, LIVES, path_of
from tests.replay.stories import Run, activities_of, ends_as_new, fewest, goes_on, read, started
from worker.temporal.sandbox import WORKFLOWS, workflow_runner
from workflows.policies import PLAN_ROUND

IDS = {"request": "node-request:test:m:u", "removal": "node-removal:test:m:u", "planner": "planner:test"}
"""By the beginning of the file's name: histories of the time-skipping server do not say what they are of."""

STORED = sorted(HISTORIES.rglob("*.json"))


def history(path: Path) -> WorkflowHistory:
    """Return a stored history under its id, or one as the workflow expects it."""
    stored = read(path)
    usual = IDS[path.stem.split("-", maxsplit=1)[0]]
    return WorkflowHistory.from_json(started(stored).get("workflowId", usual), stored)


def replayer(*workflows: type) -> Replayer:
    return Replayer(workflows=workflows, data_converter=pydantic_data_converter, workflow_runner=workflow_runner())


@pytest.mark.parametrize("path", STORED, ids=lambda path: str(path.relative_to(HISTORIES)))
async def test_workflows_under_way_go_on_with_this_version(path):
    await replayer(*WORKFLOWS).replay_workflow(history(path))


def test_every_life_is_recorded():
    assert {one.stem for one in HISTORIES.glob("*.json")} >= {*LIVES, "planner"}


async def test_a_change_that_does_not_fit_is_caught():
    with pytest.raises(workflow.NondeterminismError):
        await replayer(Careless).replay_workflow(history(path_of("request-comes")))


def test_no_history_tells_of_the_machine_that_recorded_it():
    texts = [path.read_text() for path in STORED]
    assert len(texts) >= 10
    assert not any("stackTrace" in text for text in texts)


def test_every_effect_occurs_in_a_stored_history():
    effects = {*map(str, RequestEffect), *map(str, RemovalEffect), PLAN_ROUND}
    assert effects <= {name for path in STORED for name in activities_of(read(path))}


@pytest.mark.parametrize("kind", IDS)
def test_some_runs_of_each_kind_end_as_new_ones_and_some_have_one_before(kind):
    found = [read(path) for path in STORED if path.name.startswith(kind)]
    assert any(map(ends_as_new, found))
    assert any(map(goes_on, found))


def test_few_runs_are_kept_that_show_all_that_any_shows():
    def run(name: str, events: int, *shows: str) -> Run:
        return Run(name, {"events": [{}] * events}, frozenset(shows))

    runs = [run("all", 9, "a", "b", "c"), run("long", 20, "a", "b"), run("other", 5, "d"), run("none", 1)]
    assert [one.name for one in fewest(runs)] == ["all", "other"]
