"""One large machine becomes two small ones on a real control plane, bought first; also with a worker that is killed."""

import time
from pathlib import Path

import pytest

from tests.e2e.harness import ControlPlane
from tests.e2e.moves import BOOT, CONSOLIDATES, Moves, pool
from tests.e2e.scene import scene

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(300)]


@pytest.mark.parametrize("is_killed", [False, True], ids=["left alone", "killed"])
def test_one_large_machine_becomes_two_small_ones(control_plane: ControlPlane, tmp_path: Path, *, is_killed: bool):
    with scene(control_plane, tmp_path, cluster="split", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(pool("cx42"))
        growth.start()
        moves.run_web(2)
        (large,) = moves.view.servers()
        moves.boots_take(BOOT)
        moves.set_pool(pool("cx22", "cx42", scale_down={"consolidate": CONSOLIDATES}))
        source, small = moves.until_replaced("Consolidation", growth, is_killed=is_killed)
        assert source == large
        types = [moves.view.nodes()[name]["metadata"]["labels"]["growth.dev/server-type"] for name in small]
        assert types == ["cx22", "cx22"]
        moves.settle()
        time.sleep(5)
        moves.settle()
        assert moves.view.servers_ever == moves.view.requests_ever == {large} | small, "each was bought once"
        assert moves.view.servers() == small
        assert moves.removals_ever == {large}, "what is left is at rest"
