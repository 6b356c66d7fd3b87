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

LIFECYCLES = ("noderequests", "noderemovalrequests")
WORKLOADS = ("deployments", "replicasets", "poddisruptionbudgets")
"""What makes pods again, its sets among it that the garbage collector may come to later, and what keeps them."""
CLASSES = ("kwoknodeclasses", "hetznernodeclasses")


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
    quick: bool = False,
) -> Iterator[GrowthProcess]:
    """Lend a worker that is not started yet, with a Temporal server apart from it, perhaps a given one, or of its own.

    It is the admin's worker unless a kubeconfig is given, and begins with these objects; `environment` has further
    variables for it; a `quick` one has durations a tenth as long. A failure prints the end of the worker's log.
    """
    plane.apply_definitions()
    if objects:
        plane.kubectl("apply", *(f"--filename={OBJECTS / name}" for name in objects))
    if separate and temporal is None:
        temporal = TemporalServer(folder)
    address = None if temporal is None else temporal.address
    growth = GrowthProcess(
        plane,
        folder,
        cluster=cluster,
        address=address,
        kubeconfig=kubeconfig,
        environment=environment,
        quick=quick,
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
        _let_go(plane)
        clear_rest(plane)


def _let_go(plane: ControlPlane) -> None:
    """Delete what a sweep ordered in the moment before the worker was killed: nobody else takes its finalizer off."""
    for kind in LIFECYCLES:
        for item in plane.api.items(kind):
            name = item["metadata"]["name"]
            plane.kubectl("patch", kind, name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
            plane.kubectl("delete", kind, name, "--ignore-not-found")


def clear_workloads(plane: ControlPlane) -> None:
    """Delete all pods at once, what would make them again, and what would keep those of later tests."""
    api = plane.api
    for kind in WORKLOADS:
        api.delete_all(kind, "default")
    api.wait_gone(*WORKLOADS, namespace="default")
    api.delete_all("pods", "default", gracePeriodSeconds="0")
    api.wait_gone("pods", namespace="default")


def clear_with_worker(plane: ControlPlane) -> None:
    """Delete workloads, pools, requests and removals: the worker takes its finalizers off."""
    clear_workloads(plane)
    plane.api.delete_all("nodepools")
    plane.api.wait_gone("nodepools")
    plane.wait_for(lambda: _deleted_lifecycles(plane), "no request and no removal is left")


def _deleted_lifecycles(plane: ControlPlane) -> bool:
    """Delete requests and removals; return whether none was left, as a sweep may order further ones meanwhile."""
    left = [item for kind in LIFECYCLES for item in plane.api.items(kind)]
    for kind in LIFECYCLES if left else ():
        plane.api.delete_all(kind)
    return not left


def clear_rest(plane: ControlPlane) -> None:
    """Delete machines and classes, which no worker is needed for, and what was told of objects of the same names."""
    api = plane.api
    api.delete_all("nodes")
    api.delete_all("configmaps", NAMESPACE, labels="growth.dev/request")
    for kind in CLASSES:
        api.delete_all(kind)
    api.wait_gone("nodes", *CLASSES)
    api.delete_all("events", "default")


def clear_after_walk(plane: ControlPlane, walk: Walk) -> None:
    """Delete all that a walk through a document has left, its worker and its installation included."""
    plane.apply_definitions()
    try:
        clear_with_worker(plane)
    finally:
        walk.kill_worker()
    clear_rest(plane)
    for kind in ("deployments", "persistentvolumeclaims"):
        plane.api.delete_all(kind, NAMESPACE)
        plane.api.wait_gone(kind, namespace=NAMESPACE)
    plane.api.delete_all("persistentvolumes")
    plane.api.wait_gone("persistentvolumes")


def account_kubeconfig(plane: ControlPlane, folder: Path) -> Path:
    """Return a kubeconfig with a token of the service account that the kustomize base makes."""
    config = yaml.safe_load(plane.kubeconfig.read_text())
    token = plane.kubectl("create", "token", "growth", "-n", NAMESPACE, "--duration=1h").strip()
    config["users"][0]["user"] = {"token": token}
    path = folder / "account.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
