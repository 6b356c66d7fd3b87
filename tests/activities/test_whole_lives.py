"""Whole lives with a worker that dies at any of its writes: afterwards exactly the right servers exist."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME
from tests.activities.whole_lives import Story, through_deaths


def doomed(story, when, write):
    if when == "twice":
        story.twice = True
    elif when is not None:
        setattr(story.cluster, when, write)


async def check_empty(story):
    """Nothing is left: no object, no server, no Node."""
    for resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODES):
        assert await story.names(resource) == [], story.steps
    assert await story.servers() == [], story.steps


async def test_a_machine_comes_for_its_pod():
    async def story_of(when, write):
        story = Story()
        await story.install()
        await story.add_request()
        doomed(story, when, write)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        assert await story.servers() == [NAME], story.steps
        assert await story.names(NODE_REMOVAL_REQUESTS) == []
        (node,) = await story.items(NODES)
        assert node["spec"].get("taints", []) == []
        assert node["metadata"]["labels"]["growth.dev/request"] == NAME
        (pod,) = await story.items(PODS)
        assert pod["spec"]["nodeName"] == NAME
        assert len(pod["spec"]["tolerations"]) == 1


async def test_a_cancelled_machine_goes_again():
    """Cancelled after the create call, whose reply may be lost: the hand-over finds the server."""

    async def story_of(when, write):
        story = Story({"call": "create", "lostReply": True})
        await story.install()
        await story.add_request()
        doomed(story, when, write)
        await story.run(until=lambda: bool(story.steps))
        await story.delete(NODE_REQUESTS)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        await check_empty(story)


async def test_a_machine_that_never_joins_goes_again():
    async def story_of(when, write):
        story = Story({"call": "join"}, {"call": "delete", "times": 1})
        await story.install()
        await story.add_request(pods=0)
        doomed(story, when, write)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        await check_empty(story)
        assert any("give_up JoinTimeout" in step for step in story.steps)


async def test_an_empty_machine_goes_and_a_stubborn_cloud_is_asked_until_it_obeys():
    async def story_of(when, write):
        story = Story({"call": "delete", "times": 4})
        await story.install()
        await story.add_request(pods=0)
        await story.run()
        await story.add_removal()
        story.cluster.writes.clear()
        doomed(story, when, write)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        await check_empty(story)
        assert any(step.startswith("park_removal") for step in story.steps)


async def test_a_machine_with_a_pod_stays():
    async def story_of(when, write):
        story = Story()
        await story.install()
        await story.add_request()
        await story.run()
        await story.add_removal()
        story.cluster.writes.clear()
        doomed(story, when, write)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        assert await story.servers() == [NAME]
        (node,) = await story.items(NODES)
        assert node["spec"].get("taints", []) == []


async def test_a_cancelled_cool_off_leaves_the_machine():
    async def story_of(when, write):
        story = Story()
        await story.install()
        await story.add_request(pods=0)
        await story.run()
        await story.add_removal()
        story.cluster.writes.clear()
        doomed(story, when, write)
        await story.run(until=lambda: any(s.startswith("taint_node") for s in story.steps))
        await story.delete(NODE_REMOVAL_REQUESTS)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        assert await story.servers() == [NAME], story.steps
        (node,) = await story.items(NODES)
        assert node["spec"].get("taints", []) == []


async def annotate(story, word):
    change = [{"op": "add", "path": "/metadata/annotations", "value": {"growth.dev/decision": word}}]
    await story.plain(MemoryCluster.patch, NODE_REMOVAL_REQUESTS, NAME, change)


async def test_an_annotation_cancels_a_cool_off():
    async def story_of(when, write):
        story = Story()
        await story.install()
        await story.add_request(pods=0)
        await story.run()
        await story.add_removal()
        await story.run(until=lambda: any(s.startswith("taint_node") for s in story.steps))
        await annotate(story, "cancel")
        story.cluster.writes.clear()
        doomed(story, when, write)
        await story.run()
        return story

    async for story in through_deaths(story_of):
        assert (await story.servers(), await story.names(NODE_REMOVAL_REQUESTS)) == ([NAME], []), story.steps
        (node,) = await story.items(NODES)
        assert node["spec"].get("taints", []) == []


@pytest.mark.parametrize(("word", "servers"), [("retry", []), ("skip", [NAME]), ("abandon", [NAME])])
async def test_an_annotation_ends_a_parked_removal(word, servers):
    async def story_of(when, write):
        # Each delete call until it parks is refused, and none after that.
        story = Story({"call": "delete", "times": 3})
        await story.install()
        await story.add_request(pods=0)
        await story.run()
        await story.add_removal()
        await story.run(until=lambda: any(s.startswith("park_removal") for s in story.steps))
        parked_at = story.now()
        await annotate(story, word)
        story.cluster.writes.clear()
        doomed(story, when, write)
        await story.run()
        # By itself it would try again a minute later.
        assert story.now() - parked_at < timedelta(minutes=1)
        return story

    async for story in through_deaths(story_of):
        assert (await story.servers(), await story.names(NODE_REMOVAL_REQUESTS)) == (servers, []), story.steps
        assert await story.names(NODES) == ([NAME] if word == "abandon" else [])
        assert not any("DecisionRefused" in step for step in story.steps), story.steps
