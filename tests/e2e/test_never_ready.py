"""A replacement that never becomes Ready, on a real control plane: nobody was moved, and what was bought goes again."""

from pathlib import Path

import pytest

from api.keys import ANNOTATION_MOVE_FAILED
from tests.e2e.harness import ControlPlane
from tests.e2e.moves import CONSOLIDATES, Moves, pool
from tests.e2e.scene import scene

TIMES_OUT = {"recordTTL": "2s", "provisioningTimeout": "10s", "joinTimeout": "10s"}

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(300)]


@pytest.mark.parametrize("call", ["boot", "join", "ready"])
def test_what_never_becomes_ready_moves_nobody(control_plane: ControlPlane, tmp_path: Path, call: str):
    with scene(control_plane, tmp_path, cluster="never", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(pool("cx42"))
        growth.start()
        moves.run_web(2)
        before, (large,) = moves.pods(), moves.view.servers()
        moves.change("kwoknodeclasses", "default", {"spec": {"faults": [{"serverType": "cx22", "call": call}]}})
        moves.always.append(lambda: _nobody_has_moved(moves, before))
        moves.set_pool(pool("cx22", "cx42", scaleUp=TIMES_OUT, scale_down={"consolidate": CONSOLIDATES}))
        source, coming = moves.until_replacing("Consolidation")
        assert source == large
        assert len(coming) == 2
        moves.until(lambda: moves.taints(large) == ["growth.dev/scale-down"], "it is closed meanwhile")
        moves.until(lambda: not moves.removals().keys() & {large}, "its removal has ended")
        moves.until(lambda: moves.view.servers() == {large} == moves.view.nodes().keys(), "what was bought is gone")
        moves.settle()
        assert moves.taints(large) == []
        assert moves.view.nodes()[large]["metadata"]["annotations"][ANNOTATION_MOVE_FAILED].endswith(" 15m")
        assert "could not be moved" in moves.commands.told("why", "node", large, within=90)
        assert moves.view.servers_ever == {large} | coming, "it is not tried again at once"


def _nobody_has_moved(moves: Moves, before: dict[str, tuple[str, str]]) -> None:
    assert moves.pods() == before
