"""What belongs to the start of a Node, and what a coming machine will have. Source: issue 16, B4."""

from typing import Any

import pytest

from api.model import read
from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import Taint
from planner.supply.startup import is_startup_taint, missing_amounts, startup_taints, with_missing
from tests.builders import Json, before, node, node_pool, node_request, pod, server_type
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene, seat

CILIUM = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        ("node.cilium.io/agent-not-ready", True),
        ("ebs.csi.aws.com/agent-not-ready", True),
        ("node.kubernetes.io/not-ready", True),
        ("node.kubernetes.io/network-unavailable", True),
        ("node.cloudprovider.kubernetes.io/uninitialized", True),
        ("node.cluster.x-k8s.io/uninitialized", True),
        ("cni.istio.io/not-ready", True),
        ("startup-taint.cluster-autoscaler.kubernetes.io/any", True),
        ("ignore-taint.cluster-autoscaler.kubernetes.io/any", True),
        # What comes later, or by a person, is no start.
        ("node.kubernetes.io/unreachable", False),
        ("node.kubernetes.io/unschedulable", False),
        ("node.kubernetes.io/disk-pressure", False),
        ("node.cloudprovider.kubernetes.io/shutdown", False),
        ("status-taint.cluster-autoscaler.kubernetes.io/any", False),
        ("growth.dev/reserved", False),
        ("agent-not-ready", False),
        ("not-ready", False),
        ("dedicated", False),
    ],
)
def test_well_known_taints_of_a_start(key, is_one):
    assert is_startup_taint(Taint(key)) is is_one


def test_a_preference_and_a_taint_of_the_pool_are_no_start():
    cilium = "node.cilium.io/agent-not-ready"
    taints = [Taint(cilium, "true", "NoExecute"), Taint(cilium, "true", "PreferNoSchedule")]
    assert startup_taints(taints, None) == (taints[0],)
    own = read(NodePool, node_pool(template={"taints": [{"key": cilium, "effect": "NoExecute"}]}))
    assert startup_taints(taints, own) == ()


@pytest.mark.parametrize(
    ("actual", "missing"),
    [
        ({"cpu": 2000, "nvidia.com/gpu": 1, "hugepages-2Mi": 7}, {}),
        ({"cpu": 2000}, {"nvidia.com/gpu": 2, "hugepages-2Mi": 7}),
        ({"cpu": 2000, "nvidia.com/gpu": 0, "hugepages-2Mi": 0}, {"nvidia.com/gpu": 2, "hugepages-2Mi": 7}),
        # The kubelet has not measured its disk yet; where it never states one, none is waited for.
        ({"cpu": 2000, "nvidia.com/gpu": 2, "hugepages-2Mi": 7, "ephemeral-storage": 0}, {"ephemeral-storage": 9}),
    ],
)
def test_amounts_of_which_a_node_states_nothing_yet(actual, missing):
    planned = {"cpu": 2000, "nvidia.com/gpu": 2, "hugepages-2Mi": 7, "ephemeral-storage": 9, "example.com/none": 0}
    assert missing_amounts(actual, planned) == missing
    assert with_missing(actual, planned) == {**actual, **missing}


@pytest.mark.parametrize(
    ("key", "declared", "learned"),
    [
        ("warm", (), True),
        ("warm", ({"key": "warm"},), False),
        ("warm", ({"key": "warm", "value": "no", "effect": "NoSchedule"},), False),
        ("warm", ({"key": "warm", "value": "yes"},), True),
        ("warm", ({"key": "warm", "effect": "NoExecute"},), True),
        ("node.cilium.io/agent-not-ready", (), False),
    ],
)
def test_no_taint_of_a_start_is_learned(key, declared, learned):
    """However long two Nodes have had it: a new one is not planned with it."""
    taint = {"key": key, "value": "no", "effect": "NoSchedule"}
    nodes = [node(name, allocatable={"cpu": "0"}, taints=[taint]) for name in "ab"]
    given = scene(pod("a"), *nodes, types=("cx22",), scaleUp={"startupTaints": list(declared)})
    assert types(planned(given)) == ([] if learned else ["cx22"])


def coming(*, since: float, taints: tuple[Json, ...] = (), ready: bool = True, **parts: Any) -> tuple[Json, Json, Json]:
    """Return a pod, the request that it has a seat on, and its Node, which joined so many seconds ago."""
    wants = pod("a", **parts)
    request = node_request(
        "m-1",
        seats=[seat(wants)],
        phase="Provisioning",
        runningAt=before(seconds=since),
        joinDeadline=before(seconds=since - 900),
        registeredAt=before(seconds=since),
        plannedAllocatable={"cpu": "2", "memory": "4Gi", "pods": "110", GPU: "1"},
    )
    return wants, request, node("m-1", ready=ready, taints=list(taints))


@pytest.mark.parametrize("since", [1, 70, 150, 890])
@pytest.mark.parametrize(
    "start", [{"ready": False}, {"taints": (CILIUM,)}, {"resources": {GPU: "1"}}], ids=["not Ready", "taint", "device"]
)
def test_nothing_is_bought_for_pods_whose_machine_starts_slowly(since, start):
    assert types(planned(scene(*coming(since=since, **start)))) == []


def test_others_may_come_along_on_a_machine_that_starts_slowly():
    """It has what was planned, also what its Node does not state yet."""
    kinds = [server_type("cx22", capacity={"cpu": "2", "memory": "4Gi", GPU: "1"})]
    other = pod("b", requests={"cpu": "100m", GPU: "1"})
    given = scene(other, *coming(since=200, taints=(CILIUM,)), kinds=kinds, types=("cx22",))
    made = planned(given)
    assert (types(made), codes(made)) == ([], {})
    assert {placed.pod: placed.request for placed in made.placed} == {"default/a": "m-1", "default/b": "m-1"}


def test_a_machine_that_never_started_is_no_place():
    """Its reservation has ended, so that its taint lasts."""
    wants, request, there = coming(since=901, taints=(CILIUM,))
    request["status"] |= {"phase": "Ready", "readyAt": before(seconds=60), "releasedAt": before(seconds=61)}
    assert types(planned(scene(wants, request, there, types=("cx22",)))) == ["cx22"]
