"""What the sandbox loads once is the same for all lives, so nothing in it may tell one moment or life from another."""

import ast
import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from tests.replay.record import path_of
from worker.temporal.client import DATA_CONVERTER
from worker.temporal.sandbox import LOADED_ONCE, WORKFLOWS, workflow_runner
from workflows import lifecycle
from workflows import ui_details as account

ROOT = Path(__file__).parents[3]
ROOMS = {"api", "planner", "activities"}
"""Pure, or never run by a workflow: the import law and reviews of their own see to it."""
CLOCKS = {"now", "utcnow", "today", "time", "monotonic", "time_ns", "uuid4", "random"}
FOREIGN = {"temporalio.workflow", "time", "random", "uuid", "os", "secrets", "asyncio"}


@pytest.mark.parametrize("module", sorted(set(LOADED_ONCE) - ROOMS))
def test_what_is_loaded_once_has_no_clock_and_no_state(module: str):
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    called = {node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")}
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        for name in (alias.name, f"{getattr(node, 'module', '')}.{alias.name}", getattr(node, "module", ""))
    }
    assert not called & CLOCKS
    assert not imported & FOREIGN
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global)]


async def test_lives_share_the_modules_that_are_loaded_once_and_no_others(monkeypatch: pytest.MonkeyPatch):
    waits: list[str] = []
    bases: list[object] = []
    waiting = account.waiting
    monkeypatch.setattr(account, "waiting", lambda *given: waits.append(waiting(*given)) or waits[-1])
    monkeypatch.setattr(lifecycle, "Lifecycle", bases.append)
    history = WorkflowHistory.from_json("node-request:test:m:u", json.loads(path_of("request-comes").read_text()))
    replayer = Replayer(workflows=WORKFLOWS, data_converter=DATA_CONVERTER, workflow_runner=workflow_runner())
    await replayer.replay_workflow(history)
    assert waits
    assert bases == []
