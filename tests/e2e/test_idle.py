"""What a worker asks of the API server while nothing happens, as the API server itself counts it."""

import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from tests.builders import as_sent, deployment, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import account_kubeconfig, scene
from tests.e2e.test_deploy import calls, installed, refused

WINDOW_SECONDS = 90
SETTLES_SECONDS = 15
"""Of rounds, watches and sweeps, after the last machine has come."""
MOST_PER_MINUTE = 30

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.serial, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("machines", "record_ttl"),
    [(0, "10m"), (50, "10m"), (50, "1s")],
    ids=["no machine", "50 machines with their records", "50 machines whose records are gone"],
)
def test_an_idle_worker_asks_little_of_the_api_server(
    control_plane: ControlPlane, tmp_path: Path, *, machines: int, record_ttl: str
):
    plane = control_plane
    view = ClusterView(plane)
    plane.apply_definitions()
    with installed(plane):
        account = account_kubeconfig(plane, tmp_path)
        # Its own Temporal server, as most run it: what that costs is seen beside the calls.
        with scene(plane, tmp_path, cluster="idle", separate=False, kubeconfig=account) as growth:
            _let_come(plane, machines, record_ttl)
            growth.start()
            plane.wait_for(lambda: view.running() == machines, "all pods run", 120)
            records = machines if record_ttl == "10m" else 0
            plane.wait_for(lambda: view.phases("noderequests") == ["Ready"] * records, "records are as they stay")
            plane.wait_for(lambda: not _reserved(view), "all machines are open to all pods")
            time.sleep(SETTLES_SECONDS)
            asked = _asked(plane, WINDOW_SECONDS)
            assert len(view.nodes()) == machines
            assert view.phases("noderequests") == ["Ready"] * records
    per_minute = {call: count * 60 / WINDOW_SECONDS for call, count in asked.most_common()}
    total = sum(per_minute.values())
    print(f"\n{machines} machines, {records} records: {total:.1f} requests a minute")
    print("\n".join(f"{verb:7} {resource:28} {each:6.1f}" for (verb, resource), each in per_minute.items()))
    assert 0 < total < MOST_PER_MINUTE
    assert not refused(calls(plane))


def _let_come(plane: ControlPlane, machines: int, record_ttl: str) -> None:
    """Ask for so many machines, each for a pod that leaves no room for a second one."""
    pool = as_sent(node_pool(types=["cx22"], limits={"max": 60}, scaleUp={"recordTTL": record_ttl}))
    pods = deployment("web", machines, "1500m", "1Gi")
    plane.kubectl("replace", "-f", "-", stdin=yaml.safe_dump(pool))
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(pods))


def _reserved(view: ClusterView) -> list[str]:
    taints = (taint for node in view.nodes().values() for taint in node["spec"].get("taints", []))
    return [taint["key"] for taint in taints if taint["key"].startswith("growth.dev/")]


def _asked(plane: ControlPlane, seconds: float) -> Counter[tuple[str, str]]:
    """Return how often the worker asked for what from now on, for so long: verb and resource of each request."""
    began = time.time()
    time.sleep(seconds)
    ended = time.time()
    made: dict[str, tuple[str, str]] = {}
    for call in calls(plane):
        # A watch is written down when it begins and when it ends; it is one request.
        at = datetime.fromisoformat(call["requestReceivedTimestamp"]).timestamp()
        if began <= at < ended:
            subject = call.get("objectRef", {})
            parts = (subject.get("resource", call["requestURI"]), subject.get("subresource"))
            made[call["auditID"]] = call["verb"], "/".join(filter(None, parts))
    return Counter(made.values())
