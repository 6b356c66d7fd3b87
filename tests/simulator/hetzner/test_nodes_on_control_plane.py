"""Nodes of fake servers on a real control plane: the API server takes them, and KWOK plays them."""

import asyncio
from contextlib import suppress

import pytest

from activities.kube.client import KubeCluster
from activities.objects.nodes import has_taint
from activities.ports.cluster import NODES
from activities.ports.errors import NotFound
from planner.lifecycle.json_predicates import is_ready
from simulator.hetzner.nodes import HetznerNodes
from tests.e2e.harness import borrowed_control_plane
from tests.simulator.hetzner.desk import Desk

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

NAME = "hetzner-nodes-a1"
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
FLAGS = "--cloud-provider=external --node-labels=growth.dev/pool=a --register-with-taints=x=y:NoSchedule"
_TRIES = 300
_PAUSE_SECONDS = 0.1


@pytest.fixture(scope="module")
def control_plane():
    with borrowed_control_plane() as plane:
        yield plane


@pytest.fixture
async def cluster(control_plane):
    made = await KubeCluster.connect(str(control_plane.kubeconfig))
    yield made
    with suppress(NotFound):
        await made.delete(NODES, NAME)
    await made.close()


async def until(cluster, nodes, holds):
    """Step until the Node is as wanted, and return it; None once it is gone."""
    for _ in range(_TRIES):
        await nodes.step()
        try:
            node = await cluster.get(NODES, NAME)
        except NotFound:
            node = None
        if holds(node):
            return node
        await asyncio.sleep(_PAUSE_SECONDS)
    return pytest.fail(f"the Node is still {node}")


async def test_a_node_registers_becomes_ready_is_initialised_and_goes_with_its_server(control_plane, cluster):
    desk = Desk()
    nodes = HetznerNodes(desk.cloud, cluster, now=lambda: desk.now, controller=True, controller_delay_seconds=5)
    number = desk.running(NAME, user_data=f"kubelet {FLAGS}")
    node = await until(cluster, nodes, lambda node: node is not None and is_ready(node))
    assert has_taint(node, UNINITIALIZED)
    assert has_taint(node, "x", "y")
    assert node["status"]["allocatable"]["cpu"] == "2"
    assert "providerID" not in node["spec"]
    desk.wait(5)
    node = await until(cluster, nodes, lambda node: not has_taint(node, UNINITIALIZED))
    assert node["spec"]["providerID"] == f"hcloud://{number}"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "fsn1-dc14"
    assert node["metadata"]["labels"]["growth.dev/pool"] == "a"
    assert has_taint(node, "x", "y")
    desk.call("DELETE", f"/servers/{number}")
    desk.wait(5)
    await until(cluster, nodes, lambda node: node is None)
