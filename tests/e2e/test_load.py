"""A sample of the load tests: machines come and go at the same time, on a worker with a Temporal server of its own."""

import asyncio
from pathlib import Path

import pytest

from tests.load.stage import stage
from tests.load.swap import Swapped, Times, swap

MACHINES = 40
TIMES = Times(cool_off=12, boot=10, patience=60)

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.serial, pytest.mark.timeout(200)]


async def swapped(folder: Path) -> Swapped:
    async with stage(folder, cluster="swap") as on:
        return await swap(on.cluster, on.census, on.temporal, MACHINES, TIMES)


def test_forty_machines_come_while_forty_go(tmp_path: Path):
    seen = asyncio.run(swapped(tmp_path))
    assert seen.most.requests == seen.most.removals == MACHINES
    print(
        f"\n{MACHINES} machines up: {seen.up.per_second:.1f} a second; {MACHINES} up and {MACHINES} down at the same"
        f" time: {seen.both.per_second:.1f} a second"
    )
