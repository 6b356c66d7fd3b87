"""The boots of simulated servers: after its time each makes its Node, once, whatever happens in between."""

from datetime import timedelta

import pytest

from activities.ports.cluster import CONFIG_MAPS, NODES
from activities.ports.errors import InvalidConfiguration, Rejected
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from tests.activities.lives import at_each_write
from tests.activities.providers.clouds import NAME, ORDER, SPACE, START, TAINT
from tests.activities.rounds import Crash


async def test_a_record_is_all_that_its_node_needs(cloud):
    await cloud.install(capacity={"cpu": "2", "memory": "4Gi"}, overhead={"cpu": "100m"}, labels={"disk": "nvme"})
    server = await cloud.create()
    assert server.provider_id == f"kwok://one/{NAME}"
    record = await cloud.record()
    assert record["metadata"]["labels"] == {**ORDER.labels, "growth.dev/kwok-server": "true"}
    assert (record["data"]["created"], record["data"]["runsAt"]) == ("2026-11-01T12:00:00Z", "2026-11-01T12:00:10Z")
    await cloud.cluster.delete(KWOK_NODE_CLASSES, "default")
    cloud.pass_time(10)
    assert await cloud.provider.boot() is None
    node = await cloud.cluster.get(NODES, NAME)
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert node["metadata"]["labels"] == {
        "growth.dev/pool": "default",
        "team": "shop",
        "disk": "nvme",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": NAME,
        "node.kubernetes.io/instance-type": "small",
        "topology.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/zone": "fsn1",
    }
    assert node["spec"] == {"providerID": f"kwok://one/{NAME}", "taints": [TAINT]}
    assert node["status"] == {
        "capacity": {"cpu": "2000m", "memory": "4294967296", "pods": "110"},
        "allocatable": {"cpu": "1900m", "memory": "4294967296", "pods": "110"},
    }


async def test_a_server_boots_for_its_time(cloud):
    assert (await cloud.create()).state is ServerState.CREATING
    assert await cloud.provider.boot() == START + timedelta(seconds=10)
    cloud.pass_time(9.9)
    assert (await cloud.provider.get(NAME)).state is ServerState.CREATING
    assert await cloud.nodes() == []
    cloud.pass_time(0.1)
    assert (await cloud.provider.get(NAME)).state is ServerState.RUNNING
    await cloud.provider.boot()
    assert await cloud.nodes() == [NAME]


async def test_the_next_boot_is_the_earliest(cloud):
    assert await cloud.provider.boot() is None
    await cloud.create(name="default-b2")
    cloud.pass_time(4)
    await cloud.create()
    assert await cloud.provider.boot() == START + timedelta(seconds=10)
    cloud.pass_time(6)
    assert await cloud.provider.boot() == START + timedelta(seconds=14)
    assert await cloud.nodes() == ["default-b2"]


@at_each_write(2)
async def test_killed_at_any_write_the_boot_makes_one_node(cloud, write, when):
    await cloud.create()
    cloud.pass_time(10)
    setattr(cloud.cluster, when, len(cloud.cluster.writes) + write)
    with pytest.raises(Crash):
        await cloud.provider.boot()
    cloud.restart()
    await cloud.provider.boot()
    assert await cloud.nodes() == [NAME]
    assert (await cloud.record())["data"]["joined"] == "true"


async def test_a_node_that_a_person_deletes_is_not_made_again(cloud):
    await cloud.create()
    cloud.pass_time(10)
    await cloud.provider.boot()
    await cloud.cluster.delete(NODES, NAME)
    cloud.restart()
    assert await cloud.provider.boot() is None
    assert await cloud.nodes() == []
    assert (await cloud.provider.get(NAME)).state is ServerState.RUNNING


async def test_a_server_that_is_deleted_while_it_joins_takes_its_node_along(cloud):
    await cloud.create()
    cloud.pass_time(10)
    after_each_create(cloud, lambda: cloud.provider.delete(NAME))
    await cloud.provider.boot()
    assert await cloud.nodes() == []


async def test_a_label_that_comes_while_it_joins_does_not_stop_the_boot(cloud):
    await cloud.create()
    cloud.pass_time(10)
    after_each_create(cloud, lambda: cloud.provider.label(NAME, {"growth.dev/abandoned": "true"}))
    await cloud.provider.boot()
    assert (await cloud.record())["data"]["joined"] == "true"


def after_each_create(cloud, change):
    """Let `change` happen between the creation of an object and the answer."""
    create = cloud.cluster.create

    async def change_meanwhile(resource, body, *, namespace=None):
        created = await create(resource, body, namespace=namespace)
        await change()
        return created

    cloud.cluster.create = change_meanwhile


async def test_a_node_that_cannot_be_made_holds_up_no_other(cloud):
    await cloud.create()
    await cloud.create(name="default-b2")
    cloud.pass_time(10)
    cloud.cluster.refuse_writes(Rejected("nodes is forbidden"), "create", NODES, name=NAME)
    assert await cloud.provider.boot() == cloud.now() + timedelta(seconds=1)
    assert await cloud.nodes() == ["default-b2"]


async def test_the_deletion_of_a_server_leaves_its_node_to_the_removal(cloud):
    await cloud.create()
    cloud.pass_time(10)
    await cloud.provider.boot()
    await cloud.provider.delete(NAME)
    assert await cloud.nodes() == [NAME]


@pytest.mark.parametrize(("call", "state"), [("boot", ServerState.CREATING), ("join", ServerState.RUNNING)])
async def test_a_server_that_does_not_come_up(cloud, call, state):
    await cloud.create()
    await cloud.install({"call": call})
    cloud.pass_time(1000)
    assert await cloud.provider.boot() is None
    assert (await cloud.provider.get(NAME)).state is state
    assert await cloud.nodes() == []
    await cloud.install()
    await cloud.provider.boot()
    assert await cloud.nodes() == [NAME]


async def test_a_node_that_never_turns_ready_is_not_played_by_kwok(cloud):
    await cloud.install({"call": "ready", "serverType": "small"})
    await cloud.create()
    cloud.pass_time(10)
    assert await cloud.provider.boot() is None
    node = await cloud.cluster.get(NODES, NAME)
    # With a value that KWOK does not select: the policies of the base let Growth create no Node without it.
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "unplayed"}
    # KWOK docs, "Manage nodes with annotation": it is not the one that makes this Node Ready.
    assert [(each["type"], each["status"]) for each in node["status"]["conditions"]] == [("Ready", "False")]


@pytest.mark.parametrize("data", [{}, {"runsAt": "soon"}, {"node": "{"}])
async def test_a_record_that_a_person_broke_is_told_and_stops_no_other(cloud, data):
    await cloud.create()
    await cloud.create(name="default-b2")
    record = await cloud.record()
    changed = [{"op": "add", "path": "/data", "value": {**record["data"], **data} if data else {}}]
    await cloud.cluster.patch(CONFIG_MAPS, NAME, changed, namespace=SPACE)
    with pytest.raises(InvalidConfiguration, match=f"ConfigMap {SPACE}/{NAME}"):
        await cloud.provider.get(NAME)
    cloud.pass_time(10)
    await cloud.provider.boot()
    assert await cloud.nodes() == ["default-b2"]
