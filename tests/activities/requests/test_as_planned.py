"""A Node that is not the machine that was planned: a condition and an event say in what it differs."""

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, REGISTERED, RESERVED, START, Life
from tests.activities.whole_lives import Story
from tests.tables import rows

DEDICATED = {"key": "dedicated", "value": "shop", "effect": "NoSchedule"}
STARTUP = {"key": "agent.example/starting", "effect": "NoSchedule"}
LABELS, USABLE = ("metadata", "labels"), ("status", "allocatable")
READY = Act(effect="mark_ready", reason="Ready", message="Node is Ready")


async def ready_node(*taints, changes=(), **status):
    """A request whose Node is as the class and the pool say, and Ready; then `changes` to the Node."""
    life = Life()
    await life.install(template={"labels": {"team": "shop"}, "taints": [DEDICATED]})
    await life.add_machine(REGISTERED | status, DEDICATED, RESERVED, *taints, pods=1, ready=True)
    for path, value in [((*LABELS, "kubernetes.io/os"), "linux"), ((*LABELS, "team"), "shop"), *changes]:
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
    message = "The Node has the labels, the taints and the room that were planned"
    assert await condition(life) == ("True", "AsPlanned", message)
    assert await warnings(life) == []


@rows(
    ("changes", "reason", "message"),
    {
        "another zone": (
            [((*LABELS, "topology.kubernetes.io/zone"), "fsn1-dc14")],
            "OtherLabels",
            "label topology.kubernetes.io/zone is fsn1-dc14, planned fsn1",
        ),
        "less memory": ([((*USABLE, "memory"), "7577Mi")], "LessRoom", "memory 7.4Gi usable, planned 8Gi"),
        "less CPU and another label": (
            [((*USABLE, "cpu"), "3900m"), ((*LABELS, "team"), "toys")],
            "LessRoom",
            "cpu 3.9 usable, planned 4; label team is toys, planned shop",
        ),
        "other taints": (
            [(("spec", "taints"), [RESERVED, STARTUP])],
            "OtherTaints",
            "taint dedicated=shop:NoSchedule is missing; taint agent.example/starting:NoSchedule was not planned",
        ),
    },
)
async def test_a_node_that_differs_is_told_of_in_condition_and_event(changes, reason, message):
    life = await ready_node(changes=changes)
    seen = await life.do("mark_ready")
    assert await condition(life) == ("False", reason, message)
    assert await warnings(life) == [message]
    assert await life.do("mark_ready", READY) == seen
    assert await warnings(life) == [message]


@rows(
    ("others", "status"),
    {
        "none": ((), "False"),
        "one": (("other-1",), "False"),
        "two": (("other-1", "other-2"), "True"),
    },
)
async def test_a_taint_that_all_other_nodes_have_was_counted_on(others, status):
    life = await ready_node(STARTUP)
    for name in others:
        there = bodies.node(name)
        there["spec"]["taints"] = [DEDICATED, STARTUP]
        await life.cluster.create(NODES, there)
    await life.do("mark_ready")
    assert (await condition(life))[0] == status


async def test_a_taint_that_another_controller_lifts_in_time_is_forgiven_at_the_release():
    life = await ready_node(STARTUP)
    await life.do("mark_ready")
    assert (await condition(life))[:2] == ("False", "OtherTaints")
    await life.cluster.put(NODES, NAME, "/spec/taints", [DEDICATED, RESERVED])
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


GONE = "NodePool default or KwokNodeClass/default does not exist any more"
CHANGED = "NodePool default or KwokNodeClass/default has changed since the machine was asked for"


@rows(
    ("resource", "path", "value", "reason", "message"),
    {
        "the pool is gone": (NODE_POOLS, None, None, "PlanGone", GONE),
        "the class is gone": (KWOK_NODE_CLASSES, None, None, "PlanGone", GONE),
        "the class no longer has the type": (
            KWOK_NODE_CLASSES,
            "/spec/serverTypes/0/name",
            "cx99",
            "PlanGone",
            "KwokNodeClass/default has no cx32 in fsn1",
        ),
        "the class was broken": (
            KWOK_NODE_CLASSES,
            "/spec/serverTypes",
            [],
            "Unreadable",
            "spec.serverTypes: must have at least 1 entry",
        ),
        "the pool was edited": (NODE_REQUESTS, "/status/poolGeneration", 77, "PlanChanged", CHANGED),
        "the class was edited": (NODE_REQUESTS, "/status/classGeneration", 77, "PlanChanged", CHANGED),
    },
)
async def test_nobody_knows_what_was_planned_when(resource, path, value, reason, message):
    life = await ready_node(changes=[((*LABELS, "team"), "toys")])
    if path is None:
        await life.cluster.delete(resource, "default")
    else:
        await life.cluster.put(resource, NAME if resource == NODE_REQUESTS else "default", path, value)
    await life.do("mark_ready")
    *judgement, told = await condition(life)
    assert judgement == ["Unknown", reason]
    assert message in told
    assert await warnings(life) == []


async def test_of_a_node_that_is_not_ready_nothing_is_said():
    life = await ready_node(joinDeadline=START)
    await life.set_ready(ready=False)
    await life.add_pod("web-9", bound=True)
    await life.do("mark_ready")
    assert list(await life.conditions()) == ["Ready"]


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
