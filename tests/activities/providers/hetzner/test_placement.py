"""Spread groups of ten, made and counted by themselves."""

from collections import Counter
from dataclasses import replace

import pytest

from activities.ports.errors import InsufficientCapacity, QuotaExceeded
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.api.refusals import NoGroup
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.yard import ORDER, Yard, hetzner_class


def spread(**more):
    return hetzner_class(placement={"strategy": "spread", **more})


async def fill(yard, count, prefix="s"):
    for number in range(count):
        await yard.create(replace(ORDER, name=f"{prefix}-{number}"))


def members(yard):
    return sorted(Counter(server.placement_group for server in yard.servers().values()).values())


async def test_groups_take_ten_servers_each():  # 13: #5919, PR#6999, kube-hetzner#142, karpenter-hetzner p#69
    yard = await Yard().open(spread())
    await fill(yard, 23)
    assert members(yard) == [3, 10, 10]
    assert yard.cloud.count("create_placement_group") == 3


async def test_a_server_that_is_being_deleted_still_counts():  # 13
    yard = await Yard().open(spread())
    await fill(yard, 10)
    await yard.tend_for(120, step=20)
    yard.cloud.durations.delete_seconds = 600
    await yard.provider.delete("s-0", "default")
    yard.pass_time(61)
    await yard.create(replace(ORDER, name="t-0"))
    assert members(yard) == [1, 10]


async def test_a_place_that_became_free_is_used_again():
    yard = await Yard().open(spread())
    await fill(yard, 10)
    await yard.tend_for(120, step=20)
    await yard.provider.delete("s-0", "default")
    await yard.tend_for(120, step=20)
    await yard.create(replace(ORDER, name="t-0"))
    assert members(yard) == [10]


async def test_a_group_that_is_full_unawares_makes_way_for_the_next():
    yard = await Yard().open(spread())
    await fill(yard, 1)
    other = yard.another_worker()
    yard.provider, first = other, yard.provider
    await fill(yard, 9, prefix="other")
    yard.provider = first
    await yard.create(replace(ORDER, name="t-0"))
    assert members(yard) == [1, 10]


@pytest.mark.parametrize("code", ["placement_group_member_limit_reached", "service_error"])
async def test_both_ways_to_say_full_are_understood(code):
    yard = await Yard().open(spread())
    await fill(yard, 1)
    message = "placement_group_member_limit_reached"
    yard.cloud.faults.append(Fault("create_server", "error", status=422, code=code, message=message))
    await yard.create(replace(ORDER, name="t-0"))
    assert members(yard) == [1, 1]


async def test_a_server_that_cannot_be_spread_comes_without_a_group():
    yard = await Yard().open(spread())
    yard.cloud.faults.append(Fault("create_server", "error", status=503, code="placement_error"))
    await yard.create()
    (server,) = yard.servers().values()
    assert server.placement_group is None


async def test_where_spreading_is_required_it_is_a_shortage():
    yard = await Yard().open(spread(required=True))
    yard.cloud.faults.append(Fault("create_server", "error", status=503, code="placement_error", times=None))
    with pytest.raises(InsufficientCapacity, match=r"spec\.placement\.required"):
        await yard.create()
    assert not yard.servers()
    assert yard.cloud.count("create_server") == 1


@pytest.mark.parametrize("required", [True, False])
async def test_fifty_groups_are_all_that_a_project_has(required):
    yard = await Yard().open(spread(required=required))
    yard.cloud.faults.append(
        Fault("create_placement_group", "error", status=403, code="resource_limit_exceeded", times=None)
    )
    if required:
        with pytest.raises(QuotaExceeded, match="placement group"):
            await yard.create()
        assert not yard.servers()
    else:
        await yard.create()
        assert len(yard.servers()) == 1


async def test_empty_groups_are_deleted_after_a_while():
    yard = await Yard().open(spread())
    await fill(yard, 11)
    await yard.tend_for(120, step=20)
    for number in range(10):
        await yard.provider.delete(f"s-{number}", "default")
    await yard.tend_for(600, step=20)
    assert yard.cloud.count("delete_placement_group") == 0
    await yard.tend_for(1200, step=20)
    assert yard.cloud.count("delete_placement_group") == 1
    assert members(yard) == [1]


async def test_groups_of_an_earlier_worker_and_of_a_class_that_is_gone_are_deleted_by_the_loop():
    yard = await Yard().open(spread(), hetzner_class("other"))
    await fill(yard, 1)
    await yard.tend_for(120, step=20)
    await yard.provider.delete("s-0", "default")
    await yard.tend_for(120, step=20)
    await yard.cluster.delete(HETZNER_NODE_CLASSES, "default")
    yard.provider = yard.another_worker()
    await yard.tend_for(1500, step=20)
    assert yard.cloud.count("delete_placement_group") == 1


async def test_a_class_that_gets_no_group_does_not_stop_one_that_needs_none():
    strict = hetzner_class("strict", placement={"strategy": "spread", "required": True})
    yard = await Yard().open(strict, hetzner_class("plain"))
    yard.cloud.faults.append(
        Fault("create_placement_group", "error", status=403, code="resource_limit_exceeded", times=None)
    )
    with pytest.raises(NoGroup):
        await yard.create(name="strict")
    await yard.create(replace(ORDER, name="s-1"), name="plain")
    assert list(yard.servers()) == ["s-1"]
