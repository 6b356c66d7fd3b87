"""Machines that should go and may not, on a real control plane: each stays for one reason, and it is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.builders import as_sent, deployment, disruption_budget
from tests.e2e.harness import ControlPlane
from tests.e2e.moves import Moves, pool
from tests.e2e.scene import scene
from tests.e2e.test_local_data import claim, local_volume
from tests.e2e.workloads import NAMESPACE, single_pod

SYSTEM = "kube-system"
BEFORE, AFTER = (pool("cx22", scale_down={"emptyDir": "keep"}, template={"labels": {"rack": r}}) for r in "ab")
"""All machines have drifted by the edit that makes the one of the other."""
DATA = "data-stays"
FOR_A_WHILE = "for-a-while"
FREE = "free"

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(500)]


@dataclass(frozen=True)
class Stays:
    """What keeps a machine: what its only pod is and says, and how it is told."""

    reason: str
    words: str
    annotations: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    namespace: str = NAMESPACE


STAYING = {
    "said": Stays(
        "BlockedByAnnotation",
        "is annotated growth.dev/do-not-remove: holds the sale",
        {"growth.dev/do-not-remove": "holds the sale"},
    ),
    "unsafe": Stays(
        "BlockedByAnnotation",
        "is annotated cluster-autoscaler.kubernetes.io/safe-to-evict: false",
        {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    ),
    "undisturbed": Stays(
        "BlockedByAnnotation",
        "is annotated karpenter.sh/do-not-disrupt: true",
        {"karpenter.sh/do-not-disrupt": "true"},
    ),
    "on-host": Stays(
        "BlockedByLocalStorage",
        "has local storage: hostPath files",
        spec={"volumes": [{"name": "files", "hostPath": {"path": "/srv"}}]},
    ),
    "scratch": Stays(
        "BlockedByLocalStorage",
        "has local storage: emptyDir cache",
        spec={"volumes": [{"name": "cache", "emptyDir": {}}]},
    ),
    "guarded": Stays("BlockedByBudget", "is under PodDisruptionBudget guarded, which lets none go now"),
    "dns": Stays("BlockedBySystemPod", "is the only one of its controller", namespace=SYSTEM),
    "racked": Stays("BlockedByMisfit", "has no other place", spec={"nodeSelector": {"rack": "a"}}),
    "kept": Stays("BlockedByAnnotation", "a person annotated it growth.dev/do-not-remove"),
    "data": Stays("HasLocalData", f"data is on it that would go with it: volume {DATA} of claim {NAMESPACE}/{DATA}"),
    "bare": Stays("BlockedByBarePod", "pod default/bare has no controller that would start it again"),
    FOR_A_WHILE: Stays(
        "BlockedByAnnotation",
        "is annotated karpenter.sh/do-not-disrupt: 60s, until ",
        {"karpenter.sh/do-not-disrupt": "60s"},
    ),
}


def test_each_check_keeps_its_machine_and_says_so(control_plane: ControlPlane, tmp_path: Path):
    with scene(control_plane, tmp_path, cluster="stay", separate=False, quick=True) as growth, _cleared(control_plane):
        moves = Moves(control_plane, tmp_path)
        moves.set_pool(BEFORE)
        growth.start()
        for name in (*STAYING.keys() - {FOR_A_WHILE}, FREE):
            moves.create(_workload(name))
        _until_running(moves, len(STAYING))
        homes = _homes(moves)
        control_plane.kubectl("annotate", "node", homes["kept"], "growth.dev/do-not-remove=mine")
        for body in (claim(DATA), local_volume(DATA, homes["data"])):
            moves.create(body)
        moves.create(as_sent(disruption_budget("guarded", namespace=NAMESPACE, minAvailable=1)))
        # The last, as its time runs from its start on.
        moves.create(_workload(FOR_A_WHILE))
        _until_running(moves, len(STAYING) + 1)
        homes = _homes(moves)
        assert len(set(homes.values())) == len(homes) == len(STAYING) + 1, "each pod has a machine of its own"
        moves.set_pool(AFTER)
        moves.until(lambda: not _untold(moves, homes), "events say what keeps each of them")
        for name in (FOR_A_WHILE, *STAYING.keys() - {FOR_A_WHILE}):
            told = moves.commands.told("why", "node", homes[name], within=90)
            assert "It would go now (Drift), but " in told, name
            assert STAYING[name].words in told, told
        gone = {homes[FREE], homes[FOR_A_WHILE]}
        moves.until(lambda: not gone & moves.view.servers(), "the free one goes, and the other when its time is over")
        moves.settle()
        after = _homes(moves)
        assert moves.removals_ever == gone
        assert {name: after[name] for name in STAYING if name != FOR_A_WHILE} == {
            name: homes[name] for name in STAYING if name != FOR_A_WHILE
        }


def _workload(name: str) -> dict[str, Any]:
    """Return the only pod of a machine, or the Deployment that makes it."""
    if name == "bare":
        return single_pod("bare", "1500m")
    stays = STAYING.get(name, Stays("", ""))
    body = deployment(name, 1, "1500m", "256Mi", namespace=stays.namespace, **stays.spec)
    body["spec"]["template"]["metadata"]["annotations"] = stays.annotations
    return body


def _homes(moves: Moves) -> dict[str, str]:
    """Return the Node of each pod that runs, by its app; the bare one has none."""
    return {
        pod["metadata"].get("labels", {}).get("app", "bare"): pod["spec"]["nodeName"]
        for namespace in (NAMESPACE, SYSTEM)
        for pod in moves.view.items("pods", namespace)
        if pod["status"].get("phase") == "Running"
    }


def _until_running(moves: Moves, number: int) -> None:
    moves.until(lambda: len(_homes(moves)) == number, f"{number} pods run")
    moves.until(lambda: not moves.view.items("noderequests"), "the records of their machines are gone")


def _untold(moves: Moves, homes: dict[str, str]) -> set[str]:
    """Return what no event on its Node tells yet."""
    told: dict[str, str] = {}
    for event in moves.view.items("events", "default", fields="reason=ScaleDownBlocked"):
        node = event["involvedObject"]["name"]
        told[node] = told.get(node, "") + event["message"]
    return {
        name
        for name, stays in STAYING.items()
        if f"Drift would remove it, and does not: {stays.reason}, " not in told.get(homes[name], "")
        or stays.words not in told[homes[name]]
    }


@contextmanager
def _cleared(plane: ControlPlane) -> Iterator[None]:
    """Delete what a scene does not know of."""
    try:
        yield
    finally:
        plane.kubectl("delete", "deployment", "dns", "-n", SYSTEM, "--ignore-not-found", "--cascade=foreground")
        plane.kubectl("delete", "pvc", DATA, "-n", NAMESPACE, "--ignore-not-found")
        plane.kubectl("delete", "pv", DATA, "--ignore-not-found")
