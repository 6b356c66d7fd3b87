"""The verdict finds what it must find."""

import pytest

from activities.ports.cluster import CONFIG_MAPS, NODE_REMOVAL_REQUESTS, NODES, PODS, WatchEvent
from activities.ports.provider import ServerOrder
from api.keys import LABEL_CLUSTER, LABEL_REQUEST_UID
from simulator.world import NAMESPACE
from tests.activities.bodies import node, pod, removal
from tests.chaos.acts import SMALL
from tests.chaos.points import Execution, KillAt, Point, Tap
from tests.chaos.stage import Stage
from tests.chaos.stories import STORIES
from tests.chaos.verdict import verdict


@pytest.fixture
async def stage(service):
    """A stage on which nothing moves."""
    stage = Stage(service, "judged")
    await stage.world.apply(*STORIES[0].objects())
    return stage


async def server(stage, name, uid):
    order = ServerOrder(
        name=name,
        server_type=SMALL["name"],
        location="fsn1",
        labels={LABEL_CLUSTER: stage.name, LABEL_REQUEST_UID: uid},
        node_labels={},
        node_taints=[],
    )
    node_class = STORIES[0].objects()[0]
    await stage.world.provider.create(node_class, order)
    record = await stage.world.cluster.get(CONFIG_MAPS, name, namespace=NAMESPACE)
    stage._note(WatchEvent("ADDED", record))


async def wrong(stage, servers):
    return " / ".join(await verdict(stage, servers=servers, within=0))


async def test_an_empty_world_is_right(stage):
    assert await wrong(stage, 0) == ""


async def test_servers_too_many_and_made_twice(stage):
    await server(stage, "m-1", "u-1")
    await server(stage, "m-2", "u-1")
    told = await wrong(stage, 1)
    assert "2 servers were made for request u-1" in told
    assert "2 servers, 1 are wanted" in told
    assert "nodes [] do not fit servers ['m-1', 'm-2']" in told


async def test_what_is_left_behind(stage):
    body = node("m-1", "default", "small", "2", "4Gi")
    body["spec"]["taints"] = [{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}]
    await stage.world.cluster.create(NODES, body)
    await stage.world.cluster.create(PODS, pod("web-1"), namespace="shop")
    await stage.world.cluster.create(NODE_REMOVAL_REQUESTS, removal("m-1"))
    told = await wrong(stage, 0)
    assert "nodes ['m-1'] do not fit servers []" in told
    assert "taint growth.dev/scale-down is left on m-1" in told
    assert "pod shop/web-1 has no node" in told
    assert "NodeRemovalRequest/m-1 is left in phase Pending" in told


async def test_a_worker_dies_at_its_point_and_only_there():
    point = Point("create_server", "CreateServer", "create server 1", "after")
    tap = Tap(KillAt(point))
    for side in ("before", "after"):
        assert not tap.is_dead
        tap.met(Execution(point.activity, point.reason), point.effect, side)
    assert tap.is_dead
