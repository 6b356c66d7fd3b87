"""What a machine was bought with is on its request from the call on, and on its Node from its registration on."""

from dataclasses import replace

import pytest

from activities.ports.cluster import NODE_POOLS
from activities.ports.errors import RateLimited, UnknownOutcome
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.templates import templates
from planner.lifecycle.step import Act
from tests.activities.lives import FOREIGN, NAME, START, UNREGISTERED, Life

CREATE = Act(effect="create_server", reason="CreateServer")
RUNNING = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": START,
    "providerID": f"kwok://test/{NAME}",
    "runningAt": START,
}
THEN = "v1:0123456789abcdef"


@pytest.fixture
async def life():
    made = Life()
    made.ports = replace(made.ports, templates=templates())
    made.restart()
    await made.install(template={"labels": {"team": "shop"}})
    return made


async def kept(life):
    return (await life.request())["status"].get("templateHash")


async def annotation(life):
    return ((await life.node())["metadata"].get("annotations") or {}).get("growth.dev/template-hash")


async def test_the_call_writes_it_and_an_edited_class_or_pool_gives_another(life):
    await life.add_request()
    await life.do("create_server")
    first = await kept(life)
    assert first.startswith("v1:")
    others = set()
    for edit in (
        (NODE_POOLS, "/spec/template/labels/team", "bank"),
        (KWOK_NODE_CLASSES, "/spec/serverTypes/0/labels", {"disk": "ssd"}),
    ):
        again = Life()
        again.ports = replace(again.ports, templates=templates())
        again.restart()
        await again.install(template={"labels": {"team": "shop"}})
        resource, path, value = edit
        await again.cluster.put(resource, "default", path, value)
        await again.add_request()
        await again.do("create_server")
        others.add(await kept(again))
    assert len(others | {first}) == 3


async def test_it_is_on_the_object_before_the_call(life):
    seen = {}

    async def during():
        seen.update((await life.request())["status"])

    life.cloud.during["create"] = during
    await life.add_request()
    await life.do("create_server")
    assert seen["templateHash"] == await kept(life)


async def test_what_the_call_that_may_have_made_the_server_asked_for_stays(life):
    await life.add_request()
    life.cloud.loses_reply["create"] = UnknownOutcome("no answer")
    with pytest.raises(UnknownOutcome):
        await life.do("create_server")
    first = await kept(life)
    await life.cluster.put(NODE_POOLS, "default", "/spec/template/labels/team", "bank")
    life.cloud.loses_reply.clear()
    await life.do("create_server")
    assert await kept(life) == first


async def test_what_a_call_that_made_nothing_asked_for_does_not(life):
    await life.add_request()
    life.cloud.fail["create"] = RateLimited("later", retry_after_seconds=1)
    with pytest.raises(RateLimited):
        await life.do("create_server")
    first = await kept(life)
    await life.cluster.put(NODE_POOLS, "default", "/spec/template/labels/team", "bank")
    life.cloud.fail.clear()
    await life.do("create_server")
    assert await kept(life) not in {first, None}


async def test_a_class_edited_while_the_machine_comes_leaves_its_node_the_hash_of_then(life):
    await life.add_machine(RUNNING | {"templateHash": THEN}, UNREGISTERED, FOREIGN)
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/spec/serverTypes/0/labels", {"disk": "ssd"})
    await life.do("register_node")
    assert await annotation(life) == THEN
    # In one write with labels and taints: killed in between, none of it is there.
    assert [write for write in life.cluster.writes if write.startswith("patch nodes/")] == [f"patch nodes/{NAME}"]


async def test_a_request_of_an_earlier_version_leaves_its_node_without_one(life):
    await life.add_machine(RUNNING, UNREGISTERED, FOREIGN)
    await life.do("register_node")
    assert await annotation(life) is None


async def test_a_worker_that_cannot_tell_writes_none(life):
    life.ports = replace(life.ports, templates={})
    life.restart()
    await life.add_request()
    await life.do("create_server")
    assert await kept(life) is None


async def test_a_fault_in_another_package_stops_no_purchase(life):
    def broken(_):
        raise RuntimeError

    life.ports = replace(life.ports, templates={"KwokNodeClass": broken})
    life.restart()
    await life.add_request()
    seen = await life.do("create_server")
    assert (seen.status.phase, await kept(life)) == ("Provisioning", None)
