"""Machines that are replaced on a real control plane: bought first, then emptied; killed, cancelled, and never Ready.

The objects are those that a round writes: the request first, with the pods that move, then the removals that name it.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from activities.objects.record import removal_body
from api.keys import ANNOTATION_MOVE_FAILED, FINALIZER, LABEL_POOL, LABEL_SERVER_TYPE, LABEL_STEP
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec
from planner.parsing.objects import parse_pod
from planner.supply.pod_group import GroupKeys, seat_of
from tests.builders import as_sent, deployment, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.commands import Commands
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import removal

POOL = as_sent(
    node_pool(
        types=["cx22", "cx32", "cx42"],
        limits={"max": 10},
        scaleUp={"recordTTL": "5s", "provisioningTimeout": "4m", "joinTimeout": "4m"},
        scaleDown={"mode": "drain", "idleAfter": "10m", "softGrace": "0s"},
    )
)
BOOTS = ("0s", "6s", "1h")
"""Machines of the small type, of the one that replaces two of them, and of one that never comes."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


class Replacements:
    """What a round would write, and what a person sees."""

    def __init__(self, plane: ControlPlane, commands: Commands) -> None:
        self.plane = plane
        self.view = ClusterView(plane)
        self.commands = commands
        self.steps = 0

    def begin(self, sources: Sequence[str], server_type: str) -> str:
        """Write a request for a machine of this type that is to replace the others, and their removals."""
        self.steps += 1
        name, step = f"default-new{self.steps}", f"step{self.steps}.{len(sources)}"
        pods = [parse_pod(pod) for pod in self.view.pods() if pod["spec"].get("nodeName") in sources]
        (pool,) = self.view.items("nodepools")
        keys = GroupKeys()
        request = {
            "apiVersion": "growth.dev/v1alpha1",
            "kind": "NodeRequest",
            "metadata": {
                "name": name,
                "labels": {LABEL_POOL: "default", LABEL_SERVER_TYPE: server_type, LABEL_STEP: step},
                "finalizers": [FINALIZER],
                "ownerReferences": [
                    {
                        "apiVersion": "growth.dev/v1alpha1",
                        "kind": "NodePool",
                        "name": "default",
                        "uid": pool["metadata"]["uid"],
                    }
                ],
            },
            "spec": {
                "pool": "default",
                "serverType": server_type,
                "location": "fsn1",
                "classRef": {"kind": "KwokNodeClass", "name": "default"},
                "reservedFor": [seat_of(pod, keys.of(pod)).to_json() for pod in pods],
            },
        }
        nodes = self.view.nodes()
        removals = []
        for source in sources:
            made = removal(nodes[source])["spec"] | {
                "nodeName": source,
                "reason": "Consolidation",
                "replacedBy": [name],
            }
            spec = NodeRemovalRequestSpec.model_validate(made)
            uid = nodes[source]["metadata"]["labels"]["growth.dev/request-uid"]
            removals.append(removal_body(spec, request_uid=uid, step=step))
        self.plane.kubectl(
            "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [request, *removals]})
        )
        return name

    def pods(self) -> dict[str, tuple[str, str]]:
        """Return uid and node of each pod that runs and stays, by its name."""
        return {
            pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"]["nodeName"])
            for pod in self.view.pods()
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        }

    def statuses(self, kind: str = "noderemovalrequests") -> dict[str, dict[str, Any]]:
        return {item["metadata"]["name"]: item.get("status", {}) for item in self.view.items(kind)}

    def taints(self, name: str) -> list[str]:
        return [taint["key"] for taint in self.view.nodes()[name]["spec"].get("taints", [])]

    def told(self, *words: str) -> str:
        """Return what a command prints; nothing of this is about how soon."""
        return self.commands.told(*words, within=90)

    def until(self, holds: Any, what: str) -> None:
        self.plane.wait_for(holds, what)

    def until_waiting(self, sources: Sequence[str]) -> None:
        """Wait until all removals wait for what replaces them."""
        self.until(
            lambda: (
                [self.statuses().get(name, {}).get("reason") for name in sources] == ["Replacement"] * len(sources)
                and all(self.taints(name) == ["growth.dev/scale-down"] for name in sources)
            ),
            f"{', '.join(sources)} wait, closed",
        )


def test_machines_are_replaced_killed_cancelled_and_kept(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="replace", quick=True) as growth:
        plane.replace(POOL)
        boots = [
            {"op": "add", "path": f"/spec/serverTypes/{number}/locations/0/bootTime", "value": boot}
            for number, boot in enumerate(BOOTS)
        ]
        plane.kubectl("patch", "kwoknodeclasses", "default", "--type=json", "-p", json.dumps(boots))
        replacements = Replacements(plane, Commands(plane, tmp_path))
        growth.start()
        _two_small_machines(replacements)
        _a_person_cancels_while_it_is_awaited(replacements)
        _two_become_one_though_workers_are_killed(replacements, growth)
        _what_never_becomes_ready_moves_nobody(replacements)


def _two_small_machines(replacements: Replacements) -> None:
    for number in (1, 2):
        body = deployment(f"web{number}", 1, "1500m", "256Mi")
        replacements.plane.kubectl("create", "-f", "-", stdin=json.dumps(body))
        replacements.until(lambda number=number: len(replacements.pods()) == number, f"{number} pods run")
    replacements.until(lambda: not replacements.statuses("noderequests"), "their records are gone")
    assert len(replacements.view.servers()) == 2


def _a_person_cancels_while_it_is_awaited(replacements: Replacements) -> None:
    before, sources = replacements.pods(), sorted(replacements.view.servers())
    name = replacements.begin(sources, "cx42")
    replacements.until_waiting(sources)
    told = replacements.told("why", "node", sources[0])
    assert f"It is replaced by {name}" in told
    assert f"growth removals cancel {sources[0]}" in told
    assert f"It takes the place of {', '.join(sources)}" in replacements.told("why", "request", name)
    assert name in replacements.told("status")
    replacements.plane.kubectl("annotate", "noderemovalrequest", sources[0], "growth.dev/decision=cancel")
    replacements.until(lambda: not replacements.statuses(), "the whole step has ended")
    assert [replacements.taints(source) for source in sources] == [[], []]
    assert replacements.pods() == before
    replacements.plane.kubectl("delete", "noderequest", name, "--wait=false")
    replacements.until(lambda: replacements.view.servers() == set(sources), "what nobody needs is gone")
    replacements.until(lambda: not replacements.statuses() and not replacements.statuses("noderequests"), "all is over")


def _two_become_one_though_workers_are_killed(replacements: Replacements, growth: GrowthProcess) -> None:
    before, sources = replacements.pods(), sorted(replacements.view.servers())
    name = replacements.begin(sources, "cx32")
    replacements.until_waiting(sources)
    growth.kill()
    growth.start()
    ready_at = None
    deadline = time.monotonic() + 100
    is_killed = False
    while time.monotonic() < deadline:
        pods, node = replacements.pods(), replacements.view.nodes().get(name)
        statuses = replacements.statuses()
        is_ready = node is not None and any(
            one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", ())
        )
        if not is_ready:
            assert pods == before, "no pod leaves before the machine is Ready"
        elif ready_at is None:
            ready_at = time.monotonic()
        if not is_killed and any(status.get("phase") == "Draining" for status in statuses.values()):
            growth.kill()
            growth.start()
            is_killed = True
        if replacements.view.servers() == {name} and not statuses and len(pods) == 2:
            break
        time.sleep(0.1)
    assert replacements.view.servers() == {name}
    assert {node for _, node in replacements.pods().values()} == {name}
    replacements.until(lambda: replacements.taints(name) == [], "it is open for all")


def _what_never_becomes_ready_moves_nobody(replacements: Replacements) -> None:
    before, sources = replacements.pods(), sorted(replacements.view.servers())
    change = {"spec": {"scaleUp": {"provisioningTimeout": "3s", "joinTimeout": "3s"}}}
    replacements.plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", json.dumps(change))
    replacements.begin(sources, "cx42")
    replacements.until_waiting(sources)
    replacements.until(lambda: not replacements.statuses(), "the removal has ended")
    assert replacements.pods() == before
    assert [replacements.taints(source) for source in sources] == [[]]
    notes = replacements.view.nodes()[sources[0]]["metadata"]["annotations"]
    assert notes[ANNOTATION_MOVE_FAILED].endswith(" 15m")
    assert "could not be moved" in replacements.told("why", "node", sources[0])
