"""Commands where something is missing around them: one clear line with what to do, soon, on a real API server.

Missing or forbidden kinds, credentials, contexts, addresses, servers, workers.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.commands import Commands
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import DEFINITIONS, ControlPlane
from tests.e2e.harness_process import free_ports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

INSTALL = "`growth crds | kubectl apply --server-side -f -` installs"
LOOKS = (("status",), ("why", "node", "n"))
ASKS = (("requests", "list"), ("removals", "retry", "m"))


@pytest.fixture
def growth(control_plane: ControlPlane, tmp_path: Path) -> Commands:
    return Commands(control_plane, tmp_path)


@pytest.fixture
def without_kinds(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane without Growth's kinds, which it has again in the end."""
    control_plane.kubectl("delete", "--ignore-not-found", "--filename", str(DEFINITIONS))
    yield control_plane
    control_plane.apply_definitions()


def changed(plane: ControlPlane, folder: Path, **fields: object) -> str:
    """Write the admin's kubeconfig with other fields of its cluster and user; return its path."""
    config = yaml.safe_load(plane.kubeconfig.read_text())
    for part in ("cluster", "user"):
        body = config[f"{part}s"][0][part]
        body.update({key: value for key, value in fields.items() if key in body})
    path = folder / "changed.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_a_cluster_without_growths_kinds(without_kinds: ControlPlane, growth: Commands, tmp_path: Path):
    plane = without_kinds
    for words in LOOKS:
        line = growth.refused(*words)
        assert line.startswith(f"Growth's kinds are not installed: {INSTALL} them (context e2e of ")
    worker = GrowthProcess(plane, tmp_path, cluster="kindless", address=None)
    try:
        worker.launch()
        plane.wait_for(lambda: "kinds are not installed" in worker.waits_for(), "the worker tells what it waits for")
        assert INSTALL in worker.waits_for()
        some = ("hetznernodeclasses", "kwoknodeclasses", "nodepools", "noderequests")
        files = [f"--filename={DEFINITIONS / f'growth.dev_{name}.yaml'}" for name in some]
        plane.kubectl("apply", "--server-side", *files)
        plane.wait_for(lambda: "NodeRemovalRequest is not installed" in worker.waits_for(), "it names the kind")
        assert growth.refused("status").startswith(f"NodeRemovalRequest is not installed: {INSTALL} what is missing")
        plane.apply_definitions()
        plane.wait_for(lambda: not worker.waits_for(), "the worker is ready")
        assert worker.tail().count("waiting for") <= 8, "a worker that waits tells so seldom"
    finally:
        worker.kill()


def test_rights_that_are_missing_are_told_all_at_once(control_plane: ControlPlane, growth: Commands, tmp_path: Path):
    control_plane.apply_definitions()
    lacking = (
        "user nobody may not list csinodes.storage.k8s.io, daemonsets.apps, hetznernodeclasses.growth.dev, "
        "kwoknodeclasses.growth.dev, namespaces, nodepools.growth.dev, noderemovalrequests.growth.dev, "
        "noderequests.growth.dev, nodes, persistentvolumeclaims, persistentvolumes, pods, "
        "storageclasses.storage.k8s.io: grant it (RBAC); deploy/kustomize/base "
        "has the roles that Growth needs"
    )
    assert growth.refused("status", user="nobody").startswith(lacking)
    nobody = control_plane.kubeconfig_for("nobody")
    worker = GrowthProcess(control_plane, tmp_path, cluster="rightless", address=None, kubeconfig=nobody)
    try:
        worker.launch()
        control_plane.wait_for(lambda: lacking in worker.waits_for(), "the worker tells which rights it lacks")
    finally:
        print(worker.waits_for(), worker.tail(), sep="\n")
        worker.kill()


def test_a_kubeconfig_that_does_not_lead_to_the_cluster(control_plane: ControlPlane, growth: Commands, tmp_path: Path):
    port = free_ports(1)[0]
    line = growth.refused("status", "--context", "nope", code=2)
    assert line.endswith("has no context nope: choose one with --context; it has e2e")
    stale = changed(control_plane, tmp_path, token="stale")
    assert growth.refused("status", "--kubeconfig", stale).startswith(
        "the API server does not accept these credentials, they are unknown or expired: renew the token"
    )
    away = changed(control_plane, tmp_path, server=f"https://127.0.0.1:{port}")
    assert growth.refused("why", "pod", "web", "--kubeconfig", away).startswith(
        f"https://127.0.0.1:{port} cannot be reached: connection refused (context e2e of {away}; --context "
    )
    unsigned = changed(control_plane, tmp_path, **{"certificate-authority": str(Path(__file__))})
    assert "a certificate or key cannot be used" in growth.refused("status", "--kubeconfig", unsigned, code=2)


def test_a_temporal_server_that_is_not_there(growth: Commands, tmp_path: Path):
    for words in ASKS:
        line = growth.refused(*words, "--data-dir", str(tmp_path), "--temporal-address", "127.0.0.1:1")
        assert line == (
            "Temporal at 127.0.0.1:1 cannot be used: connection refused; --temporal-address (GROWTH_TEMPORAL_ADDRESS) "
            "names another"
        )
    line = growth.refused("removals", "list", GROWTH_EMBEDDED_TEMPORAL="true")
    assert line.startswith(f"no embedded Temporal server runs on the data folder {tmp_path / 'growth-data'}: start ")
    line = growth.refused("removals", "list", code=2, GROWTH_TEMPORAL_ADRESS="here:7233")
    assert line == "GROWTH_TEMPORAL_ADRESS is no setting: did you mean GROWTH_TEMPORAL_ADDRESS?"


def test_another_cluster_namespace_or_name_is_told_with_those_there_are(
    control_plane: ControlPlane, growth: Commands, tmp_path: Path
):
    control_plane.apply_definitions()
    worker = GrowthProcess(control_plane, tmp_path, cluster="mine", address=None)
    here = ("--data-dir", str(tmp_path / "data"))
    try:
        worker.start()
        for words in ASKS:
            line = growth.refused(*words, *here)
            assert line.startswith("no cluster default is planned in namespace growth of Temporal at 127.0.0.1:")
            assert line.endswith(": name one with --cluster (GROWTH_CLUSTER); there are mine")
        assert growth.told("removals", "list", *here, "--cluster", "mine") == "none\n"
        line = growth.refused("removals", "skip", "m", *here, "--cluster", "mine")
        assert line == (
            "m: no NodeRemoval of that name is under way in cluster mine; `list` tells what is, and "
            "`growth removals replay m` starts again what has an object"
        )
        line = growth.refused("requests", "list", *here, "--temporal-namespace", "nope")
        assert line.endswith("(GROWTH_TEMPORAL_NAMESPACE); it has default, growth")
        worker.kill()
        line = growth.refused("requests", "list", *here, "--cluster", "mine")
        assert line.endswith(f"the worker of the data folder {tmp_path / 'data'} was killed; start it again")
    finally:
        worker.kill()
