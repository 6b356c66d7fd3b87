"""Karpenter's cases of limits, as objects in and outcome out: "Resource Limits" of its provisioning suite_test.go.

Each test names its case there. Ours differ in one thing: several machines that are asked for at once, or are coming,
never come to more than the limit (kubernetes-sigs/karpenter#2657, #2854). Left out: limits in GPUs.
"""

from tests.builders import node, node_request, pod
from tests.golden.test_karpenter_cases import WEB, kind, many, scene
from tests.planner.outcome import codes, planned, types
from tests.planner.wishes import HOST, affinity, term


def limited(*pods, cpu, **parts):
    return scene(*pods, kinds=[kind("small"), kind("default")], limits={"max": 100, "cpu": cpu}, **parts)


def test_should_not_schedule_when_limits_are_exceeded():
    there = [node(f"n-{k}", "cx42") for k in range(3)]
    for each in there:
        each["metadata"]["labels"] |= {"growth.dev/server-type": "arm"}
        each["spec"]["unschedulable"] = True
    made = planned(
        scene(pod("p"), *there, kinds=[kind(each) for each in ("small", "arm")], limits={"max": 9, "cpu": 20})
    )
    assert (types(made), codes(made)) == ([], {"p": "LimitReached"})
    assert made.unplaced[0].reasons[0].message == (
        "pool default is at its limit of 20 cpu: its machines have 48; raising it by 30 cpu places 1 pod, on a small"
    )


def test_should_schedule_if_limits_would_be_met():
    assert types(planned(limited(pod("p", "1.75", "1Gi"), cpu=2))) == ["small"]


def test_should_partially_schedule_if_limits_would_be_exceeded():
    apart = {"affinity": affinity(away=term(HOST, WEB))}
    made = planned(limited(*many(2, "1.5", **apart), cpu=3))
    assert types(made) == ["small"]
    assert list(codes(made).values()) == ["LimitReached"]


def test_should_not_schedule_if_limits_would_be_exceeded():
    made = planned(limited(pod("p", "2.1", "1Gi"), cpu=2))
    assert (types(made), codes(made)) == ([], {"p": "LimitReached"})


def test_should_not_schedule_to_a_node_pool_after_a_scheduling_round_if_limits_would_be_exceeded():
    coming = node_request(
        "coming", "small", location="z1", phase="Provisioning", createAttemptAt="2026-03-01T11:59:00Z"
    )
    full = pod("p", "1.9", "1Gi")
    held = node("held", "cx22", spec={"unschedulable": True})
    held["metadata"]["labels"]["growth.dev/server-type"] = "small"
    made = planned(limited(full, held, cpu=2))
    assert (types(made), codes(made)) == ([], {"p": "LimitReached"})
    # What is coming counts as what is there: it is in the way of a second one, and takes the pod.
    made = planned(limited(full, pod("q", "1.9", "1Gi"), coming, cpu=2))
    assert types(made) == []
    assert len(made.unplaced) == 1


def test_several_machines_of_one_round_never_come_to_more_than_the_limit():
    # Ten pods at once that need a machine each: five of 2 cores.
    made = planned(limited(*many(10, "1.5", "1Gi"), cpu=11))
    assert sum({"small": 2, "default": 4}[each] for each in types(made)) <= 11
    assert len(made.unplaced) == 5
