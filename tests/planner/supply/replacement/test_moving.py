"""Pods between a machine that goes and the ones that take its place: their seats and their room.

Source: docs/design.md#replacement.
"""

import pytest

from tests.builders import after, before, node, node_removal_request, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat

COMING = {"phase": "Provisioning", "createAttemptAt": before(seconds=20)}
"""Of a request whose server was asked for: nothing cancels it."""
READY = {"phase": "Ready", "createAttemptAt": before(minutes=3), "readyAt": before(minutes=1)}
DRAINING = {
    "phase": "Draining",
    "taintedAt": before(minutes=2),
    "scaleDownAt": before(minutes=1),
    "drainStartedAt": before(seconds=40),
}


def removal(name="old", *, replaced_by=("m",), moves=None, step=None, **status):
    spec = {"replacedBy": list(replaced_by)} | ({} if moves is None else {"moves": moves})
    return node_removal_request(
        name, spec=spec, metadata={"labels": {"growth.dev/step": step}} if step else None, **status
    )


def given(*pods, seats=(), request=None, gone=None, **status):
    """A Node `old` that is replaced by the machine `m`, of 2 CPUs."""
    return scene(
        *pods,
        nodes=[node("old")],
        requests=[node_request("m", seats=list(seats), **(request or COMING))],
        removals=[gone if gone is not None else removal(**status)],
    )


def seats_of(made):
    return {name: [held.name for held in seats] for name, seats in made.reservations.items()}


# Seats of pods that are to move.


def test_a_pod_that_is_to_move_keeps_its_seat_while_it_runs():
    a = pod("a", node="old", owner="rs")
    made = planned(given(a, seats=[seat(a)]))
    assert made.reservations == {}
    assert made.cancelled == ()


@pytest.mark.parametrize(
    "gone",
    [
        removal(replaced_by=()),
        removal(replaced_by=["another"]),
        removal(cancel={"at": before(seconds=1), "by": "Ada"}),
        removal(phase="CouldNotRemove", retryAt=after(hours=1)),
        node_removal_request("old", spec={"replacedBy": ["m"]}, deleting=True),
    ],
    ids=["replaced by nobody", "replaced by another", "cancelled", "parked", "deleted"],
)
def test_once_its_machine_stays_a_pod_has_no_seat_elsewhere(gone):
    a = pod("a", node="old", owner="rs")
    assert seats_of(planned(given(a, seats=[seat(a)], gone=gone))) == {"m": []}


def test_a_pod_on_a_machine_that_is_not_replaced_has_no_seat_elsewhere():
    a = pod("a", node="other", owner="rs")
    made = given(a, seats=[seat(a)])
    made.nodes.append(node("other"))
    assert seats_of(planned(made)) == {"m": []}


def test_the_room_of_a_pod_that_is_to_move_is_taken():
    """`m` has 2 CPUs, of which the pod on the old machine asks for 1500m."""
    a, late = pod("a", "1500m", node="old", owner="rs"), pod("late", "1")
    made = planned(given(a, late, seats=[seat(a)], **DRAINING))
    assert [[held.name for held in bought.seats] for bought in made.requests] == [["late"]]
    assert made.reservations == {}


def test_its_successor_inherits_while_the_evicted_pod_still_ends():
    a, successor = pod("a", "1500m", node="old", owner="rs", deleting=True), pod("b", "1500m", owner="rs")
    made = planned(given(a, successor, seats=[seat(a)], **DRAINING))
    assert seats_of(made) == {"m": ["b"]}
    assert made.requests == ()


def test_the_seat_of_a_pod_that_ends_waits_for_its_successor():
    """A StatefulSet makes the next pod once the one before is gone."""
    a, late = pod("a", "1500m", node="old", owner=("StatefulSet", "db"), deleting=True), pod("late", "1")
    made = planned(given(a, late, seats=[seat(a)], **DRAINING))
    assert made.reservations == {}
    assert [[held.name for held in bought.seats] for bought in made.requests] == [["late"]]


@pytest.mark.parametrize(
    ("status", "others", "is_held"),
    [
        (DRAINING | {"evictAttemptedAt": before(seconds=59)}, (), True),
        (DRAINING | {"evictAttemptedAt": before(minutes=9)}, (), True),
        (DRAINING | {"evictAttemptedAt": before(seconds=60)}, (pod("slow", node="old"),), False),
        (DRAINING | {"evictAttemptedAt": before(seconds=59)}, (pod("slow", node="old"),), True),
        (DRAINING | {"evictAttemptedAt": before(seconds=60)}, (pod("slow", node="old", deleting=True),), True),
        (DRAINING | {"phase": "Deprovisioning"}, (), True),
        ({"taintedAt": before(minutes=2)}, (), False),
    ],
    ids=["asked just now", "all are gone", "asked a while ago", "just now, one stays", "one ends", "goes", "waits"],
)
def test_the_seat_of_a_pod_that_left_is_held_for_the_time_that_controllers_need(status, others, is_held):
    a = pod("a", node="old", owner="rs")
    made = planned(given(*others, seats=[seat(a)], **status))
    assert seats_of(made) == ({} if is_held else {"m": []})


def test_while_a_seat_waits_for_its_pod_no_other_is_planned_onto_the_machine():
    """How much room it will ask for stands nowhere: the pod is gone."""
    a, late = pod("a", "1500m", node="old", owner="rs"), pod("late", "1")
    stays = pod("stays", "1500m", node="old")
    made = planned(given(late, stays, seats=[seat(a)], **DRAINING, evictAttemptedAt=before(seconds=5)))
    assert [[held.name for held in bought.seats] for bought in made.requests] == [["late"]]


def test_a_machine_that_is_kept_for_pods_that_move_is_not_cancelled_and_never_idle():
    a = pod("a", node="old", owner="rs")
    unasked = given(a, seats=[seat(a)], request={"phase": "Pending"})
    assert planned(unasked).cancelled == ()
    kept = given(a, request=READY | {"releasedAt": before(seconds=50)})
    kept.nodes.append(node("m"))
    assert "m" not in planned(kept).idle_since


def test_a_request_whose_removal_was_never_written_is_taken_back():
    a = pod("a", node="old", owner="rs")
    made = planned(scene(a, nodes=[node("old")], requests=[node_request("m", seats=[seat(a)])]))
    assert made.cancelled == ("m",)
    assert made.requests == ()


# Room on machines that are there.


def moving(*pods, moves=("a",), **status):
    gone = removal(
        replaced_by=(), moves=[{"pod": f"default/{name}", "node": "n", "owner": "rs"} for name in moves], **status
    )
    return scene(*pods, nodes=[node("old"), node("n")], removals=[gone])


def test_room_on_a_machine_that_is_there_counts_as_taken_until_the_pod_has_left():
    a, b, late = pod("a", "1200m", node="old", owner="rs"), pod("b", "600m", node="n"), pod("late", "700m")
    made = planned(moving(a, b, late))
    # The machine that goes has room for it, and nothing else has.
    assert [(cancel.removal, cancel.pods) for cancel in made.removal_cancels] == [("old", ("default/late",))]
    made = planned(moving(b, late))
    assert [(placed.pod, placed.node) for placed in made.placed] == [("default/late", "n")]
    assert made.removal_cancels == ()


def born(seconds, *amounts, name="b", **parts):
    made = pod(name, *amounts, **({"owner": "rs"} | parts))
    made["metadata"]["creationTimestamp"] = before(seconds=seconds)
    return made


@pytest.mark.parametrize(
    ("successor", "others"),
    [(born(30, "1", node="n"), "100m"), (born(40, "1", node="c"), "600m"), (born(3, "1"), "100m")],
    ids=["there", "elsewhere", "waits"],
)
def test_a_pod_that_ends_slowly_needs_no_room_beside_its_successor(successor, others):
    """An hour of grace: else two pods would be counted for one until it has ended."""
    a, late = pod("a", "1", node="old", owner="rs", deleting=True), pod("late", "900m")
    made = moving(a, successor, late, pod("others", others, node="n"), **DRAINING)
    # No room for `late` in any case.
    made.nodes.append(node("c", allocatable={"cpu": "1" if successor["spec"].get("nodeName") == "c" else "500m"}))
    decided = planned(made)
    assert decided.removal_cancels == ()
    assert decided.requests == ()
    assert {"default/late": "n"}.items() <= {placed.pod: placed.node for placed in decided.placed}.items()


@pytest.mark.parametrize(
    "other",
    [
        (),
        (born(41, node="c"),),
        (born(30, node="c", owner="another"),),
        (born(30, node="c", deleting=True),),
        (born(30, node="c", phase="Succeeded"),),
        (born(30, node="c"), pod("a2", node="old", owner="rs", deleting=True)),
    ],
    ids=["none", "of before", "of another", "ends itself", "is over", "of another one that ends"],
)
def test_a_pod_that_ends_keeps_its_room_until_its_successor_is_there(other):
    """`old`, which could be taken back, has no room for `late` beside what is on it."""
    a, late = pod("a", "1500m", node="old", owner="rs", deleting=True), pod("late", "900m")
    made = moving(a, late, *other, pod("full", "600m", node="n"), moves=("a2", "a"), **DRAINING)
    made.nodes.append(node("c", allocatable={"cpu": "500m"}))
    decided = planned(made)
    assert [held.name for bought in decided.requests for held in bought.seats] == ["late"]


PORT = {"containers": [{"name": "m", "resources": {"requests": {"cpu": "100m"}}, "ports": [{"hostPort": 80}]}]}
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}


@pytest.mark.parametrize("rule", [PORT, APART], ids=["host ports", "anti-affinity"])
def test_no_pod_is_planned_where_one_that_may_not_meet_it_is_to_move(rule):
    a, late = (pod(name, "100m", owner="rs", labels={"app": "web"}, **rule) for name in ("a", "late"))
    a["spec"]["nodeName"], a["status"] = "old", {"phase": "Running"}
    assert [held.name for bought in planned(moving(a, late)).requests for held in bought.seats] == ["late"]
    # Nor onto one that was bought for the other.
    replaced = given(a, late, seats=[seat(a)])
    assert [held.name for bought in planned(replaced).requests for held in bought.seats] == ["late"]
    assert [placed.node for placed in planned(moving(late)).placed] == ["n"]


def test_a_pod_that_moves_counts_for_a_spread_where_it_is():
    """In the scheduler's eyes there is none on `n` yet, so that another one may come."""
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }
    a, late = (pod(name, "100m", owner="rs", labels={"app": "web"}, **spread) for name in ("a", "late"))
    a["spec"]["nodeName"], a["status"] = "old", {"phase": "Running"}
    full = pod("full", "2", node="c")
    made = moving(a, late, full)
    made.nodes.append(node("c"))
    assert [placed.node for placed in planned(made).placed] == ["n"]


def test_a_machine_that_is_to_take_pods_does_not_go_as_an_empty_one():
    made = planned(moving(pod("a", node="old", owner="rs")))
    assert "n" not in made.idle_since


# Demand that returns.


def test_what_fits_elsewhere_takes_no_machine_back():
    """It has room on the machine that replaces, beside the pod that moves there."""
    a, late = pod("a", node="old", owner="rs"), pod("late", "1")
    made = planned(given(a, late, seats=[seat(a)], taintedAt=before(seconds=9)))
    assert made.removal_cancels == ()
    assert seats_of(made) == {"m": ["a", "late"]}
    assert made.requests == ()


def back(late, most=10, **status):
    """Return who takes the machine back, and what is bought: `late` fits on no other."""
    a, full = pod("a", "100m", node="old", owner="rs"), pod("full", "1950m", owner="rs")
    tight = given(a, late, full, seats=[seat(full)], **status)
    tight.pools[0]["spec"]["limits"]["max"] = most
    made = planned(tight)
    return [(cancel.removal, cancel.pods) for cancel in made.removal_cancels], len(made.requests)


def test_what_fits_nowhere_else_takes_back_a_machine_that_waits():
    late = pod("late", "1900m")
    assert back(late, taintedAt=before(seconds=9)) == ([("old", ("default/late",))], 0)


def test_once_pods_have_moved_others_get_a_machine_of_their_own():
    assert back(pod("late", "1900m"), **DRAINING) == ([], 1)


def test_who_was_to_move_and_fits_nowhere_takes_the_machine_back():
    late = pod("late", "1900m", owner="rs")
    assert back(late, **DRAINING) == ([("old", ("default/late",))], 0)


def test_whoever_no_machine_can_be_bought_for_takes_the_machine_back():
    """The pool may have two machines: `old` and `m`."""
    late = pod("late", "1900m")
    assert back(late, most=2, **DRAINING) == ([("old", ("default/late",))], 0)


def test_a_drain_that_moves_nobody_is_no_place_for_pods():
    late = pod("late", "1")
    made = planned(scene(late, nodes=[node("old")], removals=[node_removal_request("old", **DRAINING)]))
    assert made.removal_cancels == ()
    assert len(made.requests) == 1


# Steps.


@pytest.mark.parametrize(
    ("removals", "cancelled"),
    [
        ([removal("old", step="s.2")], ["old"]),
        ([removal("old", step="s.2"), removal("n", step="s.2")], []),
        ([removal("old", step="s.3"), removal("n", step="s.3")], ["n", "old"]),
        ([removal("old", step="s.2", workflowId="w")], []),
        ([removal("old", step="s.2", taintedAt=before(seconds=1))], []),
        ([removal("old", step="s.3"), removal("n", step="s.3", **DRAINING)], []),
        ([removal("old", step="s.1")], []),
        ([removal("old", step="s")], []),
        ([removal("old", step=f"s.{'9' * 40}")], []),
        ([removal("old", step="s.2"), removal("n", step="t.1")], ["old"]),
    ],
)
def test_a_step_that_was_cut_off_before_anybody_began_it_is_taken_back(removals, cancelled):
    pods = [pod("a", node="old", owner="rs"), pod("b", node="n", owner="rs")]
    made = planned(
        scene(
            *pods,
            nodes=[node("old"), node("n")],
            requests=[node_request("m", seats=[seat(each) for each in pods], **COMING)],
            removals=removals,
        )
    )
    assert sorted(cancel.removal for cancel in made.removal_cancels) == cancelled
    assert all(cancel.why for cancel in made.removal_cancels)
