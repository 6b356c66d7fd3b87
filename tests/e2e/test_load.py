"""A sample of the load tests: machines come and go at the same time, on a worker with a Temporal server of its own."""

import asyncio
from pathlib import Path

import pytest

from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.load.census import census
from tests.load.histories import client
from tests.load.masses import connected
from tests.load.swap import Swapped, Times, swap

MACHINES = 40
TIMES = Times(cool_off=15, boot=12, patience=60)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def swapped(plane: ControlPlane, growth: GrowthProcess) -> Swapped:
    async with connected(plane) as cluster, census(plane, cluster) as counted:
        return await swap(cluster, counted, await client(growth), MACHINES, TIMES)


def test_forty_machines_come_while_forty_go(control_plane: ControlPlane, tmp_path: Path):
    with scene(control_plane, tmp_path, cluster="swap", separate=False) as growth:
        growth.start()
        seen = asyncio.run(swapped(control_plane, growth))
        assert seen.most.requests == seen.most.removals == MACHINES
        print(
            f"\n{MACHINES} machines up: {seen.up.per_second:.1f} a second; {MACHINES} up and {MACHINES} down at the same"
            f" time: {seen.both.per_second:.1f} a second"
        )
