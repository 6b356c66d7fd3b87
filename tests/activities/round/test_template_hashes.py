"""A round reads what machines of a class are made with, and writes the hash on Nodes that have none."""

from dataclasses import replace

import pytest

from activities.ports.cluster import NODES
from activities.ports.errors import InvalidConfiguration
from api.keys import ANNOTATION_TEMPLATE_HASH
from planner.objects.class_template import ClassTemplate
from tests.activities.rounds import World, nothing

IMAGE = {"KwokNodeClass": lambda _: ClassTemplate(common={"image": "debian-12"})}


async def annotations(world):
    return {
        node["metadata"]["name"]: (node["metadata"].get("annotations") or {}).get(ANNOTATION_TEMPLATE_HASH)
        for node in await world.items(NODES)
    }


async def fleet(**ports):
    world = World(**ports)
    await world.install()
    await world.add_node("a")
    await world.add_node("foreign", labels={"kubernetes.io/arch": "amd64"})
    return world


async def test_a_node_of_an_earlier_version_takes_todays_hash_once():
    world = await fleet(templates=IMAGE)
    await world.run()
    written = await annotations(world)
    assert written["a"].startswith("v1:")
    assert written["foreign"] is None
    before = len(world.cluster.writes)
    await world.run()
    assert [write for write in world.cluster.writes[before:] if write.startswith("patch nodes/")] == []


@pytest.mark.parametrize("fault", [InvalidConfiguration("spec: is wrong"), RuntimeError("a fault of its package")])
async def test_a_class_that_cannot_tell_is_planned_with_and_nothing_is_written(fault):
    def broken(_):
        raise fault

    world = await fleet(templates={"KwokNodeClass": broken})
    await world.add_pods(1, cpu="8")
    result = await world.run()
    assert len(result.requests) == 1
    assert await annotations(world) == {"a": None, "foreign": None}


async def test_without_any_template_nothing_is_written():
    world = await fleet()
    await world.run()
    assert await annotations(world) == {"a": None, "foreign": None}


async def test_a_write_that_is_refused_stops_nothing_else():
    world = await fleet(templates=IMAGE)
    await world.add_node("b")
    hashes = {"a": "v1:0123456789abcdef", "gone": "v1:0123456789abcdef", "b": "v1:0123456789abcdef"}
    await world.carry_out(replace(nothing(), template_hashes=hashes))
    assert await annotations(world) == {"a": "v1:0123456789abcdef", "b": "v1:0123456789abcdef", "foreign": None}
