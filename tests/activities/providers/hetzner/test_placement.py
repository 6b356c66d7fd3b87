"""Spread groups of ten, made and counted by themselves."""

from collections import Counter
from dataclasses import replace

import pytest

from activities.ports.errors import InsufficientCapacity, QuotaExceeded
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.api.refusals import NoGroup
from tests.activities.providers.hetzner.scenes import ORDER, ProviderScene
from tests.builders import hetzner_node_class


def spread(**more):
    return hetzner_node_class(placement={"strategy": "spread", **more})


@pytest.fixture
async def scene():
    """A class whose servers are spread."""
    return await ProviderScene().open(spread())


async def fill(scene, count, prefix="s"):
    for number in range(count):
        await scene.create(replace(ORDER, name=f"{prefix}-{number}"))


def members(scene):
    return sorted(Counter(server.placement_group for server in scene.servers().values()).values())


async def test_groups_take_ten_servers_each(scene):  # 13: #5919, PR#6999, kube-hetzner#142, karpenter-hetzner p#69
    await fill(scene, 23)
    assert members(scene) == [3, 10, 10]
    assert scene.cloud.count("create_placement_group") == 3


async def test_a_server_that_is_being_deleted_still_counts(scene):  # 13
    await fill(scene, 10)
    await scene.tend_for(120, step=20)
    scene.cloud.durations.delete_seconds = 600
    await scene.provider.delete("s-0", "default")
    scene.pass_time(61)
    await scene.create(replace(ORDER, name="t-0"))
    assert members(scene) == [1, 10]


async def test_a_place_that_became_free_is_used_again(scene):
    await fill(scene, 10)
    await scene.tend_for(120, step=20)
    await scene.provider.delete("s-0", "default")
    await scene.tend_for(120, step=20)
    await scene.create(replace(ORDER, name="t-0"))
    assert members(scene) == [10]


async def test_a_group_that_is_full_unawares_makes_way_for_the_next(scene):
    await fill(scene, 1)
    other = scene.another_worker()
    scene.provider, first = other, scene.provider
    await fill(scene, 9, prefix="other")
    scene.provider = first
    await scene.create(replace(ORDER, name="t-0"))
    assert members(scene) == [1, 10]


@pytest.mark.parametrize("code", ["placement_group_member_limit_reached", "service_error"])
async def test_both_ways_to_say_full_are_understood(scene, code):
    await fill(scene, 1)
    message = "placement_group_member_limit_reached"
    scene.fail("create_server", status=422, code=code, message=message)
    await scene.create(replace(ORDER, name="t-0"))
    assert members(scene) == [1, 1]


async def test_a_server_that_cannot_be_spread_comes_without_a_group(scene):
    scene.fail("create_server", status=503, code="placement_error")
    await scene.create()
    (server,) = scene.servers().values()
    assert server.placement_group is None


async def test_where_spreading_is_required_it_is_a_shortage():
    scene = await ProviderScene().open(spread(required=True))
    scene.fail("create_server", status=503, code="placement_error", times=None)
    with pytest.raises(InsufficientCapacity, match=r"spec\.placement\.required"):
        await scene.create()
    assert not scene.servers()
    assert scene.cloud.count("create_server") == 1


@pytest.mark.parametrize("required", [True, False])
async def test_fifty_groups_are_all_that_a_project_has(required):
    scene = await ProviderScene().open(spread(required=required))
    scene.fail("create_placement_group", status=403, code="resource_limit_exceeded", times=None)
    if required:
        with pytest.raises(QuotaExceeded, match="placement group"):
            await scene.create()
        assert not scene.servers()
    else:
        await scene.create()
        assert len(scene.servers()) == 1


async def test_empty_groups_are_deleted_after_a_while(scene):
    await fill(scene, 11)
    await scene.tend_for(120, step=20)
    for number in range(10):
        await scene.provider.delete(f"s-{number}", "default")
    await scene.tend_for(600, step=20)
    assert scene.cloud.count("delete_placement_group") == 0
    await scene.tend_for(1200, step=20)
    assert scene.cloud.count("delete_placement_group") == 1
    assert members(scene) == [1]


async def test_groups_of_an_earlier_worker_and_of_a_class_that_is_gone_are_deleted_by_the_loop():
    scene = await ProviderScene().open(spread(), hetzner_node_class("other"))
    await fill(scene, 1)
    await scene.tend_for(120, step=20)
    await scene.provider.delete("s-0", "default")
    await scene.tend_for(120, step=20)
    await scene.cluster.delete(HETZNER_NODE_CLASSES, "default")
    scene.provider = scene.another_worker()
    await scene.tend_for(1500, step=20)
    assert scene.cloud.count("delete_placement_group") == 1


async def test_a_class_that_gets_no_group_does_not_stop_one_that_needs_none():
    strict = hetzner_node_class("strict", placement={"strategy": "spread", "required": True})
    scene = await ProviderScene().open(strict, hetzner_node_class("plain"))
    scene.fail("create_placement_group", status=403, code="resource_limit_exceeded", times=None)
    with pytest.raises(NoGroup):
        await scene.create(name="strict")
    await scene.create(replace(ORDER, name="s-1"), name="plain")
    assert list(scene.servers()) == ["s-1"]
