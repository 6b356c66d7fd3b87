"""Requests, pools and definitions deleted by a person in the middle of everything, and an API server that is away.

One worker, and machines in every state: kept for pods, in flight, in cool-off, parked. No server is
lost, none is left behind by what a person cancelled, and commands tell in one line what is wrong.
"""

import json
from pathlib import Path

import pytest

from tests.e2e.cluster_view import OBJECTS
from tests.e2e.commands import Commands
from tests.e2e.faults import POOL, Machines
from tests.e2e.growth_process import ROOT, GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene

CLUSTER = "faults"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_what_a_person_deletes_takes_along_what_it_says_and_no_server_more(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    commands = Commands(plane, tmp_path)
    with scene(plane, tmp_path, cluster=CLUSTER, separate=False, quick=True) as growth:
        machines = Machines(plane)
        try:
            _course(machines, growth, commands, {"GROWTH_CLUSTER": CLUSTER, "GROWTH_DATA_DIR": str(tmp_path / "data")})
        finally:
            machines.let_go()


def _course(machines: Machines, growth: GrowthProcess, commands: Commands, where: dict[str, str]) -> None:
    plane = machines.plane
    machines.set_up()
    machines.pod("small", "1500m")
    machines.pod("large", "3500m")
    plane.wait_for(lambda: machines.view.unschedulable() == 2, "both pods wait")
    growth.start()
    kept = _ready_request(machines)
    _request_in_flight(machines, kept)
    parked = machines.parked("second")
    cooling = machines.cooling("third")
    _pool(machines, kept, cooling, parked)
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(POOL))
    plane.wait_for(lambda: machines.is_cooling(cooling), "its idle machine cools off again")
    _api_server(plane, commands, where, machines, parked)
    _definitions(machines, kept, cooling, parked)


def _ready_request(machines: Machines) -> str:
    """Delete the record of a machine that is kept for its pods; return the machine's name."""
    plane, view = machines.plane, machines.view
    plane.wait_for(lambda: "small" in machines.nodes_of_pods(), "the small pod runs")
    name = machines.nodes_of_pods()["small"]
    plane.wait_for(lambda: machines.phase("noderequests", name) == "Ready", "its request is Ready")
    # The other machine of the round is on its way: until then this one is kept for its own pods.
    assert "growth.dev/reserved" in machines.taints(name)
    plane.kubectl("delete", "noderequest", name, "--timeout=30s")
    assert machines.taints(name) == set()
    assert name in view.servers()
    assert machines.nodes_of_pods()["small"] == name
    machines.pod("tiny", "100m")
    plane.wait_for(lambda: machines.nodes_of_pods().get("tiny") == name, "it takes other pods now")
    return name


def _request_in_flight(machines: Machines, kept: str) -> None:
    """Delete a request whose server boots: the server goes, and its pod gets another one."""
    plane, view = machines.plane, machines.view
    plane.wait_for(lambda: len(view.servers()) == 2, "the server of the large pod boots")
    (booting,) = view.servers() - {kept}
    plane.kubectl("delete", "noderequest", booting, "--timeout=30s")
    plane.wait_for(lambda: booting not in view.servers(), "its server is gone")
    plane.wait_for(lambda: bool(view.servers() - {kept}), "the pod gets another one")
    assert view.items("noderequests")[0]["metadata"]["name"] != booting


def _pool(machines: Machines, kept: str, cooling: str, parked: str) -> None:
    """Delete the pool: what is on its way in or in cool-off is cancelled, machines stay, a parked removal too."""
    plane, view = machines.plane, machines.view
    plane.kubectl("delete", "nodepools.growth.dev", "default", "--timeout=30s")
    plane.wait_for(lambda: not view.items("noderequests"), "nothing is on its way any more")
    plane.wait_for(lambda: view.servers() == {kept, cooling, parked}, "only the server that booted is gone")
    plane.wait_for(lambda: not machines.taints(cooling), "the cool-off is cancelled")
    assert set(view.nodes()) == {kept, cooling, parked}
    assert machines.is_parked(parked)
    assert machines.nodes_of_pods() == {"small": kept, "tiny": kept}


def _api_server(
    plane: ControlPlane, commands: Commands, where: dict[str, str], machines: Machines, parked: str
) -> None:
    """Give commands while the API server is away: what needs it says so, a decision is carried out when it is back."""
    plane.stop("kube-apiserver")
    try:
        for words in (
            ("status",),
            ("why", "node", parked),
            ("why", "removal", parked),
            ("removals", "replay", parked),
        ):
            line = commands.refused(*words, **where)
            assert "cannot be reached: connection refused (context e2e" in line, line
        assert parked in commands.run("removals", "list", **where).stdout
        # A worker that is up, and cannot do it: the command waits for its answer as long as it may.
        line = commands.refused("removals", "retry", parked, "--reason", "in an outage", within=60, **where)
        assert line.startswith(f"{parked}: not done within 15 s, and tried on: "), line
        assert "cannot be reached: connection refused" in line, line
    finally:
        plane.start("kube-apiserver")
        plane.wait_for(plane.api.answers, "the API server is back")
        # Left alone they look again after a minute, and a scheduler that missed as much may end itself then.
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            plane.stop(name)
            plane.start(name)
    plane.wait_for(lambda: machines.happened(parked, "By ", "in an outage"), "the retry is carried out")
    plane.wait_for(lambda: machines.is_parked(parked), "it parks again")


def _definitions(machines: Machines, kept: str, cooling: str, parked: str) -> None:
    """Delete the definitions under requests and removals in every state: all objects go, no server does."""
    plane, view = machines.plane, machines.view
    plane.wait_for(lambda: "Provisioning" in view.phases("noderequests"), "a machine is on its way")
    machines.obey()
    servers = view.servers()
    assert {kept, cooling, parked} < servers
    try:
        plane.kubectl("delete", "-k", str(ROOT / "deploy" / "crds"), "--timeout=50s")
        assert view.servers() == servers
        assert set(view.nodes()) == {kept, cooling, parked}
        assert machines.nodes_of_pods() == {"small": kept, "tiny": kept}
    finally:
        plane.apply_definitions()
        plane.kubectl("apply", "-f", str(OBJECTS / "class.yaml"))
