"""Whole rounds: what is decided together. Single rules are tested under the names of their files."""

import time
from datetime import timedelta

import pytest

from planner.model.plan import PlanResult
from planner.packing.problem import Packing, PackingProblem
from planner.plan import plan
from tests.builders import NOW, after, before, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.outcome import planned
from tests.planner.scenes import Scene, scene
from tests.planner.wishes import apart


def test_an_empty_cluster_has_nothing_to_do():
    made = plan(Scene().snapshot())
    assert made.result is PlanResult.NO_DEMANDS
    assert (made.requests, made.unplaced, made.events, made.pools) == ((), (), (), ())


def test_what_is_bought_is_told_completely():
    (bought,) = planned(scene(pod("a", "3", "2Gi", owner="rs"), pod("b", "1", "2Gi"))).requests
    assert (bought.pool, bought.pool_uid, bought.server_type, bought.location) == (
        "default",
        "pool-default",
        "cx32",
        "fsn1",
    )
    assert str(bought.class_ref) == "KwokNodeClass/default"
    assert str(bought.price_per_hour) == "0.0106"
    assert bought.reserve
    assert [(s.namespace, s.name, s.uid, s.owner, len(s.pod_class)) for s in bought.seats] == [
        ("default", "a", "uid-a", "rs", 16),
        ("default", "b", "uid-b", "", 16),
    ]
    assert bought.why == "For 2 pods of pool default: cpu 100 %, memory 50 %; next: cx42 for 0.017"


def test_the_most_useful_machines_come_first():
    pods = [pod(f"small-{k}", "1", "1Gi") for k in range(8)]
    pods += [pod("lonely", "8"), pod("urgent", "8", priority=10)]
    made = planned(scene(*pods, types=("cx42",)))
    assert [r.ordinal for r in made.requests] == [0, 1, 2]
    assert [r.seats[0].name for r in made.requests] == ["urgent", "small-0", "lonely"]


def test_a_pool_that_does_not_reserve_says_so():
    (bought,) = planned(scene(pod("a"), scaleUp={"reserve": False})).requests
    assert not bought.reserve
    assert [s.name for s in bought.seats] == ["a"]


def test_a_pod_that_asks_for_more_than_any_machine_stops_no_other():
    made = planned(scene(pod("large", "64"), pod("a")))
    assert made.result is PlanResult.INCOMPLETE_PLACEMENT
    assert len(made.requests) == 1
    assert [u.pod for u in made.unplaced] == ["default/large"]


def test_pods_that_keep_apart_get_machines_of_their_own():
    pods = [pod(f"db-{k}", labels={"app": "db"}, affinity=apart(app="db")) for k in range(3)]
    made = planned(scene(*pods))
    assert [len(r.seats) for r in made.requests] == [1, 1, 1]
    assert made.optimal


def test_two_pools_are_planned_together():
    template = {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}
    given = scene(pod("a"), pod("g", nodeSelector={"growth.dev/pool": "gpu"}, tolerations=[{"operator": "Exists"}]))
    given.pools.append(node_pool("gpu", ["cx42"], template=template))
    made = planned(given)
    assert sorted((r.pool, r.server_type, r.seats[0].name) for r in made.requests) == [
        ("default", "cx22", "a"),
        ("gpu", "cx42", "g"),
    ]


def test_a_pod_that_may_use_either_pool_gets_the_cheaper_one():
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "growth.dev/pool", "operator": "In", "values": ["default", "arm"]}]}
                ]
            }
        }
    }
    given = scene(pod("a", affinity=affinity))
    given.pools.append(node_pool("arm", ["cax11"]))
    assert [(r.pool, r.server_type) for r in planned(given).requests] == [("arm", "cax11")]


def test_the_location_that_a_pod_asks_for():
    kinds = [server_type("cx22", locations=("fsn1", "hel1"))]
    given = scene(pod("a", nodeSelector={"topology.kubernetes.io/zone": "hel1"}))
    given.classes = [kwok_node_class(*kinds)]
    assert [r.location for r in planned(given).requests] == ["hel1"]


def test_the_next_moment_that_matters():
    given = scene()
    assert plan(given.snapshot()).wake_at is None
    given.requests = [node_request("m", phase="Unmet", expiresAt=after(seconds=90))]
    assert plan(given.snapshot()).wake_at == NOW + timedelta(seconds=90)
    given.requests.append(node_request("r", phase="Ready", readyAt=before(seconds=4)))
    assert plan(given.snapshot()).wake_at == NOW + timedelta(seconds=6)
    given.nodes = [node("n", annotations={"growth.dev/idle-since": before(minutes=9, seconds=58)})]
    assert plan(given.snapshot()).wake_at == NOW + timedelta(seconds=2)


def test_machines_that_cost_nothing_are_bought_as_needed():
    given = scene(*(pod(str(k), "2") for k in range(3)), types=("cx22", "cx32"))
    given.classes = [kwok_node_class(server_type("cx22", pricePerHour="0"), server_type("cx32"))]
    made = planned(given)
    assert [r.server_type for r in made.requests] == ["cx22"] * 3
    assert made.optimal


def test_another_packer_can_take_the_seat():
    asked: list[PackingProblem] = []

    def lazy(problem: PackingProblem) -> Packing:
        asked.append(problem)
        return Packing(unplaced={i: g.count for i, g in enumerate(problem.groups)})

    made = plan(scene(pod("a"), pod("b")).snapshot(), packer=lazy)
    assert [g.count for g in asked[0].groups] == [2]
    assert made.requests == ()
    assert {r.code for u in made.unplaced for r in u.reasons} == {"NoRoom"}


def test_a_pool_of_another_currency_is_named():
    given = scene(pod("a"))
    given.classes.append(kwok_node_class(name="us"))
    given.classes[1]["spec"]["currency"] = "USD"
    given.pools.append(node_pool("us", template={"classRef": {"name": "us"}}))
    assert plan(given.snapshot()).currency == "EUR+USD"


@pytest.mark.parametrize(("pods", "seconds"), [(1000, 3), pytest.param(10_000, 12, marks=pytest.mark.nightly)])
def test_a_round_takes_seconds_at_most(pods, seconds):
    kinds = [(f"{100 + 50 * (k % 25)}m", f"{128 + 96 * (k % 50)}Mi") for k in range(50)]
    given = scene(limits={"max": 5000})
    given.pods = [pod(f"p-{k}", *kinds[k % 50], owner=f"rs-{k % 50}") for k in range(pods)]
    snapshot = given.snapshot()
    started = time.process_time()
    made = plan(snapshot)
    assert time.process_time() - started < seconds
    assert made.result is PlanResult.ALL_PLACED
    assert made.cost_per_hour <= made.lower_bound_per_hour * 105 / 100
