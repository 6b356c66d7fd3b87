"""Dead nodes go in pools with `scaleDown.repair`, few at a time, and are reported in all others.

Source: docs/design.md#departures; Kubernetes docs, "Node Shutdowns: Non-graceful node shutdown handling".
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from api.model import UnreadableError, read
from api.v1alpha1.node_pool import NodePool
from planner.plan import plan
from planner.policies.repair import have_ended_in_vain
from tests.builders import NOW, after, before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import scene
from tests.tables import rows

REPAIR = {"repair": {"after": "20m"}}


def dead(name, *, since=60, status="Unknown", **changes):
    """A Node that has not been Ready for so many minutes, by default for an hour."""
    made = node(name, ready=False, **changes)
    made["status"]["conditions"] = [{"type": "Ready", "status": status, "lastTransitionTime": before(minutes=since)}]
    return made


def stuck(name, on, *, ends=None, **changes):
    """A pod that should have ended by now."""
    made = pod(name, node=on, **changes)
    made["metadata"]["deletionTimestamp"] = ends or before(minutes=50)
    return made


def given(*nodes, pods=None, ready=8, **scale_down):
    """A pool with these Nodes and enough Ready ones with a pod each."""
    others = [node(f"fine-{number}") for number in range(ready)]
    residents = [pod(f"web-{number}", node=f"fine-{number}") for number in range(ready)]
    stuck_pods = [stuck(f"db-{each['metadata']['name']}", each["metadata"]["name"]) for each in nodes]
    return scene(
        *nodes, *others, pods=[*residents, *(stuck_pods if pods is None else pods)], scaleDown=REPAIR | scale_down
    )


def leaving(of):
    return [(r.node, r.reason) for r in plan(of.snapshot()).removals]


def condition(of, pool="default"):
    (report,) = (each for each in plan(of.snapshot()).pools if each.name == pool)
    return next((each for each in report.status.conditions if each.type == "DeadNodes"), None)


def told(of):
    return [(event.name, event.reason) for event in plan(of.snapshot()).events]


def test_a_dead_node_goes_after_its_time_and_is_reported():
    of = given(dead("n", since=20))
    made = plan(of.snapshot())
    (removed,) = made.removals
    assert (removed.node, removed.server, removed.pool, removed.reason) == ("n", "n", "default", "Dead")
    assert removed.at == NOW + timedelta(minutes=1)
    assert removed.why == "Not Ready since 2026-03-01T11:40:00Z, and no pod on it can end"
    reported = condition(of)
    assert (reported.status, reported.reason) == ("True", "Repairs")
    assert reported.message.startswith(
        "1 Node is not Ready, and its pods cannot end: n (since 2026-03-01 11:40:00 UTC). At most 20 %"
    )
    assert ("default", "Repairs") in told(of)


def test_a_node_that_may_still_come_back_stays_and_wakes_the_round_then():
    of = given(dead("n", since=19))
    made = plan(of.snapshot())
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(minutes=1))
    assert condition(of) is None


def test_without_the_field_it_is_only_reported_and_nothing_else_changes():
    of = given(dead("n"))
    of.pools[0]["spec"]["scaleDown"] = {}
    reported = condition(of)
    assert leaving(of) == []
    assert (reported.status, reported.reason) == ("True", "NotRepaired")
    assert "n (since 2026-03-01 11:00:00 UTC; stays: scaleDown.repair is not set)" in reported.message
    young = given(dead("n", since=19))
    young.pools[0]["spec"]["scaleDown"] = {}
    assert (condition(young), plan(young.snapshot()).wake_at) == (None, None)


def test_a_pool_that_never_had_a_dead_node_has_no_condition_and_one_that_had_says_so():
    of = given()
    assert condition(of) is None
    of.pools[0]["status"] = {
        "conditions": [
            {"type": "DeadNodes", "status": "True", "reason": "Repairs", "lastTransitionTime": before(hours=1)}
        ]
    }
    reported = condition(of)
    assert (reported.status, reported.reason, reported.message) == ("False", "NoDeadNodes", "")
    assert told(of) == []


@rows(
    ("change", "goes"),
    {
        "its kubelet says so itself": ({"status": "False"}, True),
        "annotated": ({"annotations": {"growth.dev/do-not-remove": "mine"}}, False),
        "cordoned": ({"spec": {"unschedulable": True}}, False),
        "being deleted": ({"deleting": True}, False),
        "not bought by Growth": ({"labels": {"growth.dev/request": "another"}}, False),
        "spared by a person 19 min ago": ({"annotations": {"growth.dev/spared-at": before(minutes=19)}}, False),
        "spared by a person 20 min ago": ({"annotations": {"growth.dev/spared-at": before(minutes=20)}}, True),
        "spared, but nobody can read when": ({"annotations": {"growth.dev/spared-at": "yesterday"}}, True),
        "spared at a time without a zone": ({"annotations": {"growth.dev/spared-at": "2026-03-01T11:59:00"}}, True),
    },
)
def test_which_dead_nodes_go(change, goes):
    assert leaving(given(dead("n", **change))) == ([("n", "Dead")] if goes else [])


@rows(
    ("residents", "goes"),
    {
        "none": ([], True),
        "two that should have ended": ([stuck("a", "n"), stuck("b", "n")], True),
        "one that may still end": ([stuck("a", "n"), stuck("b", "n", ends=after(seconds=1))], False),
        "one that should end right now": ([stuck("a", "n", ends=before(seconds=0))], True),
        "one that nobody asked to end": ([stuck("a", "n"), pod("b", node="n")], False),
        "a DaemonSet's": ([pod("a", node="n", owner=("DaemonSet", "ds"))], True),
        "a static one": ([pod("a", node="n", annotations={"kubernetes.io/config.mirror": "x"})], True),
        "one that has finished": ([pod("a", node="n", phase="Succeeded")], True),
        "one of which only its place is known": (
            [{**pod("a", node="n"), "spec": {"nodeName": "n", "containers": 7}}],
            False,
        ),
    },
)
def test_which_pods_keep_a_dead_node(residents, goes):
    assert leaving(given(dead("n"), pods=residents)) == ([("n", "Dead")] if goes else [])


@rows(
    "conditions",
    {
        "none": [],
        "Ready": [{"type": "Ready", "status": "True", "lastTransitionTime": before(hours=1)}],
        "no time": [{"type": "Ready", "status": "Unknown"}],
        "a time to come": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": after(hours=1)}],
        "another condition": [{"type": "DiskPressure", "status": "True", "lastTransitionTime": before(hours=1)}],
    },
)
def test_a_node_that_does_not_tell_since_when_it_is_not_ready_stays(conditions):
    one = node("n", ready=False)
    one["status"]["conditions"] = conditions
    assert leaving(given(one)) == []


def test_with_mode_none_it_is_only_reported():
    of = given(dead("n"), mode="none")
    assert leaving(of) == []
    assert condition(of).reason == "NotRepaired"
    assert "stays: scaleDown.mode is none" in condition(of).message


@pytest.mark.parametrize("mode", ["empty", "drain"])
def test_in_each_other_mode_it_goes(mode):
    assert leaving(given(dead("n"), mode=mode)) == [("n", "Dead")]


def test_what_keeps_all_of_them_is_told():
    of = given(dead("n", spec={"unschedulable": True}))
    assert condition(of).reason == "Kept"
    assert "stays: it is cordoned, and whoever did that decides about it" in condition(of).message


def test_no_minimum_keeps_a_dead_machine_and_the_next_round_buys_another():
    of = given(dead("n"), ready=1)
    of.pools[0]["spec"]["limits"] = {"min": 2, "max": 100}
    made = plan(of.snapshot())
    assert ([r.node for r in made.removals], made.requests) == (["n"], ())
    of.removals = [node_removal_request("n", spec={"reason": "Dead"})]
    assert [r.seats for r in plan(of.snapshot()).requests] == [()]


def test_a_dead_machine_takes_from_what_a_minimum_lets_go():
    idle = {"growth.dev/idle-since": before(minutes=11)}
    of = given(dead("n"), node("idle-1", annotations=idle), pods=[stuck("a", "n")], ready=0)
    of.nodes.append(node("idle-2", annotations=idle))
    of.pools[0]["spec"]["limits"] = {"min": 1, "max": 100}
    assert leaving(of) == [("n", "Dead"), ("idle-1", "Empty")]


@pytest.mark.parametrize(
    ("dead_ones", "ready", "number"), [(1, 0, 1), (1, 1, 1), (2, 7, 1), (3, 7, 2), (3, 12, 3), (4, 16, 4), (7, 23, 6)]
)
def test_at_most_a_fifth_of_the_pool_goes_at_once_and_at_least_one(dead_ones, ready, number):
    of = given(*(dead(f"n-{i}", since=60 - i) for i in range(dead_ones)), ready=ready)
    assert leaving(of) == [(f"n-{i}", "Dead") for i in range(number)], "the longest dead first"


def test_those_that_go_already_count_also_while_they_are_parked():
    of = given(*(dead(f"n-{i}") for i in range(4)), ready=6)
    of.removals = [node_removal_request("n-0", spec={"reason": "Dead"}, phase="CouldNotRemove")]
    assert leaving(of) == [("n-1", "Dead")]
    of.removals.append(node_removal_request("n-1", spec={"reason": "Dead"}))
    assert leaving(of) == []
    assert condition(of).reason == "Repairs"
    of.removals[1]["status"]["cancel"] = {"at": before(seconds=1), "by": "NotDead"}
    assert leaving(of) == [("n-2", "Dead")], "one whose removal was cancelled stays until that has ended"


@pytest.mark.parametrize("nodes", [[], [node("gone")]], ids=["its Node is gone", "its Node is Ready again"])
def test_one_that_goes_counts_whatever_has_become_of_its_node(nodes):
    of = given(dead("n"), *nodes, pods=[stuck("a", "n")], ready=4)
    assert leaving(of) == [("n", "Dead")]
    of.removals = [node_removal_request("gone", spec={"reason": "Dead"}, phase="Deprovisioning")]
    assert leaving(of) == []


def test_other_removals_take_nothing_from_what_may_go():
    of = given(dead("n"), node("old"), pods=[stuck("a", "n")], ready=1)
    of.removals = [node_removal_request("old")]
    assert leaving(of) == [("n", "Dead")]


def test_each_pool_has_a_share_of_its_own():
    special = [dead(f"s-{i}", pool="special") for i in range(2)]
    of = given(*(dead(f"n-{i}") for i in range(2)), *special, ready=7)
    of.pools.append(node_pool("special", scaleDown=REPAIR))
    assert leaving(of) == [("n-0", "Dead"), ("s-0", "Dead")]


def test_none_goes_while_most_nodes_of_the_cluster_are_not_ready_with_one_event():
    special = [dead(f"s-{i}", pool="special") for i in range(3)]
    foreign = [dead("foreign", pool=None)]
    of = given(*(dead(f"n-{i}") for i in range(3)), *special, *foreign, ready=6)
    of.pools.append(node_pool("special", scaleDown=REPAIR))
    assert leaving(of) == []
    for pool in ("default", "special"):
        reported = condition(of, pool)
        assert (reported.status, reported.reason) == ("True", "MostNodesNotReady")
        assert reported.message.startswith(
            "No dead machine is removed while most Nodes of the cluster are not Ready, 7 of 13. 3 Nodes"
        )
    assert [event for event in told(of) if event[1] == "MostNodesNotReady"] == [("default", "MostNodesNotReady")]
    of.nodes.append(node("one-more"))
    assert [name for name, _ in leaving(of)] == ["n-0", "n-1", "s-0"], "half of them are not most"


def test_one_node_alone_is_not_most_of_a_cluster():
    assert leaving(given(dead("n"), ready=0)) == [("n", "Dead")]
    assert leaving(given(dead("n"), dead("m"), ready=1)) == []


@pytest.mark.parametrize(
    ("watched", "goes"), [(None, True), ({"minutes": 2}, True), ({"minutes": 1, "seconds": 59}, False), ({}, False)]
)
def test_after_an_outage_nodes_have_two_minutes_to_report(watched, goes):
    of = given(dead("n")).snapshot()
    since = None if watched is None else NOW - timedelta(**watched)
    made = plan(replace_watched(of, since))
    assert [r.node for r in made.removals] == (["n"] if goes else [])
    assert made.wake_at == (None if goes else since + timedelta(minutes=2))


def test_after_an_outage_a_shorter_time_of_the_pool_is_enough():
    of = given(dead("n"), repair={"after": "30s"}).snapshot()
    assert plan(replace_watched(of, NOW - timedelta(seconds=29))).removals == ()
    assert len(plan(replace_watched(of, NOW - timedelta(seconds=30))).removals) == 1


def replace_watched(snapshot, since):
    return replace(snapshot, watched_since=since)


def test_the_time_is_the_pools_and_by_default_20_minutes():
    assert leaving(given(dead("n", since=1), repair={"after": "1m"})) == [("n", "Dead")]
    assert leaving(given(dead("n", since=20), repair={})) == [("n", "Dead")]
    assert leaving(given(dead("n", since=19), repair={})) == []


def test_a_machine_whose_request_works_on_it_is_left_to_its_request():
    of = given(dead("n"))
    of.requests = [node_request("n", phase="Ready", readyAt=before(minutes=90))]
    assert leaving(of) == []
    assert "stays: its request is not done with it" in condition(of).message


def test_a_pool_that_is_being_deleted_repairs_nothing_and_reports_nothing():
    of = given(dead("n"))
    of.pools[0]["metadata"]["deletionTimestamp"] = before(seconds=1)
    assert (leaving(of), condition(of)) == ([], None)


def test_many_dead_nodes_are_told_in_a_sentence():
    of = given(*(dead(f"n-{i}") for i in range(300)), ready=400)
    message = condition(of).message
    assert len(leaving(of)) == 140
    assert message.startswith("300 Nodes are not Ready, and their pods cannot end: n-0 (since")
    assert "and 295 more. At most 20 %" in message
    assert len(message) <= 1024


def test_a_pod_that_is_asked_to_end_without_a_time_should_have_ended():
    of = given(dead("n"), pods=[{**stuck("a", "n"), "spec": {"nodeName": "n", "containers": 7}}])
    (unreadable,) = (each for each in of.snapshot().pods if each.node_name == "n")
    assert unreadable.is_unreadable
    assert have_ended_in_vain([unreadable], NOW)


def test_a_pool_of_an_earlier_version_repairs_nothing():
    assert read(NodePool, node_pool(scaleDown={"mode": "drain"})).spec.scale_down.repair is None


def test_a_worker_blocks_the_pool_of_a_later_version_alone():
    with pytest.raises(UnreadableError, match=r"spec\.scaleDown\.repair\.maxShare"):
        read(NodePool, node_pool(scaleDown={"repair": {"after": "20m", "maxShare": "10%"}}))


@pytest.mark.parametrize("after", ["0s", "-1m", "soon", 20])
def test_a_time_that_means_nothing_is_refused(after):
    with pytest.raises(UnreadableError, match=r"spec\.scaleDown\.repair\.after"):
        read(NodePool, node_pool(scaleDown={"repair": {"after": after}}))
