"""docs/hetzner.md as a reader with a token follows it: every command of it, in its order, against the fake API."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import pytest

from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import serve
from simulator.hetzner.project.state import Durations
from tests.e2e.cluster_view import NAMESPACE, OBJECTS, ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import kubelets
from tests.e2e.scene import account_kubeconfig, clear_after_walk, clear_rest
from tests.e2e.walk import Walk
from tests.project.documents import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

DOCUMENT = "docs/hetzner.md"
CLUSTER = "hetzner"
TEMPLATE = Path("deploy") / "hetzner" / "k3s.yaml"


@contextmanager
def beginning(plane: ControlPlane, folder: Path, endpoint: str) -> Iterator[Walk]:
    """Lend a cluster with Growth on it, as docs/operations.md installs it, and leave an empty one behind."""
    walk = Walk(DOCUMENT, plane, folder, cluster=CLUSTER)
    walk.environment["GROWTH_HCLOUD_ENDPOINT"] = endpoint
    plane.apply_definitions()
    clear_rest(plane)
    plane.kubectl("apply", "-f", str(OBJECTS / "home.yaml"))
    plane.kubectl("apply", "--server-side", "-k", str(ROOT / "deploy" / "kustomize" / "base"))
    try:
        yield walk
    except BaseException:
        print(walk.tail())
        raise
    finally:
        clear_after_walk(plane, walk)
        plane.kubectl("delete", "secrets", "--all", "-n", NAMESPACE)


def fill_in(folder: Path, token: str) -> None:
    """Put values in place of the words in capital letters, in a copy of the file that the document names."""
    (folder / "deploy").unlink()
    text = (ROOT / TEMPLATE).read_text()
    values = {
        "API-TOKEN-OF-THE-PROJECT": token,
        "ADDRESS-OF-THE-SERVER": "10.0.0.2",
        "TOKEN-FOR-AGENTS": token_hex(24),
    }
    for words, value in values.items():
        assert words in text
        text = text.replace(words, value)
    (folder / TEMPLATE).parent.mkdir(parents=True)
    (folder / TEMPLATE).write_text(text)


def test_every_command_does_what_it_says(control_plane: ControlPlane, tmp_path: Path):
    plane, view = control_plane, ClusterView(control_plane)
    cloud, token = FakeHetzner(lambda: datetime.now(UTC)), token_hex(32)
    cloud.add_token(token)
    # Long enough to be seen coming.
    cloud.durations = Durations(create_seconds=8.0, start_seconds=0.5, delete_seconds=1.0)
    with (
        serve(cloud) as endpoint,
        kubelets(plane, cloud, None) as check,
        beginning(plane, tmp_path, endpoint) as walk,
    ):
        walk.start_worker(kubeconfig=account_kubeconfig(plane, tmp_path))
        fill_in(tmp_path, token)
        walk.next("kubectl apply -f deploy/hetzner/k3s.yaml")
        plane.wait_for(lambda: _is_ready(view), "the class is Ready")
        walk.next("kubectl get hetznernodeclasses")
        walk.next("kubectl get hetznernodeclasses -o wide")
        walk.next("growth catalogue --location fsn1")
        walk.next("kubectl get hetznernodeclasses,nodepools.growth.dev -o yaml | growth plan")
        assert cloud.count("create_server") == 0, "prices are shown before anything is bought"
        walk.next("kubectl apply -f first.yaml")
        plane.wait_for(lambda: "Provisioning" in view.phases("noderequests"), "a server has been asked for")
        walk.next("growth status")
        plane.wait_for(lambda: view.running() == 1, "the pod runs")
        (server,) = cloud.servers_of()
        assert server.name in walk.next("kubectl get nodes")
        assert view.nodes()[server.name]["spec"]["providerID"] == f"hcloud://{server.id}"
        walk.next("growth why node", NAME=server.name)
        walk.next("kubectl -n growth-system scale deployment/growth --replicas=0")
        walk.kill_worker()
        walk.next("growth purge", CLUSTER=CLUSTER)
        assert cloud.servers_of() == []
        assert plane.kubectl("get", "nodepools.growth.dev,hetznernodeclasses,noderequests", "-o", "name") == ""
        check()
        walk.finish()


def _is_ready(view: ClusterView) -> bool:
    """Return whether the one class is Ready."""
    (found,) = view.items("hetznernodeclasses")
    conditions = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", ())}
    return conditions.get("Ready") == "True"
