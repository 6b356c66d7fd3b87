"""Two workers on one Temporal server: they share the work, and one that dies leaves its part to the other."""

from pathlib import Path

import pytest
import yaml

from tests.builders import deployment
from tests.e2e.cluster_view import OBJECTS, ClusterView
from tests.e2e.growth_process import GrowthProcess, TemporalServer
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import clear_rest, clear_with_worker

MACHINES = 10

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_a_worker_that_dies_leaves_its_work_to_the_other(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    view = ClusterView(plane)
    plane.apply_definitions()
    for name in ("class.yaml", "pool.yaml"):
        plane.kubectl("apply", "-f", str(OBJECTS / name))
    temporal = TemporalServer(tmp_path)
    workers: list[GrowthProcess] = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        workers.append(GrowthProcess(plane, folder, cluster="several", address=temporal.address))
    try:
        one, other = workers
        one.start()
        other.start()
        body = deployment("web", MACHINES, "1500m", "1Gi", spread=True)
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))
        plane.wait_for(lambda: "Provisioning" in view.phases("noderequests"), "machines are on their way")
        one.kill()
        plane.wait_for(lambda: view.running() == MACHINES, "all pods run")
        plane.wait_for(lambda: set(view.phases("noderequests")) == {"Ready"}, "all requests are Ready")
        view.look()
        assert len(view.nodes()) == MACHINES
        assert view.servers_ever == view.requests_ever == set(view.nodes())
    except BaseException:
        print(*(worker.tail() for worker in workers), sep="\n")
        raise
    finally:
        try:
            clear_with_worker(plane)
        finally:
            for worker in workers:
                worker.kill()
            temporal.kill()
        clear_rest(plane)
