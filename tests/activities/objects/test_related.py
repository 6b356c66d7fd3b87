"""A life learns how many others are under way: together they look no more often than a few."""

import pytest

from activities.objects.related import count_others
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Unreachable
from tests.activities import bodies
from tests.activities.lives import START, Life


async def put(life, resource, body, status):
    made = await life.cluster.create(resource, body)
    await life.cluster.put(resource, made["metadata"]["name"], "/status", status)


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        ({"phase": "Pending"}, 1),
        ({"phase": "Provisioning"}, 1),
        ({"phase": "Ready"}, 1),
        ({"phase": "Ready", "releasedAt": "2026-11-01T11:59:00Z"}, 0),
        ({"phase": "Unmet"}, 0),
        ({"phase": "Failed"}, 0),
        ({"phase": "Deprovisioning"}, 0),
    ],
)
async def test_a_request_that_boots_counts_requests_that_are_under_way(status, counts):
    life = Life()
    await life.add_request({"phase": "Provisioning", "createAttemptAt": START})
    life.add_server()
    await put(life, NODE_REQUESTS, bodies.request("default-b2"), status)
    seen = await life.look_request()
    assert seen.others == counts


@pytest.mark.parametrize(
    ("phase", "counts"), [("Pending", 1), ("Draining", 1), ("Deprovisioning", 1), ("CouldNotRemove", 0)]
)
async def test_a_removal_counts_removals_that_are_not_parked(phase, counts):
    life = Life()
    await life.add_removal({"phase": "Pending"})
    await put(life, NODE_REMOVAL_REQUESTS, bodies.removal("default-b2"), {"phase": phase})
    seen = await life.look_removal()
    assert seen.others == counts


async def test_a_cache_that_knows_nothing_holds_no_life_up(monkeypatch):
    life = Life()

    async def unknown(_):
        raise Unreachable("the cache has none yet")

    monkeypatch.setattr(life.ports.reader, "list", unknown)
    assert await count_others(life.ports, NODE_REQUESTS, "a", lambda _: True) == 0
