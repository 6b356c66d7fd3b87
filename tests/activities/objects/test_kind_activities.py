"""The first look of a life says on its object that a workflow drives it."""

from types import SimpleNamespace

import pytest

from activities.objects.events import Recorder
from activities.objects.kind_activities import activities_of
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Conflict, Unreachable
from activities.removals.activities import REMOVAL_ACTIVITIES
from activities.requests.activities import REQUEST_ACTIVITIES
from planner.lifecycle.step import EffectInput
from tests.activities.bodies import removal, request
from tests.activities.rounds import World, nothing


@pytest.fixture
async def world():
    world = World()
    await world.install()
    await world.cluster.create(NODE_REQUESTS, request("default-a"))
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-b"))
    return world


async def look(world, resource, name):
    item = await world.cluster.get(resource, name)
    subject = EffectInput(name=name, uid=item["metadata"]["uid"])
    recorder = Recorder(world.ports)
    if resource == NODE_REQUESTS:
        return await SimpleNamespace(**activities_of(REQUEST_ACTIVITIES, world.ports, recorder)).look_request(subject)
    return await SimpleNamespace(**activities_of(REMOVAL_ACTIVITIES, world.ports, recorder)).look_removal(subject)


async def test_the_id_is_that_of_the_objects_workflow_and_a_round_hands_it_out_no_more(world):
    first = await world.carry_out(nothing())
    assert [one.name for one in (*first.requests, *first.removals)] == ["default-a", "default-b"]
    ids = {}
    for resource, name in ((NODE_REQUESTS, "default-a"), (NODE_REMOVAL_REQUESTS, "default-b")):
        await look(world, resource, name)
        item = await world.cluster.get(resource, name)
        ids[name] = item["status"]["workflowId"], item["metadata"]["uid"]
    # The ids of docs/design.md#ids.
    assert ids["default-a"][0] == f"node-request:test:default-a:{ids['default-a'][1]}"
    assert ids["default-b"][0] == f"node-removal:test:default-b:{ids['default-b'][1]}"
    second = await world.carry_out(nothing())
    assert (second.requests, second.removals) == ((), ())


async def test_it_is_written_once(world):
    await look(world, NODE_REQUESTS, "default-a")
    world.cluster.writes.clear()
    await look(world, NODE_REQUESTS, "default-a")
    assert world.cluster.writes == []


@pytest.mark.parametrize("error", [Conflict("changed"), Unreachable("no answer")])
async def test_a_look_does_not_fail_for_it_and_the_next_writes_it(world, error):
    world.cluster.fail_with = error
    seen = await look(world, NODE_REQUESTS, "default-a")
    assert seen.exists
    world.cluster.fail_with = None
    await look(world, NODE_REQUESTS, "default-a")
    assert (await world.cluster.get(NODE_REQUESTS, "default-a"))["status"]["workflowId"]
