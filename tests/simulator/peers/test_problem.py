"""The problem of a snapshot: the pods and offerings that a round decides on, judged by the planner itself."""

from decimal import Decimal

import pytest
from hypothesis import given

from planner.packing.fallback.pack import pack
from planner.plan import plan
from simulator.peers.cluster_autoscaler import EXPANDERS, cluster_autoscaler
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import Purchase, problem_of
from tests.benchmarks.problems import on_machines
from tests.builders import after, daemon_set, node, node_request, pod, server_type
from tests.planner.scenes import Scene, scene, seat
from tests.planner.strategies import scenes
from tests.planner.wishes import apart
from tests.searching import searching


def read(given):
    return problem_of(given.snapshot())


def test_pods_and_offerings_of_a_pool_with_what_daemon_sets_leave():
    kinds = [server_type("cx22", locations=("fsn1", "nbg1")), server_type("cx32"), server_type("cx42")]
    problem = read(scene(pod("a"), pod("b"), pod("c", "1"), daemon_set("agent"), kinds=kinds, types=("cx22", "cx32")))
    assert problem.offerings == ("cx22 fsn1", "cx22 nbg1", "cx32 fsn1")
    assert problem.currency == "EUR"
    assert [(problem.demand(i, "cpu"), g.count) for i, g in enumerate(problem.packing.groups)] == [(500, 2), (1000, 1)]
    # A cx22 of the scenes has 2 cores and 4 GiB; the agent takes 100m and 128Mi.
    assert problem.capacity(0, "cpu") == 1900
    assert problem.capacity(0, "memory") == (4096 - 128) * 2**20
    assert problem.capacity(0, "ephemeral-storage") == problem.demand(0, "ephemeral-storage") == 0
    assert problem.pods == 3


def test_constraints_are_the_planners():
    given = scene(
        pod("arm", nodeSelector={"kubernetes.io/arch": "arm64"}),
        pod("db-0", labels={"app": "db"}, affinity=apart(app="db")),
        pod("db-1", labels={"app": "db"}, affinity=apart(app="db")),
        types=("cx22", "cax11"),
    )
    problem = read(given)
    assert problem.offerings == ("cx22 fsn1", "cax11 fsn1")
    arm, db = problem.packing.groups
    assert (arm.bins, arm.per_node) == ({1}, None)
    assert (db.count, db.bins, db.per_node) == (2, {0, 1}, 1)


def test_pods_that_are_no_demand_or_have_a_seat_or_are_not_judged_are_left_out():
    gated = pod("gated", schedulingGates=[{"name": "wait"}])
    seated = pod("seated")
    gpu = pod("claims", resourceClaims=[{"name": "gpu"}])
    elsewhere = pod("elsewhere", nodeSelector={"growth.dev/pool": "missing"})
    given = scene(
        *(gated, seated, gpu, elsewhere, pod("runs", node="there"), pod("waits")),
        nodes=[node("there")],
        requests=[node_request("coming", seats=[seat(seated)])],
    )
    assert read(given).pods == 1


def test_offerings_that_cannot_be_had_are_left_out_and_bounds_are_what_is_left():
    unavailable = [
        {
            "serverType": "cx32",
            "location": "fsn1",
            "failures": 1,
            "lastFailureAt": after(seconds=0),
            "until": after(minutes=1),
        }
    ]
    kinds = [server_type("cx22"), server_type("cx32"), server_type("cx42", sold_out=True)]
    types = ({"name": "cx22", "max": 3}, "cx32", "cx42")
    given = scene(*(pod(f"p{k}", "1500m") for k in range(4)), kinds=kinds, types=types, unavailable=unavailable)
    given.nodes = [node("there", "cx22")]
    problem = read(given)
    assert problem.offerings == ("cx22 fsn1",)
    # One of three machines is there.
    assert {cluster_autoscaler(problem, expander=expander).placed for expander in EXPANDERS} == {2}


def test_pods_that_fit_no_offering_stay_without_a_place():
    problem = read(scene(pod("huge", "90"), pod("a")))
    assert (karpenter(problem).unplaced, cluster_autoscaler(problem).unplaced) == (1, 1)


def test_nothing_to_do_buys_nothing():
    problem = read(scene())
    for bought in (karpenter(problem), cluster_autoscaler(problem)):
        assert (bought.machines, bought.cost_per_hour, bought.counts) == (0, Decimal(0), {})


def test_what_a_purchase_tells():
    problem = read(scene(*(pod(f"p{k}", "1") for k in range(3)), types=("cx22",)))
    bought = karpenter(problem)
    assert on_machines(bought) == [("cx22 fsn1", {0: 2}), ("cx22 fsn1", {0: 1})]
    # A cx22 of the scenes costs 0.0066 per hour.
    assert (bought.machines, bought.counts, bought.cost_per_hour) == (2, {"cx22 fsn1": 2}, Decimal("0.0132"))
    assert (bought.placed, bought.unplaced) == (3, 0)


@searching(60)
@given(scenes(are_sociable=False))
def test_without_machines_it_is_the_problem_that_the_round_solves(scene: Scene):
    scene.nodes, scene.requests, scene.removals = [], [], []
    for one in scene.pools:
        one["spec"]["limits"].pop("min", None)
        one["spec"].pop("headroom", None)
        one["spec"].get("scaleUp", {}).pop("expendablePriority", None)
        for kind in one["spec"]["serverTypes"]:
            kind.pop("min", None)
    problem, made = read(scene), plan(scene.snapshot())
    bought = Purchase(problem, pack(problem.packing))
    # Where a split over domains leaves pods out, a round tries others.
    if bought.unplaced == 0 or not any(
        pod["spec"].get("topologySpreadConstraints") or pod["spec"].get("affinity") for pod in scene.pods
    ):
        assert bought.cost_per_hour == made.cost_per_hour


@pytest.mark.parametrize("expander", EXPANDERS)
def test_pods_keep_their_machines_when_objects_come_in_another_order(expander):
    waiting = [pod(f"p{k}", f"{k % 3 + 1}") for k in range(9)]
    one, other = read(scene(*waiting)), read(scene(*reversed(waiting)))
    assert on_machines(karpenter(one)) == on_machines(karpenter(other))
    assert on_machines(cluster_autoscaler(one, expander=expander)) == on_machines(
        cluster_autoscaler(other, expander=expander)
    )
