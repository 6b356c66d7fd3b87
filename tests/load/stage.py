"""The control plane of the load tests: its own clients must not be what is measured."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from temporalio.client import Client

from activities.kube.client import KubeCluster
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.load.bystanders import reporting
from tests.load.census import Census, census
from tests.load.histories import client
from tests.load.masses import connected

FLAGS: Final[Mapping[str, Sequence[str]]] = {
    # By default it makes 20 calls a second, and so needs minutes to welcome a thousand Nodes. Nodes whose kubelets
    # nobody plays must not be taken for dead during a test.
    "kube-controller-manager": (
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        "--node-monitor-grace-period=2h",
        "--node-startup-grace-period=2h",
    ),
    # By default it makes 50 calls a second, one or two a pod.
    "kube-scheduler": ("--kube-api-qps=500", "--kube-api-burst=1000"),
    # Each Node's Lease is renewed after a quarter of this: with 40 s, 1,000 Nodes are 100 writes a second.
    "kwok": ("--node-lease-duration-seconds=400",),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster and a worker on it."""

    plane: ControlPlane
    growth: GrowthProcess
    cluster: KubeCluster
    """The test's own connection."""
    census: Census
    temporal: Client
    """Of the worker's own Temporal server."""


@asynccontextmanager
async def stage(folder: Path, *, cluster: str, bystanders: int = 0) -> AsyncIterator[Stage]:
    """Lend an empty cluster and a worker that is ready, with a Temporal server of its own.

    Nothing is cleared up behind the test: processes and folders end. A failure prints the end of the worker's log.

    Args:
        folder: of the worker.
        cluster: name of the cluster.
        bystanders: Nodes that no pool made.
    """
    async with AsyncExitStack() as stack:
        plane = ControlPlane(FLAGS)
        stack.callback(plane.close)
        plane.apply_definitions()
        connection = await stack.enter_async_context(connected(plane))
        if bystanders:
            await stack.enter_async_context(reporting(connection, bystanders))
        counted = await stack.enter_async_context(census(plane, connection))
        growth = GrowthProcess(plane, folder, cluster=cluster, address=None)
        stack.callback(growth.kill)
        try:
            await asyncio.to_thread(growth.start)
            yield Stage(plane, growth, connection, counted, await client(growth))
            plane.check()
        except BaseException:
            print(growth.tail())
            raise
