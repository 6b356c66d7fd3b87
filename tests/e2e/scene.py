"""What the scenarios share: a class, a pool and a worker to begin with, an empty cluster to leave behind."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import yaml

from tests.e2e.cluster_view import NAMESPACE, OBJECTS
from tests.e2e.growth_process import GrowthProcess, TemporalServer
from tests.e2e.harness import ControlPlane
from tests.e2e.walk import Walk


@contextmanager
def scene(
    plane: ControlPlane,
    folder: Path,
    *,
    cluster: str,
    separate: bool = True,
    temporal: TemporalServer | None = None,
    kubeconfig: Path | None = None,
    objects: Sequence[str] = ("class.yaml", "pool.yaml"),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[GrowthProcess]:
    """Lend a worker that is not started yet, with a Temporal server apart from it, perhaps a given one, or of its own.

    It is the admin's worker unless a kubeconfig is given, and begins with these objects; `environment` has further
    variables for it. A failure prints the end of the worker's log.
    """
    plane.apply_definitions()
    for name in objects:
        plane.kubectl("apply", "-f", str(OBJECTS / name))
    if separate and temporal is None:
        temporal = TemporalServer(folder)
    address = None if temporal is None else temporal.address
    growth = GrowthProcess(
        plane, folder, cluster=cluster, address=address, kubeconfig=kubeconfig, environment=environment
    )
    try:
        yield growth
    except BaseException:
        print(growth.tail())
        raise
    finally:
        try:
            clear_with_worker(plane)
        finally:
            growth.kill()
            if temporal is not None:
                temporal.kill()
        clear_rest(plane)


def clear_workloads(plane: ControlPlane) -> None:
    """Delete all pods at once, and what would make them again."""
    # With their sets: one that the garbage collector has not come to yet would do so.
    plane.kubectl("delete", "deployments,replicasets", "--all", "-n", "default", "--wait=true")
    plane.kubectl("delete", "pods", "--all", "-n", "default", "--grace-period=0", "--force")


def clear_with_worker(plane: ControlPlane) -> None:
    """Delete workloads, pools, requests and removals: the worker takes its finalizers off."""
    clear_workloads(plane)
    plane.kubectl("delete", "nodepools.growth.dev", "--all", "--timeout=60s")
    plane.kubectl("delete", "noderequests,noderemovalrequests", "--all", "--timeout=60s")


def clear_rest(plane: ControlPlane) -> None:
    """Delete machines and classes, which no worker is needed for, and what was told of objects of the same names."""
    plane.kubectl("delete", "nodes", "--all")
    plane.kubectl("delete", "configmaps", "-n", NAMESPACE, "-l", "growth.dev/request")
    plane.kubectl("delete", "kwoknodeclasses,hetznernodeclasses", "--all")
    # In one call: there may be thousands, and kubectl would delete them one by one.
    plane.kubectl("delete", "--raw", "/api/v1/namespaces/default/events")


def clear_after_walk(plane: ControlPlane, walk: Walk) -> None:
    """Delete all that a walk through a document has left, its worker and its installation included."""
    plane.apply_definitions()
    try:
        clear_with_worker(plane)
    finally:
        walk.kill_worker()
    clear_rest(plane)
    plane.kubectl("delete", "deployments,persistentvolumeclaims", "--all", "-n", NAMESPACE)
    plane.kubectl("delete", "persistentvolumes", "--all")


def account_kubeconfig(plane: ControlPlane, folder: Path) -> Path:
    """Return a kubeconfig with a token of the service account that the kustomize base makes."""
    config = yaml.safe_load(plane.kubeconfig.read_text())
    token = plane.kubectl("create", "token", "growth", "-n", NAMESPACE, "--duration=1h").strip()
    config["users"][0]["user"] = {"token": token}
    path = folder / "account.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
