"""The seconds after a start, in which the solver is loaded: who waits for it, for how long, and what is told."""

import asyncio
import time

import pytest
from structlog.testing import capture_logs

from planner.packing.fallback.pack import pack
from tests.worker.running_solver import problem, running, until
from tests.worker.solver_targets import LOADED, PROVEN
from worker.solver.process import STARTS_WITHIN_SECONDS

pytestmark = pytest.mark.usefixtures("folder")


async def test_who_waits_for_the_start_finds_it_warm():
    with running("warms_late") as solver:
        assert solver.is_starting
        began = time.monotonic()
        await solver.until_started()
        assert 1 <= time.monotonic() - began < STARTS_WITHIN_SECONDS
        assert solver.is_warm
        assert not solver.is_starting
        assert solver(problem()).proven == PROVEN


async def test_a_start_is_waited_for_no_longer_than_so_many_seconds_in_all():
    with running("never_warm", starts_within_seconds=0.5) as solver:
        began = time.monotonic()
        for _ in range(2):
            await solver.until_started()
        assert 0.5 <= time.monotonic() - began < 0.9
        assert not solver.is_starting


async def test_compiling_is_not_waited_for_and_told_once(folder):
    with capture_logs() as lines, running("compiles") as solver:
        began = time.monotonic()
        await solver.until_started()
        assert time.monotonic() - began < STARTS_WITHIN_SECONDS / 2
        assert not solver.is_warm
        assert [solver(problem()), solver(problem())] == [pack(problem())] * 2
        (folder / LOADED).touch()
        until(lambda: solver.is_warm)
        assert solver(problem()).proven == PROVEN
    told = [line for line in lines if "stands in" in line["event"]]
    assert [(line["event"], line["reason"]) for line in told] == [
        (
            "the fallback stands in until the solver is warm: plans may cost more",
            "its kernels are being compiled, which takes a minute or two",
        )
    ]


@pytest.mark.parametrize("name", ["cannot_warm", "good"])
async def test_after_the_first_process_has_ended_nobody_waits(name):
    with running(name, first_pause_seconds=60) as solver:
        until(lambda: solver._started is not None)
        if name == "good":
            until(lambda: solver.is_warm)
            solver._started.kill("the test ends it")
        async with asyncio.timeout(STARTS_WITHIN_SECONDS / 2):
            await solver.until_started()
            while solver.is_warm:
                await asyncio.sleep(0.01)
        assert not solver.is_starting
