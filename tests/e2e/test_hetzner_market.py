"""Stock and prices that change: what is sold out is left alone, and what was bought keeps its price."""

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.builders import deployment
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, hetzner_scene, paid, pool

ADDRESS = Decimal("0.0008")
"""A public IPv4 address per hour. This and the next: net prices of simulator/hetzner/project/price_list.py."""
CX33 = Decimal("0.0136") + ADDRESS
CPX22 = Decimal("0.0312") + ADDRESS
MOST_TRIES = 3
"""Of what is sold out: one for each of the three machines that were wanted before that was known."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_a_sold_out_type_is_left_alone_and_a_price_that_rises_is_that_of_new_servers(
    control_plane: ControlPlane, tmp_path: Path
):
    with hetzner_scene(control_plane, tmp_path, cluster="hetzner-market", quick=True) as scene:
        scene.cloud.sell_out("cx23")
        scene.add_class("default", scene.add_project(), locations=["fsn1"])
        scene.apply(pool("default", ["cx23", "cx33", "cpx22"]))
        scene.growth.start()
        scene.wait_looked_up()
        _second_cheapest(scene)
        _next_is_another(scene)


def _second_cheapest(scene: HetznerScene) -> None:
    """Three machines are bought although the cheapest type is sold out, and a fourth without asking for it again."""
    began = time.monotonic()
    scene.apply(deployment("web", 3, "400m", "512Mi", spread=True))
    scene.wait_running(3)
    seconds = time.monotonic() - began
    assert scene.view.types() == {"cx33": 3}
    refused = _refused(scene)
    assert 1 <= refused <= MOST_TRIES
    (left_out,) = scene.node_class()["status"]["unavailable"]
    assert (left_out["serverType"], left_out["location"]) == ("cx23", "fsn1")
    told = scene.commands.told("catalogue", "--class", "default", "--type", "cx23")
    (line,) = (line for line in told.splitlines() if "cx23" in line)
    assert "unmet until" in line
    _scale(scene, 4)
    assert scene.view.types() == {"cx33": 4}
    assert _refused(scene) == refused, "what is sold out was asked for again"
    print(f"\ncx23 sold out: 3 pods on cx33 after {seconds:.1f} s, {refused} calls for cx23; growth catalogue:\n{line}")


def _next_is_another(scene: HetznerScene) -> None:
    """Once cx33 costs more than cpx22, the next machine is a cpx22, and those that are there keep their price."""
    scene.cloud.set_price("cx33", "fsn1", hourly="0.0400", monthly="24.96")
    # Prices are read every ten minutes, and at once when a class changes.
    scene.plane.kubectl(
        "patch", "hetznernodeclass", "default", "--type=merge", "-p", '{"spec":{"serverLabels":{"look":"again"}}}'
    )
    scene.plane.wait_for(lambda: _price_of(scene, "cx33") == Decimal("0.04"), "the new price is read")
    _scale(scene, 5)
    assert scene.view.types() == {"cx33": 4, "cpx22": 1}
    assert sorted(paid(node) for node in scene.view.nodes().values()) == [CX33] * 4 + [CPX22]
    total = 4 * CX33 + CPX22
    scene.plane.wait_for(lambda: _pool_price(scene) == total, f"the pool costs {total}")
    old = next(
        name
        for name, node in scene.view.nodes().items()
        if node["metadata"]["labels"]["growth.dev/server-type"] == "cx33"
    )
    line = next(line for line in scene.commands.told("why", "node", old).splitlines() if "bought by Growth" in line)
    assert "0.0144" in line
    assert "0.0408" in line
    print(f"\ncx33 now 0.0400: next is a cpx22, the pool costs {total} EUR/h; growth why node {old}:\n{line}")


def _scale(scene: HetznerScene, replicas: int) -> None:
    scene.plane.kubectl("scale", "deployment", "web", f"--replicas={replicas}", "-n", "default")
    scene.wait_running(replicas)


def _refused(scene: HetznerScene) -> int:
    return scene.cloud.count_of("default", what="POST /servers", status=412)


def _price_of(scene: HetznerScene, server_type: str) -> Decimal:
    known: list[dict[str, Any]] = scene.node_class()["status"]["serverTypes"]
    found = next(each for each in known if each["name"] == server_type)
    return Decimal(next(place["pricePerHour"] for place in found["locations"] if place["name"] == "fsn1"))


def _pool_price(scene: HetznerScene) -> Decimal:
    found = scene.plane.api.get("nodepools", "default")
    return Decimal(found["status"].get("pricePerHour", "0"))
