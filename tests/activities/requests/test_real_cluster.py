"""Requests for simulated machines, once the cluster has a real Node: what is not begun ends, the rest goes on."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import NODES
from activities.ports.provider import ServerState
from activities.ports.simulated_kinds import SimulatedKinds
from activities.providers.kwok.simulated_node import is_simulated
from activities.requests.look import look_at_request
from planner.lifecycle.request import next_step
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, REGISTERED, START, UNREGISTERED


@pytest.fixture
async def beside(life):
    """The life, and a real Node beside it."""
    life.ports = replace(life.ports, simulated=SimulatedKinds({"KwokNodeClass": is_simulated}, False))
    life.restart()
    await MemoryCluster.create(
        life.cluster, NODES, {"metadata": {"name": "cp-1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.33.1"}}}
    )
    return life


async def step_of(life):
    observed = await look_at_request(life.ports, NAME, life.uid)
    return next_step(observed.seen, life.now())


async def test_a_request_without_a_call_ends_without_one_whoever_made_it(beside):
    await beside.add_request()
    step = await step_of(beside)
    assert (step.effect, step.reason) == ("mark_unmet", "RealCluster")
    assert step.message.startswith("Node cp-1 is real (kubelet v1.33.1), and machines of this class are simulated")
    assert step.until == START + timedelta(seconds=120), "the pool's unavailableTTL"
    assert beside.cloud.calls == []


async def test_with_the_setting_it_is_asked_for(beside):
    beside.ports = replace(beside.ports, simulated=SimulatedKinds({"KwokNodeClass": is_simulated}, True))
    await beside.add_request()
    assert (await step_of(beside)).effect == "create_server"


async def test_a_machine_that_a_call_may_have_made_goes_its_way(beside):
    await beside.add_request(
        {"attempts": 1, "createAttemptAt": START, "provisioningDeadline": START + timedelta(minutes=5)}
    )
    assert (await step_of(beside)).effect == "create_server", "it finds the server by its name"


async def test_a_machine_of_an_earlier_version_joins_and_is_registered(beside):
    await beside.add_machine(
        REGISTERED | {"registeredAt": None, "nodeName": None}, UNREGISTERED, server=ServerState.RUNNING
    )
    assert (await step_of(beside)).effect == "register_node"


async def test_once_the_real_node_is_gone_it_is_asked_for(beside):
    await beside.add_request()
    await MemoryCluster.delete(beside.cluster, NODES, "cp-1")
    assert (await step_of(beside)).effect == "create_server"
