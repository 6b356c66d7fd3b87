"""Temporal's database deleted under two working workers: machines in every state end right, and nothing comes twice."""

from pathlib import Path

import pytest

from tests.e2e.commands import Commands
from tests.e2e.faults import Machines
from tests.e2e.growth_process import GrowthProcess, TemporalServer
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene

CLUSTER = "forgetful"
HEALED_SECONDS = 120
"""A Temporal server that was made anew needs some seconds until it lists what runs."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]


def test_temporals_database_is_deleted_in_the_middle_of_everything(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    commands = Commands(plane, tmp_path)
    temporal = TemporalServer(tmp_path)
    where = {"GROWTH_CLUSTER": CLUSTER, "GROWTH_TEMPORAL_ADDRESS": temporal.address}
    with scene(plane, tmp_path, cluster=CLUSTER, temporal=temporal, quick=True) as growth:
        (tmp_path / "other").mkdir()
        other = GrowthProcess(plane, tmp_path / "other", cluster=CLUSTER, address=temporal.address, quick=True)
        machines = Machines(plane)
        try:
            machines.set_up(large_boots_within="15s")
            machines.pod("small", "1500m")
            growth.start()
            other.start()
            plane.wait_for(lambda: "small" in machines.nodes_of_pods(), "the small pod runs")
            kept = machines.nodes_of_pods()["small"]
            parked = machines.parked("second")
            cooling = machines.cooling("third", cool_off="20s")
            machines.pod("large", "3500m")
            plane.wait_for(lambda: len(machines.view.servers()) == 4, "the server of the large pod boots")
            (booting,) = machines.view.servers() - {kept, parked, cooling}

            temporal.kill()
            _without_temporal(commands, where, parked)
            temporal.start_empty()
            plane.wait_for(lambda: "large" in machines.nodes_of_pods(), "the large pod runs", HEALED_SECONDS)
            assert machines.nodes_of_pods() == {"small": kept, "large": booting}
            plane.wait_for(lambda: parked in _listed(commands, where), "the parked one is found again", HEALED_SECONDS)

            # Its cool-off may be over by now, and one that is about to park would miss a replay of what is parked.
            plane.wait_for(
                lambda: machines.is_parked(cooling), "the other parks when its cool-off is over", HEALED_SECONDS
            )

            other.kill()
            machines.obey()
            done = commands.run("removals", "replay", "--all-parked", **where)
            assert parked in done.stdout, done.stdout + done.stderr
            assert cooling in done.stdout
            # What the killed worker was at counts as lost only without its heartbeat: a command may not wait so long.
            plane.wait_for(lambda: _replayed(commands, where), "all that was parked is replayed", HEALED_SECONDS)
            gone = {parked, cooling}
            plane.wait_for(lambda: not gone & machines.view.servers(), "both machines are gone", HEALED_SECONDS)
            plane.wait_for(lambda: not machines.view.items("noderemovalrequests"), "all removals have ended")
            machines.view.look()
            assert machines.view.servers() == set(machines.view.nodes()) == {kept, booting}
            assert machines.view.servers_ever == {kept, booting}
        finally:
            machines.let_go()
            other.kill()


def _without_temporal(commands: Commands, where: dict[str, str], parked: str) -> None:
    """Give commands while Temporal is away: those that need it say so, those that only look do not."""
    for words in (
        ("requests", "list"),
        ("requests", "cancel", "m-1"),
        ("removals", "list"),
        ("removals", "cancel", parked),
        ("removals", "retry", parked),
        ("removals", "skip", parked),
        ("removals", "abandon", parked),
        ("removals", "replay", "--all-parked"),
    ):
        line = commands.refused(*words, **where)
        assert line.startswith(f"Temporal at {where['GROWTH_TEMPORAL_ADDRESS']} cannot be used: connection refused")
    assert "2 going" in commands.told("status")
    assert "could not be deleted: parked" in commands.told("why", "removal", parked)


def _replayed(commands: Commands, where: dict[str, str]) -> bool:
    return commands.run("removals", "replay", "--all-parked", **where).returncode == 0


def _listed(commands: Commands, where: dict[str, str]) -> str:
    """Return the removals that Temporal lists; while it begins anew it may say instead what it lacks."""
    return commands.run("removals", "list", **where).stdout
