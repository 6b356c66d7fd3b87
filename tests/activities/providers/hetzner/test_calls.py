"""How many calls a machine costs, and that looking at many costs no more than looking at one."""

from dataclasses import replace

import pytest

from activities.ports.errors import NotFound, ProviderError
from tests.activities.providers.hetzner.scenes import ORDER, SUBNET, ProviderScene
from tests.builders import hetzner_node_class

MACHINES = 20
SHARED = {"list_actions", "read_catalogue", "read_images", "read_networks", "list_placement_groups"}
"""Asked for all machines together."""


def of_machines(scene):
    """Return the calls that were made for single machines: lists by name count, the list of all does not."""
    return [
        each
        for each in scene.cloud.requests
        if each.verb not in SHARED and each.path != "/servers/0" and (each.verb != "list_servers" or each.name)
    ]


def lists(scene):
    return [each for each in scene.cloud.requests if each.verb == "list_servers" and not each.name]


async def live(scene, names, seconds):
    """Let the worker's loop and the lives of all machines look, each every five seconds."""
    for _ in range(0, seconds, 5):
        scene.pass_time(5)
        await scene.provider.tend()
        for name in names:
            try:
                await scene.provider.get(name, "default")
            except NotFound:
                names = [one for one in names if one != name]
    return names


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ({}, 3),  # create, delete, and the look that finds it gone
        ({"placement": {"strategy": "spread"}}, 4),  # a group for ten
        ({"networks": [{"name": "private", "subnetIPRange": SUBNET}]}, 5),  # attach, start
    ],
    ids=["plain", "spread", "in a subnet"],
)
async def test_a_machine_costs_few_calls(spec, most):
    scene = ProviderScene()
    scene.cloud.add_network("private", subnets=((SUBNET, "eu-central"),))
    await scene.open(hetzner_node_class(**spec))
    names = [f"default-{number}" for number in range(MACHINES)]
    began = scene.now
    for name in names:
        await scene.create(replace(ORDER, name=name))
    await live(scene, names, 600)
    for name in names:
        await scene.provider.delete(name, "default")
    assert await live(scene, names, 120) == []
    calls = of_machines(scene)
    print(f"{len(calls) / MACHINES:.2f} calls for each of {MACHINES} machines")
    assert len(calls) <= most * MACHINES
    assert most <= 6
    assert len(lists(scene)) <= (scene.now - began).total_seconds() / 20 + 1


async def test_looking_at_all_costs_one_list(scene):
    names = [f"default-{number}" for number in range(MACHINES)]
    for name in names:
        await scene.create(replace(ORDER, name=name))
    scene.pass_time(60)
    before = scene.cloud.count()
    for name in names:
        await scene.provider.get(name, "default")
    assert scene.cloud.count() == before + 1


async def test_in_quiet_times_a_few_calls_an_hour_are_made(scene):
    before = scene.cloud.count()
    await scene.tend_for(3600, step=10)
    # Six looks at what the class names, each of six calls, and no list: nobody asks.
    assert scene.cloud.count() - before <= 36


async def test_many_looks_stay_within_a_small_budget():  # 3: kubernetes/autoscaler#4133
    scene = ProviderScene()
    await scene.open(*(hetzner_node_class(name) for name in ("a", "b", "c")))
    names = {}
    for name in ("a", "b", "c"):
        names[name] = await scene.create(replace(ORDER, name=f"{name}-1"), name=name)
    scene.pass_time(60)
    before = scene.cloud.count()
    for _ in range(20):
        scene.pass_time(10)
        for name in names:
            await scene.provider.get(f"{name}-1", name)
        await scene.provider.list("one")
    assert scene.cloud.count() - before <= 10


async def test_while_lists_fail_what_was_seen_stays_and_nothing_is_said_to_be_gone(booted):  # 3
    await booted.provider.get(ORDER.name, "default")
    booted.fail("list_servers", status=503, code="unavailable", times=None)
    booted.pass_time(60)
    assert (await booted.provider.get(ORDER.name, "default")).name == ORDER.name
    with pytest.raises(ProviderError) as raised:
        await booted.provider.get("default-b2", "default")
    assert not isinstance(raised.value, NotFound)
    with pytest.raises(ProviderError):
        await booted.provider.list("one")
    booted.pass_time(600)
    with pytest.raises(ProviderError):
        await booted.provider.get(ORDER.name, "default")


async def test_whoever_asks_several_times_in_a_moment_whether_a_server_is_gone_asks_once(scene):
    await scene.create()
    await scene.tend_for(60)
    await scene.provider.delete(ORDER.name, "default")
    await scene.tend_for(8)
    before = scene.cloud.count("list_servers", ORDER.name)
    for _ in range(4):
        scene.pass_time(1)
        with pytest.raises(NotFound):
            await scene.provider.get(ORDER.name, "default")
    assert scene.cloud.count("list_servers", ORDER.name) == before + 1
    scene.pass_time(5)
    with pytest.raises(NotFound):
        await scene.provider.get(ORDER.name, "default")
    assert scene.cloud.count("list_servers", ORDER.name) == before + 2, "an older answer is none"
