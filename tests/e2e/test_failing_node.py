"""A Node that runs and has a bad condition, on a real control plane: its machine is replaced, another comes first."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.meta import format_timestamp
from tests.e2e.harness import ControlPlane
from tests.e2e.moves import BOOT, Moves, pool
from tests.e2e.scene import scene

REPAIR = {"after": "10m", "conditions": [{"type": "KernelDeadlock", "status": "True", "after": "2s"}]}

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(300)]


@pytest.mark.parametrize("is_killed", [False, True], ids=["left alone", "killed"])
def test_a_failing_node_is_replaced(control_plane: ControlPlane, tmp_path: Path, *, is_killed: bool):
    with scene(control_plane, tmp_path, cluster="failing", separate=False, quick=True) as growth:
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(pool("cx22", scale_down={"repair": REPAIR}))
        growth.start()
        # None is replaced for what most Nodes have.
        moves.run_web(3)
        before = moves.view.servers()
        moves.boots_take(BOOT)
        bad, fine = min(before), max(before)
        _says(moves, fine, _condition("False"))
        _says(moves, bad, _condition("True"))
        source, coming = moves.until_replaced("Repair", growth, is_killed=is_killed)
        assert source == bad
        moves.settle()
        assert moves.view.servers() == before - {bad} | coming
        assert moves.view.servers_ever == moves.view.requests_ever == before | coming, "each was bought once"
        assert moves.removals_ever == {bad}
        assert len(coming) == 1


def _says(moves: Moves, node: str, condition: dict[str, Any]) -> None:
    # Conditions are merged by their type: the others stay.
    change = json.dumps({"status": {"conditions": [condition]}})
    moves.plane.kubectl("patch", "node", node, "--subresource=status", "-p", change)


def _condition(status: str) -> dict[str, Any]:
    now = format_timestamp(datetime.now(UTC).replace(microsecond=0))
    return {"type": "KernelDeadlock", "status": status, "reason": "DockerHung", "lastTransitionTime": now}
