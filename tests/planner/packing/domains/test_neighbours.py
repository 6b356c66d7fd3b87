"""Pod affinity and anti-affinity over any key. Source: Kubernetes docs, "Assigning Pods to Nodes"; Karpenter."""

import pytest

from tests.builders import pod
from tests.planner.packing.domains.rows import at, away, by_zone, codes, near, places, planned, scene, several, term
from tests.planner.wishes import HOST, ZONE


def test_one_of_a_kind_in_each_zone():
    # Source: Karpenter, topology_test 2322-2533.
    made = planned(scene(*several(4, affinity=away(term(ZONE, "web")))))
    assert by_zone(made) == {"fsn1": 1, "hel1": 1, "nbg1": 1}
    assert list(codes(made).values()) == ["AntiAffinity"]


def test_zones_with_such_a_pod_are_closed():
    given = scene(pod("r", labels={"app": "db"}, node="n"), *several(2, affinity=away(term(ZONE, "db"))))
    given.nodes = [at("n", "fsn1", "cx32")]
    made = planned(given)
    assert places(made) == {}
    assert "fsn1" not in by_zone(made)


@pytest.mark.parametrize("key", [ZONE, HOST])
def test_pods_that_are_there_keep_new_ones_away(key):
    # Source: Karpenter, topology_test: inverse anti-affinity with existing nodes.
    shy = pod("shy", labels={"app": "db"}, node="n", affinity=away(term(key, "web")))
    made = planned(scene(shy, *several(1), nodes=[at("n", "fsn1", "cx32")]))
    assert places(made) == {}
    assert ("fsn1" in by_zone(made)) is (key == HOST)


def test_a_resident_of_another_namespace_keeps_away_where_its_term_looks():
    shy = pod(
        "shy", labels={"app": "db"}, node="n", namespace="x", affinity=away(term(HOST, "web", namespaceSelector={}))
    )
    made = planned(scene(shy, *several(1), nodes=[at("n", "fsn1", "cx32")]))
    assert places(made) == {}


def test_two_classes_that_keep_away_get_zones_of_their_own():
    made = planned(scene(*several(2, app="db"), *several(2, affinity=away(term(ZONE, "db")))))
    zones = {s.name.split("-")[0]: r.location for r in made.requests for s in r.seats}
    assert made.unplaced == ()
    assert zones["db"] != zones["web"]


def test_affinity_to_a_pod_that_runs():
    made = planned(
        scene(
            pod("r", labels={"app": "db"}, node="n"),
            *several(9, affinity=near(term(ZONE, "db"))),
            nodes=[at("n", "hel1")],
        )
    )
    assert set(by_zone(made)) == {"hel1"}
    assert made.unplaced == ()


def test_affinity_to_nobody():
    made = planned(scene(*several(1, affinity=near(term(ZONE, "db")))))
    assert codes(made) == {"web-0": "AffinityUnsatisfiable"}
    assert made.requests == ()


def test_a_group_that_looks_for_itself_begins_in_one_zone():
    # Source: node-autoscalers.md 2C row 6: required affinity by zone, 2 pods, 2 zones -> one zone.
    made = planned(scene(*several(10, "1", affinity=near(term(ZONE, "web")))))
    assert len(by_zone(made)) == 1
    assert made.unplaced == ()


def test_a_group_goes_where_it_has_begun():
    running = pod("r", labels={"app": "web"}, node="n")
    made = planned(scene(running, *several(8, "1", affinity=near(term(ZONE, "web"))), nodes=[at("n", "nbg1")]))
    assert set(by_zone(made)) == {"nbg1"}


def test_a_group_on_one_host():
    # Source: Karpenter, topology_test 2016-2150.
    made = planned(scene(*several(3, "1", affinity=near(term(HOST, "web")))))
    assert [(r.server_type, len(r.seats)) for r in made.requests] == [("cx32", 3)]


def test_more_than_one_host_can_take_stays_out():
    made = planned(scene(*several(6, "1", affinity=near(term(HOST, "web")))))
    assert [(r.server_type, len(r.seats)) for r in made.requests] == [("cx32", 4)]
    assert set(codes(made).values()) == {"AffinityUnsatisfiable"}


def test_beside_a_pod_that_runs():
    running = pod("r", "100m", labels={"app": "db"}, node="n")
    given = scene(running, *several(2, "1", affinity=near(term(HOST, "db"))), nodes=[at("n", "nbg1"), at("m", "nbg1")])
    made = planned(given)
    assert places(made) == {"web-0": "n"}
    assert made.requests == ()


def test_chained_affinities_are_planned_in_one_round():
    # Source: Karpenter, topology_test 2792.
    first = several(1, app="a")
    second = several(1, app="b", affinity=near(term(ZONE, "a")))
    third = several(1, app="c", affinity=near(term(ZONE, "b")))
    made = planned(scene(*third, *second, *first))
    assert made.unplaced == ()
    assert len(by_zone(made)) == 1
