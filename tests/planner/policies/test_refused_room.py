"""A pod that waits although a Node has room by plan: the Node is lost for its class, and that is bounded.

Source: docs/design.md#refused-placements.
"""

from datetime import timedelta

import pytest

from api.model import read
from api.v1alpha1.node_pool import NodePoolStatus
from api.v1alpha1.refused_placement import MOST_PLACEMENTS
from planner.plan import plan
from planner.policies.refused_placements import ROOM_SEEN_FOR, WITHOUT_A_SIGN
from tests.builders import NOW, after, before, node
from tests.planner.policies.placements import (
    bought,
    busy,
    entries,
    old_node,
    reasons,
    refused,
    running,
    scene,
    unbound,
    waiting,
)

# Pods that wait although there is room.


def room(*pods, seen=timedelta(), now=NOW, remembers=None, **given):
    web = waiting()
    suspected = refused(web, nodes=[], failures=0) | {"roomSeenAt": before(seconds=seen.total_seconds())}
    suspected = {k: v for k, v in suspected.items() if k not in ("until", "lastRefusedAt")}
    known = [suspected] if remembers is None else remembers
    return scene(web, *pods, nodes=[node("n")], remembers=known, now=now, **given)


def test_a_first_sight_of_room_is_remembered_and_nothing_is_concluded():
    made = plan(room(busy(), remembers=[]).snapshot())
    (entry,) = entries(made).values()
    assert (entry.room_seen_at, entry.until, entry.failures, entry.pod) == (NOW, None, 0, "web")
    assert made.wake_at == NOW + ROOM_SEEN_FOR
    assert [(p.pod, p.node) for p in made.placed] == [("default/web", "n")]


@pytest.mark.parametrize(("seen", "is_lost"), [(timedelta(seconds=119), False), (ROOM_SEEN_FOR, True)])
def test_after_two_minutes_the_node_is_lost(seen, is_lost):
    made = plan(room(busy(), seen=seen).snapshot())
    assert ((None, "n") in entries(made)) == is_lost
    assert bool([e for e in made.events if e.reason == "PlacementRefused" and "node n" in e.message]) == is_lost


def test_a_lost_node_is_no_place_and_a_machine_is_bought():
    web = waiting()
    made = plan(room(remembers=[refused(web, nodes=["n"])]).snapshot())
    assert bought(made) == ["cx22"]
    assert made.placed == ()
    others = plan(scene(waiting("small", "400m"), nodes=[node("n")], remembers=[refused(web, nodes=["n"])]).snapshot())
    assert [(p.pod, p.node) for p in others.placed] == [("default/small", "n")]


def test_a_pod_that_can_get_no_machine_is_told_of_the_node():
    web = waiting("web", "1900m")
    given = scene(web, nodes=[node("n")], remembers=[refused(web, nodes=["n"])])
    given.pools[0]["spec"]["limits"]["max"] = 1
    told = reasons(plan(given.snapshot()))
    assert [code for code, _ in told] == ["LimitReached", "PlacementRefused"]
    assert "node n counts as no place" in told[1][1]


def test_all_nodes_with_room_are_lost_at_once_and_new_ones_are_not():
    many = [node(f"n-{n}") for n in range(5)]
    young = node("young")
    young["status"]["conditions"][0]["lastTransitionTime"] = before(seconds=20)
    given = room(busy(), seen=ROOM_SEEN_FOR)
    given.nodes += [*many, young]
    (lost,) = [set(e.nodes) for e in plan(given.snapshot()).pools[0].status.refused_placements if e.until]
    assert lost == {"n", "n-0", "n-1", "n-2", "n-3", "n-4"}


def test_of_a_thousand_nodes_some_are_named_and_all_are_lost():
    given = room(busy(), seen=ROOM_SEEN_FOR)
    for n in range(1000):
        given.nodes.append(node(f"n-{n}", pool=None))
    for each in given.nodes:
        each["metadata"]["creationTimestamp"] = before(hours=1)
    made = plan(given.snapshot())
    stored = [entry.to_json() for entry in made.pools[0].status.refused_placements]
    assert len(stored[0]["nodes"]) <= 20
    given.pools[0]["status"] = {"refusedPlacements": stored}
    assert bought(plan(given.snapshot())) == ["cx22"]


@pytest.mark.parametrize(
    ("silent", "seen", "is_lost"),
    [
        (False, ROOM_SEEN_FOR, False),
        (False, WITHOUT_A_SIGN, True),
        (True, WITHOUT_A_SIGN * 9, False),
    ],
)
def test_without_a_sign_of_the_scheduler_it_takes_longer_and_nothing_is_learned_of_a_silent_one(silent, seen, is_lost):
    unheard = waiting("unheard")
    unheard["metadata"]["creationTimestamp"] = before(minutes=1)
    unheard["status"]["conditions"] = []
    given = room(*([unheard] if silent else []), seen=seen)
    assert ((None, "n") in entries(plan(given.snapshot()))) == is_lost


def test_pods_that_come_and_go_do_not_make_a_wait_of_two_minutes():
    given = room(busy(), seen=ROOM_SEEN_FOR)
    given.pods[0] = waiting("next")
    (entry,) = entries(plan(given.snapshot())).values()
    assert (entry.room_seen_at, entry.pod, entry.until) == (NOW, "next", None)


def test_room_that_is_gone_is_forgotten():
    given = room(busy(), seen=ROOM_SEEN_FOR)
    given.nodes = [old_node()]
    assert not entries(plan(given.snapshot()))


def test_a_pod_bound_on_the_lost_node_ends_it():
    web = waiting()
    twin = running("twin", on="n", since=before(seconds=5))
    given = room(twin, remembers=[refused(web, nodes=["n"], podUid="gone")])
    assert [(p.pod, p.node) for p in plan(given.snapshot()).placed] == [("default/web", "n")]


def test_a_machine_that_came_while_the_pod_waited_tells_of_its_type_too():
    """Where nothing is reserved, no reservation ends."""
    given = room(busy(), seen=ROOM_SEEN_FOR)
    given.nodes[1]["metadata"]["creationTimestamp"] = before(minutes=5)
    known = entries(plan(given.snapshot()))
    assert set(known) == {("cx22", "n"), (None, "n")}


def test_nodes_that_are_gone_are_forgotten():
    made = plan(scene(waiting(), remembers=[refused(waiting(), nodes=["gone"])]).snapshot())
    assert [entry.nodes for entry in entries(made).values()] == [()]
    assert bought(made) == ["cx22"]


# Bounds, and other versions.


def test_many_classes_fit_into_a_status_and_the_tenant_with_most_gives_way():
    web = waiting()
    hostile = [
        refused(waiting(namespace="hostile"), type_="cx22", until=after(hours=5)) | {"class": f"{n:016x}"}
        for n in range(MOST_PLACEMENTS - 1)
    ]
    made = plan(unbound(remembers=[*hostile, refused(web, type_="cx32")]).snapshot())
    kept = made.pools[0].status.refused_placements
    assert len(kept) == MOST_PLACEMENTS
    assert {(e.namespace, e.server_type) for e in kept if e.namespace == "default"} == {
        ("default", "cx22"),
        ("default", "cx32"),
        ("default", None),
    }
    assert bought(made) == []


def test_ten_thousand_classes_with_room_are_remembered_up_to_the_bound():
    pods = [waiting(f"p-{n}", f"{100 + n}m") for n in range(80)]
    given = scene(*pods, busy(), nodes=[node(f"n-{n}", "cx42") for n in range(9)])
    assert len(plan(given.snapshot()).pools[0].status.refused_placements) <= MOST_PLACEMENTS


def test_a_status_of_an_earlier_version_knows_nothing():
    assert read(NodePoolStatus, {"nodes": {"ready": 1}}).refused_placements == ()
    given = room(busy(), remembers=[])
    given.pools[0]["status"] = {}
    assert [(p.pod, p.node) for p in plan(given.snapshot()).placed] == [("default/web", "n")]


def test_what_a_later_version_adds_is_passed_over():
    later = refused(waiting(), type_="cx22") | {"because": "of a later version"}
    assert bought(plan(scene(waiting(), remembers=[later]).snapshot())) == ["cx32"]
