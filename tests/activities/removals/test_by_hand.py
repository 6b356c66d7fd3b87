"""Removals that a person made, with slips: no machine with pods goes, and nobody else's Node is touched."""

import pytest

from activities.objects.kind_activities import TRIES
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES
from planner.lifecycle.removal import next_step
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import FOREIGN, NAME, UNREGISTERED

STRANGER = "bare-metal-1"
_STEPS = 20


async def add_stranger(life, *taints, **labels):
    """A Node that Growth has not made."""
    body = bodies.node(STRANGER, "default", "cx32", "4", "8Gi", labels=labels)
    body["spec"] = {"taints": list(taints)}
    await MemoryCluster.create(life.cluster, NODES, body)


async def live(life):
    """Drive the removal to its end, through every wait, and return the reasons of its steps."""
    reasons = []
    for _ in range(_STEPS):
        seen = await life.look_removal()
        step = next_step(seen, None, life.now())
        if not seen.exists:
            return reasons
        reasons.append(step.reason)
        if isinstance(step, Act):
            await life.do(step.effect, step)
        else:
            life.pass_time((step.wake_at(life.now()) - life.now()).total_seconds())
    raise AssertionError(f"no end: {reasons}")


async def test_a_slip_in_the_name_of_the_node_does_not_hide_its_pods(life):
    await life.add_removal(nodeName="defualt-a1")
    life.add_server()
    await life.add_node(FOREIGN, ready=True)
    await life.add_pod("web-1", bound=True)
    assert (await live(life))[-1] == "NotEmpty"
    assert list(life.cloud.servers) == [NAME]
    assert await life.taints() == [FOREIGN]


@pytest.mark.parametrize("taints", [[], [UNREGISTERED]], ids=["registered", "not yet registered"])
async def test_another_nodes_emptiness_is_no_proof(life, taints):
    """The server named has pods, the Node named has none."""
    await life.add_removal(nodeName="default-b2")
    life.add_server()
    await life.add_node(ready=True)
    await life.add_pod("web-1", bound=True)
    other = bodies.node("default-b2", "default", "cx32", "4", "8Gi")
    other["spec"]["taints"] = taints
    await MemoryCluster.create(life.cluster, NODES, other)
    assert await live(life) == ["NotOurs", "NotOurs"]
    assert (list(life.cloud.servers), life.cloud.calls) == ([NAME], [])
    assert (await life.find(NODES, "default-b2"))["spec"]["taints"] == taints


@pytest.mark.parametrize("immediate", [False, True])
async def test_a_node_that_growth_did_not_make_is_left_as_it_is(life, immediate):
    await add_stranger(life, FOREIGN, team="storage")
    before = await life.find(NODES, STRANGER)
    await life.add_removal(nodeName=STRANGER, immediate=immediate)
    await live(life)
    assert await life.find(NODES, STRANGER) == before


async def test_a_server_that_growth_did_not_make_is_left_and_its_node_opened_again(life):
    """The Node bears our labels, by a person's doing, and its server does not."""
    await life.add_removal(nodeName=NAME)
    life.add_server(**{"growth.dev/cluster": "another"})
    await life.add_node(FOREIGN, ready=True)
    reasons = await live(life)
    assert reasons[-2:] == ["NotOurs", "NotOurs"], "untainted, then ended, and not told as removed"
    assert await life.taints() == [FOREIGN]
    assert "delete" not in life.cloud.calls


async def test_a_node_that_joined_without_labels_goes_with_its_server(life):
    await life.add_removal(immediate=True)
    body = bodies.node(NAME, "default", "cx32", "4", "8Gi", labels={})
    body["spec"]["taints"] = [UNREGISTERED]
    await MemoryCluster.create(life.cluster, NODES, body)
    await live(life)
    assert await life.node() is None


async def test_skipping_deletes_nobody_elses_node(life):
    await add_stranger(life)
    await life.add_removal({"phase": "CouldNotRemove", "retryAt": "2026-11-01T16:00:00Z"}, nodeName=STRANGER)
    life.add_server()
    assert not (await life.do("skip_server", Act(effect="skip_server", reason="Skipped", by="Ada"))).exists
    assert await life.find(NODES, STRANGER) is not None


@pytest.mark.parametrize(
    ("status", "immediate", "why"),
    [
        ({"phase": "Deprovisioning"}, False, "too late to cancel: the server is being deleted"),
        ({"phase": "CouldNotRemove", "retryAt": "2026-11-01T16:00:00Z"}, False, "abandon it to keep it"),
        (None, True, "the removal is immediate"),
    ],
)
async def test_a_deletion_that_comes_too_late_is_answered(life, status, immediate, why):
    await life.add_removal(status, nodeName=NAME, immediate=immediate)
    life.add_server()
    await life.add_node(ready=True)
    assert ("NodeRemovalRequest", "NotCancelled") not in await life.event_reasons()
    await life.cluster.delete(NODE_REMOVAL_REQUESTS, NAME)
    for _ in range(TRIES):
        seen = await life.look_removal()
    assert seen.server in {ServerSeen.RUNNING, ServerSeen.UNKNOWN}
    [note] = [event["note"] for event in await life.events() if event["reason"] == "NotCancelled"]
    assert why in note


async def test_a_deletion_in_time_is_not_answered_with_a_refusal(life):
    await life.add_removal(nodeName=NAME)
    await life.add_node(ready=True)
    await life.cluster.delete(NODE_REMOVAL_REQUESTS, NAME)
    await live(life)
    assert ("NodeRemovalRequest", "NotCancelled") not in await life.event_reasons()


async def test_nobody_is_told_that_an_immediate_removals_node_was_empty(life):
    await life.add_removal(nodeName=NAME, immediate=True)
    life.add_server()
    await life.do("commit_removal")
    assert [(kind, status) for kind, (status, _) in (await life.conditions()).items()] == [("Empty", "Unknown")]
