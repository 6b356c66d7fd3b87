"""Options of every run: the order of files that take long, and the budget of processor time."""

import json
from pathlib import Path

import pytest

from tests import cpu_budget
from tests.cpu_budget import Meter

_METER = pytest.StashKey[Meter]()
_OF_WORKERS = pytest.StashKey[list[dict[str, float]]]()
_VERDICT = pytest.StashKey[tuple[list[str], list[str]]]()

_LONG = (
    "operations",
    "round_trip",
    "hetzner",
    "scheduler",
    "faults_temporal",
    "faults_objects",
    "deploy",
    "constraints",
    "preemption",
    "hetzner_limits",
    "hetzner_surroundings",
    "drain",
    "status",
    "decisions",
)
"""Files of tests/e2e that take longer than others, the longest first: two processes then end at about the same time."""


def pytest_collection_modifyitems(items):
    """Let long files begin first; within a file, tests stay in the order written."""
    begins = {f"tests/e2e/test_{name}.py": place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: begins.get(item.nodeid.partition("::")[0], len(begins)))


def pytest_addoption(parser):
    parser.addoption("--cpu-budget", help="name of a budget in tests/cpu_budget.json; a run that exceeds it fails")
    parser.addoption("--cpu-by-file", type=Path, help="write the seconds of processor time of each file there, as JSON")


def pytest_configure(config):
    config.stash[_METER] = Meter()
    config.stash[_OF_WORKERS] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    item.config.stash[_METER].switch(item.nodeid.partition("::")[0])
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take over what a worker of xdist has counted; one that crashed tells nothing."""
    node.config.stash[_OF_WORKERS].append(getattr(node, "workeroutput", {}).get("cpu", {}))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    config = session.config
    seconds = config.stash[_METER].stop()
    if hasattr(config, "workeroutput"):
        config.workeroutput["cpu"] = seconds
        return
    workers = config.stash[_OF_WORKERS]
    if workers:
        # The controller's own children are these workers, which have told it by file.
        seconds = {file: sum(one.get(file, 0.0) for one in workers) for file in {key for one in workers for key in one}}
    if path := config.option.cpu_by_file:
        path.write_text(json.dumps(dict(sorted(seconds.items())), indent=1))
    if name := config.option.cpu_budget:
        budget = cpu_budget.budget_of(name)
        rows = cpu_budget.by_row(seconds, budget)
        found = cpu_budget.complaints(rows, budget)
        config.stash[_VERDICT] = (cpu_budget.table(rows, budget), found)
        if found and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    # Last, below what took longest: of a long run, people often have the end alone.
    table, found = config.stash.get(_VERDICT, ([], []))
    if table:
        terminalreporter.section("processor time")
        for line in table:
            terminalreporter.line(line)
        for line in found:
            terminalreporter.line(f"OVER BUDGET: {line}", red=True)
