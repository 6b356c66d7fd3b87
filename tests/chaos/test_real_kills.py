"""The worker's process is killed again and again while machines come and go on a real control plane."""

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest
import yaml

from tests.builders import deployment
from tests.chaos.table import keep
from tests.e2e.cluster_view import NAMESPACE, ClusterView
from tests.e2e.harness import ControlPlane, borrowed_control_plane
from tests.e2e.harness_process import Process
from tests.e2e.scene import scene

KILLS = 24
SEED = 6
SHORTEST_LIFE = 0.0
LONGEST_LIFE = 16.0
"""Seconds after the worker said that it is ready."""
MOST_PODS = 8
POOL = {
    "serverTypes": [{"name": "cx22"}, {"name": "cx32"}],
    "limits": {"max": 2 * MOST_PODS},
    "scaleUp": {"recordTTL": "5s"},
    "scaleDown": {"idleAfter": "1s", "softGrace": "3s", "removal": {"retry": "2s"}},
}

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def control_plane():
    with borrowed_control_plane() as plane:
        yield plane


def test_a_process_that_is_killed_again_and_again(control_plane: ControlPlane, tmp_path: Path):
    plane, random, view = control_plane, Random(SEED), ClusterView(control_plane)
    under_way: Counter[str] = Counter()
    with scene(plane, tmp_path, cluster="killed") as growth:
        plane.kubectl("patch", "nodepools.growth.dev/default", "--type=merge", "-p", json.dumps({"spec": POOL}))
        ledger = Process(
            "ledger",
            [Path(sys.prefix) / "bin" / "kubectl", "--kubeconfig", plane.kubeconfig, *_WATCH.split()],
            folder=tmp_path,
        )
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(deployment("web", 2, "1500m", "1Gi", spread=True)))
        try:
            for _ in range(KILLS):
                growth.start()
                pods = random.randint(0, MOST_PODS)
                plane.kubectl("scale", "deployment/web", "-n", "default", f"--replicas={pods}")
                time.sleep(random.uniform(SHORTEST_LIFE, LONGEST_LIFE))
                growth.kill()
                under_way.update(f"requests {phase}" for phase in view.phases("noderequests"))
                under_way.update(f"removals {phase}" for phase in view.phases("noderemovalrequests"))
            growth.start()
            plane.kubectl("scale", "deployment/web", "-n", "default", "--replicas=3")
            plane.wait_for(lambda: view.running() == len(view.pods()) == 3, "three pods run", 120)
            plane.wait_for(lambda: _is_right(view, 3), "three machines and nothing besides", 180)
            plane.kubectl("scale", "deployment/web", "-n", "default", "--replicas=0")
            plane.wait_for(lambda: _is_right(view, 0), "no machine and nothing besides", 180)
        finally:
            ledger.kill()
    made: defaultdict[str, set[str]] = defaultdict(set)
    for line in (tmp_path / "ledger.log").read_text().splitlines():
        name, uid = line.split()
        made[name].add(uid)
    twice = {name: uids for name, uids in made.items() if len(uids) > 1}
    assert not twice, f"servers made twice: {twice}"
    assert len(made) > 8
    seen = ", ".join(f"{count} {what}" for what, count in sorted(under_way.items()))
    keep(
        "real kills", f"{KILLS} kills of the process, {len(made)} machines; under way at the kills: {seen}; all right."
    )


_WATCH = (
    f"get configmaps -n {NAMESPACE} -l growth.dev/request --watch --no-headers "
    "-o custom-columns=NAME:.metadata.name,UID:.metadata.uid"
)


def _is_right(view: ClusterView, machines: int) -> bool:
    nodes = view.nodes()
    tainted = [
        taint
        for node in nodes.values()
        for taint in node["spec"].get("taints", [])
        if taint["key"].startswith("growth")
    ]
    return (
        len(nodes) == machines
        and set(nodes) == view.servers()
        and not tainted
        and not view.phases("noderemovalrequests")
        and not view.phases("noderequests")
    )
