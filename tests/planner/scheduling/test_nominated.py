"""Nodes that are kept for other pods. Source: kube-scheduler, `RunFilterPluginsWithNominatedPods`."""

from dataclasses import replace

import pytest

from planner.objects.kinds import HostPort, Node, Spread
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import sites_of
from tests.planner.scheduling.scenes import APP_A, HOSTNAME, ZONE, fitting, pod, site, term, verdicts

SIX_OF_EIGHT = {"cpu": 6000, "pods": 1}


@pytest.mark.parametrize(("priority", "fits"), [(9, True), (10, False), (11, False)])
def test_only_pods_of_no_lower_priority_have_its_room(priority, fits):
    kept = site("n", nominated=(pod("kept", requests=SIX_OF_EIGHT, priority=priority),))
    found = verdicts(pod(requests=SIX_OF_EIGHT, priority=10), kept)["n"]
    told = "Insufficient cpu: 6 requested, 2 free (with the pods on their way to it)"
    assert found == (None if fits else told)


def test_the_room_is_the_pods_own():
    kept = pod("kept", requests=SIX_OF_EIGHT)
    assert fitting(kept, site("n", nominated=(kept,))) == {"n"}


def test_all_of_them_count_together():
    three = {"cpu": 3000, "pods": 1}
    kept = tuple(pod(name, requests=three) for name in ("a", "b"))
    assert fitting(pod(requests=three), site("n", nominated=kept[:1])) == {"n"}
    assert fitting(pod(requests=three), site("n", nominated=kept)) == set()


def test_what_is_wanted_near_must_be_there_without_them():
    wants = pod(pod_affinity=(term(HOSTNAME),))
    like = pod("kept", labels={"app": "a"})
    assert fitting(wants, site("n", nominated=(like,))) == set()
    assert fitting(wants, site("n", replace(like, uid="there"), nominated=(like,))) == {"n"}


def test_what_is_wanted_apart_counts_on_their_own_node_alone():
    away = pod(pod_anti_affinity=(term(ZONE),))
    sites = (site("n", zone="a", nominated=(pod("kept", labels={"app": "a"}),)), site("m", zone="a"))
    assert fitting(away, *sites) == {"m"}


def test_they_may_keep_others_away_themselves():
    kept = pod("kept", pod_anti_affinity=(term(HOSTNAME),))
    assert fitting(pod(labels={"app": "a"}), site("n", nominated=(kept,)), site("m")) == {"m"}


def test_they_count_for_a_spread_on_their_own_node_alone():
    even = pod(labels={"app": "a"}, spread=(Spread(ZONE, 1, APP_A),))
    like = pod("kept", labels={"app": "a"})
    # With it on n: 1 in a, 0 in b. On m nobody is looked at but the pods that are bound.
    sites = (site("n", zone="a", nominated=(like,)), site("m", zone="a"), site("o", zone="b"))
    assert fitting(even, *sites) == {"m", "o"}


def test_their_host_ports_are_taken():
    web = pod(host_ports=(HostPort(80),))
    assert fitting(web, site("n", nominated=(replace(web, uid="kept"),)), site("m")) == {"m"}


def test_pods_that_are_seated_meanwhile_count_beside_them():
    two = {"cpu": 2000, "pods": 1}
    place = site("n", nominated=(pod("kept", requests={"cpu": 4000}),))
    judge = Judge([place])
    assert judge.verdict(pod(requests=two), place) is None
    judge.seat(pod("seated", requests={"cpu": 1}), place)
    assert judge.verdict(pod("other", requests={"cpu": 4000}), place) is not None
    judge.seat(pod("more", requests=two), place)
    assert judge.verdict(pod(requests=two), place) is not None


def test_pods_are_laid_on_nodes_apart_from_those_that_come():
    node = Node("n", "n", {"cpu": 1})
    (made,) = sites_of([node], [pod("on", node_name="n"), pod("comes", nominated_node="n"), pod("waits")])
    assert [one.name for one in made.pods] == ["on"]
    assert [one.name for one in made.nominated] == ["comes"]
