"""Servers with an address of a chosen subnet: made stopped, attached, started, whatever happens in between."""

from dataclasses import replace

import pytest

from activities.ports.errors import QuotaExceeded
from activities.ports.provider import ServerState
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.servers.networks import attachments, network_labels
from api.v1alpha1.hetzner_node_class_status import ResolvedNetwork
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.scenes import ORDER, SUBNET, ProviderScene
from tests.builders import hetzner_node_class

NAME = ORDER.name


@pytest.fixture
async def scene():
    scene = ProviderScene()
    scene.network = scene.cloud.add_network("private", subnets=((SUBNET, "eu-central"), ("10.0.2.0/24", "eu-central")))
    return await scene.open(hetzner_node_class(networks=[{"name": "private", "subnetIPRange": SUBNET}]))


def changes(scene):
    return [
        each.verb for each in scene.cloud.requests if each.verb in {"create_server", "attach_to_network", "power_on"}
    ]


async def test_a_server_is_attached_before_it_starts(scene):
    await scene.create()
    await scene.tend_for(90)
    assert await scene.state() is ServerState.RUNNING
    assert changes(scene) == ["create_server", "attach_to_network", "power_on"]
    assert scene.servers()[NAME].networks == {scene.network: "10.0.1.2"}


async def test_without_a_range_hetzner_attaches_it_and_no_further_call_is_made():
    scene = ProviderScene()
    network = scene.cloud.add_network("private")
    await scene.open(hetzner_node_class(networks=[{"name": "private"}]))
    await scene.create()
    await scene.tend_for(60)
    assert await scene.state() is ServerState.RUNNING
    assert changes(scene) == ["create_server"]
    assert list(scene.servers()[NAME].networks) == [network]


@pytest.mark.parametrize("seconds", [4, 32, 40, 48])
async def test_another_worker_finishes_what_one_began(scene, seconds):
    await scene.create()
    await scene.tend_for(seconds)
    scene.provider = scene.another_worker()
    await scene.tend_for(90)
    assert await scene.state() is ServerState.RUNNING
    assert scene.servers()[NAME].networks == {scene.network: "10.0.1.2"}
    assert changes(scene).count("create_server") == 1


@pytest.mark.parametrize("verb", ["attach_to_network", "power_on"])
@pytest.mark.parametrize("kind", ["lost_request", "lost_reply"])
async def test_a_lost_answer_does_not_stop_it(scene, verb, kind):
    scene.cloud.faults.append(Fault(verb, kind))
    await scene.create()
    await scene.tend_for(120)
    assert await scene.state() is ServerState.RUNNING


async def test_a_start_that_fails_makes_it_a_broken_one(scene):
    scene.fail("power_on", "action_error", code="server_error", message="no boot")
    await scene.create()
    await scene.tend_for(60)
    broken = await scene.provider.get(NAME, "default")
    assert (broken.state, "no boot" in broken.problem) == (ServerState.BROKEN, True)


async def test_a_full_subnet_stops_buying_in_the_class(scene):
    scene.fail("attach_to_network", status=409, code="ip_not_available", message="no free IP", times=None)
    await scene.create()
    await scene.tend_for(60)
    broken = await scene.provider.get(NAME, "default")
    assert (broken.state, "no free address" in broken.problem) == (ServerState.BROKEN, True)
    with pytest.raises(QuotaExceeded, match="no free address"):
        await scene.create(replace(ORDER, name="default-b2"))
    assert changes(scene).count("create_server") == 1


async def test_a_server_that_a_person_stops_later_is_not_started_again(scene):
    await scene.create()
    await scene.tend_for(1000, step=20)
    scene.power_off()
    before = changes(scene)
    await scene.tend_for(120)
    assert changes(scene) == before


async def test_a_server_whose_image_takes_long_is_attached_and_started_all_the_same(scene):
    scene.fail("create_server", "slow_action", seconds=1200)
    await scene.create()
    await scene.tend_for(1300, step=10)
    assert await scene.state() is ServerState.RUNNING
    assert changes(scene) == ["create_server", "attach_to_network", "power_on"]


async def test_it_is_finished_as_it_was_begun_whatever_its_class_says_by_then(scene):
    await scene.create()
    await scene.change("/spec/networks", [])
    await scene.tend_for(90)
    assert await scene.state() is ServerState.RUNNING
    assert list(scene.servers()[NAME].networks) == [scene.network]


async def test_a_server_that_was_made_started_is_attached_to_nothing_that_its_class_names_later():
    scene = ProviderScene()
    scene.cloud.add_network("private", subnets=((SUBNET, "eu-central"),))
    await scene.open(hetzner_node_class())
    await scene.create()
    await scene.change("/spec/networks", [{"name": "private", "subnetIPRange": SUBNET}])
    await scene.tend_for(60)
    scene.power_off()
    await scene.tend_for(60)
    assert not scene.servers()[NAME].networks


async def test_a_network_that_is_gone_makes_it_a_broken_one(scene):
    await scene.create()
    scene.cloud.remove(scene.network)
    await scene.tend_for(60)
    assert await scene.state() is ServerState.BROKEN
    assert "power_on" not in changes(scene)


async def test_with_two_projects_each_server_is_attached_once(scene):
    other = "o" * 64
    scene.cloud.add_token(other, project="other")
    ref = await scene.add_token(other, name="other")
    await scene.cluster.create(HETZNER_NODE_CLASSES, hetzner_node_class("other", tokenSecretRef=ref))
    await scene.create()
    await scene.tend_for(60)
    assert changes(scene) == ["create_server", "attach_to_network", "power_on"]


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
