"""A machine whose pods are there stays reserved while other machines of its pool wait for theirs."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REQUESTS
from planner.lifecycle.step import Act
from tests.activities import bodies
from tests.activities.lives import NAME, RESERVED, START, Life
from tests.tables import rows

REGISTERED = {
    "phase": "Ready",
    "createAttemptAt": START - timedelta(seconds=90),
    "registeredAt": START - timedelta(seconds=5),
    "nodeName": NAME,
    "readyAt": START,
    "releaseBy": START + timedelta(seconds=60),
}
SETTLE = Act(effect="mark_settled", reason="Settled", message="All planned pods are bound")


@pytest.fixture
async def life():
    """A machine whose only planned pod is bound."""
    life = Life()
    seat = await life.add_pod("web-1")
    await life.add_request(REGISTERED, seats=[seat])
    life.add_server()
    await life.add_node(RESERVED, ready=True)
    await life.do("tolerate_pods")
    life.cluster.bind("shop", "web-1", NAME)
    return life


async def add_neighbour(life, *, status, pool="default", seats=1):
    """Another request, with this status and so many planned pods."""
    planned = [{"namespace": "shop", "name": f"web-{number}", "uid": f"other-{number}"} for number in range(seats)]
    await life.cluster.create(NODE_REQUESTS, bodies.request("default-b2", pool_name=pool, seats=planned))
    await life.cluster.put(NODE_REQUESTS, "default-b2", "/status", status)


@pytest.mark.parametrize("phase", ["Pending", "Provisioning", "Ready"])
async def test_it_settles_while_another_waits_and_keeps_its_taint(life, phase):
    await add_neighbour(life, status={"phase": phase})
    assert (await life.look_request()).unsettled == 1
    seen = await life.do("mark_settled")
    assert seen.status.settled_at == START
    assert seen.status.released_at is None
    assert RESERVED in await life.taints()
    assert await life.do("mark_settled", SETTLE) == seen


@rows(
    "neighbour",
    {
        "of another pool": {"status": {"phase": "Provisioning"}, "pool": "gpu"},
        "without planned pods": {"status": {"phase": "Provisioning"}, "seats": 0},
        "Unmet": {"status": {"phase": "Unmet"}},
        "Failed": {"status": {"phase": "Failed"}},
        "Deprovisioning": {"status": {"phase": "Deprovisioning"}},
        "settled": {"status": {"phase": "Ready", "settledAt": "2026-11-01T11:59:00Z"}},
        "released": {"status": {"phase": "Ready", "releasedAt": "2026-11-01T11:59:00Z"}},
    },
)
async def test_it_waits_for_no_other(life, neighbour):
    await add_neighbour(life, **neighbour)
    assert (await life.look_request()).unsettled == 0
