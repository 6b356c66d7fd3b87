"""A machine whose pods are there stays reserved while other machines of its pool wait for theirs."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REQUESTS
from planner.lifecycle.step import Act, EffectInput
from tests.activities.lives import NAME, RESERVED, START, Life

REGISTERED = {
    "phase": "Ready",
    "createAttemptAt": START - timedelta(seconds=90),
    "registeredAt": START - timedelta(seconds=5),
    "nodeName": NAME,
    "readyAt": START,
    "releaseBy": START + timedelta(seconds=60),
}
SETTLE = Act(effect="mark_settled", reason="Settled", message="All planned pods are bound")


async def looked(life):
    return await life.requests.look_request(EffectInput(name=NAME, uid=life.uid))


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
    mine = await life.request()
    seat = mine["spec"]["reservedFor"][0]
    body = {
        "apiVersion": mine["apiVersion"],
        "kind": mine["kind"],
        "metadata": {"name": "default-b2"},
        "spec": {**mine["spec"], "pool": pool, "reservedFor": [{**seat, "uid": f"other-{n}"} for n in range(seats)]},
    }
    made = await life.cluster.create(NODE_REQUESTS, body)
    await life.cluster.put(NODE_REQUESTS, made["metadata"]["name"], "/status", status)


@pytest.mark.parametrize("phase", ["Pending", "Provisioning", "Ready"])
async def test_it_settles_while_another_waits_and_keeps_its_taint(life, phase):
    await add_neighbour(life, status={"phase": phase})
    assert (await looked(life)).unsettled == 1
    seen = await life.do("mark_settled")
    assert seen.status.settled_at == START
    assert seen.status.released_at is None
    assert RESERVED in await life.taints()
    assert await life.do("mark_settled", SETTLE) == seen


@pytest.mark.parametrize(
    "neighbour",
    [
        {"status": {"phase": "Provisioning"}, "pool": "gpu"},
        {"status": {"phase": "Provisioning"}, "seats": 0},
        {"status": {"phase": "Unmet"}},
        {"status": {"phase": "Failed"}},
        {"status": {"phase": "Deprovisioning"}},
        {"status": {"phase": "Ready", "settledAt": "2026-11-01T11:59:00Z"}},
        {"status": {"phase": "Ready", "releasedAt": "2026-11-01T11:59:00Z"}},
    ],
    ids=["other pool", "no planned pods", "Unmet", "Failed", "Deprovisioning", "settled", "released"],
)
async def test_it_waits_for_no_other(life, neighbour):
    await add_neighbour(life, **neighbour)
    assert (await looked(life)).unsettled == 0
