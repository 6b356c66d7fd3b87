"""Nodes whose provider id is of another scheme than their server's: used, told of, and never somebody else's."""

from datetime import timedelta

import pytest

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODES
from activities.ports.provider import ServerState
from planner.lifecycle.request import next_step
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import EffectInput
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, START, UNREGISTERED

OWN = f"kwok://test/{NAME}"
RUNNING = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": START - timedelta(seconds=100),
    "providerID": OWN,
    "provisioningDeadline": START + timedelta(minutes=5),
    "runningAt": START - timedelta(seconds=10),
    "joinDeadline": START + timedelta(minutes=10),
}
SCHEMES = ["k3s", "talos", "hcloud"]


async def join(life, *taints, provider_id, labels=None, ready=False):
    body = bodies.node(NAME, "default", "cx32", "4", "8Gi", labels=labels or {})
    body["spec"] = {"providerID": provider_id, "taints": list(taints)}
    body["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    return await MemoryCluster.create(life.cluster, NODES, body)


async def condition(life):
    conditions = (await life.request())["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "NodeNamesServer"), None)


@pytest.fixture
async def booted(life):
    await life.add_request(RUNNING)
    life.add_server(ServerState.RUNNING)
    return life


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("has_labels", [True, False])
async def test_a_node_of_another_scheme_becomes_the_requests(booted, scheme, has_labels):
    labels = booted.own_labels() if has_labels else {}
    named = f"{scheme}://{NAME}"
    await join(booted, UNREGISTERED, provider_id=named, labels=labels, ready=True)
    await booted.do("register_node")
    assert (await booted.node())["metadata"]["labels"]["growth.dev/request-uid"] == booted.uid
    told = await condition(booted)
    assert (told["status"], told["reason"]) == ("False", "OtherScheme")
    assert f"Node {NAME} has the providerID {named}, and its server is {OWN}" in told["message"]
    seen = await booted.do("mark_ready")
    assert seen.status.phase == "Ready"
    assert (await condition(booted))["lastTransitionTime"] == told["lastTransitionTime"]


async def test_an_id_that_comes_after_registration_is_told_when_the_node_is_ready(booted):
    """As k3s' own cloud controller sets it."""
    node = await join(booted, UNREGISTERED, provider_id="", labels=booted.own_labels())
    await booted.do("register_node")
    assert await condition(booted) is None
    node = await booted.node()
    change = set_field(node, ("spec", "providerID"), f"k3s://{NAME}")
    await MemoryCluster.patch(booted.cluster, NODES, NAME, change)
    await booted.set_ready()
    await booted.do("mark_ready")
    assert (await condition(booted))["reason"] == "OtherScheme"


async def test_nothing_is_told_of_a_node_that_names_its_server(booted):
    await join(booted, UNREGISTERED, provider_id=OWN, labels=booted.own_labels(), ready=True)
    await booted.do("register_node")
    await booted.do("mark_ready")
    assert await condition(booted) is None


@pytest.mark.parametrize(
    ("provider_id", "labels", "why"),
    [
        (f"k3s://{NAME}", {}, "neither the label growth.dev/request-uid nor the taint growth.dev/unregistered"),
        (f"k3s://{NAME}", {"growth.dev/request-uid": "another"}, "of another machine (another)"),
        ("kwok://test/another", {}, "is of another server: its providerID is kwok://test/another, not " + OWN),
    ],
)
async def test_another_machine_that_takes_the_name_is_not_used_and_stays(booted, provider_id, labels, why):
    before = await join(booted, provider_id=provider_id, labels=labels, ready=True)
    seen = await booted.look_request()
    assert seen.node is None
    waits = next_step(seen, booted.now())
    assert why in waits.message
    booted.pass_time(700)
    seen = await booted.do("give_up")
    assert why in (await booted.request())["status"]["message"]
    await booted.do("hand_over")
    removal = await booted.removal()
    booted.uid = removal["metadata"]["uid"]
    for effect in ("commit_removal", "delete_server"):
        await booted.do(effect)
    assert booted.cloud.servers == {}
    await booted.do("finish_removal")
    assert await booted.node() == before, "only the server that this request has bought is gone"


async def test_a_message_of_an_older_look_is_as_it_was(booted):
    seen = (await booted.look_request()).model_copy(update={"server": ServerSeen.RUNNING})
    assert next_step(seen, START).message.endswith("the server is removed")


@pytest.mark.parametrize("stored", [f"k3s://{NAME}", OWN, None])
async def test_a_removal_of_such_a_node_deletes_the_server_and_the_node(life, stored):
    """Whether the removal was made from the request, from the Node, or by hand."""
    spec = {"nodeName": NAME} | ({"providerID": stored} if stored else {})
    await life.add_removal({"phase": "Deprovisioning"}, labels={"growth.dev/request-uid": "u-1"}, **spec)
    life.add_server(ServerState.RUNNING, **{"growth.dev/request-uid": "u-1"})
    await join(life, provider_id=f"k3s://{NAME}", labels=life.own_labels("u-1"), ready=True)
    await life.do("delete_server")
    assert life.cloud.servers == {}
    await life.do("delete_node")
    assert await life.node() is None


@pytest.mark.parametrize("stored", ["kwok://test/another", "kwok://another"])
async def test_an_id_of_the_same_scheme_still_tells_another_server(life, stored):
    """Where no request's uid says more."""
    await life.add_removal({"phase": "Deprovisioning"}, nodeName=NAME, providerID=stored)
    life.add_server(ServerState.RUNNING, **{"growth.dev/request-uid": "u-1"})
    seen = await life.removals.look_removal(EffectInput(name=NAME, uid=life.uid))
    assert seen.server is ServerSeen.FOREIGN


@pytest.mark.parametrize("stored", [None, OWN, f"k3s://{NAME}"])
async def test_a_removal_by_hand_takes_the_node_for_the_servers(life, stored):
    spec = {"nodeName": NAME} | ({"providerID": stored} if stored else {})
    await life.add_removal(None, **spec)
    life.add_server(ServerState.RUNNING, **{"growth.dev/request-uid": "u-1"})
    await join(life, provider_id=f"k3s://{NAME}", labels=life.own_labels("u-1"), ready=True)
    seen = await life.removals.look_removal(EffectInput(name=NAME, uid=life.uid))
    assert not seen.node.foreign
