"""What a refusal stops: the calls that it speaks of, and no others.

The fake says it as Hetzner does, in its message, in `details.limits`, or in both.
"""

import asyncio
from dataclasses import replace

import pytest

from activities.ports.errors import Extent, InsufficientCapacity, QuotaExceeded
from activities.providers.hetzner.api.refusals import ProjectLocked
from activities.providers.hetzner.provider import HetznerProvider
from api.meta import format_timestamp
from simulator.hetzner.http import serve
from tests.activities.providers.hetzner.scenes import CLUSTER, ORDER, ProviderScene
from tests.builders import hetzner_node_class

DEDICATED = ("ccx13", "ccx23", "ccx33", "ccx43", "ccx53", "ccx63")


def order(name="x-1", server_type="cx23", location="fsn1"):
    return replace(ORDER, name=name, server_type=server_type, location=location)


async def refused(scene, wanted, kind=QuotaExceeded, class_name="default"):
    with pytest.raises(kind) as met:
        await scene.create(wanted, class_name)
    return met.value


def calls(scene):
    return scene.cloud.count("create_server")


@pytest.fixture
async def scene():
    return await ProviderScene().open()


@pytest.mark.parametrize("told", ["message", "details", "both"])
async def test_a_limit_of_dedicated_cores_stops_dedicated_types_alone(scene, told):
    scene.cloud.set_limit("dedicated cores", 0, named_in=told)
    error = await refused(scene, order(server_type="ccx23"))
    assert error.extent is not None
    assert (error.extent.limit, set(error.extent.server_types)) == ("dedicated cores", set(DEDICATED))
    await refused(scene, order("x-2", "ccx13", "hel1"))
    assert calls(scene) == 1, "the second one is known to be refused"
    assert (await scene.create(order("x-3"))).server_type == "cx23"


@pytest.mark.parametrize("told", ["message", "details", "both"])
async def test_a_limit_of_one_type_stops_that_type_alone(scene, told):
    scene.cloud.set_limit("cx33", 0, named_in=told)
    error = await refused(scene, order(server_type="cx33"))
    assert error.extent is not None
    assert (error.extent.server_types, error.extent.locations) == (("cx33",), ())
    await refused(scene, order("x-2", "cx33", "nbg1"))
    assert calls(scene) == 1
    assert (await scene.create(order("x-3"))).server_type == "cx23"


@pytest.mark.parametrize("told", ["message", "details", "both"])
async def test_a_limit_of_cores_leaves_smaller_machines(scene, told):
    scene.cloud.set_limit("cores", 2, named_in=told)
    error = await refused(scene, order(server_type="cx33"))
    assert error.extent is not None
    assert {"cx33", "cx43", "ccx23"} <= set(error.extent.server_types)
    assert (await scene.create(order("x-2"))).server_type == "cx23"


@pytest.mark.parametrize("told", ["message", "details", "both"])
async def test_a_limit_of_primary_ips_leaves_classes_without_ipv4(told):
    scene = await ProviderScene().open(hetzner_node_class("with"), hetzner_node_class("without", enableIPv4=False))
    scene.cloud.set_limit("primary IPs", 0, named_in=told)
    error = await refused(scene, order(), class_name="with")
    assert error.extent is None, "each server of the class needs one"
    await refused(scene, order("x-2", "cx43"), class_name="with")
    assert calls(scene) == 1
    assert (await scene.create(order("x-3"), "without")).server_type == "cx23"


async def test_a_limit_of_servers_stops_all(scene):
    scene.cloud.set_limit("servers", 0)
    assert (await refused(scene, order())).extent is None
    await refused(scene, order("x-2", "ccx13", "hel1"))
    assert calls(scene) == 1


async def test_a_limit_that_nobody_knows_stops_the_type_and_then_all_types(scene):
    """The second refusal for the same tells that it is not about the type."""
    fault = {"status": 403, "code": "resource_limit_exceeded", "message": "quantum flux limit exceeded", "times": None}
    scene.fail("create_server", "error", **fault)
    first = await refused(scene, order())
    assert first.extent == Extent("quantum flux limit exceeded", ("cx23",), may_be_all_types=True)
    second = await refused(scene, order("x-2", "cx33"))
    assert second.extent == Extent("quantum flux limit exceeded", ("cx33",), may_be_all_types=True)
    assert calls(scene) == 2


@pytest.mark.parametrize("ranges", [{}, {"subnetIPRange": "10.0.1.0/24"}])
async def test_a_full_network_stops_what_joins_it(ranges):
    scene = ProviderScene()
    inside = scene.cloud.add_network("inside")
    scene.cloud.add_network("other")
    await scene.open(
        hetzner_node_class("in", networks=[{"name": "inside"}]),
        hetzner_node_class("twice", networks=[{"name": "other"}, {"name": "inside"}]),
        hetzner_node_class("other", networks=[{"name": "other", **ranges}]),
        hetzner_node_class("none"),
    )
    scene.cloud.fill_network(inside, 0)
    error = await refused(scene, order(), class_name="in")
    assert error.extent is None, "all locations that the class may use are in the zone"
    await refused(scene, order("x-2", "cx33", "hel1"), class_name="in")
    await refused(scene, order("x-3"), class_name="twice")
    assert calls(scene) == 1
    await scene.create(order("x-4"), "other")
    await scene.create(order("x-5"), "none")
    assert calls(scene) == 3


async def test_a_locked_project_stops_all_and_says_whom_to_write_to(scene):
    scene.cloud.lock_project(is_locked=True)
    error = await refused(scene, order())
    assert "write to support" in str(error)
    assert (error.extent, error.frees) == (None, False)
    await refused(scene, order("x-2", "ccx13", "hel1"))
    assert calls(scene) == 1


async def test_a_deletion_that_is_refused_says_whom_to_write_to(scene):
    await scene.create(order())
    await scene.tend_for(60)
    scene.cloud.lock_project(is_locked=True)
    with pytest.raises(ProjectLocked, match="write to support"):
        await scene.provider.delete("x-1", "default")


async def test_a_closed_location_is_closed_to_all_types(scene):
    scene.cloud.close_location("fsn1")
    error = await refused(scene, order(), InsufficientCapacity)
    assert error.extent == Extent("location fsn1", (), ("fsn1",))
    assert (await scene.create(order("x-2", location="nbg1"))).location == "nbg1"


@pytest.mark.parametrize("shortage", ["location", "type", "servers", "dedicated"])
async def test_calls_that_wait_look_again_before_they_are_made(scene, shortage):
    """Twenty begin at once and five may be under way: what the first ones learn, the others need not be told."""

    async def slow(work):
        await asyncio.sleep(0)
        return work()

    scene.provider = scene.another_worker(slow)
    match shortage:
        case "location":
            scene.cloud.close_location("fsn1")
        case "type":
            scene.cloud.sell_out("ccx13", "fsn1")
        case "servers":
            scene.cloud.set_limit("servers", 0)
        case _:
            scene.cloud.set_limit("dedicated cores", 0)
    orders = [order(f"x-{number}", "ccx13") for number in range(20)]
    met = await asyncio.gather(*(scene.create(each) for each in orders), return_exceptions=True)
    kind = InsufficientCapacity if shortage in ("location", "type") else QuotaExceeded
    assert {type(each) for each in met} == {kind}
    assert calls(scene) <= 5
    if shortage != "servers":
        assert (await scene.create(order("y", location="nbg1"))).name == "y"


@pytest.mark.parametrize("shortage", ["a closed location", "dedicated cores"])
async def test_over_real_connections_calls_that_wait_are_not_made(scene, shortage):
    kind = InsufficientCapacity
    if shortage == "dedicated cores":
        scene.cloud.set_limit("dedicated cores", 0)
        kind = QuotaExceeded
    else:
        scene.cloud.close_location("fsn1")
    with serve(scene.cloud) as endpoint:
        worker = HetznerProvider(scene.cluster, now=lambda: scene.now, cluster_name=CLUSTER, endpoint=endpoint)
        node_class = await scene.node_class()
        orders = [order(f"x-{number}", "ccx13") for number in range(20)]
        try:
            met = await asyncio.gather(*(worker.create(node_class, each) for each in orders), return_exceptions=True)
            assert {type(each) for each in met} == {kind}
            assert calls(scene) <= 5, "so many may be under way"
            assert (await worker.create(node_class, order("y", location="nbg1"))).server_type == "cx23"
        finally:
            await worker.close()


async def test_words_that_may_be_about_the_type_close_the_location_at_the_second_type(scene):  # kube-hetzner#1613
    words = "we are unable to provision servers for this location, try with a different location or try later"
    scene.fail("create_server", "error", status=412, code="resource_unavailable", message=words, times=None)
    for number, server_type in enumerate(("ccx13", "cx23")):
        error = await refused(scene, order(f"x-{number}", server_type), InsufficientCapacity)
        assert error.extent == Extent("location fsn1", (server_type,), ("fsn1",), may_be_all_types=True)


async def test_a_machine_of_ours_that_goes_lets_the_next_one_be_asked_for(scene):
    scene.cloud.set_limit("servers", 1)
    await scene.create(order())
    await scene.tend_for(60)
    await refused(scene, order("x-2"))
    await scene.provider.delete("x-1", "default")
    await scene.tend_for(20)
    assert (await scene.create(order("x-2"))).name == "x-2"


async def test_a_pause_of_the_class_that_was_ended_is_believed_by_every_worker(scene):
    """Another worker has seen the machine go; this one only remembers the refusal."""
    scene.cloud.set_limit("servers", 0)
    await refused(scene, order())
    scene.pass_time(20)
    now = format_timestamp(scene.now)
    pause = {"message": "no more", "failures": 1, "lastFailureAt": now, "until": now}
    await scene.change("/status/pause", pause, subresource="status")
    scene.pass_time(1)
    scene.cloud.set_limit("servers", 1)
    assert (await scene.create(order())).name == "x-1"
