from datetime import UTC, datetime

import pytest
import pytest_asyncio

from activities.kube.client import KubeCluster
from activities.ports.cluster import NAMESPACES
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.conformance.world import World, fresh_name
from tests.e2e.harness import borrowed_control_plane


@pytest.fixture(scope="session")
def control_plane():
    with borrowed_control_plane() as plane:
        yield plane


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kube(control_plane):
    """A connection to the real cluster for all tests of a file: they share an event loop."""
    cluster = await KubeCluster.connect(str(control_plane.kubeconfig))
    yield cluster
    await cluster.close()


@pytest.fixture(params=["memory", pytest.param("kube", marks=pytest.mark.e2e)])
def empty(request):
    """A cluster in memory or, in e2e runs, the real one, with a name that nothing in it has."""
    if request.param == "memory":
        return World(MemoryCluster(lambda: datetime.now(UTC)), fresh_name())
    return World(request.getfixturevalue("kube"), fresh_name(), request.getfixturevalue("control_plane"))


@pytest_asyncio.fixture(loop_scope="module")
async def world(empty):
    """An empty place in the cluster."""
    await empty.cluster.create(NAMESPACES, {"metadata": {"name": empty.namespace}})
    yield empty
    if empty.control_plane is not None:
        empty.control_plane.check()


@pytest_asyncio.fixture(loop_scope="module")
async def widgets(world):
    """The world, in which widgets are defined."""
    await world.define_widgets()
    return world
