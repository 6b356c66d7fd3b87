"""What planner and scheduler see differently is remembered, so that nothing is bought again and again for it.

Source: docs/design.md#refused-placements; Karpenter and Cluster Autoscaler issues about pods that never schedule on
the node that was bought for them.
"""

from datetime import timedelta

import pytest

from api.model import read
from api.v1alpha1.node_pool import NodePoolStatus
from api.v1alpha1.refused_placement import MOST_PLACEMENTS
from planner.plan import plan
from planner.policies.refused_placements import FIRST_WAIT, LONGEST_WAIT, ROOM_SEEN_FOR, WITHOUT_A_SIGN
from planner.supply.pod_group import GroupKeys
from tests.builders import NOW, after, before, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.scenes import Scene, seat

WORDS = "0/2 nodes are available: 1 node(s) were refused by the plug-in Moon, 1 Insufficient cpu."


def waiting(name="web", cpu="500m", *, since=None, message=WORDS, **more):
    raw = pod(name, cpu, **more)
    raw["status"]["conditions"][0] |= {"lastTransitionTime": since or before(minutes=9), "message": message}
    return raw


def running(name, *, on, since, cpu="500m", **more):
    raw = pod(name, cpu, node=on, **more)
    raw["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}]
    return raw


def busy(seconds_ago=1):
    """Return a pod of others that was bound lately: the scheduler is at work."""
    return running("other", on="old", since=before(seconds=seconds_ago), cpu="50m", namespace="others")


def old_node():
    return node("old", pool=None, allocatable={"cpu": "50m"})


def ended(name="m", of="cx22", *, seats, **status):
    times = {"readyAt": before(seconds=61), "releaseBy": before(seconds=1), "releasedAt": before(seconds=1)}
    return node_request(name, of, phase="Ready", seats=seats, expiresAt=after(minutes=10), **(times | status))


def made_late(name, of="cx22", **more):
    raw = node(name, of, **more)
    raw["metadata"]["creationTimestamp"] = before(minutes=2)
    raw["status"]["conditions"][0]["lastTransitionTime"] = before(seconds=61)
    return raw


def scene(*pods, nodes=(), types=("cx22", "cx32"), remembers=(), **given):
    pool = node_pool(types=types)
    pool["status"] = {"refusedPlacements": list(remembers)}
    classes = [kwok_node_class(server_type("cx22"), server_type("cx32"))]
    return Scene(classes=classes, pools=[pool], pods=list(pods), nodes=[old_node(), *nodes], **given)


def unbound(*, types=("cx22", "cx32"), remembers=(), **more):
    """Return a scene in which a reservation has ended although the scheduler is at work."""
    web = waiting()
    made = {"nodes": [made_late("m")], "requests": [ended(seats=[seat(web)])], "types": types, "remembers": remembers}
    return scene(web, busy(), **(made | more))


def class_of(raw):
    return GroupKeys().of(next(p for p in Scene(pods=[raw]).snapshot().pods))


def refused(raw, *, type_=None, nodes=(), until=None, failures=1, **more):
    entry = {
        "namespace": raw["metadata"]["namespace"],
        "class": class_of(raw),
        "pod": raw["metadata"]["name"],
        "podUid": raw["metadata"]["uid"],
        "nodes": list(nodes),
        "failures": failures,
        "lastRefusedAt": before(minutes=1),
        "until": until or after(minutes=9),
        "message": WORDS,
    }
    return entry | ({} if type_ is None else {"serverType": type_}) | more


def entries(made):
    return {(e.server_type, *e.nodes): e for report in made.pools for e in report.status.refused_placements}


def bought(made):
    return [request.server_type for request in made.requests]


def reasons(made, name="default/web"):
    return [(r.code, r.message) for u in made.unplaced if u.pod == name for r in u.reasons]


# Reservations that ended without their pods.


def test_the_type_of_a_reservation_that_ended_unbound_is_not_bought_again():
    made = plan(unbound().snapshot())
    assert bought(made) == ["cx32"]
    known = entries(made)
    assert set(known) == {("cx22", "m"), (None, "m")}
    entry = known["cx22", "m"]
    assert (entry.failures, entry.until, entry.pod) == (1, NOW + FIRST_WAIT, "web")
    assert entry.message == WORDS


def test_an_event_names_pod_node_and_the_schedulers_words():
    (event,) = [event for event in plan(unbound().snapshot()).events if event.reason == "PlacementRefused"]
    assert (event.kind, event.namespace, event.name) == ("Pod", "default", "web")
    assert "default/web" in event.message
    assert "node m" in event.message
    assert WORDS in event.message
    assert "until 2026-03-01T12:10:00Z" in event.message


def test_with_all_types_refused_nothing_is_bought_and_the_pod_is_told_why():
    web = waiting()
    made = plan(scene(web, remembers=[refused(web, type_="cx22"), refused(web, type_="cx32")]).snapshot())
    assert bought(made) == []
    assert [code for code, _ in reasons(made)] == ["PlacementRefused"] * 2
    assert "buys no cx22 for such pods until 2026-03-01T12:09:00Z" in reasons(made)[0][1]
    assert WORDS in reasons(made)[0][1]
    assert made.memory.backoff == {}
    assert made.wake_at == NOW + timedelta(minutes=9)


def test_what_is_concluded_once_is_not_concluded_again_in_the_next_round():
    first = plan(unbound().snapshot())
    stored = [entry.to_json() for entry in first.pools[0].status.refused_placements]
    second = plan(unbound(remembers=stored).snapshot())
    assert [entry.to_json() for entry in second.pools[0].status.refused_placements] == stored
    assert not [event for event in second.events if event.reason == "PlacementRefused"]


@pytest.mark.parametrize(
    ("failures", "wait"), [(1, FIRST_WAIT * 2), (2, FIRST_WAIT * 4), (6, LONGEST_WAIT), (5000, LONGEST_WAIT)]
)
def test_each_further_refusal_doubles_the_wait_up_to_six_hours(failures, wait):
    over = {"until": before(minutes=4), "lastRefusedAt": before(hours=1), "failures": failures}
    made = plan(unbound(remembers=[refused(waiting(), type_="cx22", nodes=["gone"], **over)]).snapshot())
    (entry,) = [entry for entry in entries(made).values() if entry.server_type]
    assert (entry.failures, entry.until) == (failures + 1, NOW + wait)


def test_machines_that_were_under_way_together_count_once():
    web, twin = waiting(), waiting("twin", "1500m")
    two = [ended("m", seats=[seat(web)]), ended("n", seats=[seat(web)])]
    made = plan(unbound(requests=two, nodes=[made_late("m"), made_late("n")]).snapshot())
    assert {entry.failures for entry in entries(made).values()} == {1}
    assert twin["metadata"]["name"] == "twin"


def test_long_after_the_last_wait_the_doubling_begins_anew():
    over = {"until": before(hours=2), "lastRefusedAt": before(hours=8), "failures": 6}
    made = plan(unbound(remembers=[refused(waiting(), type_="cx22", **over)]).snapshot())
    assert entries(made)["cx22", "m"].failures == 1


@pytest.mark.parametrize(
    "change",
    [
        {"requests": [ended(seats=[seat(waiting())], releasedAt=before(seconds=30))]},  # its pods had not all the time
        {"requests": [ended(seats=[seat(waiting())], readyAt=None)]},
        {"requests": [ended(seats=[])]},
        {"nodes": []},
        {"nodes": [made_late("m", ready=False)]},
        {"nodes": [made_late("m", spec={"unschedulable": True})]},
    ],
)
def test_nothing_is_concluded_of_a_reservation_that_did_not_end_unbound_on_a_ready_node(change):
    assert entries(plan(unbound(**change).snapshot())).keys() <= {(None,)}


def test_nothing_is_concluded_while_no_scheduler_has_tried():
    given = unbound()
    given.pods = [waiting(message="0/1 nodes are available: 1 Insufficient cpu.")]
    made = plan(given.snapshot())
    assert not [entry for entry in entries(made).values() if entry.until]


def test_words_about_as_many_nodes_as_there_are_now_show_that_the_new_one_was_tried():
    given = unbound()
    given.pods = [waiting()]
    assert ("cx22", "m") in entries(plan(given.snapshot()))


def test_pods_bound_beside_those_that_wait_show_that_their_class_may_be_there():
    beside = running("beside", on="m", since=before(seconds=50))
    given = unbound()
    given.pods.append(beside)
    assert not [entry for entry in entries(plan(given.snapshot())).values() if entry.until]


def test_gated_deleted_and_finished_pods_teach_nothing():
    for changed in ({"schedulingGates": [{"name": "quota"}]}, {"deleting": True}, {"phase": "Failed"}):
        given = unbound()
        given.pods[0] = waiting(**changed)
        assert not entries(plan(given.snapshot()))


# Of which pods and types it holds.


def test_others_are_not_concerned():
    web = waiting()
    foreign = waiting(namespace="tenant")
    larger = waiting("larger", "700m")
    other_scheduler = waiting("special", schedulerName="special")
    remembers = [refused(web, type_="cx22"), refused(web, type_="cx32")]
    for free in (foreign, larger, other_scheduler):
        made = plan(scene(web, free, remembers=remembers).snapshot())
        assert [s.name for r in made.requests for s in r.seats] == [free["metadata"]["name"]]
        assert [u.pod for u in made.unplaced] == ["default/web"]


def test_a_pod_of_a_changed_template_is_free_again():
    old = waiting()
    new = waiting(nodeSelector={"kubernetes.io/arch": "amd64"})
    made = plan(scene(new, remembers=[refused(old, type_="cx22"), refused(old, type_="cx32")]).snapshot())
    assert bought(made) == ["cx22"]


def test_such_pods_are_not_planned_onto_a_coming_machine_of_the_type_either():
    web = waiting()
    coming = node_request("soon", "cx22", seats=[], phase="Provisioning", createAttemptAt=before(seconds=9))
    made = plan(scene(web, requests=[coming], remembers=[refused(web, type_="cx22")]).snapshot())
    assert bought(made) == ["cx32"]
    assert made.placed == ()


def test_after_the_wait_it_is_tried_again():
    web = waiting()
    over = {"until": before(seconds=1)}
    made = plan(scene(web, remembers=[refused(web, type_="cx22", **over)]).snapshot())
    assert bought(made) == ["cx22"]
    assert entries(made)["cx22",].failures == 1


def test_a_pod_of_the_class_that_was_bound_on_the_type_ends_it():
    web = waiting()
    twin = running("twin", on="n", since=before(seconds=5))
    known = refused(web, type_="cx22", podUid="gone")
    made = plan(scene(web, twin, nodes=[node("n", allocatable={"cpu": "600m"})], remembers=[known]).snapshot())
    assert bought(made) == ["cx22"]
    assert not entries(made)


def test_pods_of_the_class_that_ran_there_before_do_not():
    web = waiting()
    twin = running("twin", on="n", since=before(hours=5))
    known = refused(web, type_="cx22", podUid="gone")
    made = plan(scene(web, twin, nodes=[node("n", allocatable={"cpu": "600m"})], remembers=[known]).snapshot())
    assert bought(made) == ["cx32"]


@pytest.mark.parametrize(("failures", "types"), [(1, ["cx22"]), (2, ["cx32"])])
def test_while_the_refused_pod_waits_another_ends_it_once_and_then_no_more(failures, types):
    """Else pods that differ in what only the scheduler sees would free each other again and again."""
    web = waiting()
    twin = running("twin", on="n", since=before(seconds=5))
    known = refused(web, type_="cx22", failures=failures)
    made = plan(scene(web, twin, nodes=[node("n", allocatable={"cpu": "600m"})], remembers=[known]).snapshot())
    assert bought(made) == types
    assert [entry.failures for entry in entries(made).values()] == [failures]


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
