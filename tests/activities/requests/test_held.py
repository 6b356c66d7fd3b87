"""A machine that replaces another is bought only if somebody waits for it, and kept until the pods have moved.

Source: docs/design.md#replacement.
"""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, REGISTERED, RESERVED, START, Life

STEP = {"labels": {"growth.dev/step": "s.1"}}
READY = REGISTERED | {
    "phase": "Ready",
    "readyAt": START - timedelta(minutes=5),
    "releaseBy": START - timedelta(minutes=4),
}
CANCELLED = {"phase": "Pending", "cancel": {"at": "2026-11-01T12:00:00Z", "by": "Ada"}}


async def add_removal(life, status=None, *, of=NAME, deleting=False):
    body = bodies.removal("old", replacedBy=[of])
    body["metadata"]["labels"] = STEP["labels"]
    await MemoryCluster.create(life.cluster, NODE_REMOVAL_REQUESTS, body)
    if status:
        change = [{"op": "add", "path": "/status", "value": status}]
        await MemoryCluster.patch(life.cluster, NODE_REMOVAL_REQUESTS, "old", change, subresource="status")
    if deleting:
        await MemoryCluster.delete(life.cluster, NODE_REMOVAL_REQUESTS, "old")


async def wished(*, bound=True, labels=STEP, **pod):
    """A request that is to replace a machine, of which a pod runs elsewhere."""
    life = Life()
    await life.install()
    seat = await life.add_pod(**pod)
    if bound:
        await MemoryCluster.delete(life.cluster, PODS, seat["name"], namespace="shop")
        body = bodies.pod("web-1", node_name="elsewhere")
        created = await MemoryCluster.create(life.cluster, PODS, body, namespace="shop")
        seat |= {"uid": created["metadata"]["uid"]}
    await life.add_request(seats=[seat], **labels)
    return life


REMOVALS = {
    "none": (None, False),
    "one that waits": ({}, True),
    "one that is drained": ({"status": {"phase": "Draining"}}, True),
    "one that deletes its server": ({"status": {"phase": "Deprovisioning"}}, True),
    "a parked one": ({"status": {"phase": "CouldNotRemove"}}, False),
    "a cancelled one": ({"status": CANCELLED}, False),
    "a deleted one": ({"deleting": True}, False),
    "one of another": ({"of": "default-c3"}, False),
}


@pytest.mark.parametrize(("removal", "is_awaited"), REMOVALS.values(), ids=REMOVALS)
async def test_no_server_is_asked_for_unless_a_removal_waits_for_it(removal, is_awaited):
    life = await wished()
    if removal is not None:
        await add_removal(life, **removal)
    assert (await life.look_request()).unneeded == (not is_awaited)
    await life.do("create_server" if is_awaited else "finish_request")
    assert life.cloud.calls.count("create") == is_awaited
    assert (await life.request() is None) == (not is_awaited)


async def test_of_a_step_that_was_cut_off_nothing_is_bought():
    life = await wished(labels={"labels": {"growth.dev/step": "s.2"}})
    await add_removal(life)
    assert (await life.look_request()).unneeded


async def test_a_pod_that_waits_for_it_is_enough():
    life = await wished(bound=False)
    assert not (await life.look_request()).unneeded


async def test_one_that_replaces_nothing_is_bought_as_it_was():
    life = await wished(labels={})
    assert not (await life.look_request()).unneeded
    assert "noderemovalrequests" not in life.cluster.reads


async def test_one_that_was_asked_for_goes_on():
    life = await wished()
    await life.set_status(NODE_REQUESTS, REGISTERED | {"phase": "Pending", "registeredAt": None})
    assert not (await life.look_request()).unneeded


@pytest.mark.parametrize(("removal", "is_held"), REMOVALS.values(), ids=REMOVALS)
async def test_it_is_kept_as_long_as_the_pods_of_what_it_replaces_are_on_their_way(removal, is_held):
    life = Life()
    await life.install()
    await life.add_machine(READY, RESERVED, pods=1, bound=True, ready=True)
    if removal is not None:
        await add_removal(life, **removal)
    seen = await life.look_request()
    assert (seen.held_by, seen.named_deadline is None) == ("old" if is_held else "", is_held)
    if is_held:
        assert await life.taints() == [RESERVED]
    else:
        await life.do("release_node")
        assert await life.taints() == []
