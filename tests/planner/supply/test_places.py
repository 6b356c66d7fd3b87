"""Where pods go before anything is bought: nodes, coming machines, machines in their cool-off.

Source: docs/design.md#supply.
"""

import pytest

from planner.plan import plan
from tests.builders import (
    NOW,
    before,
    daemon_set,
    kwok_node_class,
    node,
    node_pool,
    node_removal_request,
    node_request,
    pod,
    server_type,
)
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat
from tests.planner.wishes import apart


def places(made):
    return {p.pod: p.node or p.request for p in made.placed}


def test_a_node_with_room_is_used_first():
    made = planned(scene(pod("a"), nodes=[node("n")]))
    assert places(made) == {"default/a": "n"}
    assert made.requests == ()
    assert made.cost_per_hour == 0
    assert made.optimal


@pytest.mark.parametrize(
    "changes",
    [
        {"ready": False},
        {"spec": {"unschedulable": True}},
        {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]},
        {"taints": [{"key": "growth.dev/unregistered", "effect": "NoSchedule"}]},
    ],
)
def test_nodes_that_take_no_pod(changes):
    made = planned(scene(pod("a"), nodes=[node("n", **changes)]))
    assert places(made) == {}
    assert len(made.requests) == 1


def test_pods_that_terminate_hold_their_room_until_they_are_gone():
    dying = pod("dying", "1600m", node="n")
    dying["metadata"]["deletionTimestamp"] = before(seconds=3)
    assert len(planned(scene(pod("a"), dying, nodes=[node("n")])).requests) == 1


def test_a_daemon_set_takes_room_on_nodes_that_lack_its_pod():
    agent = daemon_set("agent", cpu="300m")
    running = pod("agent-x", "300m", node="n", owner=("DaemonSet", "uid-agent"))
    missing = scene(pod("a", "1700m"), nodes=[node("n")], daemon_sets=[agent])
    assert places(planned(missing)) == {"default/a": "n"}
    too_much = scene(pod("a", "1701m"), nodes=[node("n")], daemon_sets=[agent])
    assert places(planned(too_much)) == {}
    present = scene(pod("a", "1700m"), running, nodes=[node("n")], daemon_sets=[agent])
    assert places(planned(present)) == {"default/a": "n"}


def test_a_daemon_set_that_does_not_run_on_the_pools_machines_takes_nothing():
    elsewhere = daemon_set("agent", cpu="300m", nodeSelector={"disk": "ssd"})
    made = planned(scene(pod("a", "2"), daemon_sets=[elsewhere]))
    assert [r.server_type for r in made.requests] == ["cx22"]
    everywhere = planned(scene(pod("a", "2"), daemon_sets=[daemon_set("agent", cpu="300m")]))
    assert [r.server_type for r in everywhere.requests] == ["cx32"]


def test_anti_affinity_of_pods_that_run_holds_too():
    guard = pod("guard", node="n", affinity=apart(app="web"))
    made = planned(scene(pod("web", labels={"app": "web"}), guard, nodes=[node("n")]))
    assert places(made) == {}
    assert len(made.requests) == 1


def test_a_coming_machine_is_used_before_another_is_bought():
    given = scene(pod("a", "1"), pod("b", "1"), requests=[node_request("coming", createAttemptAt=before(seconds=2))])
    made = planned(given)
    assert places(made) == {"default/a": "coming", "default/b": "coming"}
    assert made.requests == ()
    assert [s.name for s in made.reservations["coming"]] == ["a", "b"]


def test_a_coming_machine_of_another_pool_is_not_used():
    given = scene(pod("a"), requests=[node_request("coming", pool="batch", createAttemptAt=before(seconds=2))])
    given.pools.append(node_pool("batch"))
    assert len(planned(given).requests) == 1


def test_without_reservation_pods_join_and_no_seats_are_written():
    given = scene(pod("a"), requests=[node_request("coming")])
    given.pools[0]["spec"]["scaleUp"] = {"reserve": False}
    made = planned(given)
    assert places(made) == {"default/a": "coming"}
    assert made.reservations == {}


def test_returning_demand_ends_a_cool_off_with_the_names_of_its_pods():
    cooling = node("n", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    made = planned(scene(pod("a"), pod("b"), nodes=[cooling], removals=[node_removal_request("n")]))
    assert places(made) == {"default/a": "n", "default/b": "n"}
    assert [(c.removal, c.pods) for c in made.removal_cancels] == [("n", ("default/a", "default/b"))]
    assert made.requests == ()


def test_room_elsewhere_lets_a_cool_off_go_on():
    made = planned(scene(pod("a"), nodes=[node("n"), node("cooling")], removals=[node_removal_request("cooling")]))
    assert places(made) == {"default/a": "n"}
    assert made.removal_cancels == ()


def test_of_machines_in_cool_off_the_cheapest_is_taken_back():
    # Prices of cx22 and cx32 in the scene's class: the dearer one saves more by going.
    cooling = [node("a-dear", "cx32"), node("b-cheap", "cx22")]
    leaving = [node_removal_request("a-dear", "cx32"), node_removal_request("b-cheap", "cx22")]
    made = planned(scene(pod("a"), nodes=cooling, removals=leaving))
    assert places(made) == {"default/a": "b-cheap"}
    assert [cancel.removal for cancel in made.removal_cancels] == ["b-cheap"]


def test_a_machine_in_its_cool_off_takes_no_pods_of_other_pools():
    """Else demand of one pool would keep the machines of another, which nothing but their own pool's demand shall."""
    given = scene(pod("a"), nodes=[node("n", pool="batch")], removals=[node_removal_request("n", pool="batch")])
    given.pools.append(node_pool("batch"))
    made = planned(given)
    assert (places(made), made.removal_cancels) == ({}, ())
    assert [r.pool for r in made.requests] == ["default"]


@pytest.mark.parametrize("status", [{"phase": "Deprovisioning"}, {"phase": "CouldNotRemove"}, {"immediate": True}])
def test_a_machine_past_its_point_of_no_return_is_none(status):
    made = planned(scene(pod("a"), nodes=[node("n")], removals=[node_removal_request("n", **status)]))
    assert places(made) == {}
    assert len(made.requests) == 1


def scale_down(seconds_ago: int):
    value = str(int(NOW.timestamp()) - seconds_ago)
    return [{"key": "growth.dev/scale-down", "value": value, "effect": "NoSchedule"}]


def test_after_a_cancel_pods_count_as_placed_until_the_taint_is_seen_to_be_lifted():
    # The removal has ended, the cached node still carries its taint: 60 s grace + 5 s + 30 s.
    assert places(planned(scene(pod("a"), nodes=[node("n", taints=scale_down(94))]))) == {"default/a": "n"}
    orphan = planned(scene(pod("a"), nodes=[node("n", taints=scale_down(96))]))
    assert places(orphan) == {}
    assert len(orphan.requests) == 1


def test_a_cancelled_removal_leaves_an_ordinary_node():
    cancelled = node_removal_request("n", phase="Pending", cancel={"at": before(seconds=1), "by": "Planner"})
    made = planned(scene(pod("a"), nodes=[node("n", taints=scale_down(40))], removals=[cancelled]))
    assert places(made) == {"default/a": "n"}
    assert made.removal_cancels == ()


def test_a_machine_that_has_joined_is_as_large_as_it_says():
    joined = node("coming", "cx22", ready=False)
    joined["status"]["allocatable"]["cpu"] = "900m"
    given = scene(pod("a", "1"), nodes=[joined], requests=[node_request("coming", phase="Provisioning")])
    assert places(planned(given)) == {}


def test_foreign_nodes_have_room_too():
    assert places(planned(scene(pod("a"), nodes=[node("n", pool=None)]))) == {"default/a": "n"}


def test_an_offering_that_its_class_no_longer_has_takes_no_further_pods():
    given = scene(pod("a"), requests=[node_request("coming", "cx42", createAttemptAt=before(seconds=2))])
    given.classes = [kwok_node_class(server_type("cx22"))]
    assert [r.server_type for r in plan(given.snapshot()).requests] == ["cx22"]


UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
NO_NETWORK = {"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
STARTS = pytest.mark.parametrize("taint", [UNINITIALIZED, NO_NETWORK, NOT_READY], ids=lambda taint: taint["key"])


@STARTS
def test_a_taint_of_its_start_hides_no_machine_that_has_joined(taint):
    unregistered = {"key": "growth.dev/unregistered", "effect": "NoSchedule"}
    joined = node("coming", ready=False, taints=[taint, unregistered])
    made = planned(scene(pod("a"), nodes=[joined], requests=[node_request("coming", phase="Provisioning")]))
    assert (places(made), made.requests) == ({"default/a": "coming"}, ())


@STARTS
@pytest.mark.parametrize("status", [{}, {"releasedAt": before(seconds=9)}], ids=["kept for its pods", "released"])
def test_a_taint_of_its_start_counts_once_the_node_has_been_ready_for_a_while(taint, status):
    def ready_for(seconds: int):
        ready = node_request(
            "n", phase="Ready", readyAt=before(seconds=seconds), seats=[seat(pod("s", "100m"))], **status
        )
        return scene(pod("a"), pod("s", "100m"), nodes=[node("n", taints=[taint])], requests=[ready])

    soon = planned(ready_for(9))
    assert (places(soon)["default/a"], soon.requests) == ("n", ())
    # A pod that holds a seat keeps it until the reservation ends, so only the one without is judged anew.
    late = plan(ready_for(10).snapshot())
    assert "default/a" not in places(late)
    assert len(late.requests) == 1


def test_a_machine_that_starts_has_the_taints_of_its_pool():
    given = scene(
        pod("a"),
        # Its own taint is not on it yet.
        nodes=[node("coming", ready=False, taints=[UNINITIALIZED])],
        requests=[node_request("coming", phase="Provisioning")],
    )
    given.pools[0]["spec"]["template"] = {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]}
    assert places(planned(given)) == {}
    given.pods = [pod("a", tolerations=[{"key": "team", "operator": "Exists"}])]
    assert places(planned(given)) == {"default/a": "coming"}


def test_a_node_of_no_request_is_as_it_is_found():
    assert places(planned(scene(pod("a"), nodes=[node("n", taints=[UNINITIALIZED])]))) == {}
