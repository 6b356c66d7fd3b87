"""Two clusters, each with a control plane and a worker of its own, buy in one Hetzner project.

They bear one name, as those do that nobody has named, or two. None ever takes a server of the other's for its own.
"""

import time
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from typing import Final

import pytest

from api.keys import LABEL_CLUSTER, LABEL_CLUSTER_UID, LABEL_POOL, LABEL_REQUEST, LABEL_REQUEST_UID, LABEL_SERVER_TYPE
from simulator.hetzner.faults import Fault
from simulator.hetzner.http import serve
from tests.e2e.earlier_growth import EARLIER_GROWTH
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, pool
from tests.e2e.shared_project import (
    EAGER,
    NAME,
    buy,
    created,
    namesake,
    of_class,
    on_pool,
    reasons,
    scale,
    state_of,
    two_scenes,
    uid_of,
    web,
)

MACHINES: Final = 3
SWEEPS_SECONDS: Final = 20.0
"""In which a quick worker sweeps more than ten times: an orphan would go in the third."""

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(600)]


def test_a_second_cluster_of_that_name_refuses_and_with_two_names_both_live(
    control_plane: ControlPlane, other_plane: ControlPlane, tmp_path: Path
):
    with two_scenes(control_plane, other_plane, tmp_path, (NAME, "other")) as (a, b):
        a.growth.start()
        b.apply(web(MACHINES))
        b.plane.wait_for(lambda: b.view.unschedulable() == MACHINES, "the other's pods wait")
        with namesake(b, tmp_path / "one Temporal", a.growth.address) as worker:
            told = worker.refusal()
        assert told.startswith(
            f"the planner of cluster {NAME} in Temporal namespace growth is another Kubernetes clust"
        )
        assert uid_of(a) in told
        buy(a, MACHINES)
        before = state_of(a)
        with namesake(b, tmp_path / "two Temporals", None) as worker:
            told = worker.refusal()
        assert told.startswith(f"nothing is done: Another Kubernetes cluster is named {NAME} too, and buys in the same")
        assert f"{LABEL_CLUSTER_UID}={uid_of(a)}, and this cluster's is {uid_of(b)}. None of them is touched." in told
        assert state_of(a) == before
        assert b.view.servers_ever == set()
        _live_side_by_side(a, b)


def _live_side_by_side(a: HetznerScene, b: HetznerScene) -> None:
    """With another name the other cluster buys, and each gives back its own servers alone."""
    b.growth.start()
    b.wait_running(MACHINES)
    time.sleep(SWEEPS_SECONDS)
    both = {scene.marker: state_of(scene) for scene in (a, b)}
    assert [len(state) for state in both.values()] == [MACHINES, MACHINES]
    for scene, rest in ((a, b), (b, a)):
        scale(scene, 0)
        scene.plane.wait_for(lambda: not scene.view.servers(), "idle servers go")  # noqa: B023 - waited for here
        assert state_of(rest) == both[rest.marker]
        buy(scene, MACHINES)
        both[scene.marker] = state_of(scene)
    assert created(a) == 4 * MACHINES
    assert not reasons(a) & {"ClusterNameTaken", "ServersUnproven"}


def test_two_of_one_name_that_began_at_once_touch_none_of_each_others_servers(
    control_plane: ControlPlane, other_plane: ControlPlane, tmp_path: Path
):
    with two_scenes(control_plane, other_plane, tmp_path, (NAME, NAME)) as (a, b):
        for scene in (a, b):
            scene.growth.start()
        for scene in (a, b):
            scene.apply(web(MACHINES))
        for scene in (a, b):
            scene.wait_running(MACHINES)
        time.sleep(SWEEPS_SECONDS)
        for scene in (a, b):
            assert scene.view.servers() == scene.view.servers_ever == set(scene.view.nodes())
            assert {server.labels[LABEL_CLUSTER_UID] for server in scene.view.records()} == {uid_of(scene)}
            assert "ClusterNameTaken" in reasons(scene)
            assert not scene.view.items("noderemovalrequests")
        assert created(a) == 2 * MACHINES
        left = state_of(b)
        scale(a, 0)
        a.plane.wait_for(lambda: not a.view.servers(), "the idle servers of one go")
        assert state_of(b) == left
        _close(a)
        a.growth.kill()
        assert f"{LABEL_CLUSTER_UID}={uid_of(b)}" in a.growth.refusal()
        assert state_of(b) == left


def test_an_upgrade_with_lifecycles_under_way_adopts_what_is_proven(
    control_plane: ControlPlane, other_plane: ControlPlane, tmp_path: Path
):
    """One is in use, one boots, one cools off, one is being deleted; what stands beside them nothing proves."""
    with two_scenes(control_plane, other_plane, tmp_path, (NAME, "other")) as (a, b), serve(a.cloud) as endpoint:
        grace = {"idleAfter": "1s", "softGrace": "15s"}
        a.apply(
            pool("default", ["cx23"], scaleDown=EAGER),
            *(of_class(pool(name, [kind], scaleDown=grace)) for name, kind in (("slow", "cx33"), ("calm", "cx43"))),
        )
        earlier = GrowthProcess(
            a.plane,
            tmp_path / "one",
            cluster=NAME,
            address=a.growth.address,
            environment={"GROWTH_HCLOUD_ENDPOINT": endpoint},
            quick=True,
            program=EARLIER_GROWTH,
        )
        earlier.start()
        try:
            going = _under_way(a)
        finally:
            earlier.kill()
        servers = a.view.records()
        assert [server for server in servers if LABEL_CLUSTER_UID in server.labels] == []
        stranger = _stranger(a)
        made = created(a)
        a.apply(web(3))
        a.growth.start()
        a.plane.wait_for(lambda: a.view.running() == 4, "what booted runs, and what came meanwhile", 90)
        a.plane.wait_for(lambda: going["calm"] not in a.view.servers(), "the cool-off has ended", 90)
        a.cloud.faults.clear()
        a.plane.wait_for(lambda: going["stuck"] not in a.view.servers(), "the deletion has ended", 90)
        a.plane.wait_for(lambda: _are_marked(a), "all servers are marked", 60)
        assert going["slow"] in a.view.servers(), "the server that booted was adopted"
        assert created(a) == made + 1
        assert a.view.servers_ever - a.view.servers() == {going["calm"], going["stuck"]}
        time.sleep(SWEEPS_SECONDS)
        assert "ServersUnproven" in reasons(a)
        _stays(a, stranger)
        with namesake(b, tmp_path / "refuses", None) as worker:
            assert f"{LABEL_CLUSTER_UID}={uid_of(a)}" in worker.refusal()
        b.growth.start()
        buy(b, 1)
        time.sleep(SWEEPS_SECONDS)
        _stays(a, stranger)


def _under_way(scene: HetznerScene) -> dict[str, str]:
    """Bring machines into the middle of everything; return their names by pool, `stuck` is that being deleted."""
    plane, view, faults = scene.plane, scene.view, scene.cloud.faults
    scene.wait_looked_up()
    buy(scene, 3)
    scene.apply(on_pool("calm"))
    plane.wait_for(lambda: view.running() == 4, "the calm one runs")
    faults.append(Fault("delete_server", "stuck_delete", times=None, server_type="cx23"))
    faults.append(Fault("create_server", "slow_action", times=None, server_type="cx33", seconds=30))
    calm = _named(scene, "calm")
    scale(scene, 2)
    plane.wait_for(lambda: _phase(scene, "noderemovalrequests", "Deprovisioning") == 1, "one is being deleted")
    (stuck,) = (r["metadata"]["name"] for r in view.items("noderemovalrequests"))
    plane.kubectl("delete", "deployment", "calm", "-n", "default", "--wait=true")
    scene.apply(on_pool("slow"))
    plane.wait_for(lambda: _phase(scene, "noderemovalrequests", "Pending") == 1, "one cools off")
    plane.wait_for(lambda: _phase(scene, "noderequests", "Provisioning") == 1, "one boots")
    return {"calm": calm, "slow": _named(scene, "slow"), "stuck": stuck}


def _stranger(scene: HetznerScene) -> dict[str, str]:
    """Let there be a server that an earlier version made for another cluster of this name."""
    labels = {
        LABEL_CLUSTER: NAME,
        LABEL_POOL: "default",
        LABEL_SERVER_TYPE: "cx23",
        LABEL_REQUEST: "default-foreign",
        LABEL_REQUEST_UID: "of-another-cluster",
    }
    body = {"name": "default-foreign", "server_type": "cx23", "location": "fsn1", "image": "debian-12"}
    token = token_hex(32)
    scene.cloud.add_token(token)
    assert scene.cloud.handle("POST", "/servers", (), {**body, "labels": labels}, token).status == HTTPStatus.CREATED
    return labels


def _stays(scene: HetznerScene, labels: dict[str, str]) -> None:
    (server,) = (each for each in scene.cloud.servers_of() if each.name == "default-foreign")
    assert (server.labels, server.status) == (labels, "running")


def _are_marked(scene: HetznerScene) -> bool:
    return {server.labels.get(LABEL_CLUSTER_UID) for server in scene.view.records()} == {uid_of(scene)}


def _close(scene: HetznerScene) -> None:
    """Delete the pool, and wait until no lifecycle is left that a worker would be needed for."""
    scene.plane.kubectl("delete", "nodepools.growth.dev", "--all", "--timeout=30s")
    kinds = ("noderequests", "noderemovalrequests")
    scene.plane.wait_for(lambda: not any(map(scene.view.items, kinds)), "no lifecycle is left", 90)


def _named(scene: HetznerScene, pool_name: str) -> str:
    (name,) = (r["metadata"]["name"] for r in scene.view.items("noderequests") if r["spec"]["pool"] == pool_name)
    return name


def _phase(scene: HetznerScene, kind: str, phase: str) -> int:
    return Counter(scene.view.phases(kind))[phase]
