"""Whole lives with a worker that dies at any of its writes: afterwards exactly the right servers exist."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from tests.activities.lives import NAME
from tests.activities.whole_lives import Story, through_deaths
from tests.tables import rows

REFUSED = {"call": "delete"}
LOST_REPLY = {"call": "create", "lostReply": True}
NEVER_JOINS = {"call": "join"}


def stories(faults, pods, before, after, *, most=timedelta.max):
    """Yield a story of a machine undisturbed, with each effect twice, and with deaths at each write of its last part.

    That part takes less time than `most`.
    """

    async def story_of(when, write):
        story = Story(*faults)
        await story.install()
        await story.add_request(pods=pods)
        await story.play(*before)
        story.cluster.writes.clear()
        if when == "twice":
            story.twice = True
        elif when is not None:
            setattr(story.cluster, when, write)
        began_at = story.now()
        await story.play(*after)
        assert story.now() - began_at < most
        return story

    return through_deaths(story_of)


async def test_a_machine_comes_for_its_pod():
    async for story in stories((), 1, (), ("run",)):
        assert await story.servers() == [NAME], story.steps
        assert await story.names(NODE_REMOVAL_REQUESTS) == []
        (node,) = await story.items(NODES)
        assert node["spec"].get("taints", []) == []
        assert node["metadata"]["labels"]["growth.dev/request"] == NAME
        (pod,) = await story.items(PODS)
        assert pod["spec"]["nodeName"] == NAME
        assert len(pod["spec"]["tolerations"]) == 1


@rows(
    ("faults", "pods", "before", "after", "step"),
    {
        # Cancelled after the create call, whose reply may be lost: the hand-over finds the server.
        "a cancelled machine": ((LOST_REPLY,), 1, (), ("step", "delete request", "run"), ""),
        "one that never joins": ((NEVER_JOINS, REFUSED | {"times": 1}), 0, (), ("run",), "give_up JoinTimeout"),
        "an empty one whose cloud is asked until it obeys": (
            (REFUSED | {"times": 4},),
            0,
            ("run", "remove"),
            ("run",),
            "park_removal",
        ),
    },
)
async def test_nothing_is_left_of(faults, pods, before, after, step):
    async for story in stories(faults, pods, before, after):
        for resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODES):
            assert await story.names(resource) == [], story.steps
        assert await story.servers() == [], story.steps
        assert any(step in taken for taken in story.steps)


@rows(
    ("pods", "before", "after"),
    {
        "a pod": (1, ("run", "remove"), ("run",)),
        "a deletion of the removal in its cool-off": (
            0,
            ("run", "remove"),
            ("until taint_node", "delete removal", "run"),
        ),
        "an annotation in its cool-off": (0, ("run", "remove", "until taint_node", "say cancel"), ("run",)),
    },
)
async def test_a_machine_is_kept_by(pods, before, after):
    async for story in stories((), pods, before, after):
        assert (await story.servers(), await story.names(NODE_REMOVAL_REQUESTS)) == ([NAME], []), story.steps
        (node,) = await story.items(NODES)
        assert node["spec"].get("taints", []) == []


@pytest.mark.parametrize(("word", "servers"), [("retry", []), ("skip", [NAME]), ("abandon", [NAME])])
async def test_an_annotation_ends_a_parked_removal(word, servers):
    # Each delete call until it parks is refused, and none after that. By itself it would try again a minute later.
    before = ("run", "remove", "until park_removal", f"say {word}")
    async for story in stories((REFUSED | {"times": 3},), 0, before, ("run",), most=timedelta(minutes=1)):
        assert (await story.servers(), await story.names(NODE_REMOVAL_REQUESTS)) == (servers, []), story.steps
        assert await story.names(NODES) == ([NAME] if word == "abandon" else [])
        assert not any("DecisionRefused" in step for step in story.steps), story.steps
