"""Pods whose affinity over the host name looks for pods of the same round.

Source of the rules: kube-scheduler's InterPodAffinity; of the wish, Karpenter's topology_test ("should
respect self/other pod affinity (hostname)"), whose simulation places one pod beside the other.
"""

from collections import Counter

from planner.model.plan import Plan
from tests.builders import Json, pod
from tests.planner.packing.domains.rows import at, away, codes, near, places, planned, scene, several, spread, term
from tests.planner.wishes import HOST, ZONE


def machines(made: Plan) -> list[tuple[str, dict[str, int]]]:
    """Return each machine to buy with its pods by app."""
    found = [
        (r.server_type, dict(sorted(Counter(s.name.split("-")[0] for s in r.seats).items()))) for r in made.requests
    ]
    return sorted(found, key=str)


def beside(number: int, cpu: str = "500m", to: str = "db", **spec: object) -> list[Json]:
    return several(number, cpu, affinity=near(term(HOST, to)), **spec)


def test_one_machine_for_a_pod_and_the_one_that_looks_for_it():
    made = planned(scene(*beside(1, "1"), *several(1, "1", app="db")))
    assert machines(made) == [("cx22", {"db": 1, "web": 1})]


def test_a_larger_machine_where_the_pair_needs_it():
    # Alone, the db would get a cx22 that has no room for both others.
    made = planned(scene(*beside(2, "1"), *several(1, "1500m", app="db")))
    assert machines(made) == [("cx32", {"db": 1, "web": 2})]


def test_company_is_shared_out_evenly():
    made = planned(scene(*beside(5, "1"), *several(2, "1", app="db", affinity=away(term(HOST, "db")))))
    assert machines(made) == [("cx32", {"db": 1, "web": 2}), ("cx32", {"db": 1, "web": 3})]


def test_those_without_company_are_packed_as_before():
    made = planned(scene(*beside(1, "1"), *several(5, "1", app="db")))
    assert made.cost_per_hour == made.lower_bound_per_hour
    assert sum(pods.get("db", 0) for _, pods in machines(made)) == 5
    assert next(pods for _, pods in machines(made) if "web" in pods)["db"] >= 1


def test_more_than_find_room_beside_it_are_told_so():
    made = planned(scene(*beside(5, "1"), *several(1, "1", app="db")))
    assert machines(made) == [("cx32", {"db": 1, "web": 3})]
    assert codes(made) == {"web-3": "AffinityUnsatisfiable", "web-4": "AffinityUnsatisfiable"}
    assert made.unplaced[0].reasons[0].message == (
        "no machine has room for it beside default/db-0, which its pod affinity over kubernetes.io/hostname looks for"
    )


def test_it_waits_where_nothing_holds_the_other():
    made = planned(scene(*beside(1), *several(1, "64", app="db")))
    assert codes(made) == {"web-0": "WaitsForPods", "db-0": "TooLarge"}
    assert made.requests == ()


def test_the_other_is_not_left_out_where_only_the_pair_is_too_large():
    made = planned(scene(*beside(1, "3"), *several(1, "3", app="db")))
    assert machines(made) == [("cx32", {"db": 1})]
    assert codes(made) == {"web-0": "AffinityUnsatisfiable"}


def test_room_beside_one_that_runs_first_then_beside_those_to_come():
    running = pod("r", "1", labels={"app": "db"}, node="n")
    given = scene(running, *beside(3, "1"), *several(1, "1500m", app="db"), nodes=[at("n", "nbg1")])
    made = planned(given)
    assert places(made) == {"web-0": "n"}
    assert machines(made) == [("cx32", {"db": 1, "web": 2})]


def test_a_chain_of_three_on_one_machine():
    chain = several(1, "1", app="queue", affinity=near(term(HOST, "web")))
    made = planned(scene(*chain, *beside(1, "1"), *several(1, "1", app="db")))
    assert machines(made) == [("cx32", {"db": 1, "queue": 1, "web": 1})]


def test_two_classes_beside_the_same_pod():
    other = several(1, "1", app="queue", affinity=near(term(HOST, "db")))
    made = planned(scene(*other, *beside(1, "1"), *several(1, "1", app="db")))
    assert machines(made) == [("cx32", {"db": 1, "queue": 1, "web": 1})]


def test_beside_a_group_that_shares_a_machine():
    group = several(2, "1", app="db", affinity=near(term(HOST, "db")))
    made = planned(scene(*beside(2, "1"), *group))
    assert machines(made) == [("cx32", {"db": 2, "web": 2})]


def test_each_of_them_on_a_machine_of_its_own():
    both = near(term(HOST, "db")) | away(term(HOST, "web"))
    made = planned(scene(*several(2, "500m", affinity=both), *several(2, "500m", app="db")))
    assert [pods for _, pods in machines(made)] == [{"db": 1, "web": 1}] * 2


def test_who_looks_for_it_and_shuns_it_is_not_beside_it():
    both = near(term(HOST, "db")) | away(term(HOST, "db"))
    made = planned(scene(*several(1, affinity=both), *several(1, app="db")))
    assert machines(made) == [("cx22", {"db": 1})]
    assert set(codes(made)) == {"web-0"}


def test_spread_over_zones_and_beside_others():
    made = planned(
        scene(
            *several(3, affinity=near(term(HOST, "db")), topologySpreadConstraints=[spread(ZONE)]),
            *several(3, app="db", topologySpreadConstraints=[spread(ZONE, app="db")]),
        )
    )
    assert sorted((r.location, len(r.seats)) for r in made.requests) == [("fsn1", 2), ("hel1", 2), ("nbg1", 2)]
    assert made.unplaced == ()


def test_spread_over_zones_beside_pods_that_may_go_anywhere():
    made = planned(
        scene(
            *several(3, affinity=near(term(HOST, "db")), topologySpreadConstraints=[spread(ZONE)]),
            *several(3, app="db"),
        )
    )
    assert sorted(r.location for r in made.requests) == ["fsn1", "hel1", "nbg1"]
    assert made.unplaced == ()


def test_a_third_that_follows_them_into_their_zone():
    third = several(2, "1", app="queue", affinity=near(term(ZONE, "web")))
    made = planned(scene(*third, *beside(1, "1"), *several(1, "1", app="db")))
    assert made.unplaced == ()
    assert len({r.location for r in made.requests}) == 1


def test_priority_of_the_pair_is_the_higher_one():
    made = scene(*beside(1, "2", priority=10), *several(1, "2", app="db"), *several(1, "4", app="queue", priority=5))
    made.pools[0]["spec"]["limits"]["max"] = 1
    assert machines(planned(made)) == [("cx32", {"db": 1, "web": 1})]


def test_who_meets_its_own_affinity_begins_where_the_others_can_have_no_machine():
    # Found by a random scene. The scheduler lets it land anywhere: no pod with a machine matches, and it does itself.
    stuck = pod("stuck", labels={"app": "web"}, nodeSelector={"disk": "none-has-it"})
    made = planned(scene(stuck, pod("alone", labels={"app": "web"}, affinity=near(term(HOST, "web")))))
    assert [seat.name for one in made.requests for seat in one.seats] == ["alone"]
