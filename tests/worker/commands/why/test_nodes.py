"""What `growth why` says of a node: its drain, its price, its planned form, and pods that it is kept for."""

import pytest

from tests.builders import before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.why.command import NODE, REMOVAL, REQUEST, lines_about
from worker.commands.why.pod import why_pod

BARE = (
    "No pod is evicted while one must stay: default/web has no controller that would start it again. "
    "Move or delete it, or cancel the removal. The node is looked at again every 1m"
)
FORCED = "hardGrace is over: delete 1 pods, whatever keeps them"
BUDGET = "evict pod default/web: The disruption budget web needs 1 healthy pods and has 1 currently"


@pytest.mark.parametrize(
    ("owner", "status", "awaited"),
    [
        (
            None,
            {"reason": "BlockedByBarePod", "message": BARE},
            f"Awaited until 12:29:00 (in 29m): {BARE}. At the deadline: {FORCED}.",
        ),
        (
            "rs-1",
            {
                "reason": "BlockedByBudget",
                "message": BUDGET,
                "evictAttempts": 3,
                "evictAttemptedAt": before(seconds=10),
            },
            f"Awaited until 12:00:30 (in 30s): {BUDGET}. At the deadline: Evict 1 pods; system-critical ones go last.",
        ),
        (
            "rs-1",
            {"reason": "Draining", "message": "1 pods are on the node"},
            "Next: Due now: Evict 1 pods; system-critical ones go last.",
        ),
    ],
    ids=["bare pod", "budget", "begun"],
)
def test_a_node_that_is_drained(owner, status, awaited):
    times = {"scaleDownAt": before(minutes=1), "taintedAt": before(minutes=2), "drainStartedAt": before(minutes=1)}
    times["excludedAt"] = before(minutes=1)
    drained = node_removal_request("m-1", phase="Draining", **times, **status)
    tainted = node("m-1", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    pools = [node_pool(scaleDown={"mode": "drain", "hardGrace": "30m"})]
    pods = [pod("web", node="m-1", owner=owner)]
    seen = sight(scene(tainted, drained, *pods, pools=pools))
    told = lines_about(REMOVAL, "m-1", seen)
    assert any(
        line.startswith(f"Phase Draining: is drained ({status['reason']}), then goes") and status["message"] in line
        for line in told
    )
    assert awaited in told
    assert "You may: `growth removals cancel m-1`." in told
    of_node = "\n".join(lines_about(NODE, "m-1", seen))
    assert f"{status['reason']}: {status['message']}." in of_node
    assert "You may: `growth removals cancel m-1`." in of_node


@pytest.mark.parametrize(
    ("scale_down", "minutes", "expected"),
    [
        (
            {},
            60,
            "It is not removed: the pods on it cannot end while it is not Ready, and its pool has no scaleDown.repair.",
        ),
        (
            {"repair": {}},
            15,
            "It is not removed: the pods on it cannot end; it counts as dead at 12:05:00 (in 5m) if it stays so.",
        ),
        (
            {"repair": {}},
            60,
            (
                "The next round begins its removal (Dead): Not Ready since 2026-03-01T11:00:00Z, and no pod on it can "
                "end; it goes at 12:01:00 (in 1m)."
            ),
        ),
        (
            {"repair": {}, "mode": "none"},
            60,
            (
                "It is not removed: pool default says scaleDown.mode: none; it is dead, and goes as the condition "
                "DeadNodes of its pool tells."
            ),
        ),
    ],
)
def test_a_node_whose_kubelet_died(scale_down, minutes, expected):
    dead, stuck = node("m-1", ready=False), pod("db", node="m-1")
    dead["status"]["conditions"][0]["lastTransitionTime"] = before(minutes=minutes)
    stuck["metadata"]["deletionTimestamp"] = before(minutes=10)
    seen = sight(scene(dead, stuck, pools=[node_pool(scaleDown=scale_down)]))
    assert expected in lines_about(NODE, "m-1", seen)


def about(name: str, seen: ClusterView) -> str:
    (found,) = [pod for pod in seen.snapshot.pods if pod.key == f"default/{name}"]
    return "\n".join(why_pod(found, seen))


def test_a_pod_on_its_way_to_a_node():
    low, high = pod("low", node="m-1"), pod("high", priority=5)
    low["metadata"]["deletionTimestamp"] = before(seconds=3)
    high["status"]["nominatedNodeName"] = "m-1"
    text = about("high", sight(scene(pods=[low, high], nodes=[node("m-1")])))
    assert "It is no demand: it waits for node m-1, where the scheduler makes room for it by preemption." in text
    assert "Machines for it" not in text
    # Once the others are gone, and while volumes are bound, the field says no more than that.
    text = about("high", sight(scene(pods=[high], nodes=[node("m-1")])))
    assert "It is no demand: it waits for node m-1, which the scheduler keeps for it." in text


def test_a_node_that_the_scheduler_keeps_for_a_pod():
    high = pod("high")
    high["status"]["nominatedNodeName"] = "m-1"
    idle = {"growth.dev/idle-since": before(minutes=20)}
    text = "\n".join(lines_about(NODE, "m-1", sight(scene(nodes=[node("m-1", annotations=idle)], pods=[high]))))
    assert "No pod on it.\nThe scheduler keeps it for 1 pod: default/high.\n" in text
    assert text.endswith("It is not removed: the scheduler keeps it for pods.")


def test_a_cool_off_that_ends_with_a_pod_on_its_way():
    high = pod("high")
    high["status"]["nominatedNodeName"] = "m-1"
    tainted = node("m-1", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    over = node_removal_request("m-1", scaleDownAt=before(seconds=30), taintedAt=before(seconds=90))
    text = "\n".join(lines_about(REMOVAL, "m-1", sight(scene(nodes=[tainted], removals=[over], pods=[high]))))
    assert "1 pods are on the node or on their way to it: default/high" in text


def price_line(*prices):
    """The first line about a cx22, of 0.0066 EUR today, whose Node bears these: price and currency."""
    annotations = dict(zip(("growth.dev/price-per-hour", "growth.dev/currency"), prices, strict=False))
    made = scene(node("m-1", annotations=annotations))
    return "\n".join(lines_about(NODE, "m-1", sight(made))).splitlines()[0]


def test_a_machine_that_was_bought_before_a_rise_tells_both_prices():
    assert price_line("0.0047", "EUR").endswith("; a cx22 in fsn1, 0.0047 EUR per hour (3.43 a month), 0.0066 today.")


def test_a_machine_that_costs_the_same_today_tells_one_price():
    assert price_line("0.00660", "EUR").endswith("; a cx22 in fsn1, 0.0066 EUR per hour (4.82 a month).")


def test_a_machine_of_which_nothing_was_kept_tells_the_price_of_today():
    assert price_line().endswith("; a cx22 in fsn1, 0.0066 EUR per hour (4.82 a month).")


def test_a_class_that_has_another_currency_today_tells_it():
    assert price_line("0.0047", "USD").endswith(
        "; a cx22 in fsn1, 0.0047 USD per hour (3.43 a month), 0.0066 EUR today."
    )


def planned_lines(status: str) -> list[str]:
    condition = {
        "type": "NodeAsPlanned",
        "status": status,
        "reason": "Any",
        "message": "memory 3.7Gi usable, planned 4Gi",
        "lastTransitionTime": before(seconds=1),
    }
    return lines_about(
        REQUEST, "m-1", sight(scene(requests=[node_request("m-1", phase="Ready", conditions=[condition])]))
    )


def test_the_differences_are_told():
    assert "Its Node is not as planned: memory 3.7Gi usable, planned 4Gi." in planned_lines("False")


@pytest.mark.parametrize("status", ["True", "Unknown"])
def test_nothing_is_said_of_a_node_that_is_as_planned_or_that_nobody_can_judge(status):
    assert "planned 4Gi" not in "\n".join(planned_lines(status))


BEGAN = {"scaleDownAt": before(minutes=3), "taintedAt": before(minutes=3), "drainStartedAt": before(minutes=2)}


@pytest.mark.parametrize(
    ("scale_down", "reason", "told"),
    [
        ({}, "Consolidation", ["Its drain is given up at 12:13:00 (in 13m)."]),
        ({"drainTimeout": "1h"}, "Drift", ["Its drain is given up at 12:58:00 (in 58m)."]),
        (
            {"terminationGracePeriod": "10m"},
            "Rotation",
            [
                "By 12:08:00 (in 8m) its pods have been deleted, whatever keeps them.",
                "Its drain is given up at 12:23:00 (in 23m).",
            ],
        ),
        ({"hardGrace": "10m"}, "Requested", ["From 12:08:00 (in 8m) its pods are deleted, whatever keeps them."]),
        ({"drainTimeout": "1h", "terminationGracePeriod": "10m"}, "Requested", []),
    ],
    ids=["by default", "drainTimeout", "terminationGracePeriod", "a person's", "a person's without an end"],
)
def test_how_long_a_drain_may_last(scale_down, reason, told):
    removal = node_removal_request(
        "m-1", spec={"reason": reason}, phase="Draining", excludedAt=before(minutes=2), **BEGAN
    )
    tainted = node("m-1", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    pools = [node_pool(scaleDown={"mode": "drain", **scale_down})]
    seen = sight(scene(tainted, removal, pod("web", node="m-1", owner="rs-1"), pools=pools))
    for lines in (lines_about(REMOVAL, "m-1", seen), lines_about(NODE, "m-1", seen)):
        assert [line for line in lines if line.startswith(("Its drain", "By 1", "From 1"))] == told


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("drain-pause", "DrainTimedOut, its drain was given up, and is not begun again"),
        ("move-failed", "MoveFailed, its pods could not be moved, and are not moved again"),
    ],
)
def test_a_pause_after_what_was_given_up(mark, told):
    paused = node("m-1", annotations={f"growth.dev/{mark}": "2026-03-01T12:15:00Z 30m"})
    drained = {"scaleDown": {"mode": "drain"}}
    lines = lines_about(NODE, "m-1", sight(scene(paused, pod("web", node="m-1", owner="rs-1"), **drained)))
    assert lines[-1] == f"No policy may empty it now: {told} before 2026-03-01 12:15:00 UTC."
    empty = lines_about(NODE, "m-1", sight(scene(paused, **drained)))
    assert not [line for line in empty if told in line]


def test_a_machine_that_is_to_go_now():
    taints = [{"key": "growth.dev/remove-now", "effect": "NoSchedule"}]
    pools = [node_pool(scaleDown={"mode": "none"})]
    busy = lines_about(NODE, "m-1", sight(scene(node("m-1", taints=taints), pod("web", node="m-1"), pools=pools)))
    assert busy[-2:] == [
        "Somebody wants it to go: with the taint growth.dev/remove-now it goes as soon as it is empty.",
        "It is not removed: pods are on it.",
    ]
    (empty,) = lines_about(NODE, "m-1", sight(scene(node("m-1", taints=taints), pools=pools)))[-1:]
    assert empty.startswith(
        "The next round begins its removal (RemoveNow): Without pods, and its Node bears the taint "
        "growth.dev/remove-now; it goes"
    )
