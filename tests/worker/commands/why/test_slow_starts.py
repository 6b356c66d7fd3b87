"""What `growth why` says of a Node that has joined and cannot take its pods yet: it names what is missing."""

import pytest

from tests.builders import after, before, node, node_request, pod
from tests.planner.scenes import scene, seat
from tests.tables import rows
from tests.worker.looking import sight
from worker.commands.why.command import NODE, REQUEST, lines_about

CILIUM = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}


def told(kind: str, **of_node) -> str:
    let_on = {"key": "growth.dev/reserved", "value": "m-1", "effect": "NoSchedule"}
    waiting = pod("web", tolerations=[let_on])
    request = node_request(
        "m-1",
        phase="Provisioning",
        seats=[seat(waiting)],
        registeredAt=before(seconds=30),
        runningAt=before(seconds=40),
        joinDeadline=after(minutes=9),
        nodeName="m-1",
        plannedAllocatable={"cpu": "2", "nvidia.com/gpu": "1"},
    )
    uid = request["metadata"]["uid"]
    joined = node("m-1", labels={"growth.dev/request-uid": uid, "growth.dev/pool": "default"}, **of_node)
    return "\n".join(lines_about(kind, "m-1", sight(scene(waiting, nodes=[joined], requests=[request]))))


@pytest.mark.parametrize("kind", [REQUEST, NODE])
@rows(
    ("of_node", "sentence"),
    {
        "a start-up taint": ({"taints": [CILIUM]}, "start-up taint node.cilium.io/agent-not-ready:NoSchedule is on it"),
        "no device": ({}, "nvidia.com/gpu is not there yet, planned 1"),
        "not Ready": ({"ready": False}, "Waits for its node to become Ready"),
    },
)
def test_what_is_missing_is_named(kind, of_node, sentence):
    assert sentence in told(kind, **of_node)
