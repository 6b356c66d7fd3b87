"""A Node that is not the machine that was planned: a condition and an event say in what it differs."""

import pytest

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, REGISTERED, RESERVED, START, Life
from tests.activities.whole_lives import Story

DEDICATED = {"key": "dedicated", "value": "shop", "effect": "NoSchedule"}
STARTUP = {"key": "agent.example/not-ready", "effect": "NoSchedule"}
READY = Act(effect="mark_ready", reason="Ready", message="Node is Ready")


async def ready_node(*taints, changes=(), **status):
    """A request whose Node is as the class and the pool say, and Ready; then `changes` to the Node."""
    life = Life()
    await life.install(template={"labels": {"team": "shop"}, "taints": [DEDICATED]})
    await life.add_request(REGISTERED | status, seats=[await life.add_pod()])
    life.add_server()
    await life.add_node(DEDICATED, RESERVED, *taints, ready=True)
    for path, value in [
        (("metadata", "labels", "kubernetes.io/os"), "linux"),
        (("metadata", "labels", "team"), "shop"),
        *changes,
    ]:
        node = await life.node()
        part = "status" if path[0] == "status" else None
        await MemoryCluster.patch(life.cluster, NODES, NAME, set_field(node, path, value), subresource=part)
    await life.do("tolerate_pods")
    return life


async def condition(life):
    conditions = (await life.request())["status"]["conditions"]
    return next((c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == "NodeAsPlanned")


async def warnings(life):
    return [e["note"] for e in await life.events() if e["reason"] == "NodeNotAsPlanned"]


async def test_a_node_as_planned():
    life = await ready_node()
    await life.do("mark_ready")
    told = "The Node has the labels, the taints and the room that were planned"
    assert await condition(life) == ("True", "AsPlanned", told)
    assert await warnings(life) == []


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        (
            [(("metadata", "labels", "topology.kubernetes.io/zone"), "fsn1-dc14")],
            "OtherLabels",
            "label topology.kubernetes.io/zone is fsn1-dc14, planned fsn1",
        ),
        (
            [(("status", "allocatable", "memory"), "7577Mi")],
            "LessRoom",
            "memory 7.4Gi usable, planned 8Gi",
        ),
        (
            [(("status", "allocatable", "cpu"), "3900m"), (("metadata", "labels", "team"), "toys")],
            "LessRoom",
            "cpu 3.9 usable, planned 4; label team is toys, planned shop",
        ),
        (
            [(("spec", "taints"), [RESERVED, STARTUP])],
            "OtherTaints",
            "taint dedicated=shop:NoSchedule is missing; taint agent.example/not-ready:NoSchedule was not planned",
        ),
    ],
)
async def test_a_node_that_differs_is_told_of_in_condition_and_event(changes, reason, message):
    life = await ready_node(changes=changes)
    seen = await life.do("mark_ready")
    assert await condition(life) == ("False", reason, message)
    assert await warnings(life) == [message]
    assert await life.do("mark_ready", READY) == seen
    assert await warnings(life) == [message]


async def test_a_taint_that_another_controller_lifts_in_time_is_forgiven_at_the_release():
    life = await ready_node(STARTUP)
    await life.do("mark_ready")
    assert (await condition(life))[:2] == ("False", "OtherTaints")
    node = await life.node()
    change = set_field(node, ("spec", "taints"), [DEDICATED, RESERVED])
    await MemoryCluster.patch(life.cluster, NODES, NAME, change)
    life.cluster.bind("shop", "web-1", NAME)
    await life.do("release_node")
    assert (await condition(life))[:2] == ("True", "AsPlanned")


async def test_what_is_as_planned_is_not_looked_at_again():
    life = await ready_node()
    await life.do("mark_ready")
    await life.cluster.delete(KWOK_NODE_CLASSES, "default")
    life.cluster.bind("shop", "web-1", NAME)
    await life.do("release_node")
    assert (await condition(life))[:2] == ("True", "AsPlanned")


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        (NODE_POOLS, "NodePool default or KwokNodeClass/default does not exist any more"),
        (KWOK_NODE_CLASSES, "NodePool default or KwokNodeClass/default does not exist any more"),
    ],
    ids=["pool", "class"],
)
async def test_without_pool_or_class_nobody_knows(gone, told):
    life = await ready_node()
    await life.cluster.delete(gone, "default")
    await life.do("mark_ready")
    assert await condition(life) == ("Unknown", "PlanGone", told)
    assert await warnings(life) == []


async def test_a_type_that_the_class_no_longer_has():
    life = await ready_node()
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/spec/serverTypes/0/name", "cx99")
    await life.do("mark_ready")
    assert await condition(life) == ("Unknown", "PlanGone", "KwokNodeClass/default has no cx32 in fsn1")


async def test_a_class_that_was_broken():
    life = await ready_node()
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/spec/serverTypes", [])
    await life.do("mark_ready")
    assert (await condition(life))[:2] == ("Unknown", "Unreadable")
    assert "spec.serverTypes: must have at least 1 entry" in (await condition(life))[2]


@pytest.mark.parametrize("field", ["poolGeneration", "classGeneration"])
async def test_a_pool_or_class_that_was_edited_meanwhile(field):
    life = await ready_node(changes=[(("metadata", "labels", "team"), "toys")], **{field: 77})
    await life.do("mark_ready")
    told = "NodePool default or KwokNodeClass/default has changed since the machine was asked for"
    assert await condition(life) == ("Unknown", "PlanChanged", told)


async def test_of_a_node_that_is_not_ready_nothing_is_said():
    life = await ready_node(joinDeadline=START)
    await life.set_ready(ready=False)
    await life.add_pod("web-9", bound=True)
    await life.do("mark_ready")
    conditions = (await life.request())["status"]["conditions"]
    assert [c["type"] for c in conditions] == ["Ready"]


async def test_the_machines_that_kwok_makes_are_as_planned():
    """Order, provider and plan share one source: with a pool's own labels and taints too."""
    story = Story()
    await story.install()
    template = {"labels": {"team": "shop"}, "taints": [DEDICATED | {"effect": "PreferNoSchedule"}]}
    change = [{"op": "add", "path": "/spec/template", "value": template}]
    await story.plain(MemoryCluster.patch, NODE_POOLS, "default", change)
    await story.add_request()
    await story.run(until=lambda: any(step.startswith("mark_ready") for step in story.steps))
    conditions = (await story.items(NODE_REQUESTS))[0]["status"]["conditions"]
    assert [c["status"] for c in conditions if c["type"] == "NodeAsPlanned"] == ["True"]
