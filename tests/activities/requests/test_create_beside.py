"""The create call beside what it does not depend on: the memory of the class, and Nodes of the same name."""

import pytest

from activities.ports.cluster import NODE_REQUESTS, NODES
from activities.ports.errors import Conflict, InsufficientCapacity, Rejected, Unreachable
from activities.providers.built_in import KWOK_NODE_CLASSES
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, START, UNREGISTERED, Life

MISSED = {
    "serverType": "cx32",
    "location": "fsn1",
    "failures": 1,
    "lastFailureAt": "2026-11-01T11:00:00Z",
    "until": "2026-11-01T11:02:00Z",
}


@pytest.fixture
async def life():
    made = Life()
    await made.install()
    await made.add_request()
    return made


def lose_the_memory(life, error):
    def refuse(verb, resource, _):
        if (verb, resource) == ("patch", KWOK_NODE_CLASSES):
            raise error

    life.cluster.refuse = refuse


@pytest.mark.parametrize("error", [Rejected("forbidden"), Unreachable("down"), Conflict("changed")], ids=repr)
async def test_an_answer_is_not_lost_with_the_memory_of_it(life, error):
    """Else the next attempt would call again, and then again until the provisioning time-out."""
    lose_the_memory(life, error)
    life.cloud.fail["create"] = InsufficientCapacity("sold out")
    seen = await life.do("create_server")
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "InsufficientCapacity")
    assert (seen.status.expires_at - START).total_seconds() == 120
    assert life.cloud.calls.count("create") == 1


@pytest.mark.parametrize("error", [Rejected("forbidden"), Unreachable("down"), Conflict("changed")], ids=repr)
async def test_a_server_that_came_is_not_held_up_by_the_memory(life, error):
    change = [{"op": "add", "path": "/status", "value": {"unavailable": [MISSED]}}]
    await MemoryCluster.patch(life.cluster, KWOK_NODE_CLASSES, "default", change, subresource="status")
    lose_the_memory(life, error)
    assert (await life.do("create_server")).status.phase == "Provisioning"


async def test_no_server_is_bought_under_the_name_of_a_node_that_exists(life):
    """It could not join, and the Node that has the name would be taken for its own and go with it."""
    body = bodies.node(NAME, "default", "cx32", "4", "8Gi", labels={"team": "storage"})
    await MemoryCluster.create(life.cluster, NODES, body)
    before = await life.node()
    seen = await life.do("create_server")
    assert (seen.status.phase, seen.status.reason) == ("Failed", "NameTaken")
    assert seen.status.message == f"A Node named {NAME} exists already and was not made for this request"
    assert life.cloud.calls == []
    assert await life.node() == before


async def test_after_a_call_of_unknown_outcome_the_node_may_be_its_own(life):
    await life.set_status(NODE_REQUESTS, {"phase": "Pending", "attempts": 1, "createAttemptAt": START})
    life.add_server()
    await life.add_node(UNREGISTERED)
    assert (await life.do("create_server")).status.phase == "Provisioning"
