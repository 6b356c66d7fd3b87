"""Empty nodes go, in modes `empty` and `drain`: who is a candidate, when, what minimums keep.

Source: docs/design.md#round, docs/design.md#lifecycles.
"""

from datetime import timedelta

import pytest

from tests.builders import NOW, before, node, node_removal_request, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat

IDLE = {"growth.dev/idle-since": before(minutes=11)}


def leaving(given):
    return [r.node for r in planned(given).removals]


def test_a_node_that_becomes_empty_is_marked_and_goes_after_its_time():
    first = planned(scene(node("n")))
    assert first.removals == ()
    assert first.idle_since == {"n": NOW}
    assert first.wake_at == NOW + timedelta(minutes=10)
    (removed,) = planned(scene(node("n", annotations={"growth.dev/idle-since": before(minutes=10)}))).removals
    assert (removed.node, removed.server, removed.pool, removed.server_type) == ("n", "n", "default", "cx22")
    assert (removed.location, removed.provider_id, removed.reason) == ("fsn1", "kwok://n", "Empty")
    assert removed.at == NOW + timedelta(minutes=1)
    assert removed.why == "Without pods since 2026-03-01T11:50:00Z"


def test_a_removal_has_the_provider_id_that_the_request_knows_not_one_of_another_scheme():
    idle = node("n", annotations=IDLE)
    idle["spec"]["providerID"] = "k3s://n"
    known = node_request("n", phase="Ready", releasedAt=before(minutes=20), providerID="hcloud://42")
    (removed,) = planned(scene(idle, requests=[known])).removals
    assert removed.provider_id == "hcloud://42"
    (removed,) = planned(scene(idle)).removals
    assert removed.provider_id == "k3s://n", "its record is gone; the removal goes by the request-uid"


@pytest.mark.parametrize(("mode", "goes"), [("empty", True), ("drain", True), ("none", False)])
def test_in_mode_drain_too_a_round_removes_empty_nodes_and_no_others(mode, goes):
    nodes = (node("a", annotations=IDLE), node("b", annotations=IDLE))
    given = scene(*nodes, pods=[pod("x", node="b")], scaleDown={"mode": mode})
    assert leaving(given) == (["a"] if goes else [])


def test_the_times_are_the_pools():
    given = scene(node("n"), scaleDown={"idleAfter": "0s", "softGrace": "5s"})
    (removed,) = planned(given).removals
    assert removed.at == NOW + timedelta(seconds=5)
    given.pools[0]["spec"]["scaleDown"]["mode"] = "none"
    assert planned(given).removals == ()


@pytest.mark.parametrize(
    ("resident", "goes"),
    [
        (pod("x", node="n"), False),
        (pod("x", node="n", phase="Succeeded"), True),
        (pod("x", node="n", phase="Failed"), True),
        (pod("x", node="n", owner=("DaemonSet", "ds")), True),
        (pod("x", node="n", owner=("Job", "job")), False),
        (pod("x", node="n", namespace="kube-system"), False),
    ],
)
def test_which_pods_keep_a_node(resident, goes):
    assert leaving(scene(node("n", annotations=IDLE), pods=[resident])) == (["n"] if goes else [])


def test_mirror_pods_do_not_keep_a_node_and_terminating_ones_do():
    mirror, dying = pod("m", node="n"), pod("d", node="n")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    dying["metadata"]["deletionTimestamp"] = before(seconds=1)
    assert leaving(scene(node("n", annotations=IDLE), pods=[mirror])) == ["n"]
    assert leaving(scene(node("n", annotations=IDLE), pods=[mirror, dying])) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"annotations": IDLE | {"growth.dev/do-not-remove": "until friday"}},
        {"annotations": IDLE, "spec": {"unschedulable": True}},
        {"annotations": IDLE, "labels": {"growth.dev/request": "another"}},
        {"annotations": IDLE, "pool": None},
        {"annotations": IDLE, "pool": "unknown"},
    ],
)
def test_nodes_that_are_never_candidates(changes):
    assert leaving(scene(node("n", **changes))) == []


def test_an_empty_value_of_do_not_remove_keeps_nothing():
    assert leaving(scene(node("n", annotations=IDLE | {"growth.dev/do-not-remove": ""}))) == ["n"]


def test_nodes_that_carry_growth_itself_stay():
    assert leaving(scene(node("n", annotations=IDLE), protected={"n"})) == []


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Provisioning"},
        {"phase": "Ready", "readyAt": before(minutes=1)},
        {"phase": "Deprovisioning"},
    ],
)
def test_a_machine_whose_request_is_at_work_is_not_idle(status):
    assert leaving(scene(node("n", annotations=IDLE), requests=[node_request("n", **status)])) == []


def test_a_released_machine_may_go():
    status = {"phase": "Ready", "readyAt": before(minutes=20), "releasedAt": before(minutes=19)}
    assert leaving(scene(node("n", annotations=IDLE), requests=[node_request("n", **status)])) == ["n"]


def test_a_node_with_a_removal_gets_no_second_one():
    made = planned(scene(node("n", annotations=IDLE), removals=[node_removal_request("n")]))
    assert (made.removals, made.idle_since) == ((), {})


def test_after_a_cancel_the_idle_time_begins_anew():
    cancelled = node_removal_request("n", phase="Pending", cancel={"at": before(seconds=1), "by": "Person"})
    made = planned(scene(node("n", annotations=IDLE), removals=[cancelled]))
    assert made.removals == ()
    assert made.idle_since == {"n": None}


def test_a_node_that_gets_pods_is_no_longer_idle():
    for pods in ([pod("runs", node="n")], [pod("waits")]):
        made = planned(scene(node("n", annotations=IDLE), pods=pods))
        assert made.idle_since == {"n": None}
        assert made.removals == ()


def test_an_idle_time_that_cannot_be_read_begins_anew():
    for text in ("yesterday", "2026-03-01T10:00:00"):
        assert planned(scene(node("n", annotations={"growth.dev/idle-since": text}))).idle_since == {"n": NOW}


def test_a_minimum_keeps_the_cheapest():
    nodes = [node("dear", "cx42", annotations=IDLE), node("cheap", annotations=IDLE)]
    assert leaving(scene(*nodes, limits={"max": 9, "min": 1})) == ["dear"]


def test_a_minimum_of_a_type_keeps_that_type():
    nodes = [node("dear", "cx42", annotations=IDLE), node("cheap", annotations=IDLE)]
    assert leaving(scene(*nodes, types=("cx22", {"name": "cx42", "min": 1}))) == ["cheap"]


def test_a_machine_that_is_not_ready_goes_first_and_does_not_help_a_minimum():
    nodes = [node("sick", ready=False, annotations=IDLE), node("dear", "cx42", annotations=IDLE)]
    assert leaving(scene(*nodes, limits={"max": 9, "min": 1})) == ["sick"]


def test_nodes_that_are_not_ready_keep_no_minimum():
    nodes = [node("sick", ready=False), node("well", annotations=IDLE)]
    given = scene(*nodes, pods=[pod("x", node="sick")], limits={"max": 9, "min": 1})
    assert leaving(given) == []
    given.nodes[0] = node("sick")
    assert leaving(given) == ["well"]


@pytest.mark.parametrize("types", [("cx22",), ({"name": "cx22", "min": 1},)], ids=["of the pool", "of a type"])
def test_a_terminating_node_keeps_no_minimum(types):
    limits = {"max": 9, "min": 1} if types == ("cx22",) else None
    nodes = [node("goes", deleting=True, annotations=IDLE), node("stays", annotations=IDLE)]
    assert leaving(scene(*nodes, types=types, limits=limits)) == []
    nodes[0] = node("goes", annotations=IDLE)
    assert leaving(scene(*nodes, types=types, limits=limits)) == ["goes"]


def test_a_machine_that_is_coming_keeps_no_minimum():
    given = scene(
        node("n", annotations=IDLE), requests=[node_request("r", phase="Provisioning")], limits={"max": 9, "min": 1}
    )
    assert leaving(given) == []


def test_a_machine_that_is_kept_for_pods_does_not_go_before_its_node_shows_ready():
    waits = pod("waits")
    ready = {"phase": "Ready", "readyAt": before(seconds=3), "releasedAt": before(seconds=2)}
    given = scene(
        node("n", ready=False, annotations=IDLE),
        pods=[waits],
        requests=[node_request("n", seats=[seat(waits)], **ready)],
    )
    made = planned(given)
    assert [placed.request for placed in made.placed] == ["n"]
    assert made.removals == ()


def test_a_deleted_pools_machines_stay():
    given = scene(node("n", annotations=IDLE))
    given.pools[0]["metadata"]["deletionTimestamp"] = before(seconds=1)
    assert leaving(given) == []


def manager(said="true", owner=("InstanceManager", "x")):
    """A pod of Longhorn that belongs to the node n."""
    return pod(
        "manager",
        node="n",
        owner=owner,
        labels={"longhorn.io/node": "n"},
        annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": said},
    )


def test_a_pod_that_belongs_to_its_node_keeps_no_machine():
    given = scene(node("n", annotations={"growth.dev/idle-since": before(minutes=11)}), pods=[manager()])
    assert [removal.node for removal in planned(given).removals] == ["n"]


@pytest.mark.parametrize("pods", [[manager("false")], [manager(owner="web")], [manager(), pod("web", node="n")]])
def test_other_pods_keep_it_whatever_they_say(pods):
    given = scene(node("n", annotations={"growth.dev/idle-since": before(minutes=11)}), pods=pods)
    assert planned(given).removals == ()


def test_a_word_about_eviction_that_means_nothing_is_told():
    (event,) = planned(scene(node("n"), pods=[manager("maybe")])).events
    assert (event.kind, event.reason, event.warning) == ("Pod", "UnknownAnnotation", True)
    assert event.message == (
        "cluster-autoscaler.kubernetes.io/safe-to-evict=maybe has no effect: say true, false, on-completion"
    )
