"""Two clusters, each with a control plane and a worker of its own, that buy in one Hetzner project."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from api.keys import LABEL_POOL
from simulator.hetzner.http import serve
from tests.builders import deployment
from tests.e2e.growth_process import GrowthProcess, TemporalServer
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, hetzner_scene, pool

NAME: Final = "default"
"""As a cluster is called that nobody has named."""
EAGER: Final = {"idleAfter": "1s", "softGrace": "2s"}


@contextmanager
def two_scenes(
    one: ControlPlane, other: ControlPlane, folder: Path, names: tuple[str, str], *, quick: bool = True
) -> Iterator[tuple[HetznerScene, HetznerScene]]:
    """Lend two clusters of these names with a project that they share, and in each a class and a pool.

    Both are `default`. Durations of `quick` workers are a tenth as long.
    """
    folders = [folder / "one", folder / "other"]
    for each in folders:
        each.mkdir()
    with (
        hetzner_scene(one, folders[0], cluster=names[0], quick=quick) as a,
        hetzner_scene(other, folders[1], cluster=names[1], quick=quick, cloud=a.cloud) as b,
    ):
        for scene in (a, b):
            scene.add_class("default", scene.add_project())
            scene.apply(pool("default", ["cx23"], scaleDown=EAGER))
        yield a, b


@contextmanager
def namesake(scene: HetznerScene, folder: Path, address: str | None) -> Iterator[GrowthProcess]:
    """Lend a worker of the scene's cluster that nobody has named."""
    folder.mkdir()
    temporal = TemporalServer(folder) if address is None else None
    try:
        with serve(scene.cloud) as endpoint:
            worker = GrowthProcess(
                scene.plane,
                folder,
                cluster=NAME,
                address=address or (temporal and temporal.address),
                environment={"GROWTH_HCLOUD_ENDPOINT": endpoint},
            )
            yield worker
            worker.kill()
    finally:
        if temporal is not None:
            temporal.kill()


def buy(scene: HetznerScene, count: int) -> None:
    """Let so many pods run, each on a machine of its own."""
    scene.wait_looked_up()
    scene.apply(web(count))
    scene.wait_running(count)


def web(replicas: int) -> dict[str, Any]:
    """Return a Deployment, of which each pod wants a machine of the pool `default`."""
    return on_pool("default", replicas)


def on_pool(name: str, replicas: int = 1) -> dict[str, Any]:
    """Return a Deployment of that name, of which each pod wants a machine of that pool."""
    body = deployment(name, replicas, "1", "512Mi", spread=True)
    body["spec"]["template"]["spec"]["nodeSelector"] = {LABEL_POOL: name}
    return body


def of_class(body: dict[str, Any]) -> dict[str, Any]:
    """Return the pool, which buys of the class `default`."""
    body["spec"]["template"]["classRef"]["name"] = "default"
    return body


def scale(scene: HetznerScene, replicas: int, *names: str) -> None:
    """Let Deployments, `default` if none is named, have so many pods."""
    scene.plane.kubectl("scale", "deployment", *(names or ("default",)), f"--replicas={replicas}", "-n", "default")


def state_of(scene: HetznerScene) -> list[tuple[int, str, str, dict[str, str]]]:
    """Return what the cluster's servers are like, with their labels."""
    scene.view.look()
    return [(server.id, server.name, server.status, dict(server.labels)) for server in scene.view.records()]


def created(scene: HetznerScene) -> int:
    """Return how many servers of both clusters were ever made; a call that was repeated shows here."""
    made = scene.cloud.count_of("default", what="POST /servers", status=201)
    assert scene.calls()["create_server"] == made, "a create call was repeated"
    return made


def uid_of(scene: HetznerScene) -> str:
    found = scene.plane.api.get("namespaces", "kube-system")
    assert found is not None
    return found["metadata"]["uid"]


def reasons(scene: HetznerScene) -> set[str]:
    return {event["reason"] for event in scene.view.items("events")}
