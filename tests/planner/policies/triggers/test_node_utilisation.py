"""A machine that has been used little for a window goes: since when it is so stands on its Node.

Source: VPSie's scale-down; Cluster Autoscaler, FAQ, "How does scale-down work?".
"""

from datetime import timedelta

import pytest

from planner.plan import plan
from tests.builders import NOW, after, before, node, node_removal_request, pod
from tests.planner.scenes import scene
from tests.tables import rows

SINCE = "growth.dev/underused-since"
NODE = {"cpuPercent": 50, "memoryPercent": 50, "window": "10m"}


def given(*uses, since=None, mode="wait", wish=None, **down):
    """Return a pool of Nodes of 2 cores and 4 GiB, on each a pod that asks for so much cpu and memory."""
    annotations = {SINCE: since} if since else {}
    nodes = [node(f"n{i}", annotations=annotations) for i in range(len(uses))]
    pods = [
        pod(f"on-n{i}", cpu, memory, node=f"n{i}", owner="rs") for i, (cpu, memory) in enumerate(uses) if cpu != "0"
    ]
    fields = {"mode": mode, "budgets": [{"nodes": "100%"}], "node": NODE | (wish or {})}
    return scene(*nodes, pods=pods, scaleDown=fields | down)


FULL = ("1900m", "64Mi")
LOW = ("400m", "64Mi")


def leaving(of):
    return [(removal.node, removal.reason) for removal in plan(of.snapshot()).removals]


@rows(
    ("use", "is_little"),
    {
        "below both": (("999m", "2047Mi"), True),
        "the cpu bound itself": (("1", "64Mi"), False),
        "the memory bound itself": (("64m", "2Gi"), False),
        "above one": (("64m", "3Gi"), False),
        "none": (("0", "0"), True),
    },
)
def test_c3_both_shares_must_be_below(use, is_little):
    made = plan(given(use, FULL).snapshot())
    assert made.underused_since == ({"n0": NOW} if is_little else {})
    assert made.removals == ()


@rows(
    ("since", "goes"),
    {
        "the whole window": (before(minutes=10), True),
        "not yet": (before(seconds=599), False),
        "by a clock that was ahead": (after(minutes=5), False),
        "unreadable": ("yesterday", False),
    },
)
def test_it_goes_after_the_window(since, goes):
    of = given(LOW, FULL, since=since, maxRemainingPercent=200)
    made = plan(of.snapshot())
    assert [removal.node for removal in made.removals] == (["n0"] if goes else [])
    if goes:
        (removal,) = made.removals
        assert removal.reason == "Underused"
        assert removal.why == (
            f"Its pods have asked for less than 50 % of its cpu and 50 % of its memory since {before(minutes=10)}"
        )


def test_the_end_of_the_window_wakes_the_round():
    made = plan(given(LOW, FULL, since=before(minutes=4)).snapshot())
    assert made.wake_at == NOW + timedelta(minutes=6)


def test_what_is_used_more_begins_anew():
    made = plan(given(FULL, FULL, since=before(minutes=9)).snapshot())
    assert made.underused_since == {"n0": None, "n1": None}


def test_a_pod_that_comes_begins_it_anew():
    of = given(LOW, FULL, since=before(minutes=10))
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": before(minutes=3)}
    of.pods[0].setdefault("status", {})["conditions"] = [bound]
    made = plan(of.snapshot())
    assert made.underused_since == {"n0": NOW - timedelta(minutes=3), "n1": None}
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(minutes=7))


def test_pods_that_belong_to_the_node_count_for_nothing():
    of = given(LOW, FULL)
    of.pods.append(pod("daemon", "1500m", node="n0", owner=("DaemonSet", "ds")))
    assert plan(of.snapshot()).underused_since == {"n0": NOW}


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "empty"},
        {"mode": "none"},
        {"node": None},
    ],
    ids=["mode empty", "mode none", "without the field"],
)
def test_where_it_does_not_hold_nothing_is_remembered(change):
    of = given(LOW, FULL, since=before(minutes=10))
    down = of.pools[0]["spec"]["scaleDown"] | change
    of.pools[0]["spec"]["scaleDown"] = {name: value for name, value in down.items() if value is not None}
    made = plan(of.snapshot())
    assert made.removals == ()
    assert made.underused_since == ({} if change == {"mode": "none"} else {"n0": None, "n1": None})


@rows(
    "kept",
    {
        "a person": {"annotations": {"growth.dev/do-not-remove": "mine", SINCE: before(minutes=10)}},
        "a cordon": {"spec": {"unschedulable": True}, "annotations": {SINCE: before(minutes=10)}},
    },
)
def test_what_is_kept_begins_anew(kept):
    of = given(LOW, FULL)
    of.nodes[0] = node("n0", **kept)
    made = plan(of.snapshot())
    assert (made.removals, made.underused_since) == ((), {"n0": None})


def test_where_pods_are_moved_nothing_is_bought_and_what_remains_is_not_overfull():
    of = given(LOW, LOW, LOW, since=before(minutes=10), mode="drain")
    made = plan(of.snapshot())
    # All three may go by themselves; the pods of two have room on the third, and more would not be left.
    assert len(made.removals) == 2
    assert made.requests == ()
    of.pools[0]["spec"]["scaleDown"]["maxRemainingPercent"] = 59
    assert len(plan(of.snapshot()).removals) == 1


def test_one_under_removal_keeps_its_mark():
    of = given(LOW, FULL, since=before(minutes=10))
    of.removals = [node_removal_request("n0", spec={"reason": "Underused"})]
    assert plan(of.snapshot()).underused_since == {"n1": None}


def test_one_whose_removal_was_cancelled_begins_anew():
    of = given(LOW, FULL, since=before(minutes=10))
    cancel = {"at": before(seconds=9), "by": "Planner"}
    of.removals = [node_removal_request("n0", spec={"reason": "Underused"}, cancel=cancel)]
    made = plan(of.snapshot())
    assert (made.removals, made.underused_since["n0"]) == ((), None)


def test_both_triggers_propose_a_machine_once():
    of = given(
        LOW,
        LOW,
        LOW,
        LOW,
        since=before(minutes=10),
        group={"lowerPercent": 5, "upperPercent": 30, "slow": 1, "fast": 1},
    )
    # One by the rate of the pool, and each further one for itself, as long as the rest carries it.
    assert leaving(of) == [("n0", "Underused"), ("n1", "Underused"), ("n2", "Underused")]
