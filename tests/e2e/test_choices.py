"""What a pool may buy, on the real control plane: headroom, a limit in money, priorities, and pods that buy nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import as_sent, deployment, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.e2e.test_pause import growth_command
from tests.e2e.workloads import single_pod

QUICK = {"idleAfter": "1s", "softGrace": "1s"}
SMALL, LARGE = "cx32", "cx42"
"""The large one is the dearer one for a pod of 3.5 cores, of which it holds two."""
CORES = "3500m"
WHENEVER = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "whenever"},
    "value": -20,
    "preemptionPolicy": "Never",
}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


class Choices(Drains):
    """What a person changes and sees of the pool."""

    def replace(self, **spec: Any) -> None:
        self.plane.replace(as_sent(node_pool(scaleDown=QUICK, **spec)))

    def types(self) -> list[str]:
        """Return the types of the Nodes that are there, in alphabetical order."""
        return sorted(n["metadata"]["labels"]["node.kubernetes.io/instance-type"] for n in self.view.nodes().values())

    def condition(self, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition of the pool; empty ones if it has none."""
        [pool] = self.view.items("nodepools")
        of_kind = [each for each in pool.get("status", {}).get("conditions", []) if each["type"] == kind]
        return (of_kind[0]["status"], of_kind[0]["reason"]) if of_kind else ("", "")

    def until_types(self, *types: str) -> None:
        wanted = sorted(types)
        try:
            self.plane.wait_for(lambda: self.types() == wanted, f"there are {wanted}", seconds=60)
        except AssertionError as error:
            raise AssertionError(f"there are {self.types()}\n{error}") from error


def test_headroom_is_kept_as_far_as_money_goes_and_priorities_go_before_prices(
    control_plane: ControlPlane, tmp_path: Path
):
    plane = control_plane
    with scene(plane, tmp_path, cluster="choices", separate=False, quick=True) as growth:
        choices = Choices(plane)
        headroom = [{"requests": {"cpu": "500m", "memory": "512Mi"}, "count": 1}]
        choices.replace(types=["cx22"], headroom=headroom, limits={"max": 9, "pricePerHour": "0.0060"})
        growth.start()
        choices.until_types("cx22")

        # A real pod takes the room, and there is no money for more.
        choices.create(deployment("web", 1, "1500m", "256Mi"))
        plane.wait_for(lambda: len(choices.pods()) == 1, "the pod runs where room was kept")
        plane.wait_for(lambda: choices.condition("HeadroomShort") == ("True", "LimitReached"), "room is short")
        assert choices.condition("NearPriceLimit") == ("True", "PriceAtLimit")
        assert choices.types() == ["cx22"]
        choices.replace(types=["cx22"], headroom=headroom, limits={"max": 9, "pricePerHour": "0.0120"})
        choices.until_types("cx22", "cx22")
        plane.wait_for(lambda: choices.condition("HeadroomShort")[0] != "True", "room is short no more")

        # The dearer type is preferred, until it is sold out.
        types = [{"name": SMALL}, {"name": LARGE, "priority": 10}]
        wish = {"choose": "priority", "expendablePriority": -10}
        choices.replace(serverTypes=types, scaleUp=wish, limits={"max": 9})
        choices.create(deployment("cores", 2, CORES, "256Mi"))
        plane.wait_for(lambda: len(choices.pods()) == 3, "both pods run", seconds=60)
        assert [each for each in choices.types() if each != "cx22"] == [LARGE]
        path = "/spec/serverTypes/2/locations/0/available"
        sold_out = json.dumps([{"op": "add", "path": path, "value": False}])
        plane.kubectl("patch", "kwoknodeclass", "default", "--type=json", "-p", sold_out)
        choices.create(single_pod("third", CORES))
        plane.wait_for(lambda: len(choices.pods()) == 4, "the third pod runs", seconds=60)
        assert [each for each in choices.types() if each != "cx22"] == [SMALL, LARGE]

        # A pod that buys nothing waits, and is told why.
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(WHENEVER))
        try:
            choices.create(single_pod("later", CORES, priorityClassName="whenever"))
            told = "no machine is bought for its priority -20"
            plane.wait_for(lambda: told in growth_command(plane, "why", "pod", "default/later"), "it is told why")
            assert [each for each in choices.types() if each != "cx22"] == [SMALL, LARGE]
        finally:
            plane.kubectl("delete", "priorityclass", "whenever")
