"""Which change asks for which message, one row each, and what is remembered between changes."""

from functools import reduce

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from planner.lifecycle.known_objects import Arrivals, KnownObjects, ObjectChange, Subject
from planner.lifecycle.wakes import Message, Nudge, Pace, Wake, messages, orphan_nudge
from tests.planner.lifecycle.watched import (
    COURSE,
    GOING,
    KEPT,
    claim,
    event,
    hetzner,
    node,
    pod,
    pool,
    removal,
    request,
)

CLASS = "KwokNodeClass"
NOTHING_KNOWN = KnownObjects(frozenset({CLASS}))
REQUEST = "NodeRequest"
REMOVAL = "NodeRemovalRequest"
HEIR = Subject(REQUEST, "m-1", "r-1")
LEAVER = Subject(REMOVAL, "m-1", "d-1")
UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}


def change(kind: str, before: dict | None, after: dict | None) -> ObjectChange:
    seen = event(before, after)
    return ObjectChange(kind, seen.object, before, is_gone=seen.type == "DELETED")


def knowing(*changes: ObjectChange) -> KnownObjects:
    return reduce(KnownObjects.after, changes, NOTHING_KNOWN)


KNOWN = knowing(
    change(NODE_REQUESTS.kind, None, request(seats=("p-1",))), change(NODE_REMOVAL_REQUESTS.kind, None, removal())
)


def uninitialized(item: dict) -> dict:
    return {**item, "spec": {"taints": [UNINITIALIZED]}}


def named(item: dict, provider_id: str) -> dict:
    return {**item, "spec": {"providerID": provider_id}}


def run_by(item: dict, kubelet: str) -> dict:
    return {**item, "status": {**item["status"], "nodeInfo": {"kubeletVersion": kubelet}}}


def both(reason: str) -> list[Message]:
    return [Wake(HEIR, reason), Wake(LEAVER, reason)]


@pytest.mark.parametrize(
    ("asks", "kind", "before", "after"),
    [
        ([Nudge("pod unschedulable")], "Pod", None, pod(unschedulable=True)),
        ([Nudge("pod unschedulable")], "Pod", pod(), pod(unschedulable=True)),
        ([], "Pod", pod(), pod(unschedulable=True) | {"metadata": {**pod()["metadata"], **GOING}}),
        (
            [Nudge("nomination ended")],
            "Pod",
            pod(unschedulable=True, nominated="m-9"),
            pod(unschedulable=True),
        ),
        ([Nudge("pod ended", Pace.CALM)], "Pod", pod(node="m-9"), None),
        ([Nudge("pod ended", Pace.CALM)], "Pod", pod(), pod(phase="Failed")),
        ([], "Pod", pod(phase="Failed"), None),
        ([], "Pod", None, pod(phase="Failed")),
        (
            [Nudge("pod ended", Pace.CALM), Wake(LEAVER, "pod ended, kept or freed")],
            "Pod",
            pod(node="m-1"),
            pod(node="m-1", phase="Succeeded"),
        ),
        (
            [Wake(LEAVER, "pod ended, kept or freed")],
            "Pod",
            pod(node="m-1"),
            {**pod(node="m-1"), "metadata": {**pod()["metadata"], **KEPT}},
        ),
        ([Wake(HEIR, "planned pods bound")], "Pod", pod(), pod(node="m-1")),
        ([Wake(HEIR, "planned pods bound")], "Pod", None, pod(node="m-1")),
        ([], "Pod", pod(), pod(node="m-9")),
        (both("node changed"), "Node", None, node(ready=False)),
        ([Nudge("node changed"), *both("node changed")], "Node", node(ready=False), node()),
        ([Nudge("node changed"), *both("node changed")], "Node", node(), node(cordoned=True)),
        ([Nudge("node changed"), *both("node changed")], "Node", node(), node(**GOING)),
        ([Nudge("node changed"), *both("node changed")], "Node", node(), node(**KEPT)),
        ([Nudge("node changed"), *both("node changed")], "Node", uninitialized(node()), node()),
        ([], "Node", uninitialized(node(ready=False)), node(ready=False)),
        ([], "Node", node(), node(memory="2Gi")),
        ([Nudge("node gone"), *both("node gone")], "Node", node(), None),
        ([Nudge("claim bound")], "PersistentVolumeClaim", claim(), claim(bound=True)),
        ([], "PersistentVolumeClaim", None, claim(bound=True)),
        ([Nudge("NodePool edited")], "NodePool", None, pool(1)),
        ([Nudge("NodePool edited")], "NodePool", pool(1), pool(2)),
        ([Nudge("NodePool edited")], "NodePool", pool(1), None),
        ([], "NodePool", pool(1), pool(1)),
        ([Nudge("CapacityBuffer edited")], "CapacityBuffer", None, pool(1)),
        ([Nudge("CapacityBuffer edited")], "CapacityBuffer", pool(1), None),
        ([], "CapacityBuffer", pool(1), pool(1)),
        ([Nudge("KwokNodeClass edited")], CLASS, None, hetzner()),
        ([Nudge("KwokNodeClass edited")], CLASS, hetzner(), None),
        ([Nudge("KwokNodeClass offers something else")], CLASS, hetzner(), hetzner(currency="USD")),
        ([Nudge("KwokNodeClass offers something else")], CLASS, hetzner(), hetzner(spotPrices=[])),
        ([], CLASS, hetzner(), hetzner(readAt="2026-03-01T12:10:00Z")),
        ([], CLASS, hetzner(), hetzner(unavailable=[], pause={"failures": 1})),
        ([], "OtherNodeClass", None, hetzner()),
        ([Wake(HEIR, "object changed")], REQUEST, request(), request(**GOING)),
        ([Wake(LEAVER, "object changed")], REMOVAL, removal(), removal(status={"cancel": {"by": "ann"}})),
        ([Wake(LEAVER, "object changed")], REMOVAL, removal(), removal(annotations={"growth.dev/decision": "skip"})),
        ([Wake(LEAVER, "object changed")], REMOVAL, removal(), removal(generation=2)),
        ([], REMOVAL, removal(), removal(status={"phase": "Deprovisioning"})),
        ([], REMOVAL, removal(), None),
        (
            [Wake(LEAVER, "object going, cancelled or decided on")],
            REMOVAL,
            None,
            removal(status={"cancel": {"by": "ann"}}),
        ),
        ([Wake(HEIR, "object going, cancelled or decided on")], REQUEST, None, request(**GOING)),
        ([], REQUEST, None, request()),
        ([], "ConfigMap", None, pool(1)),
    ],
)
def test_a_change_asks_for_these_messages(asks, kind, before, after):
    assert messages(change(kind, before, after), KNOWN) == asks


@pytest.mark.parametrize(
    ("asks", "before", "after"),
    [
        # It may be the first real Node beside simulated ones: no pod may be bound to one of these for want of a round.
        ([Nudge("node changed")], None, run_by(node(ready=False), "v1.33.1")),
        ([Nudge("node changed")], None, named(node(ready=False), "hcloud://42")),
        ([Nudge("node changed")], node(ready=False), named(node(ready=False), "hcloud://42")),
        ([Nudge("node changed")], node(ready=False), run_by(node(ready=False), "v1.33.1")),
        ([], None, node()),
        ([], named(node(), "hcloud://42"), named(node(memory="2Gi"), "hcloud://42")),
        ([Nudge("node gone")], named(node(), "hcloud://42"), None),
    ],
)
def test_a_node_that_growth_has_not_asked_for_asks_for_a_round_when_it_joins_and_when_it_has_its_id(
    asks, before, after
):
    assert messages(change("Node", before, after), NOTHING_KNOWN) == asks


def test_nobody_is_woken_who_is_not_known():
    woken = [one for r, before, after in COURSE for one in messages(change(r.kind, before, after), NOTHING_KNOWN)]
    # What happens to an object itself is told to its own lifecycle, known or not.
    assert {one.reason for one in woken if isinstance(one, Wake)} == {"object changed"}


def test_a_lifecycle_is_known_by_its_uid_until_its_object_is_gone():
    again = {**request(), "metadata": {**request()["metadata"], "uid": "r-2"}}
    gone = change(REQUEST, request(), None)
    assert KNOWN.after(gone).of_node("m-1") == [LEAVER]
    assert KNOWN.after(gone).after(change(REQUEST, None, again)).of_node("m-1") == [
        Subject(REQUEST, "m-1", "r-2"),
        LEAVER,
    ]


def test_the_last_of_several_planned_pods_wakes_and_a_seat_given_later_counts():
    first, second = pod(node="m-1"), pod(node="m-1")
    second["metadata"] = {**second["metadata"], "uid": "p-2"}
    known = knowing(change(REQUEST, None, request(seats=("p-1", "p-2"))))
    assert messages(change("Pod", None, first), known) == []
    known = known.after(change("Pod", None, first))
    assert known.awaited_by("m-1") == Arrivals(frozenset({"p-1", "p-2"}), frozenset({"p-1"}))
    assert messages(change("Pod", None, second), known) == [Wake(HEIR, "planned pods bound")]
    wider = known.after(change(REQUEST, request(), request(seats=("p-1", "p-2", "p-3"))))
    assert messages(change("Pod", None, second), wider) == []


@pytest.mark.parametrize("status", [{"releasedAt": "2026-01-01T00:00:00Z"}, None], ids=["released", "gone"])
def test_nobody_is_awaited_on_a_machine_that_is_kept_for_nobody(status):
    after = None if status is None else request(seats=("p-1",), status=status)
    known = KNOWN.after(change(REQUEST, request(), after))
    assert known.awaited_by("m-1") == Arrivals()
    assert messages(change("Pod", pod(), pod(node="m-1")), known) == []


def test_an_object_without_a_workflow_is_an_orphan_until_it_has_one_or_is_gone():
    orphan = {**request(), "status": {}}
    known = knowing(change(REQUEST, None, orphan))
    assert orphan_nudge(HEIR, known) == Nudge("m-1 has no workflow")
    for settled in (change(REQUEST, orphan, request()), change(REQUEST, orphan, None)):
        assert orphan_nudge(HEIR, known.after(settled)) is None


def test_what_changes_nothing_leaves_the_memory_as_it_is():
    same = KNOWN.after(change(REQUEST, request(), request(seats=("p-1",), status={"phase": "Ready"})))
    assert same.subjects is KNOWN.subjects
    assert same.arrivals is KNOWN.arrivals
    assert KNOWN.after(change("Pod", pod(), pod(node="m-9"))) is KNOWN


WAITER = Subject(REMOVAL, "m-1", "d-1")


def replacing(name: str = "r-new", **more) -> dict:
    return {**removal(**more), "spec": {"replacedBy": [name]}}


def made(status: dict, **more) -> dict:
    item = request(status=status, **more)
    return {**item, "metadata": {**item["metadata"], "name": "r-new", "uid": "r-9"}}


BUYS = made({"phase": "Provisioning"})


@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [
        (BUYS, made({"phase": "Ready"}), True),
        (BUYS, made({"phase": "Unmet"}), True),
        (BUYS, None, True),
        (BUYS, made({"phase": "Provisioning", "runningAt": "2026-01-01T00:00:00Z"}), False),
    ],
    ids=["Ready", "not to be had", "gone", "boots"],
)
def test_a_removal_hears_of_the_machine_that_replaces_its_own(before, after, wakes):
    known = knowing(change(REMOVAL, None, replacing()))
    woken = Wake(WAITER, "what replaces it has changed") in messages(change(REQUEST, before, after), known)
    assert woken == wakes
    gone = known.after(change(REMOVAL, replacing(), None))
    assert Wake(WAITER, "what replaces it has changed") not in messages(change(REQUEST, before, after), gone)


@pytest.mark.parametrize(
    ("after", "wakes"),
    [
        (None, True),
        (replacing(status={"cancel": {"by": "Ada"}}), True),
        (replacing(status={"phase": "Draining"}), False),
    ],
    ids=["gone", "cancelled", "drained"],
)
def test_a_machine_that_is_kept_hears_of_the_end_of_the_removal(after, wakes):
    known = knowing(change(REQUEST, None, BUYS), change(REMOVAL, None, replacing()))
    woken = Wake(Subject(REQUEST, "r-new", "r-9"), "the removal that it is kept for is over")
    assert (woken in messages(change(REMOVAL, replacing(), after), known)) == wakes
