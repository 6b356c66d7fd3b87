"""A round right after a start: with demand it waits for the better packer, before it takes the fence."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import LEASES, NODE_REQUESTS, PODS
from activities.ports.errors import Unreachable
from activities.round.fence import HELD_FOR
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packing
from tests.activities.bodies import pod
from tests.activities.rounds import Crash, World

LOADS_FOR = timedelta(seconds=4)


def leaves_all_out(problem):
    """What a packer that is not ready yet may answer, at worst."""
    return Packing(unplaced={i: group.count for i, group in enumerate(problem.groups)})


class Loading:
    """Packers of which a better one comes in some seconds."""

    def __init__(self, loads_for=LOADS_FOR):
        self.world = None
        self.is_starting = True
        self.loads_for = loads_for
        self.waits = []
        """Whether the fence was held during each wait."""

    def for_round(self):
        return leaves_all_out if self.is_starting else pack

    async def until_started(self):
        leases = await self.world.names(LEASES)
        self.waits.append(bool(leases) and bool((await self.world.lease())["spec"].get("holderIdentity")))
        self.world.pass_time(self.loads_for)
        self.is_starting = False


@pytest.fixture
async def packers():
    return Loading()


@pytest.fixture
async def world(packers):
    world = packers.world = World(packers=packers)
    await world.install()
    return world


async def test_with_demand_it_waits_without_the_fence_and_buys_what_the_better_packer_says(world, packers, caplog):
    caplog.set_level("INFO", logger="activities.round.warm_start")
    await world.add_pods(3)
    await world.run()
    assert packers.waits == [False]
    assert len(await world.names(NODE_REQUESTS)) == 1
    assert caplog.messages == ["a round with demand waited 4.0 s for the optimiser to be loaded"]
    await world.run()
    assert packers.waits == [False]


async def test_what_comes_during_the_wait_is_in_the_round(world, packers):
    await world.add_pods(1)
    meanwhile = packers.until_started

    async def until_started():
        await meanwhile()
        await world.add_pods(1, prefix="late")

    packers.until_started = until_started
    await world.run()
    [made] = await world.items(NODE_REQUESTS)
    assert {seat["name"] for seat in made["spec"]["reservedFor"]} == {"web-0", "late-0"}


async def test_without_demand_nobody_waits(world, packers):
    await world.run()
    # One that is bound, and one that the scheduler has not judged yet.
    await world.add_pods(1, prefix="bound", nodeName="default-a")
    await world.cluster.create(PODS, pod("new"), namespace="shop")
    await world.run()
    assert packers.waits == []


async def test_pods_that_cannot_be_read_are_not_waited_for(world, packers):
    await world.add_pods(1)
    reads = []

    class Reader:
        async def list(self, resource):
            reads.append(resource)
            if len(reads) == 1:
                raise Unreachable("not synced")
            return await world.cluster.list(resource)

    world.ports = replace(world.ports, reader=Reader())
    await world.run()
    assert reads[0] == PODS
    assert packers.waits == []


async def test_a_crashed_rounds_fence_is_outwaited_meanwhile(world, packers):
    packers.loads_for = timedelta(seconds=10)
    await world.add_pods(1)
    with pytest.raises(Crash):
        async with world.fence().held("dead"):
            raise Crash
    before = world.now()
    await world.run()
    assert packers.waits == [True]
    assert HELD_FOR <= world.now() - before <= HELD_FOR + timedelta(seconds=1)
    assert len(await world.names(NODE_REQUESTS)) == 1


async def test_a_worker_that_stops_while_it_waits_leaves_no_fence(world, packers):
    await world.add_pods(1)

    async def until_started():
        await asyncio.Event().wait()

    packers.until_started = until_started
    waiting = asyncio.create_task(world.run())
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await world.names(LEASES) == []
