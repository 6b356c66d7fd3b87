"""Wrong objects on a live cluster: each is told in one clear line where its author looks, and the rest goes on."""

from pathlib import Path

import pytest
import yaml

from tests.builders import as_sent, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import single_pod

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def pool(name: str, types: list[str], **spec: object) -> str:
    """Return a pool of at most two machines as YAML."""
    return yaml.safe_dump(as_sent(node_pool(name, types, limits={"max": 2}, **spec)))


def pod(name: str, cpu: str, selector: dict[str, str]) -> str:
    """Return a pod that selects nodes, as YAML."""
    return yaml.safe_dump(single_pod(name, cpu, nodeSelector=selector))


def told(plane: ControlPlane, kind: str, name: str) -> dict[str, str]:
    """Return the message of each Growth event on an object, by reason."""
    events = plane.api.items("events")
    return {
        event["reason"]: event["message"]
        for event in events
        if event.get("reportingComponent") == "growth.dev/growth"
        and (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (kind, name)
    }


def ready(plane: ControlPlane, name: str) -> dict[str, str]:
    """Return the Ready condition of a pool."""
    found = plane.api.get("nodepools", name)
    assert found is not None
    conditions = found.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "Ready"), {})


def test_bad_input_is_told_and_stops_nothing_else(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    view = ClusterView(plane)
    with scene(plane, tmp_path, cluster="bad-input") as growth:
        plane.kubectl("apply", "-f", "-", stdin=pool("classless", ["cx22"], template={"classRef": {"name": "nowhere"}}))
        plane.kubectl("apply", "-f", "-", stdin=pool("typeless", ["cx99"]))
        # A node that no pool made, without a single label.
        bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}
        plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(bare))
        for each in (
            pod("too-large", "100", {}),
            pod("lost", "100m", {"growth.dev/pool": "missing"}),
            pod("of-classless", "100m", {"growth.dev/pool": "classless"}),
            pod("of-typeless", "100m", {"growth.dev/pool": "typeless"}),
            pod("good", "1500m", {}),
        ):
            plane.kubectl("create", "-f", "-", stdin=each)
        growth.start()
        plane.wait_for(lambda: view.running() == 1, "the good pod runs")

        plane.wait_for(lambda: "TooLarge" in told(plane, "Pod", "too-large"), "the large pod is told why")
        assert "cx42: cpu short by 92150m" in told(plane, "Pod", "too-large")["TooLarge"]
        plane.wait_for(lambda: "PoolNotFound" in told(plane, "Pod", "lost"), "the lost pod is told why")
        assert "pool missing does not exist" in told(plane, "Pod", "lost")["PoolNotFound"]
        for name, word in (("classless", "KwokNodeClass/nowhere"), ("typeless", "cx99")):
            plane.wait_for(lambda name=name: ready(plane, name).get("status") == "False", f"pool {name} is not Ready")
            assert word in ready(plane, name)["message"]
            assert any(word in message for message in told(plane, "Pod", f"of-{name}").values())
        assert ready(plane, "default")["status"] == "True"
        kept = plane.api.get("nodes", "bare")
        assert not any(taint["key"].startswith("growth.dev/") for taint in kept["spec"].get("taints", []))
        assert not view.items("noderemovalrequests")
