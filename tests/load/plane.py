"""The control plane of the load tests: its own clients must not be what is measured."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane

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


@contextmanager
def cluster_under_load(folder: Path, *, cluster: str) -> Iterator[tuple[ControlPlane, GrowthProcess]]:
    """Lend an empty control plane and a worker with a Temporal server of its own that is not started yet.

    Nothing is cleared up behind the test: processes and folders end. A failure prints the end of the worker's log.
    """
    plane = ControlPlane(FLAGS)
    try:
        plane.apply_definitions()
        growth = GrowthProcess(plane, folder, cluster=cluster, address=None)
        try:
            yield plane, growth
            plane.check()
        except BaseException:
            print(growth.tail())
            raise
        finally:
            growth.kill()
    finally:
        plane.close()
