"""A class and a pool that are edited on a real control plane: machines of before are replaced by machines of after."""

import json
from pathlib import Path

import pytest

from tests.e2e.harness import ControlPlane
from tests.e2e.moves import BOOT, Moves, pool
from tests.e2e.scene import scene

DISK = {"op": "add", "path": "/spec/serverTypes/0/labels", "value": {"disk": "fast"}}
"""Another label of the Nodes of the first type."""

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(300)]


@pytest.mark.parametrize("is_killed", [False, True], ids=["left alone", "killed"])
def test_edits_replace_machines(control_plane: ControlPlane, tmp_path: Path, *, is_killed: bool):
    with scene(control_plane, tmp_path, cluster="drift", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(pool("cx22"))
        growth.start()
        moves.run_web(2)
        before = moves.view.servers()
        moves.boots_take(BOOT)
        assert not moves.view.items("noderemovalrequests"), "a boot time is no drift"
        control_plane.kubectl("patch", "kwoknodeclasses", "default", "--type=json", "-p", json.dumps([DISK]))
        first, _ = moves.until_replaced("Drift", growth, is_killed=is_killed)
        assert first in before
        after = _all_have(moves, "disk", "fast")
        assert not before & after
        moves.change("nodepools.growth.dev", "default", {"spec": {"template": {"labels": {"team": "shop"}}}})
        told = moves.commands.told("why", "node", min(after), within=90)
        assert "It has drifted" in told
        last = _all_have(moves, "team", "shop")
        assert not after & last
        assert moves.view.servers_ever == moves.view.requests_ever
        assert len(moves.view.servers_ever) == 2 + len(moves.removals_ever) == 6, "one was bought for each that went"


def _all_have(moves: Moves, label: str, value: str) -> set[str]:
    """Wait until both machines have the label and nothing moves, and return them."""
    moves.until(
        lambda: [node["metadata"]["labels"].get(label) for node in moves.view.nodes().values()] == [value, value],
        f"both machines have {label}={value}",
    )
    moves.settle()
    moves.until(lambda: len(moves.pods()) == 2, "both pods run")
    return moves.view.servers()
