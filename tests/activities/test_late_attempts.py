"""Attempts of activities that were given up, and go on after the world has changed: what they read is no longer so."""

import pytest

from activities.objects.events import Recorder
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Conflict
from activities.removals.cool_off import taint_node
from activities.removals.end import skip
from activities.removals.look import look_at_removal
from activities.requests.end import hand_over
from activities.requests.look import look_at_request
from activities.requests.node import register_node
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, REGISTERED, START, UNREGISTERED

CANCEL = {"at": "2026-11-01T12:00:00Z", "by": "Ada", "reason": "Wanted again"}
GIVEN_UP = REGISTERED | {"phase": "Deprovisioning", "reason": "JoinTimeout"}


async def test_a_node_is_not_tainted_for_a_removal_that_was_cancelled_meanwhile(life):
    """Its cancel has perhaps lifted the taint already, and nobody would lift this one."""
    cooling = {"phase": "Pending", "scaleDownAt": START}
    await life.add_removal(cooling, nodeName=NAME)
    await life.add_node(ready=True)
    state = await look_at_removal(life.ports, NAME, life.uid)
    await life.set_status(NODE_REMOVAL_REQUESTS, cooling | {"cancel": CANCEL})
    with pytest.raises(Conflict):
        await taint_node(life.ports, Recorder(life.ports), state, Act(effect="taint_node", reason="CoolOff"))
    assert await life.taints() == []


async def test_a_node_is_not_sealed_for_a_request_that_took_it_back_meanwhile(life):
    await life.add_request(GIVEN_UP)
    await life.add_node(ready=False)
    state = await look_at_request(life.ports, NAME, life.uid)
    await life.set_status(NODE_REQUESTS, REGISTERED)
    with pytest.raises(Conflict):
        await hand_over(life.ports, Recorder(life.ports), state, Act(effect="hand_over", reason="JoinTimeout"))
    assert await life.taints() == []


async def test_a_node_is_not_registered_for_a_request_that_was_released_meanwhile(life):
    """Its reservation would keep all pods off, and its request does not expect one any more."""
    coming = {key: value for key, value in REGISTERED.items() if key not in {"registeredAt", "nodeName"}}
    await life.add_request(coming, seats=[await life.add_pod()])
    await life.add_node(UNREGISTERED)
    state = await look_at_request(life.ports, NAME, life.uid)
    await life.set_status(NODE_REQUESTS, coming | {"releasedAt": START})
    with pytest.raises(Conflict):
        await register_node(life.ports, Recorder(life.ports), state, Act(effect="register_node", reason="Registered"))
    assert await life.taints() == [UNREGISTERED]


async def test_a_skip_ends_no_later_request_of_its_machines_name(life, monkeypatch):
    """The record ended between the look and the deletion, and a person has given its name again."""
    await life.add_request(REGISTERED | {"phase": "Ready"})
    of_request = life.uid
    await life.add_removal({"phase": "CouldNotRemove"}, labels={"growth.dev/request-uid": of_request}, nodeName=NAME)
    state = await look_at_removal(life.ports, NAME, life.uid)
    real = life.cluster.get

    async def get(resource, name, **more):
        item = await real(resource, name, **more)
        if resource == NODE_REQUESTS and item["metadata"]["uid"] == of_request:
            await life.cluster.end(NODE_REQUESTS, NAME)
            await MemoryCluster.create(life.cluster, NODE_REQUESTS, bodies.request(NAME))
        return item

    monkeypatch.setattr(life.cluster, "get", get)
    with pytest.raises(Conflict):
        await skip(life.ports, Recorder(life.ports), state, Act(effect="skip_server", reason="Skipped"))
    later = await life.request()
    assert later["metadata"]["uid"] != of_request
    assert "deletionTimestamp" not in later["metadata"]
