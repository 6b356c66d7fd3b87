"""Machines that grow too old on a real control plane: each is replaced, and there are never fewer than the minimum."""

from pathlib import Path

import pytest

from tests.e2e.harness import ControlPlane
from tests.e2e.moves import BOOT, Moves, pool
from tests.e2e.scene import scene

MINIMUM = 2
YOUNG = pool("cx22", limits={"min": MINIMUM, "max": 10})
OLD = pool("cx22", limits={"min": MINIMUM, "max": 10}, rotation={"maxNodeAge": "1m"})

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(400)]


@pytest.mark.parametrize("is_killed", [False, True], ids=["left alone", "killed"])
def test_old_machines_are_replaced_one_by_one(control_plane: ControlPlane, tmp_path: Path, *, is_killed: bool):
    with scene(control_plane, tmp_path, cluster="rotate", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(YOUNG)
        growth.start()
        moves.run_web(MINIMUM)
        old = moves.view.servers()
        assert len(old) == MINIMUM
        moves.boots_take(BOOT)
        moves.always += [lambda: _minimum_is_kept(moves), lambda: _one_is_renewed_at_once(moves)]
        moves.set_pool(OLD)
        first, coming = moves.until_replaced("Rotation", growth, is_killed=is_killed)
        assert first in old
        assert "It is here since " in moves.commands.told("why", "node", min(coming), within=90)
        moves.until(lambda: not old & moves.view.servers(), "no machine is left of the first ones")
        moves.set_pool(YOUNG)
        moves.settle()
        moves.until(lambda: len(moves.pods()) == MINIMUM, "all pods run")
        assert len(moves.view.servers()) == MINIMUM
        assert moves.view.servers_ever - moves.removals_ever == moves.view.servers(), "what was bought is there or went"
        assert len(moves.view.servers_ever) == MINIMUM + len(moves.removals_ever), "one was bought for each that went"


def _minimum_is_kept(moves: Moves) -> None:
    assert len(moves.ready()) >= MINIMUM, "so many are Ready at each moment"


def _one_is_renewed_at_once(moves: Moves) -> None:
    # Without budgets it is a tenth of them, rounded up.
    assert len(moves.view.servers()) <= MINIMUM + 1
