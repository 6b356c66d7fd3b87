"""Servers with an address of a chosen subnet: made stopped, attached, started, whatever happens in between."""

from dataclasses import replace

import pytest

from activities.ports.cluster import SECRETS
from activities.ports.errors import QuotaExceeded
from activities.ports.provider import ServerState
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.servers.networks import attachments, network_labels
from api.v1alpha1.hetzner_node_class_status import ResolvedNetwork
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.yard import NAMESPACE, ORDER, SUBNET, TOKEN, Yard, hetzner_class, secret

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


async def test_a_server_whose_image_takes_long_is_attached_and_started_all_the_same(yard):
    yard.cloud.faults.append(Fault("create_server", "slow_action", seconds=1200))
    await yard.create()
    await yard.tend_for(1300, step=10)
    assert await state(yard) is ServerState.RUNNING
    assert changes(yard) == ["create_server", "attach_to_network", "power_on"]


async def test_it_is_finished_as_it_was_begun_whatever_its_class_says_by_then(yard):
    await yard.create()
    path = "/spec/networks"
    await yard.cluster.patch(HETZNER_NODE_CLASSES, "default", [{"op": "replace", "path": path, "value": []}])
    await yard.tend_for(90)
    assert await state(yard) is ServerState.RUNNING
    assert list(yard.servers()[NAME].networks) == [yard.network]


async def test_a_server_that_was_made_started_is_attached_to_nothing_that_its_class_names_later():
    yard = Yard()
    yard.cloud.add_network("private", subnets=((SUBNET, "eu-central"),))
    await yard.open(hetzner_class())
    await yard.create()
    networks = [{"name": "private", "subnetIPRange": SUBNET}]
    await yard.cluster.patch(
        HETZNER_NODE_CLASSES, "default", [{"op": "add", "path": "/spec/networks", "value": networks}]
    )
    await yard.tend_for(60)
    number = yard.servers()[NAME].id
    yard.cloud.handle("POST", f"/servers/{number}/actions/poweroff", [], None, TOKEN)
    await yard.tend_for(60)
    assert not yard.servers()[NAME].networks


async def test_a_network_that_is_gone_makes_it_a_broken_one(yard):
    await yard.create()
    yard.cloud.remove(yard.network)
    await yard.tend_for(60)
    assert await state(yard) is ServerState.BROKEN
    assert "power_on" not in changes(yard)


async def test_with_two_projects_each_server_is_attached_once(yard):
    other = "o" * 64
    yard.cloud.add_token(other, project="other")
    await yard.cluster.create(SECRETS, secret("other", token=other), namespace=NAMESPACE)
    ref = {"namespace": NAMESPACE, "name": "other", "key": "token"}
    await yard.cluster.create(HETZNER_NODE_CLASSES, hetzner_class("other", tokenSecretRef=ref))
    await yard.create()
    await yard.tend_for(60)
    assert changes(yard) == ["create_server", "attach_to_network", "power_on"]


@pytest.mark.parametrize("value", ["", "x", "12_10.0.0.0", "12_10.0.1.0-24-x"])
def test_a_label_that_a_person_changed_names_no_network(value):
    assert attachments({"growth.dev/network": value}) == ()


def test_the_labels_of_networks_say_all_of_them():
    networks = [
        ResolvedNetwork(id=7, zone="eu-central", subnet_ip_range=SUBNET),
        ResolvedNetwork(id=8, zone="eu-central"),
    ]
    labels = network_labels(networks)
    assert labels == {"growth.dev/network": "7_10.0.1.0-24", "growth.dev/network-2": "8"}
    assert attachments(labels) == ((7, SUBNET), (8, None))
    assert network_labels(networks[1:]) == {}, "where Hetzner may choose, it attaches them itself"
