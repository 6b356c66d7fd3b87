"""Topology spread over zones and hosts. Source: Kubernetes docs, "Pod Topology Spread Constraints"; Karpenter."""

import time

import pytest

from planner.plan import plan
from tests.builders import node_pool, pod, server_type
from tests.planner.checker import violations
from tests.planner.packing.domains.rows import at, by_zone, codes, places, planned, scene, several, spread
from tests.planner.wishes import HOST, ZONE, needs


def test_nine_pods_go_three_by_three():
    # Source: Karpenter, topology_test 111-350: 9 pods -> 3/3/3.
    made = planned(scene(*several(9, topologySpreadConstraints=[spread()])))
    assert by_zone(made) == {"fsn1": 3, "hel1": 3, "nbg1": 3}
    assert made.unplaced == ()


def test_what_is_there_counts():
    # Source: Karpenter, topology_test: after deletions, 3 more level the zones.
    running = [pod(f"r{k}", labels={"app": "web"}, node="n1") for k in range(3)]
    given = scene(*running, *several(3, topologySpreadConstraints=[spread()]), nodes=[at("n1", "fsn1")])
    assert by_zone(planned(given)) in ({"hel1": 2, "nbg1": 1}, {"hel1": 1, "nbg1": 2})


def test_a_zone_that_nothing_can_be_bought_in_holds_the_others_back():
    # Source: Karpenter, topology_test: a blocked zone. Its node is full, counts as a domain and keeps the minimum at 0.
    full = pod("full", "2", "1Gi", node="n1")
    given = scene(
        full, *several(5, topologySpreadConstraints=[spread()]), zones=("hel1", "nbg1"), nodes=[at("n1", "fsn1")]
    )
    made = planned(given)
    assert by_zone(made) == {"hel1": 1, "nbg1": 1}
    assert set(codes(made).values()) == {"SpreadUnsatisfiable"}
    assert len(made.unplaced) == 3


def test_a_machine_of_a_minimum_is_a_domain():
    # Found by a random scene. The second pool takes none of these pods, and its Node counts for their spread.
    arm = node_pool("arm", types=("cax11",), limits={"min": 1, "max": 1}, matchUnselectedPods=False)
    given = scene(*several(2, topologySpreadConstraints=[spread("kubernetes.io/arch")]), types=("cx22",))
    given.pools.append(arm)
    given.classes[0]["spec"]["serverTypes"].append(server_type("cax11"))
    made = plan(given.snapshot())
    assert sorted(len(one.seats) for one in made.requests) == [0, 1]
    assert violations(given, made) == []


def test_pods_that_terminate_do_not_count():
    leaving = pod("r", labels={"app": "web"}, node="n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-03-01T11:59:00Z"
    given = scene(
        leaving, *several(2, topologySpreadConstraints=[spread()]), zones=("fsn1", "hel1"), nodes=[at("n1", "fsn1")]
    )
    made = planned(given)
    assert len(places(made)) == 1
    assert by_zone(made) == {"hel1": 1}


def test_only_zones_that_the_pod_wants_count():
    wish = needs([{"key": ZONE, "operator": "In", "values": ["fsn1", "hel1"]}])
    made = planned(scene(*several(4, affinity=wish, topologySpreadConstraints=[spread()])))
    assert by_zone(made) == {"fsn1": 2, "hel1": 2}


def test_with_policy_ignore_all_zones_count():
    wish = needs([{"key": ZONE, "operator": "In", "values": ["fsn1", "hel1"]}])
    constraint = spread(nodeAffinityPolicy="Ignore")
    given = scene(
        *several(4, affinity=wish, topologySpreadConstraints=[constraint]), nodes=[at("n", "nbg1", ready=False)]
    )
    made = planned(given)
    assert by_zone(made) == {"fsn1": 1, "hel1": 1}
    assert len(made.unplaced) == 2


@pytest.mark.parametrize(("policy", "placed"), [("Ignore", 2), ("Honor", 4)])
def test_nodes_with_taints_count_or_not(policy, placed):
    taint = [{"key": "team", "value": "blue", "effect": "NoSchedule"}]
    given = scene(
        *several(4, topologySpreadConstraints=[spread(nodeTaintsPolicy=policy)]),
        zones=("fsn1", "hel1"),
        nodes=[at("n", "nbg1", taints=taint)],
    )
    assert sum(by_zone(planned(given)).values()) == placed


def test_too_few_domains_count_as_an_empty_one():
    made = planned(scene(*several(4, topologySpreadConstraints=[spread(minDomains=3)]), zones=("fsn1", "hel1")))
    assert by_zone(made) == {"fsn1": 1, "hel1": 1}
    assert len(made.unplaced) == 2
    assert "with maxSkew 1 and minDomains 3, of which 2 are there (" in made.unplaced[0].reasons[0].message


def test_hosts_take_as_many_as_the_skew_beside_one_that_has_none():
    full = pod("full", "2", "64Mi", node="n1")
    given = scene(full, *several(5, "100m", topologySpreadConstraints=[spread(HOST, 2)]), nodes=[at("n1", "fsn1")])
    assert sorted(len(r.seats) for r in planned(given).requests) == [1, 2, 2]


def test_a_host_with_a_pod_takes_no_second_one():
    running = pod("r", "100m", labels={"app": "web"}, node="n1")
    given = scene(
        running,
        *several(2, "100m", topologySpreadConstraints=[spread(HOST)]),
        nodes=[at("n1", "fsn1"), at("n2", "fsn1")],
    )
    made = planned(given)
    assert places(made) == {"web-0": "n2"}
    assert len(made.requests) == 1


def test_zones_and_hosts_together():
    both = [spread(), spread(HOST)]
    made = planned(scene(*several(6, "100m", topologySpreadConstraints=both)))
    assert by_zone(made) == {"fsn1": 2, "hel1": 2, "nbg1": 2}
    # The scheduler binds one pod to each of the three machines, and then a second one.
    assert len(made.requests) == 3


def test_zones_and_hosts_together_beside_a_host_that_has_none():
    # Source: Karpenter, topology_test 944-1093.
    full = pod("full", "2", "64Mi", node="n1")
    both = [spread(), spread(HOST)]
    made = planned(scene(full, *several(6, "100m", topologySpreadConstraints=both), nodes=[at("n1", "fsn1")]))
    assert by_zone(made) == {"fsn1": 2, "hel1": 2, "nbg1": 2}
    assert len(made.requests) == 6


def test_two_classes_that_count_each_other_are_spread_together():
    small = several(3, "100m", name="small", topologySpreadConstraints=[spread()])
    large = several(3, "1", name="large", topologySpreadConstraints=[spread()])
    assert by_zone(planned(scene(*small, *large))) == {"fsn1": 2, "hel1": 2, "nbg1": 2}


def test_machines_without_the_key_take_none():
    made = planned(scene(*several(2, topologySpreadConstraints=[spread("rack")])))
    assert set(codes(made).values()) == {"SpreadUnsatisfiable"}
    assert made.requests == ()


def test_a_thousand_pods_over_three_zones_take_less_than_a_second_of_a_core():
    given = scene(*several(1000, topologySpreadConstraints=[spread()]), types=("cx42",))
    given.pools[0]["spec"]["limits"]["max"] = 1000
    snapshot = given.snapshot()
    began = time.process_time()
    made = plan(snapshot)
    assert time.process_time() - began < 1
    assert sorted(by_zone(made).values()) == [333, 333, 334]
