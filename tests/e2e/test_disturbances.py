"""What comes together in a bad hour, beside a cluster that shares the project: nothing is lost, bought twice or left.

Workers have the product's own durations.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from simulator.hetzner.faults import Fault
from simulator.hetzner.http import serve
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, pool
from tests.e2e.shared_project import NAME, buy, created, of_class, on_pool, reasons, scale, state_of, two_scenes, web

AWAY_SECONDS: Final = 60.0
OTHERS: Final = 2
"""Machines of the cluster beside."""
SCALE_DOWN: Final = {"idleAfter": "5s", "softGrace": "5s"}
SCALE_UP: Final = {"recordTTL": "10s", "provisioningTimeout": "40s", "joinTimeout": "40s"}
"""Shorter than the outage."""
KILLS: Final = 4
BETWEEN_KILLS_SECONDS: Final = 5.0
BOOTS_SECONDS: Final = 20.0

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(900)]


def test_a_bad_hour_loses_nothing_buys_nothing_twice_and_leaves_nothing_behind(
    control_plane: ControlPlane, other_plane: ControlPlane, tmp_path: Path
):
    """The API server hangs, workers are killed in turn, and a pool is deleted with machines in use and in flight."""
    with (
        two_scenes(control_plane, other_plane, tmp_path, (NAME, "other"), quick=False) as (a, b),
        _two_workers(a, tmp_path / "second") as workers,
    ):
        b.growth.start()
        buy(b, OTHERS)
        beside = state_of(b)
        for name, kind in (("default", "cx23"), ("extra", "cx33")):
            a.apply(of_class(pool(name, [kind], scaleDown=SCALE_DOWN, scaleUp=SCALE_UP)))
        a.wait_looked_up()
        _api_server_hangs(a)
        _bought(a, 6)
        _workers_die_in_turn(a, workers)
        _bought(a, 14)
        _pool_is_deleted(a)
        _all_leave(a)
        assert state_of(b) == beside
        assert not reasons(a) & {"ClusterNameTaken", "ServersUnproven", "OrphansKept"}


def _api_server_hangs(scene: HetznerScene) -> None:
    scene.apply(web(6))
    scene.plane.wait_for(lambda: "Provisioning" in scene.view.phases("noderequests"), "machines are on their way")
    scene.plane.freeze("kube-apiserver", AWAY_SECONDS)
    scene.wait_running(6, 180)


def _workers_die_in_turn(scene: HetznerScene, workers: tuple[GrowthProcess, GrowthProcess]) -> None:
    scene.apply(on_pool("extra", 3))
    scale(scene, 11)
    for _ in range(KILLS):
        for worker in workers:
            time.sleep(BETWEEN_KILLS_SECONDS)
            worker.kill()
            worker.launch()
    scene.wait_running(14, 240)


def _pool_is_deleted(scene: HetznerScene) -> None:
    """Two servers boot, three are in use: the two go, the three stay, and belong to the pool that comes again."""
    plane, view = scene.plane, scene.view
    slow = scene.cloud.faults.append(
        Fault("create_server", "slow_action", times=2, server_type="cx33", seconds=BOOTS_SECONDS)
    )
    used = view.servers()
    scale(scene, 5, "extra")
    plane.wait_for(lambda: len(view.servers()) == len(used) + 2, "two more boot")
    plane.kubectl("delete", "nodepools.growth.dev", "extra", f"--timeout={2 * BOOTS_SECONDS:g}s")
    plane.wait_for(lambda: view.servers() == used, "what booted is gone, and nothing else", 120)
    assert view.running() == 14
    scene.cloud.faults.remove(slow)
    scene.apply(of_class(pool("extra", ["cx33"], scaleDown=SCALE_DOWN, scaleUp=SCALE_UP)))
    scene.wait_running(16, 120)
    assert created(scene) == OTHERS + 14 + 2 + 2
    assert used < view.servers()


def _all_leave(scene: HetznerScene) -> None:
    plane, view = scene.plane, scene.view
    scale(scene, 0, "default", "extra")
    plane.wait_for(lambda: not view.servers(), "all servers are gone", 180)
    plane.wait_for(lambda: not view.nodes(), "all Nodes are gone")
    kinds = ("noderequests", "noderemovalrequests")
    plane.wait_for(lambda: not any(map(view.items, kinds)), "all lifecycles have ended", 120)
    assert created(scene) == OTHERS + 14 + 2 + 2


def _bought(scene: HetznerScene, count: int) -> None:
    """Assert that each pod has its one machine, and that no other was ever made."""
    plane, view = scene.plane, scene.view
    plane.wait_for(lambda: set(view.phases("noderequests")) <= {"Ready"}, "all requests are Ready")
    view.look()
    assert view.servers() == view.servers_ever == set(view.nodes())
    assert len(view.servers()) == count
    assert created(scene) == OTHERS + count


@contextmanager
def _two_workers(scene: HetznerScene, folder: Path) -> Iterator[tuple[GrowthProcess, GrowthProcess]]:
    """Lend the cluster's worker, and a second one."""
    folder.mkdir()
    with serve(scene.cloud) as endpoint:
        second = GrowthProcess(
            scene.plane,
            folder,
            cluster=NAME,
            address=scene.growth.address,
            environment={"GROWTH_HCLOUD_ENDPOINT": endpoint},
        )
        scene.growth.start()
        second.start()
        try:
            yield scene.growth, second
        except BaseException:
            print(second.tail())
            raise
        finally:
            second.kill()
