"""Pods that the scheduler keeps a node for: they count there, and no machine is bought for them.

Source: Kubernetes docs, "Pod Priority and Preemption: User exposed information".
"""

import pytest

from tests.builders import before, node, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat
from tests.planner.wishes import apart

ZONE = "topology.kubernetes.io/zone"
IDLE = {"growth.dev/idle-since": before(minutes=11)}
READY = {"phase": "Ready", "readyAt": before(seconds=20)}


def kept(name, on, cpu="500m", **fields):
    """Return a pod that the scheduler found no place for, and keeps a node for since."""
    made = pod(name, cpu, **fields)
    made["status"]["nominatedNodeName"] = on
    return made


def bought_for(made):
    return sorted(s.name for r in made.requests for s in r.seats)


def test_no_machine_is_bought_for_a_pod_on_its_way_to_a_node():
    dying = pod("low", "1800m", node="n")
    dying["metadata"]["deletionTimestamp"] = before(seconds=5)
    made = planned(scene(dying, kept("high", "n", "1500m"), nodes=[node("n")]))
    assert (made.result, made.requests, made.placed, made.unplaced) == ("NoDemands", (), (), ())
    assert [(one.pod, one.node) for one in made.nominated] == [("default/high", "n")]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "another"},
        {"ready": False},
        {"spec": {"unschedulable": True}},
        {"deleted": True},
    ],
    ids=["missing", "not ready", "cordoned", "terminating"],
)
def test_a_node_that_takes_no_pods_is_kept_for_none(changes):
    deleted = changes.pop("deleted", False)
    made = node(**{"name": "n"} | changes)
    if deleted:
        made["metadata"]["deletionTimestamp"] = before(seconds=5)
    done = planned(scene(kept("high", "n", "2800m"), nodes=[made]))
    assert bought_for(done) == ["high"]
    assert done.nominated == ()


@pytest.mark.parametrize("state", ["gated", "terminating", "bound", "finished"])
def test_a_pod_that_does_not_wait_is_on_its_way_nowhere(state):
    one = kept("p", "n", "1500m", node="m" if state == "bound" else None)
    if state == "gated":
        one["spec"]["schedulingGates"] = [{"name": "quota"}]
    if state == "terminating":
        one["metadata"]["deletionTimestamp"] = before(seconds=5)
    if state == "finished":
        one["status"]["phase"] = "Failed"
    # There is room for one of the two on n.
    made = planned(scene(one, pod("other", "1500m"), nodes=[node("n"), *([node("m")] if state == "bound" else [])]))
    assert [(p.pod, p.node) for p in made.placed] == [("default/other", "n")]
    assert made.nominated == made.requests == ()


def test_its_room_is_taken_beside_that_of_the_pods_that_go():
    going = pod("low", "1", node="n")
    going["metadata"]["deletionTimestamp"] = before(seconds=5)
    # 2 cores, of which 1 is being freed, and 1.5 are kept: nothing is left, and no less than that.
    made = planned(scene(going, kept("high", "n", "1500m"), pod("third", "100m"), nodes=[node("n")]))
    assert bought_for(made) == ["third"]
    # 2 cores less 1.5.
    made = planned(scene(kept("high", "n", "1500m"), pod("third", "500m"), pod("fourth", "500m"), nodes=[node("n")]))
    assert len(made.placed) == len(bought_for(made)) == 1


def test_pods_that_keep_apart_keep_away_from_it():
    web = {"labels": {"app": "web"}, "affinity": apart(app="web")}
    made = planned(scene(kept("one", "n", "100m", **web), pod("two", "100m", **web), nodes=[node("n")]))
    assert bought_for(made) == ["two"]


def test_it_counts_where_pods_are_spread():
    spread = {
        "labels": {"app": "web"},
        "topologySpreadConstraints": [
            {
                "topologyKey": ZONE,
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ],
    }
    nodes = [node("a", labels={ZONE: "a"}), node("b", labels={ZONE: "b"})]
    made = planned(scene(kept("one", "a", "100m", **spread), pod("two", "100m", **spread), nodes=nodes))
    assert [(p.pod, p.node) for p in made.placed] == [("default/two", "b")]


def test_a_node_that_is_kept_for_a_pod_is_not_empty():
    made = planned(scene(kept("high", "n"), nodes=[node("n", annotations=IDLE), node("m", annotations=IDLE)]))
    assert [r.node for r in made.removals] == ["m"]
    assert made.idle_since == {"n": None}


def test_its_share_counts_only_once_it_is_there():
    going = pod("low", "1", node="n")
    made = planned(scene(going, kept("high", "n", "1500m"), nodes=[node("n")]))
    assert made.pools[0].utilisation["cpu"] == 0.5


def test_a_seat_on_the_machine_that_it_goes_to_stays_its_own():
    """While the scheduler binds the volumes of a pod, it names the node in the same field."""
    high, heir = kept("web-1", "m", owner="rs"), pod("web-2", owner="rs", cpu="1800m")
    made = planned(scene(high, heir, nodes=[node("m")], requests=[node_request("m", seats=[seat(high)], **READY)]))
    assert made.reservations == {}
    assert bought_for(made) == ["web-2"]


def test_a_seat_elsewhere_is_given_back():
    high = kept("web-1", "n", owner="rs")
    coming = node_request("m", seats=[seat(high)], createAttemptAt=before(seconds=2))
    assert planned(scene(high, nodes=[node("n")], requests=[coming])).reservations == {"m": ()}
    assert planned(scene(high, nodes=[node("n", ready=False)], requests=[coming])).reservations == {}
