"""Load that returns on a real control plane while a machine is replaced or drained: its pods get the machine back."""

from pathlib import Path

import pytest

from tests.builders import as_sent, disruption_budget
from tests.e2e.harness import ControlPlane
from tests.e2e.moves import CONSOLIDATES, Moves, pool
from tests.e2e.scene import scene
from tests.e2e.test_consolidation import half_empty
from tests.e2e.workloads import NAMESPACE

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(300)]


def test_load_returns_while_a_replacement_boots(control_plane: ControlPlane, tmp_path: Path):
    with scene(control_plane, tmp_path, cluster="back", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(pool("cx42"))
        growth.start()
        moves.run_web(2)
        before, (large,) = moves.pods(), moves.view.servers()
        moves.boots_take("20s")
        # No further machine may be bought beside the two that replace the one.
        how = {"consolidate": CONSOLIDATES, "idleAfter": "3s"}
        moves.set_pool(pool("cx22", "cx42", limits={"max": 3}, scale_down=how))
        source, coming = moves.until_replacing("Consolidation")
        assert (source, len(coming)) == (large, 2)
        control_plane.kubectl("scale", "deployment", "web", "--replicas=5")
        moves.until(lambda: len(moves.pods()) == 5, "all pods run")
        assert {node for _, node in moves.pods().values()} == {large}
        assert before.items() <= moves.pods().items(), "nobody was asked to leave"
        assert moves.taints(large) == []
        assert not coming & moves.ready(), "the load came before what was bought"
        # Their servers were asked for by then: they come, nobody needs them, and they go.
        moves.until(lambda: moves.view.servers() == {large}, "what nobody needs any more is gone")
        moves.settle()
        assert moves.view.servers_ever == {large} | coming
        assert len(moves.pods()) == 5


def test_load_returns_in_the_middle_of_a_drain(control_plane: ControlPlane, tmp_path: Path):
    with scene(control_plane, tmp_path, cluster="back", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(pool("cx22", limits={"max": 2}))
        growth.start()
        machines = set(half_empty(moves))
        assert len(machines) == 2
        before = moves.pods()
        moves.set_pool(pool("cx22", limits={"max": 2}, scale_down={"consolidate": CONSOLIDATES}))
        moves.until(lambda: bool(moves.removals()), "one is to go")
        moves.create(as_sent(disruption_budget("web", namespace=NAMESPACE, minAvailable=2)))
        (source,) = moves.removals()
        moves.until(lambda: moves.status(source).get("reason") == "BlockedByBudget", "its drain has begun")
        control_plane.kubectl("scale", "deployment", "web", "--replicas=4")
        moves.until(lambda: len(moves.pods()) == 4, "all pods run")
        assert before.items() <= moves.pods().items(), "nobody was asked to leave"
        moves.settle()
        assert moves.taints(source) == []
        assert moves.view.servers() == moves.view.servers_ever == machines, "nothing was bought"
