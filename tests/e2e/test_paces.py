"""What pools wait for, on the real control plane: locks, pods that end, closed windows, bad Nodes, a trial.

In the middle of each the worker is killed: what it waits for stands on objects, and holds for the next one.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api.meta import format_timestamp
from tests.builders import as_sent, node_pool
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.e2e.test_pause import growth_command
from tests.e2e.workloads import single_pod

QUIET = timedelta(seconds=6)
"""Longer than a purchase or the first step of a removal takes here."""
TYPES = ["cx22"]
SMALL, LARGE = "100m", "1500m"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


class Paces(Drains):
    """What a person changes of the pool and sees of it, and a worker that dies."""

    def __init__(self, plane: ControlPlane, growth: GrowthProcess) -> None:
        super().__init__(plane)
        self.growth = growth

    def replace(self, **spec: Any) -> None:
        wanted: dict[str, Any] = {"limits": {"max": 4}} | spec
        self.plane.replace(as_sent(node_pool(types=TYPES, **wanted)))

    def pool_status(self) -> dict[str, Any]:
        [pool] = self.view.items("nodepools")
        return pool.get("status", {})

    def condition(self, kind: str) -> dict[str, str]:
        """Return a condition of the pool, with the status False where it has none."""
        conditions = self.pool_status().get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {"status": "False"})

    def created(self, kind: str) -> list[datetime]:
        """Return when the objects of a kind were made, the oldest first."""
        return sorted(datetime.fromisoformat(each["metadata"]["creationTimestamp"]) for each in self.view.items(kind))

    def die_and_stay_quiet(self, holds: Callable[[], bool]) -> None:
        """Kill the worker, start another one, and check that this holds all the time until it has had its rounds."""
        self.growth.kill()
        self.growth.start()
        until = datetime.now(UTC) + QUIET
        while datetime.now(UTC) < until:
            assert holds(), growth_command(self.plane, "status")
            time.sleep(0.3)

    def until_told(self, pod: str, words: str) -> None:
        self.plane.wait_for(
            lambda: words in growth_command(self.plane, "why", "pod", f"default/{pod}"), f"{pod} waits: {words}"
        )

    def run(self, name: str, cpu: str) -> None:
        """Create a pod and wait until it runs."""
        self.create(single_pod(name, cpu))
        self.until_running(name)

    def until_running(self, name: str) -> None:
        self.plane.wait_for(lambda: name in self.pods(), f"{name} runs", seconds=60)


def test_a_closed_lock_outlives_the_worker_and_opens_once_its_machine_is_ready(
    control_plane: ControlPlane, tmp_path: Path
):
    plane, least = control_plane, timedelta(seconds=15)
    with scene(plane, tmp_path, cluster="lock", separate=False, quick=True) as growth:
        paces = Paces(plane, growth)
        paces.replace(scaleUp={"lock": {"min": "15s", "max": "2m"}}, scaleDown={"idleAfter": "1s", "softGrace": "1s"})
        growth.start()
        paces.run("first", LARGE)
        lock = paces.pool_status()["lock"]
        closed_at = datetime.fromisoformat(lock["closedAt"])
        assert "openedAt" not in lock
        paces.create(single_pod("second", LARGE))
        paces.until_told("second", "PurchaseLockClosed")
        # Its machine would go by itself, were the lock open.
        plane.kubectl("delete", "pod", "first")

        def is_held() -> bool:
            is_over = datetime.now(UTC) >= closed_at + least
            return is_over or (len(paces.created("noderequests")) == 1 and not paces.created("noderemovalrequests"))

        paces.die_and_stay_quiet(is_held)
        paces.until_running("second")
        plane.wait_for(lambda: paces.pool_status().get("lock", {}).get("openedBy") == "Ready", "the lock is open")
        opened_at = datetime.fromisoformat(paces.pool_status()["lock"]["openedAt"])
        assert opened_at >= closed_at + least


def test_pods_that_are_waited_for_have_their_time_whoever_dies(control_plane: ControlPlane, tmp_path: Path):
    plane, grace = control_plane, timedelta(seconds=20)
    with scene(plane, tmp_path, cluster="wait", separate=False, quick=True) as growth:
        paces = Paces(plane, growth)
        shrinking: dict[str, Any] = {"mode": "wait", "idleAfter": "10m", "softGrace": "1s", "hardGrace": "20s"}
        shrinking["node"] = {"cpuPercent": 50, "memoryPercent": 50, "window": "2s"}
        # Of two machines one may go: what remains has room for its pods.
        paces.replace(scaleDown=shrinking, limits={"min": 1, "max": 4})
        growth.start()
        paces.run("ends", LARGE)
        paces.run("stays", LARGE)
        name = paces.pods()["stays"][1]
        paces.create(single_pod("job", SMALL, nodeName=name))
        paces.until_running("job")
        plane.kubectl("annotate", "node", paces.pods()["ends"][1], "growth.dev/do-not-remove=true")
        plane.kubectl("delete", "pod", "ends", "stays")
        status = paces.until_reason(name, "WaitsForPods")
        assert status["phase"] == "Pending"
        tainted_at = datetime.fromisoformat(status["taintedAt"])

        def is_left_alone() -> bool:
            return datetime.now(UTC) >= tainted_at + grace or "job" in paces.pods()

        paces.die_and_stay_quiet(is_left_alone)
        paces.until_gone(name)
        deleted = [e for e in paces.view.items("events", "default") if e["reason"] == "HardGrace"]
        assert datetime.now(UTC) >= tainted_at + grace
        assert "job" not in paces.pods()
        assert deleted


def test_what_a_person_has_closed_stays_closed_whoever_dies(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="closed", separate=False, quick=True) as growth:
        paces = Paces(plane, growth)
        going = {"idleAfter": "1s", "softGrace": "1s"}
        # A pool on trial tells what it would do, and does nothing.
        paces.replace(dryRun=True, scaleDown=going)
        paces.create(single_pod("first", LARGE))
        growth.start()
        plane.wait_for(lambda: "It would buy 1 machine" in paces.condition("DryRun").get("message", ""), "it tells")
        paces.die_and_stay_quiet(lambda: not paces.created("noderequests"))
        paces.until_told("first", "DryRun")
        # In the hours that are open now, one machine is the most.
        paces.replace(scaleDown=going, schedule=[{"max": 1}])
        paces.until_running("first")
        paces.create(single_pod("second", LARGE))
        paces.until_told("second", "LimitReached")
        paces.die_and_stay_quiet(lambda: len(paces.created("noderequests")) == 1)
        # And in these none goes that is empty.
        budgets = [{"nodes": 0, "reasons": ["Empty", "OverMax"]}]
        paces.replace(scaleDown=going | {"budgets": budgets})
        paces.until_running("second")
        machines = set(paces.view.nodes())
        plane.kubectl("delete", "pod", "first")
        paces.die_and_stay_quiet(lambda: not paces.created("noderemovalrequests"))
        assert set(paces.view.nodes()) == machines
        paces.replace(scaleDown=going)
        plane.wait_for(lambda: len(paces.view.nodes()) == 1, "the empty machine is gone", seconds=60)


def test_a_pool_of_bad_nodes_is_frozen_whoever_dies(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="frozen", separate=False, quick=True) as growth:
        paces = Paces(plane, growth)
        paces.replace(
            health={"grace": "1s", "newestPercent": 100, "maxUnhealthyPercent": 40},
            scaleDown={"idleAfter": "1h", "softGrace": "1s"},
        )
        growth.start()
        paces.run("first", LARGE)
        paces.run("second", LARGE)
        name = paces.pods()["second"][1]
        # Who keeps Nodes Ready is dead, or would write it anew.
        plane.stop("kwok")
        try:
            plane.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps(_ready("False")))
            plane.wait_for(lambda: paces.condition("Frozen")["status"] == "True", "the pool is frozen", seconds=60)
            assert "1 of the 2 newest Nodes" in paces.condition("Frozen")["message"]
            paces.create(single_pod("third", LARGE))
            paces.until_told("third", "PoolFrozen")
            paces.die_and_stay_quiet(lambda: len(paces.created("noderequests")) == 2)
            plane.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps(_ready("True")))
        finally:
            plane.start("kwok")
        paces.until_running("third")
        assert paces.condition("Frozen")["status"] == "False"


def _ready(status: str) -> dict[str, Any]:
    now = format_timestamp(datetime.now(UTC).replace(microsecond=0))
    condition = {"type": "Ready", "status": status, "reason": "OfATest", "lastTransitionTime": now}
    return {"status": {"conditions": [condition]}}
