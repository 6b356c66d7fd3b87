"""Stages that do not come to their end are named, with what was seen instead."""

import asyncio
import io

import pytest
from rich.console import Console

from simulator.scheduling.workloads import Workload
from simulator.world import World
from worker.demo import watch as watching
from worker.demo.scale_up import Growth
from worker.demo.scene import SoldOut, objects, prices
from worker.demo.screen import Screen
from worker.demo.watch import StageFailed, Watch, check
from worker.ports import utc_now


async def test_a_stage_that_never_ends_is_named_with_what_was_seen(monkeypatch):
    # A world without a worker: pods wait, and nobody buys.
    monkeypatch.setattr(watching, "STAGE_SECONDS", 1.0)
    output = io.StringIO()
    world = World(now=utc_now, seed=1)
    await world.apply(*objects())
    moving = asyncio.create_task(world.run())
    screen = Screen(prices(), Console(file=output))
    growth = Growth(world, Watch(world, screen), screen)
    await growth.pods_arrive([Workload("web", 3, {"cpu": "1", "memory": "1Gi"})])
    with pytest.raises(StageFailed, match=r"a machine for each of 3 pods.*\. Seen: 3 pods, 3 waiting; 0 servers"):
        await growth.machines_are_bought(3, SoldOut("cx23", "fsn1"))
    moving.cancel()
    assert "1. 3 pods arrive" in output.getvalue()


def test_what_does_not_hold_fails_the_stage():
    check(holds=True, problem="nothing")
    with pytest.raises(StageFailed, match="pods were lost"):
        check(holds=[], problem="pods were lost")
