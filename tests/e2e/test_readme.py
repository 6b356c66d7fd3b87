"""The README's walk on a cluster: every line of it, in its order."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.harness import ControlPlane
from tests.e2e.harness_process import Process, free_ports
from tests.e2e.scene import clear_rest, clear_with_worker
from tests.project.readme import ROOT, commands, needs_cluster

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> dict[str, str]:
    """As in a newcomer's shell, but for where things are."""
    path = f"{ROOT}/.venv/bin:/usr/bin:/bin"
    return {
        "PATH": path,
        "HOME": str(tmp_path),
        "KUBECONFIG": str(control_plane.kubeconfig),
        "GROWTH_DATA_DIR": str(tmp_path / "data"),
        "GROWTH_CLUSTER": "readme",
        "GROWTH_HTTP_ADDRESS": f"127.0.0.1:{free_ports(1)[0]}",
    }


def objects(plane: ControlPlane, kind: str) -> list[str]:
    found = json.loads(plane.kubectl("get", kind, "-o", "json"))["items"]
    return [item["metadata"]["name"] for item in found]


def test_every_line_works(control_plane: ControlPlane, tmp_path: Path, environment: dict[str, str]):
    plane = control_plane
    worker: Process | None = None
    ran = 0
    try:
        for command in filter(needs_cluster, commands()):
            ran += 1
            if "growth run" in command:
                words = [str(ROOT / word) if word.startswith(".venv") else word for word in command.split()]
                worker = Process("growth", words, folder=tmp_path, environment=environment)
                plane.kubectl("apply", "-f", str(ROOT / "deploy" / "examples" / "pods.yaml"))
                plane.wait_for(lambda: "Ready" in plane.kubectl("get", "noderequests"), "a machine is Ready")
                hurry = '{"spec":{"scaleDown":{"idleAfter":"1s"}}}'
                plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", hurry)
                plane.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
                plane.wait_for(lambda: bool(objects(plane, "noderemovalrequests")), "a cool-off has begun")
                # The list of running workflows, which the commands read, lags behind by about a second.
                time.sleep(3)
                continue
            if "NAME" in command:
                command = command.replace("NAME", objects(plane, "noderemovalrequests")[0])  # noqa: PLW2901
            done = subprocess.run(
                command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"
        assert ran >= 5
        assert worker is not None
        worker.check()
    except BaseException:
        print("" if worker is None else worker.tail())
        raise
    finally:
        clear_with_worker(plane)
        if worker is not None:
            worker.kill()
        clear_rest(plane)
