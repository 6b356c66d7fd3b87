"""The README's walk on a cluster: every command of it, in its order."""

import json
import time
from pathlib import Path

import pytest

from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import clear_rest, clear_with_worker
from tests.e2e.walk import Walk
from tests.project.documents import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_every_command_works(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    view = ClusterView(plane)
    walk = Walk("README.md", plane, tmp_path, cluster="readme")
    try:
        walk.next("growth crds | kubectl apply")
        walk.next("kubectl apply -f deploy/examples/pool.yaml")
        walk.start_worker(walk.take("growth run"))
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "examples" / "pods.yaml"))
        plane.wait_for(lambda: "Ready" in view.phases("noderequests"), "a machine is Ready")
        walk.next("growth status")
        hurry = json.dumps({"spec": {"scaleDown": {"idleAfter": "1s"}}})
        plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", hurry)
        plane.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
        plane.wait_for(lambda: bool(view.items("noderemovalrequests")), "a cool-off has begun")
        # The list of running workflows, which the commands read, lags behind by about a second.
        time.sleep(3)
        name = view.items("noderemovalrequests")[0]["metadata"]["name"]
        walk.next("growth why removal", NAME=name)
        walk.next("kubectl get nodepools.growth.dev,noderequests,noderemovalrequests")
        assert name in walk.next("growth removals list")
        walk.next("growth removals cancel", NAME=name)
        assert walk.next("growth removals replay") == "none\n"
        walk.finish()
    except BaseException:
        print(walk.tail())
        raise
    finally:
        clear_with_worker(plane)
        walk.kill_worker()
        clear_rest(plane)
