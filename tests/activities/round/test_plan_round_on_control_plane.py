"""Rounds on a real API server: it accepts every write, and the objects tell the same story as in memory."""

import asyncio
from datetime import UTC, datetime

import pytest

from activities.kube.client import KubeCluster
from activities.objects.events import Recorder
from activities.ports.cluster import (
    EVENTS,
    LEASES,
    NAMESPACES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
)
from activities.ports.ports import Ports
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.provider import KwokProvider
from activities.round.plan_round import PlanActivities
from api.keys import ANNOTATION_DELETE_MACHINES, ANNOTATION_IDLE_SINCE, FINALIZER
from planner.model.round import RoundInput
from tests.activities.bodies import node, pod, pool, removal
from tests.activities.on_control_plane import clear_named
from tests.e2e.harness import borrowed_control_plane

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

NAME = "rounds"
"""Begins the name of everything here: the control plane may serve other tests before and after."""
OTHER = f"{NAME}-other"


@pytest.fixture(scope="module")
def control_plane():
    with borrowed_control_plane() as plane:
        plane.apply_definitions()
        yield plane


@pytest.fixture
async def cluster(control_plane):
    cluster = await KubeCluster.connect(str(control_plane.kubeconfig))
    await cluster.create(NAMESPACES, {"metadata": {"name": NAME}})
    yield cluster
    await clear_named(cluster, NAME)
    await cluster.delete(NAMESPACES, NAME)
    await cluster.close()


@pytest.fixture
def ports(cluster):
    provider = KwokProvider(cluster, NAME, lambda: datetime.now(UTC))
    return Ports(
        cluster=cluster,
        reader=cluster,
        providers={provider.node_classes.kind: provider},
        now=lambda: datetime.now(UTC),
        cluster_name=NAME,
        namespace=NAME,
    )


async def prepare(cluster):
    """Two pools; three pods for the first, which has an idle node, and a cool-off in each."""
    capacity = {"cpu": "4", "memory": "8Gi"}
    server_type = {"name": "cx32", "capacity": capacity, "pricePerHour": "0.0106", "locations": [{"name": "fsn1"}]}
    node_class = {
        "apiVersion": KWOK_NODE_CLASSES.api_version,
        "kind": KWOK_NODE_CLASSES.kind,
        "metadata": {"name": NAME},
        "spec": {"serverTypes": [server_type]},
    }
    await cluster.create(KWOK_NODE_CLASSES, node_class)
    for name in (NAME, OTHER):
        template = {"classRef": {"kind": "KwokNodeClass", "name": NAME}}
        await cluster.create(NODE_POOLS, pool(name, serverTypes=[{"name": "cx32"}], template=template))
        cooling = f"{name}-cooling"
        await cluster.create(NODES, node(cooling, name, "cx32", "1", "1Gi"))
        await cluster.create(NODE_REMOVAL_REQUESTS, removal(cooling, pool_name=name, nodeName=cooling))
    await cluster.create(NODES, node(f"{NAME}-idle", NAME, "cx32", "1", "1Gi"))
    for number in range(3):
        body = pod(f"web-{number}", cpu="3", nodeSelector={"growth.dev/pool": NAME})
        await cluster.create(PODS, {**body, "metadata": {"name": body["metadata"]["name"]}}, namespace=NAME)
    for _ in range(300):
        pods = (await cluster.list(PODS, namespace=NAME)).items
        if sum(c.get("reason") == "Unschedulable" for p in pods for c in p["status"].get("conditions", ())) == 3:
            return
        await asyncio.sleep(0.1)
    pytest.fail("the scheduler did not call the pods unschedulable")


async def own(cluster, resource):
    return [item for item in (await cluster.list(resource)).items if item["metadata"]["name"].startswith(NAME)]


async def seats(cluster):
    requests = [item for item in await own(cluster, NODE_REQUESTS) if "deletionTimestamp" not in item["metadata"]]
    return sorted(seat["name"] for item in requests for seat in item["spec"].get("reservedFor", ()))


async def test_from_pods_to_objects_and_to_the_end_of_the_pools(cluster, ports, control_plane):
    await prepare(cluster)
    activities = PlanActivities(ports, Recorder(ports))

    first = await activities.plan_round(RoundInput(run="a", round=1))
    assert "refused" not in first.summary
    requests = await own(cluster, NODE_REQUESTS)
    assert await seats(cluster) == ["web-0", "web-1", "web-2"]
    assert {one.uid for one in first.requests} >= {item["metadata"]["uid"] for item in requests}
    assert {one.name for one in first.removals} >= {f"{NAME}-cooling", f"{OTHER}-cooling"}
    assert (await cluster.get(NODE_POOLS, NAME))["metadata"]["finalizers"] == [FINALIZER]
    assert "holderIdentity" not in (await cluster.get(LEASES, "growth-round", namespace=NAME))["spec"]
    idle = await cluster.get(NODES, f"{NAME}-idle")
    assert ANNOTATION_IDLE_SINCE in idle["metadata"]["annotations"]
    told = (await cluster.list(EVENTS, namespace=NAME)).items
    assert {e["regarding"]["name"] for e in told if e["reason"] == "MachineRequested"} == {"web-0", "web-1", "web-2"}
    described = control_plane.kubectl("describe", "noderequest", requests[0]["metadata"]["name"])
    assert "Requested" in described.split("Events:")[1]

    # Another worker, which knows nothing of this one, buys nothing more.
    again = await PlanActivities(ports, Recorder(ports)).plan_round(RoundInput(run="b", round=1))
    assert "refused" not in again.summary
    assert len(await own(cluster, NODE_REQUESTS)) == 3
    assert (await cluster.get(NODE_POOLS, NAME))["status"]["nodes"]["inFlight"] == 3

    # One pod goes and its seat with it, a status write in between notwithstanding.
    await cluster.delete(PODS, "web-0", namespace=NAME)
    await activities.plan_round(RoundInput(run="a", round=2))
    assert await seats(cluster) == ["web-1", "web-2"]

    machines = [{"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION_DELETE_MACHINES: "yes"}}]
    await cluster.patch(NODE_POOLS, NAME, machines)
    for name in (NAME, OTHER):
        await cluster.delete(NODE_POOLS, name)
    last = await activities.plan_round(RoundInput(run="a", round=3))
    assert "refused" not in last.summary
    assert await own(cluster, NODE_POOLS) == []
    removals = {item["metadata"]["name"]: item.get("status", {}) for item in await own(cluster, NODE_REMOVAL_REQUESTS)}
    assert set(removals) == {f"{NAME}-idle", f"{NAME}-cooling", f"{OTHER}-cooling"}
    assert removals[f"{OTHER}-cooling"]["cancel"]["by"] == "Planner"
    assert "cancel" not in removals[f"{NAME}-cooling"]
    assert all("deletionTimestamp" in item["metadata"] for item in await own(cluster, NODE_REQUESTS))
