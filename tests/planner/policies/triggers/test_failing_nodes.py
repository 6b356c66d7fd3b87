"""Nodes that run and have a bad condition for long enough are replaced, few at a time.

Source: Karpenter docs, "Disruption: Node Auto Repair"; kubernetes/node-problem-detector; issues on false alarms.
"""

from datetime import timedelta

import pytest

from planner.plan import plan
from tests.builders import NOW, after, before, node, node_removal_request, pod
from tests.planner.policies.triggers.fleet import DRAIN, aged, condition, leaving, with_pods
from tests.tables import rows

DEADLOCK = {"type": "KernelDeadlock", "status": "True", "after": "10m"}


def bad(name="n", *, since=None, status="True", kind="KernelDeadlock", **changes):
    """A Ready Node with a condition, by default for ten minutes."""
    moment = before(minutes=10) if since is None else since
    return aged(name, conditions=[{"type": kind, "status": status, "lastTransitionTime": moment}], **changes)


def given(*nodes, ready=8, conditions=(DEADLOCK,), **spec):
    """A pool that repairs by these conditions, with these Nodes and others that are fine, a pod on each."""
    fine = [node(f"fine-{number}", "cx22") for number in range(ready)]
    scale_down = DRAIN["scaleDown"] | {"repair": {"conditions": list(conditions)}} | spec.pop("scaleDown", {})
    return with_pods(*nodes, *fine, cpu="1500m", scaleDown=scale_down, **spec)


def test_it_goes_after_its_time_and_another_comes_first():
    of = given(bad())
    made = plan(of.snapshot())
    (removal,) = made.removals
    assert (removal.node, removal.reason, removal.replacement) == ("n", "Repair", (0,))
    assert removal.why == "Its Node says KernelDeadlock=True since 2026-03-01T11:50:00Z"
    reported = condition(of, "FailingNodes")
    assert (reported.status, reported.reason) == ("True", "Replaced")
    assert ("default", "Replaced") in [(event.name, event.reason) for event in made.events]


@rows(
    ("node", "goes"),
    {
        "for a second less": (bad(since=before(minutes=9, seconds=59)), False),
        "of another status": (bad(status="False"), False),
        "of another type": (bad(kind="FrequentKubeletRestart"), False),
        "of the type in small letters": (bad(kind="kerneldeadlock"), False),
        "since a time to come": (bad(since=after(hours=3)), False),
        "since nobody knows when": (bad(since=""), False),
        "since a word": (bad(since="yesterday"), False),
        "since a time without a zone": (bad(since="2026-03-01T11:00:00"), False),
        "not Ready: a dead Node's case": (bad(ready=False), False),
        "annotated": (bad(annotations={"growth.dev/do-not-remove": "mine"}), False),
        "not bought by Growth": (bad(labels={"growth.dev/request": "another"}), False),
        "cordoned": (bad(spec={"unschedulable": True}), False),
        "spared by a person since": (bad(annotations={"growth.dev/spared-at": before(minutes=9)}), False),
        "spared by a person long ago": (bad(annotations={"growth.dev/spared-at": before(minutes=10)}), True),
    },
)
def test_which_go(node, goes):
    assert leaving(given(node)) == ([("n", "Repair")] if goes else [])


def test_one_that_changes_begins_anew_and_wakes_the_round():
    of = given(bad(since=before(minutes=4)))
    made = plan(of.snapshot())
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(minutes=6))
    assert condition(of, "FailingNodes") is None


def test_of_two_conditions_the_first_that_is_over_counts():
    both = bad(since=before(minutes=11))
    both["status"]["conditions"].append(
        {"type": "ReadonlyFilesystem", "status": "True", "lastTransitionTime": before(hours=2)}
    )
    read_only = {"type": "ReadonlyFilesystem", "status": "True", "after": "1h"}
    (removal,) = plan(given(both, conditions=[DEADLOCK, read_only]).snapshot()).removals
    assert removal.why == "Its Node says ReadonlyFilesystem=True since 2026-03-01T10:00:00Z"


@pytest.mark.parametrize("repair", [None, {}, {"after": "1m"}])
def test_a_pool_that_names_no_condition_is_as_before(repair):
    scale_down = {"mode": "drain"} | ({} if repair is None else {"repair": repair})
    of = with_pods(bad(since=before(days=9)), scaleDown=scale_down)
    assert leaving(of) == []
    assert condition(of, "FailingNodes") is None


@rows(
    ("failing", "ready", "goes"),
    {
        "one of two": (1, 1, 1),
        "one of nine": (1, 8, 1),
        "three of nine": (3, 6, 1),
        "four of ten": (4, 6, 2),
        "most": (6, 5, 0),
        "all of one": (1, 0, 1),
        "all of two": (2, 0, 0),
        "a half": (5, 5, 2),
    },
)
def test_how_many_go_at_once(failing, ready, goes):
    of = given(*(bad(f"n{number}", since=before(minutes=20 + number)) for number in range(failing)), ready=ready)
    names = sorted((f"n{number}" for number in range(failing)), key=lambda name: -int(name[1:]))
    assert leaving(of) == [(name, "Repair") for name in names[:goes]]


def test_what_most_nodes_have_is_reported_and_nobody_goes_for_it():
    # As kubernetes-sigs/cluster-api#5451 asks: an operator has to see what is not mended.
    of = given(*(bad(f"n{number}") for number in range(6)), ready=5)
    reported = condition(of, "FailingNodes")
    assert (leaving(of), plan(of.snapshot()).blocked) == ([], ())
    assert (reported.status, reported.reason) == ("True", "MostNodesFail")
    assert reported.message.endswith("None goes for what most Nodes of the cluster have: KernelDeadlock=True")
    # One that fails for a reason of its own goes all the same.
    of.nodes[0]["status"]["conditions"].append(
        {"type": "ReadonlyFilesystem", "status": "True", "lastTransitionTime": before(hours=2)}
    )
    read_only = {"type": "ReadonlyFilesystem", "status": "True", "after": "1h"}
    of.pools[0]["spec"]["scaleDown"]["repair"]["conditions"].append(read_only)
    assert leaving(of) == [("n0", "Repair")]


def test_those_that_are_dead_count_too():
    dead = node("dead", ready=False)
    dead["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": before(hours=1)}]
    stuck = pod("db", node="dead")
    stuck["metadata"]["deletionTimestamp"] = before(minutes=50)
    of = given(bad(), pods=[stuck], ready=7)
    of.nodes.append(dead)
    assert leaving(of) == [("dead", "Dead")]
    # Nor does a dead one go beside one that is repaired.
    repaired = given(bad(), pods=[stuck], ready=7)
    repaired.nodes.append(dead)
    repaired.removals = [node_removal_request("n", spec={"reason": "Repair"})]
    assert leaving(repaired) == []
    going = given(bad(), ready=7)
    going.nodes.append(dead)
    going.removals = [node_removal_request("dead", spec={"reason": "Dead"})]
    assert leaving(going) == []
    going.removals = [node_removal_request("dead", spec={"reason": "Repair"})]
    assert leaving(going) == []
    going.removals = [node_removal_request("dead", spec={"reason": "Empty"})]
    assert leaving(going) == [("n", "Repair")]


def test_one_that_cannot_move_lets_the_next_one_go():
    first = bad("n1", since=before(hours=2))
    of = given(first, bad("n2"), bad("n3"), ready=7)
    # A pod that only this Node can have.
    of.pods[0]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    made = plan(of.snapshot())
    assert [removal.node for removal in made.removals] == ["n2", "n3"]
    assert [(each.node, each.trigger, each.reason) for each in made.blocked] == [("n1", "Repair", "BlockedByMisfit")]


def test_where_pods_are_not_asked_to_leave_one_without_pods_goes_at_once():
    scale_down = {"mode": "empty", "repair": {"conditions": [DEADLOCK]}}
    of = with_pods(node("fine"), node("other"), scaleDown=scale_down)
    of.nodes.append(bad())
    assert leaving(of) == [("n", "Repair")]
    busy = with_pods(bad(), node("fine"), scaleDown=scale_down)
    assert leaving(busy) == []
    assert condition(busy, "FailingNodes").reason == "WaitsForPodsToLeave"
