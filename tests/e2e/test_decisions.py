"""What a person decides about removals with kubectl alone: each annotation is obeyed, or answered by an event."""

import json
import time
from pathlib import Path

import pytest

from tests.builders import as_sent, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import single_pod

POOL = as_sent(
    node_pool(
        types=["cx22"],
        limits={"max": 1},
        scaleUp={"recordTTL": "1s"},
        scaleDown={
            "idleAfter": "1s",
            "softGrace": "1m",
            "removal": {"maxAttempts": 1, "retry": "1s", "parkedRetry": "1h"},
        },
    )
)
SHORT = {"spec": {"scaleDown": {"softGrace": "1s"}}}
STUBBORN = {"spec": {"faults": [{"call": "delete", "error": "transient"}]}}
OBEDIENT = {"spec": {"faults": None}}
AT_ONCE_SECONDS = 5
"""A watch tells the workflow; its fallback in a cool-off would take 15 s, of a parked removal 10 min."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


class Person:
    """Has kubectl, and nothing else."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._view = ClusterView(plane)

    def patch(self, kind: str, change: dict[str, object]) -> None:
        self._plane.kubectl("patch", kind, "default", "--type=merge", "-p", json.dumps(change))

    def annotate(self, name: str, word: str, *more: str) -> None:
        self._plane.kubectl("annotate", "nrr", name, f"growth.dev/decision={word}", *more)

    def notes(self, name: str, reason: str) -> list[str]:
        """Return the events of this reason about a removal."""
        about = f"involvedObject.name={name},involvedObject.kind=NodeRemovalRequest,reason={reason}"
        return [event["message"] for event in self._view.items("events", "default", fields=about)]

    def phase(self) -> str:
        """Return the phase of the one removal, empty without one or before it has begun."""
        return "".join(one.get("status", {}).get("phase", "") for one in self._view.items("noderemovalrequests"))

    def annotations(self) -> list[str]:
        """Return the keys of our annotations on removals."""
        found = (one["metadata"].get("annotations", {}) for one in self._view.items("noderemovalrequests"))
        return [key for annotations in found for key in annotations if key.startswith("growth.dev/")]


def test_a_scale_down_is_cancelled_and_a_parked_one_is_retried_by_annotation(
    control_plane: ControlPlane, tmp_path: Path
):
    plane, person, view = control_plane, Person(control_plane), ClusterView(control_plane)
    with scene(plane, tmp_path, cluster="decisions", separate=False) as growth:
        plane.replace(POOL)
        growth.start()
        name = _idle_machine(plane, view)
        _cancel(plane, view, person, name)
        _park(plane, person)
        _slips(plane, person, name)
        person.patch("kwoknodeclasses", OBEDIENT)
        person.annotate(name, "retry", "growth.dev/decision-reason=unlocked it")
        plane.wait_for(lambda: not view.servers(), "the server is gone", AT_ONCE_SECONDS)
        plane.wait_for(lambda: bool(person.notes(name, "Retry")), "the retry is told", AT_ONCE_SECONDS)
        assert person.notes(name, "Retry") == ["By kubectl-annotate: unlocked it"]
        plane.wait_for(lambda: not view.nodes() and not view.items("noderemovalrequests"), "the Node is gone, too")


def _idle_machine(plane: ControlPlane, view: ClusterView) -> str:
    """Let one machine come for a pod that goes again, and return its name when its cool-off has begun."""
    plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod("web", "500m")))
    plane.wait_for(lambda: view.running() == 1, "the pod runs")
    plane.kubectl("delete", "pod", "web", "-n", "default", "--grace-period=0", "--force")
    plane.wait_for(lambda: "taintedAt" in json.dumps(view.items("noderemovalrequests")), "a cool-off has begun")
    (name,) = view.nodes()
    return name


def _cancel(plane: ControlPlane, view: ClusterView, person: Person, name: str) -> None:
    began = time.monotonic()
    person.annotate(name, "cancel", "growth.dev/decision-reason=keep it warm")
    plane.wait_for(lambda: not view.items("noderemovalrequests"), "the removal has ended", AT_ONCE_SECONDS)
    print(f"\ncancelled by annotation in {time.monotonic() - began:.1f} s")
    (node,) = view.nodes().values()
    assert not node["spec"].get("taints")
    assert view.servers() == {name}
    plane.wait_for(lambda: bool(person.notes(name, "Cancelled")), "the cancel is told", AT_ONCE_SECONDS)
    assert person.notes(name, "Cancelled") == ["By kubectl-annotate: keep it warm"]
    # Without this, no other removal begins by itself for an hour.
    plane.kubectl("annotate", "node", name, "growth.dev/removal-cancelled-at-")


def _park(plane: ControlPlane, person: Person) -> None:
    """Let the next cool-off of the machine be short, and its provider refuse."""
    person.patch("nodepools.growth.dev", SHORT)
    person.patch("kwoknodeclasses", STUBBORN)
    plane.wait_for(lambda: person.phase() == "CouldNotRemove", "the removal is parked")


def _slips(plane: ControlPlane, person: Person, name: str) -> None:
    """A word that does not exist, and one that comes too late."""
    person.annotate(name, "rtry")
    plane.wait_for(lambda: person.annotations() == [], "the wrong word is taken off", AT_ONCE_SECONDS)
    (note,) = person.notes(name, "DecisionUnknown")
    assert note == (
        f"NodeRemovalRequest {name}: annotation growth.dev/decision=rtry is no decision: "
        "say cancel, retry, skip, abandon. It is taken off"
    )
    person.annotate(name, "cancel")
    plane.wait_for(lambda: person.annotations() == [], "the late cancel is taken off", AT_ONCE_SECONDS)
    (note,) = person.notes(name, "DecisionRefused")
    assert "growth.dev/decision=cancel has no effect: too late to cancel" in note
    assert person.phase() == "CouldNotRemove"
