"""Each trouble of the campaign's cloud does what its name says: a fault that never happens proves nothing."""

import asyncio
from random import Random

import pytest

from activities.ports.errors import (
    AuthenticationFailed,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    UnknownOutcome,
)
from activities.ports.provider import ServerOrder
from activities.providers.built_in import KWOK_NODE_CLASSES
from simulator.campaign.actors.cloud import Cloud, CloudClient, Trouble
from simulator.catalogue import machine, node_class
from simulator.clock import VirtualClock, run
from simulator.world import CLUSTER_NAME, World

CLASS = node_class([machine("small", cpu=2, memory=4, price="0.010")])


class Always(Random):
    """Lets every call meet the trouble that is in force."""

    def random(self):
        return 0.0


def order(name="a"):
    return ServerOrder(name, "small", "fsn1", {"growth.dev/cluster": CLUSTER_NAME}, {}, [])


def play(trouble, story, *, server_type="small"):
    clock = VirtualClock()

    async def main():
        async with asyncio.TaskGroup() as group:
            world = World(now=clock.now, seed=1)
            await world.apply(CLASS)
            cloud = Cloud(world, random=Always(1), seconds=clock.seconds, spawn=group.create_task)
            cloud.worsen(trouble, 30, server_type=server_type)
            (found,) = world.cluster.peek(KWOK_NODE_CLASSES)
            return await story(cloud, CloudClient(world.provider, cloud), found)

    return run(main, clock)


async def names(cloud):
    return [server.name for server in await cloud.world.provider.list(CLUSTER_NAME)]


@pytest.mark.parametrize(
    ("trouble", "error", "left"),
    [
        (Trouble.SOLD_OUT, InsufficientCapacity, []),
        (Trouble.QUOTA, QuotaExceeded, []),
        (Trouble.CREDENTIALS, AuthenticationFailed, []),
        (Trouble.CONFIGURATION, InvalidConfiguration, []),
        (Trouble.CREATE_LOST, UnknownOutcome, []),
        (Trouble.CREATE_REPLY_LOST, UnknownOutcome, ["a"]),
        (Trouble.SILENT, UnknownOutcome, []),
    ],
)
def test_a_create_call_that_fails(trouble, error, left):
    async def story(cloud, client, found):
        with pytest.raises(error):
            await client.create(found, order())
        assert await names(cloud) == left
        cloud.calm()
        assert (await client.create(found, order())).name == "a"
        assert cloud.met == {trouble: 1}

    play(trouble, story)


def test_only_the_type_that_is_sold_out_has_no_capacity():
    async def story(_cloud, client, found):
        assert (await client.create(found, order())).name == "a"

    play(Trouble.SOLD_OUT, story, server_type="big")


def test_a_create_call_may_take_effect_long_after_it_was_given_up():
    async def story(cloud, client, found):
        cloud.random = Random(1)
        while not cloud.late:
            with pytest.raises(UnknownOutcome):
                await client.create(found, order())
        assert await names(cloud) == []
        await asyncio.sleep(40)
        assert await names(cloud) == ["a"]

    play(Trouble.CREATE_LATE, story)


def test_a_server_may_vanish_after_the_reply_and_nobody_has_deleted_it():
    async def story(cloud, client, found):
        await client.create(found, order())
        await asyncio.sleep(8)
        assert (await names(cloud), cloud.lost) == ([], {"a"})

    play(Trouble.CREATE_VANISHES, story)


def test_another_cluster_may_have_a_server_of_that_name():
    async def story(cloud, client, found):
        server = await client.create(found, order())
        assert server.labels["growth.dev/cluster"] != CLUSTER_NAME
        assert cloud.foreign == {"a"}

    play(Trouble.NAME_TAKEN, story)


@pytest.mark.parametrize(
    ("trouble", "is_refused", "left"),
    [
        (Trouble.DELETE_REFUSED, True, ["a"]),
        (Trouble.DELETE_REPLY_LOST, True, []),
        (Trouble.DELETE_DEAF, False, ["a"]),
    ],
)
def test_a_delete_call_that_fails_or_lies(trouble, is_refused, left):
    async def story(cloud, client, found):
        await client.create(found, order())
        try:
            await client.delete("a")
        except UnknownOutcome:
            assert is_refused
        else:
            assert not is_refused
        assert await names(cloud) == left

    play(trouble, story)


def test_a_list_may_be_empty_by_error():
    async def story(cloud, client, found):
        await client.create(found, order())
        assert await client.list(CLUSTER_NAME) == []
        cloud.calm()
        assert [server.name for server in await client.list(CLUSTER_NAME)] == ["a"]
        with pytest.raises(NotFound):
            await client.get("b")

    play(Trouble.LIST_EMPTY, story)
