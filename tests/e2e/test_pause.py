"""A pause on the real control plane: while it lasts nothing is bought and nothing goes; then all of it comes about."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.builders import as_sent, deployment, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.project.documents import ROOT

SECONDS = 6
"""Longer than a purchase or the first step of a removal takes here."""
POOL = as_sent(node_pool(types=["cx22"], limits={"max": 10}, scaleDown={"idleAfter": "1s", "softGrace": "1s"}))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def growth_command(plane: ControlPlane, *words: str) -> str:
    command = [str(ROOT / ".venv" / "bin" / "growth"), *words, "--kubeconfig", str(plane.kubeconfig)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=30, env={"PATH": os.environ["PATH"]}
    )
    return done.stdout


def test_while_pools_are_paused_nothing_is_bought_and_nothing_goes(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="pause", separate=False, quick=True) as growth:
        plane.replace(POOL)
        pods = Drains(plane)
        assert growth_command(plane, "pause", "--reason", "a test").startswith("paused until `growth resume`: default")
        pods.create(deployment("web", 2, "500m", "256Mi"))
        growth.start()
        plane.wait_for(lambda: pods.view.unschedulable() == 2, "the scheduler has refused both")
        time.sleep(SECONDS)
        assert pods.view.phases("noderequests") == []
        status = growth_command(plane, "status")
        assert status.startswith("Pool default is paused, so it buys nothing and no removal begins: a test")
        growth_command(plane, "resume", "default")
        plane.wait_for(lambda: len(pods.pods()) == 2, "its pods run", seconds=60)
        machines = set(pods.view.nodes())
        growth_command(plane, "pause", "default")
        plane.kubectl("delete", "deployment", "web")
        time.sleep(SECONDS)
        assert set(pods.view.nodes()) == machines
        assert pods.view.phases("noderemovalrequests") == []
        growth_command(plane, "resume")
        plane.wait_for(lambda: not pods.view.nodes(), "its machine is gone", seconds=60)
