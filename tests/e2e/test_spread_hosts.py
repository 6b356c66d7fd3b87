"""Pods spread over host names share machines as far as the real scheduler lets them, as many on each as planned."""

from collections import Counter
from pathlib import Path

import pytest

from tests.builders import as_sent, deployment, kwok_node_class, node_pool, server_type
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.planner.wishes import HOST, ZONE, spread

CLASS = as_sent(kwok_node_class(server_type("cx22", locations=("fsn1", "hel1", "nbg1"))))
POOL = as_sent(node_pool(types=["cx22"], limits={"max": 20}))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def until_all_run(plane: ControlPlane, pods: Drains, number: int) -> Counter[str]:
    """Wait until so many pods run, as many on each Node as planned, and return their numbers by Node.

    Which of them is where is not compared: they are equal, and while Nodes join one by one the scheduler may refuse one
    on its own Node, for the sake of the zones, and give it another's place.
    """
    plane.wait_for(lambda: pods.view.running() == number, f"{number} pods run", seconds=120)
    nodes = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods.view.pods()}
    by_node = Counter(nodes.values())
    assert by_node == Counter(pods.view.planned[name] for name in nodes)
    return by_node


def test_machines_fill_together_and_a_further_one_gets_as_many(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="even", separate=False, quick=True) as growth:
        for item in (CLASS, POOL):
            plane.replace(item)
        pods = Drains(plane)
        pods.create(deployment("web", 8, "450m", "256Mi", topologySpreadConstraints=[spread(HOST, 1, "web")]))
        growth.start()
        assert sorted(until_all_run(plane, pods, 8).values()) == [4, 4]
        plane.kubectl("scale", "deployment", "web", "--replicas=12")
        assert sorted(until_all_run(plane, pods, 12).values()) == [4, 4, 4]


def test_zones_and_hosts_are_even_at_once(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="evenly", separate=False, quick=True) as growth:
        for item in (CLASS, POOL):
            plane.replace(item)
        pods = Drains(plane)
        both = [spread(ZONE, 1, "web"), spread(HOST, 2, "web")]
        pods.create(deployment("web", 24, "450m", "256Mi", topologySpreadConstraints=both))
        growth.start()
        by_node = until_all_run(plane, pods, 24)
        assert sorted(by_node.values()) == [4] * 6
        zones = {name: node["metadata"]["labels"][ZONE] for name, node in pods.view.nodes().items()}
        assert Counter(zones[name] for name in by_node.elements()) == {"fsn1": 8, "hel1": 8, "nbg1": 8}
