"""Sweeps over Nodes: those without a server, those that joined too late, and taints without a reason."""

import pytest

from activities.ports.cluster import NODES
from activities.ports.errors import AuthenticationFailed, Conflict
from api.model import read
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from planner.lifecycle.garbage import Garbage
from tests.activities.lives import FOREIGN, RESERVED, SCALE_DOWN, UNREGISTERED
from tests.activities.yards import NAME, START
from tests.tables import rows


async def test_a_node_whose_server_is_gone_gets_a_removal_that_ends_with_its_node(yard):
    await yard.node(ready=False)
    assert await yard.sweep() == [Garbage.SERVER_GONE]
    removal = read(NodeRemovalRequest, (await yard.removals())[NAME])
    assert (removal.spec.reason, removal.spec.immediate, removal.spec.node_name) == ("ServerGone", True, NAME)
    assert removal.spec.provider_id == f"kwok://test/{NAME}"
    assert removal.metadata.labels["growth.dev/request-uid"] == "u-1"
    assert {("Node", NAME, "ServerGone"), ("NodeRemovalRequest", NAME, "ServerGone")} <= set(await yard.event_reasons())


async def test_a_node_that_turns_ready_again_stays(yard):
    await yard.node(ready=False)
    await yard.healer.heal()
    await yard.set_status(NODES, NAME, {"conditions": [{"type": "Ready", "status": "True"}]})
    yard.pass_time(30)
    assert await yard.healer.heal() == ()
    await yard.set_status(NODES, NAME, {"conditions": [{"type": "Ready", "status": "False"}]})
    yard.pass_time(30)
    assert await yard.healer.heal() == ()


async def test_a_provider_that_gives_no_answer_proves_no_absence(yard):
    await yard.node(ready=False)
    yard.provider.fail["get"] = AuthenticationFailed("token")
    assert await yard.sweep() == []
    del yard.provider.fail["get"]
    assert await yard.sweep() == [Garbage.SERVER_GONE]


async def test_a_node_of_nobody_and_a_kept_one_stay(yard):
    await yard.node("bare-metal", ready=False, labels={})
    await yard.node(ready=False, annotations={"growth.dev/do-not-remove": "abandoned"})
    assert await yard.sweep() == []


async def test_a_node_that_joined_too_late_goes_with_a_cool_off(yard):
    await yard.server()
    await yard.node(NAME, UNREGISTERED)
    assert await yard.sweep() == [Garbage.STRAY]
    spec = read(NodeRemovalRequest, (await yard.removals())[NAME]).spec
    assert (spec.reason, spec.immediate, spec.node_name) == ("Orphan", False, NAME)
    assert ("Node", NAME, "OrphanNode") in await yard.event_reasons()


@pytest.mark.parametrize("labels", [None, {}])
async def test_one_that_another_controller_gave_its_id_goes_with_its_server_too(yard, labels):
    await yard.server()
    await yard.node(NAME, UNREGISTERED, labels=labels)
    await yard.set_provider_id(f"k3s://{NAME}")
    assert await yard.sweep() == [Garbage.STRAY]
    assert read(NodeRemovalRequest, (await yard.removals())[NAME]).spec.provider_id == f"kwok://test/{NAME}"


@rows(
    ("age", "pods"),
    {"while a pod is bound": ({}, ["web-1"]), "and is given its time to start": ({"age": START - START}, [])},
)
async def test_a_node_that_joined_too_late_stays(yard, age, pods):
    await yard.server()
    await yard.node(NAME, UNREGISTERED, **age)
    for name in pods:
        await yard.pod(name)
    assert await yard.sweep() == []
    assert yard.provider.calls.count("get") == 0 or pods


async def test_stale_taints_are_lifted_and_others_stay(yard):
    await yard.server()
    await yard.node(NAME, FOREIGN, RESERVED, SCALE_DOWN, {**RESERVED, "value": "gone"})
    assert sorted(await yard.sweep()) == [Garbage.RESERVED, Garbage.RESERVED, Garbage.SCALE_DOWN]
    assert await yard.taints() == ["other.example/taint"]
    assert set(await yard.event_reasons()) == {("Node", NAME, "StaleReservation"), ("Node", NAME, "StaleScaleDown")}
    # As after a cancelled cool-off, the node has to be idle for its whole time before the next one.
    node = await yard.find(NODES)
    assert node["metadata"]["annotations"]["growth.dev/idle-since"] == "2026-11-01T12:00:30Z"


async def test_the_startup_taint_of_a_persons_own_node_is_lifted(yard):
    await yard.node("home", UNREGISTERED, FOREIGN, labels={})
    assert await yard.sweep() == [Garbage.UNREGISTERED]
    assert await yard.taints("home") == ["other.example/taint"]
    assert "annotations" not in (await yard.find(NODES, "home"))["metadata"]


async def test_live_taints_stay(yard):
    uid = await yard.request(phase="Ready")
    await yard.server(uid=uid)
    await yard.node(NAME, RESERVED, uid=uid)
    await yard.removal("default-a2")
    await yard.node("default-a2", SCALE_DOWN, ready=False)
    await yard.request("default-a3", phase="Deprovisioning")
    await yard.node("default-a3", SCALE_DOWN, ready=False)
    assert await yard.sweep() == []


async def test_a_reservation_that_was_released_or_is_another_machines_is_stale(yard):
    await yard.request(phase="Ready", releasedAt=START)
    await yard.node(NAME, RESERVED, uid="")
    await yard.request("default-a2", phase="Ready")
    await yard.node("default-a2", {**RESERVED, "value": "default-a2"}, uid="of an earlier one")
    assert await yard.sweep() == [Garbage.RESERVED, Garbage.RESERVED]


@pytest.mark.parametrize("subject", ["request", "removal"])
async def test_what_comes_between_the_look_and_the_deed_keeps_the_taint(yard, subject):
    taint = RESERVED if subject == "request" else SCALE_DOWN
    await yard.node(NAME, taint, uid="")
    await yard.healer.heal()
    yard.pass_time(30)
    yard.cluster.call_before("get", NODES, getattr(yard, subject))
    assert await yard.healer.heal() == ()
    assert await yard.taints() == [taint["key"]]


async def test_a_node_that_changes_under_the_deed_is_left_to_the_next_sweep(yard):
    await yard.node(NAME, SCALE_DOWN)
    await yard.healer.heal()
    yard.pass_time(30)
    yard.cluster.refuse_writes(Conflict("changed"), times=1)
    assert await yard.healer.heal() == ()
    yard.pass_time(30)
    assert [healed.kind for healed in await yard.healer.heal()] == [Garbage.SCALE_DOWN]
