from datetime import UTC, datetime

import pytest

from activities.kube.client import KubeCluster
from activities.ports.cluster import NAMESPACES
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.conformance.world import World, fresh_name
from tests.e2e.harness import borrowed_control_plane


@pytest.fixture(scope="session")
def control_plane():
    with borrowed_control_plane() as plane:
        yield plane


@pytest.fixture(params=["memory", pytest.param("kube", marks=pytest.mark.e2e)])
async def world(request):
    """An empty place in the cluster in memory or, in e2e runs, in a real one."""
    if request.param == "memory":
        made = World(MemoryCluster(lambda: datetime.now(UTC)), fresh_name())
    else:
        plane = request.getfixturevalue("control_plane")
        made = World(await KubeCluster.connect(str(plane.kubeconfig)), fresh_name(), plane)
    await made.cluster.create(NAMESPACES, {"metadata": {"name": made.namespace}})
    yield made
    if made.control_plane is not None:
        await made.cluster.close()
        made.control_plane.check()


@pytest.fixture
async def widgets(world):
    """The world, in which widgets are defined."""
    await world.define_widgets()
    return world
