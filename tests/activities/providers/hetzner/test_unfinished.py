"""Servers with an address of a chosen subnet: made stopped, attached, started, whatever happens in between."""

from dataclasses import replace

import pytest

from activities.errors import QuotaExceeded
from activities.providers.base import ServerState
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.yard import ORDER, SUBNET, TOKEN, Yard, hetzner_class

NAME = ORDER.name


@pytest.fixture
async def yard():
    yard = Yard()
    yard.network = yard.cloud.add_network("private", subnets=((SUBNET, "eu-central"), ("10.0.2.0/24", "eu-central")))
    return await yard.open(hetzner_class(networks=[{"name": "private", "subnetIPRange": SUBNET}]))


async def state(yard):
    return (await yard.provider.get(NAME, "default")).state


def changes(yard):
    return [
        each.verb for each in yard.cloud.requests if each.verb in {"create_server", "attach_to_network", "power_on"}
    ]


async def test_a_server_is_attached_before_it_starts(yard):
    await yard.create()
    await yard.tend_for(90)
    assert await state(yard) is ServerState.RUNNING
    assert changes(yard) == ["create_server", "attach_to_network", "power_on"]
    assert yard.servers()[NAME].networks == {yard.network: "10.0.1.2"}


async def test_without_a_range_hetzner_attaches_it_and_no_further_call_is_made():
    yard = Yard()
    network = yard.cloud.add_network("private")
    await yard.open(hetzner_class(networks=[{"name": "private"}]))
    await yard.create()
    await yard.tend_for(60)
    assert await state(yard) is ServerState.RUNNING
    assert changes(yard) == ["create_server"]
    assert list(yard.servers()[NAME].networks) == [network]


@pytest.mark.parametrize("seconds", [4, 32, 40, 48])
async def test_another_worker_finishes_what_one_began(yard, seconds):
    await yard.create()
    await yard.tend_for(seconds)
    yard.provider = yard.another_worker()
    await yard.tend_for(90)
    assert await state(yard) is ServerState.RUNNING
    assert yard.servers()[NAME].networks == {yard.network: "10.0.1.2"}
    assert changes(yard).count("create_server") == 1


@pytest.mark.parametrize("verb", ["attach_to_network", "power_on"])
@pytest.mark.parametrize("kind", ["lost_request", "lost_reply"])
async def test_a_lost_answer_does_not_stop_it(yard, verb, kind):
    yard.cloud.faults.append(Fault(verb, kind))
    await yard.create()
    await yard.tend_for(120)
    assert await state(yard) is ServerState.RUNNING


async def test_a_start_that_fails_makes_it_a_broken_one(yard):
    yard.cloud.faults.append(Fault("power_on", "action_error", code="server_error", message="no boot"))
    await yard.create()
    await yard.tend_for(60)
    found = await yard.provider.get(NAME, "default")
    assert (found.state, "no boot" in found.problem) == (ServerState.BROKEN, True)


async def test_a_full_subnet_stops_buying_in_the_class(yard):
    yard.cloud.faults.append(
        Fault("attach_to_network", "error", status=409, code="ip_not_available", message="no free IP", times=None)
    )
    await yard.create()
    await yard.tend_for(60)
    found = await yard.provider.get(NAME, "default")
    assert (found.state, "no free address" in found.problem) == (ServerState.BROKEN, True)
    with pytest.raises(QuotaExceeded, match="no free address"):
        await yard.create(replace(ORDER, name="default-b2"))
    assert changes(yard).count("create_server") == 1


async def test_a_server_that_a_person_stops_later_is_not_started_again(yard):
    await yard.create()
    await yard.tend_for(1000, step=20)
    number = yard.servers()[NAME].id
    yard.cloud.handle("POST", f"/servers/{number}/actions/poweroff", [], None, TOKEN)
    before = changes(yard)
    await yard.tend_for(120)
    assert changes(yard) == before
