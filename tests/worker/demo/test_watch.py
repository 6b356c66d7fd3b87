"""Stages that do not come to their end are named, with what was seen instead."""

import asyncio
import io

import pytest
from rich.console import Console

from activities.ports.cluster import EVENTS
from simulator.scheduling.workloads import Workload
from simulator.world import World
from worker.demo import watch as watching
from worker.demo.scale_up import Growth
from worker.demo.scene import SoldOut, objects, prices
from worker.demo.screen import Screen
from worker.demo.watch import StageFailed, Story, Watch, check
from worker.ports import utc_now


async def test_a_stage_that_never_ends_is_named_with_what_was_seen(monkeypatch):
    # A world without a worker: pods wait, and nobody buys.
    monkeypatch.setattr(watching, "STAGE_SECONDS", 1.0)
    output = io.StringIO()
    world = World(now=utc_now, seed=1)
    await world.apply(*objects())
    moving = asyncio.create_task(world.run())
    screen = Screen(prices(), Console(file=output))
    growth = Growth(world, Watch(world, screen, Story(world, screen)), screen)
    await growth.pods_arrive([Workload("web", 3, {"cpu": "1", "memory": "1Gi"})])
    with pytest.raises(StageFailed, match=r"a machine for each of 3 pods.*\. Seen: 3 pods, 3 waiting; 0 servers"):
        await growth.machines_are_bought(3, SoldOut("cx23", "fsn1"))
    moving.cancel()
    assert "1. 3 pods arrive" in output.getvalue()


async def test_a_stage_ends_after_the_lines_of_its_events():
    """The event of a change is written after it, and the watch that prints it is slower than the view."""
    output = io.StringIO()
    world = World(now=utc_now, seed=1)
    screen = Screen(prices(), Console(file=output, width=100))
    story = Story(world, screen)
    watch = Watch(world, screen, story)
    ends = asyncio.create_task(watch.until(lambda _: watch.has_told("CoolOff", ["a", "b"]), "two machines to cool off"))
    telling = asyncio.create_task(story.tell())
    for name in ("a", "b"):
        await asyncio.sleep(3 * watching.LOOK_SECONDS)
        assert not ends.done()
        event = {"metadata": {"name": f"{name}.1", "namespace": "growth"}, "reason": "CoolOff", "note": f"{name} waits"}
        await world.cluster.create(EVENTS, event | {"regarding": {"kind": "NodeRemovalRequest", "name": name}})
    await asyncio.wait_for(ends, 10)
    telling.cancel()
    assert [line.partition(" ~ ")[2] for line in output.getvalue().splitlines()] == ["a a waits", "b b waits"]


def test_what_does_not_hold_fails_the_stage():
    check(holds=True, problem="nothing")
    with pytest.raises(StageFailed, match="pods were lost"):
        check(holds=[], problem="pods were lost")
