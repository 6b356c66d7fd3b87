"""The event on a pool whose machines do not come: one for each reason, however many machines fail for it."""

from datetime import timedelta

import pytest

from activities.objects.events import QUIET_FOR, Recorder
from activities.objects.kinds import REQUESTS
from activities.objects.record import read_record
from activities.ports.cluster import EVENTS, NODE_REQUESTS
from activities.ports.errors import InsufficientCapacity
from activities.requests.scale_up_failed import SCALE_UP_FAILED, tell_scale_up_failed
from planner.lifecycle.step import Act
from tests.activities.lives import NAME, START
from tests.activities.rounds import World
from tests.builders import node_request
from tests.tables import rows

SHORT, BROKEN = ("InsufficientCapacity", "cx22 is sold out in fsn1"), ("ServerBroken", "the server is off")


@pytest.fixture
async def world():
    made = World()
    await made.install()
    return made


async def failed(world, recorder, name, reason, **made):
    created = await world.cluster.create(NODE_REQUESTS, node_request(name, **made))
    record = await read_record(world.cluster, REQUESTS, name, created["metadata"]["uid"])
    await tell_scale_up_failed(recorder, record, *reason)


async def notes(world):
    found = [event for event in await world.items(EVENTS) if event["reason"] == SCALE_UP_FAILED]
    assert all((event["regarding"]["kind"], event["type"]) == ("NodePool", "Warning") for event in found)
    return sorted(event["note"] for event in found)


async def test_a_burst_that_fails_for_one_reason_is_one_event(world):
    recorder = Recorder(world.ports)
    for number in range(20):
        await failed(world, recorder, f"m{number}", SHORT)
    first = "m0, a cx22 in fsn1, does not come: InsufficientCapacity: cx22 is sold out in fsn1"
    assert await notes(world) == [first]
    await failed(world, recorder, "other", BROKEN)
    assert await notes(world) == [first, "other, a cx22 in fsn1, does not come: ServerBroken: the server is off"]
    world.pass_time(QUIET_FOR)
    await failed(world, recorder, "later", SHORT)
    assert len(await notes(world)) == 3


async def test_a_request_made_by_hand_has_no_pool_to_tell(world):
    await failed(world, Recorder(world.ports), "m", SHORT, by_hand=True)
    assert await notes(world) == []


OWNER = {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "name": "default", "uid": "pool-uid"}
LATE = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": START - timedelta(seconds=100),
    "runningAt": START - timedelta(seconds=50),
    "joinDeadline": START,
}


async def refused(life):
    await life.add_request()
    life.cloud.fail["create"] = InsufficientCapacity("sold out")
    return "create_server", None


async def too_late(life):
    await life.add_machine(LATE, node=False)
    return "give_up", None


async def deleted(life):
    await life.add_machine(LATE, node=False)
    return "give_up", Act(effect="give_up", reason="Cancelled")


@rows(
    ("arrange", "reasons"),
    {
        "a refused call": (refused, [("NodePool", SCALE_UP_FAILED)]),
        "a machine that never joined": (too_late, [("NodePool", SCALE_UP_FAILED)]),
        "a request that is not wanted any more": (deleted, []),
    },
)
async def test_the_lifecycle_tells_the_pool(life, arrange, reasons):
    effect, act = await arrange(life)
    await life.cluster.put(NODE_REQUESTS, NAME, "/metadata/ownerReferences", [OWNER])
    await life.do(effect, act)
    assert [told for told in await life.event_reasons() if told[0] == "NodePool"] == reasons
