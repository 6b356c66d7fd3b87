"""A machine that has used little for a window goes, whatever its pods request: samples of usage say so.

Source: VPSie's scale-down; kubernetes-sigs/metrics-server #1141, #1571 (Nodes without a sample for a while, or yet);
kubernetes-sigs/descheduler #1092 (a peak, or a lull, of a moment).
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from planner.model.usage import ObservedUsage, UsageSample
from planner.plan import plan
from tests.builders import NOW, node, pod
from tests.planner.scenes import scene
from tests.tables import rows

NODE = {"cpuPercent": 50, "memoryPercent": 50, "window": "10m", "basis": "usage"}
GI = 1024**3


def samples(*cpu, every=1.0, newest=0.0, memory=1.0):
    """Return samples of a Node of 2 cores and 4 GiB, the last one `newest` minutes ago."""
    number = len(cpu)
    return tuple(
        UsageSample(NOW - timedelta(minutes=newest + every * (number - 1 - n)), used, int(memory * GI))
        for n, used in enumerate(cpu)
    )


def given(of_n0, *, wish=None, requests="100m", created=None, problem="", **down):
    """Return a snapshot with two machines, of which the other one uses much."""
    metadata = {} if created is None else {"metadata": {"creationTimestamp": created}}
    nodes = [node("n0", **metadata), node("n1")]
    pods = [pod(f"on-n{i}", requests, "64Mi", node=f"n{i}", owner="rs") for i in range(2)]
    fields = {"mode": "wait", "budgets": [{"nodes": "100%"}], "node": NODE | (wish or {})}
    snapshot = scene(*nodes, pods=pods, scaleDown=fields | down).snapshot()
    return replace(snapshot, usage=ObservedUsage({"n0": of_n0, "n1": samples(*[1900] * 12)}, problem))


def leaving(snapshot):
    return [removal.node for removal in plan(snapshot).removals]


@rows(
    ("of_n0", "goes"),
    {
        "below both for the whole window": (samples(*[900] * 11), True),
        "the bound itself": (samples(*[1000] * 11), False),
        "much memory": (samples(*[100] * 11, memory=2.0), False),
        "one sample above": (samples(*[900] * 5, 1200, *[900] * 5), False),
        "one sample above before the window": (samples(1900, *[900] * 11), True),
        "a window that is not full": (samples(*[900] * 9), False),
        "none": ((), False),
        "one a quarter of an hour ago": (samples(*[900] * 11, newest=15), False),
        "the last one 5 minutes ago": (samples(*[900] * 6, newest=5), True),
        "a gap": (samples(*[900] * 3, every=6), False),
        "the longest gap that is none": (samples(*[900] * 3, every=5), True),
        "from the future alone": (samples(*[900] * 11, newest=-60), False),
    },
)
def test_a_window_of_samples(of_n0, goes):
    assert leaving(given(of_n0)) == (["n0"] if goes else [])


@rows(
    ("of_n0", "goes"),
    {
        "as many as needed": (samples(*[900] * 8, 1100, 1100), True),
        "too few": (samples(*[900] * 7, 1100, 1100, 1100), False),
        # 8 of 10 are below, and 2 are so far above that the machine uses half in all.
        "an average that is not below": (samples(*[900] * 8, 1400, 1400), False),
    },
)
def test_a_fraction_of_the_samples_and_their_average_must_be_below(of_n0, goes):
    # The first ones are of the time before the window.
    window = samples(*[900] * 2, *(sample.cpu for sample in of_n0))
    assert leaving(given(window, wish={"fraction": 80})) == (["n0"] if goes else [])


def test_requests_say_nothing():
    # By requests, this machine is used to 55 %; together with the other one, 60 % remain.
    assert leaving(given(samples(*[900] * 11), requests="600m")) == ["n0"]
    assert leaving(given(samples(*[1900] * 11), requests="1m")) == []


def test_what_remains_is_of_requests():
    # 1.8 cores are asked for: 90 % of what would remain.
    made = plan(given(samples(*[900] * 11), requests="900m"))
    assert [each.reason for each in made.blocked] == ["BlockedByRemainingUse"]
    assert made.removals == ()


def test_samples_of_an_earlier_node_of_the_name_do_not_count():
    snapshot = given(samples(*[900] * 11))
    young = tuple(replace(n, created_at=NOW - timedelta(minutes=5)) for n in snapshot.nodes)
    assert leaving(replace(snapshot, nodes=young)) == []


def test_a_window_wakes_the_planner_when_it_is_full():
    made = plan(given(samples(*[900] * 9)))
    assert made.wake_at == NOW + timedelta(minutes=1), "the other one may have new samples by then"
    assert made.blocked == ()


def test_usage_that_stays_unknown_is_told_with_its_reason():
    made = plan(given((), problem="the API server has no metrics.k8s.io"))
    assert [(each.node, each.reason, each.why) for each in made.blocked] == [
        ("n0", "UsageUnknown", "no usage of it is known yet: the API server has no metrics.k8s.io")
    ]


@pytest.mark.parametrize("mark", ["2026-03-01T11:00:00Z", None])
def test_no_mark_of_requests_stays_on_a_node_that_goes_by_usage(mark):
    key = "growth.dev/underused-since"
    snapshot = given(())
    annotated = tuple(replace(n, annotations={key: mark} if mark else {}) for n in snapshot.nodes)
    made = plan(replace(snapshot, nodes=annotated))
    assert made.underused_since == (dict.fromkeys(["n0", "n1"]) if mark else {})
