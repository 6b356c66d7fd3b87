import pytest

from planner.objects.kinds import Requirement
from planner.scheduling.feasibility import Judge
from tests.planner.scheduling.scenes import HOSTNAME, fitting, pod, site, term, verdicts

A, B = {"app": "a"}, {"app": "b"}


def test_a_pod_goes_where_a_pod_that_it_wants_is_in_the_domain():
    sites = (site("x1", pod("r", labels=A), zone="x"), site("x2", zone="x"), site("y", zone="y"), site("none"))
    assert fitting(pod(pod_affinity=(term(),)), *sites) == {"x1", "x2"}


def test_one_pod_must_meet_all_terms_at_once():
    both = pod("both", labels={"app": "a", "tier": "1"})
    wants = pod(pod_affinity=(term(), term(selector=(Requirement("tier", "Exists"),))))
    apart = (site("x", pod("a", labels=A), pod("t", labels={"tier": "1"}), zone="x"),)
    assert fitting(wants, *apart) == set()
    assert fitting(wants, site("x", both, zone="x"), *apart[1:]) == {"x"}


def test_the_terms_may_be_met_by_different_pods_of_other_domains_only_key_by_key():
    # Each domain needs a pod that meets both terms, but not the same pod for both keys.
    wants = pod(pod_affinity=(term(), term(key="rack")))
    first = site("first", pod("p", labels=A), zone="x", labels={"rack": "1"})
    second = site("second", pod("q", labels=A), zone="y", labels={"rack": "2"})
    crossed = site("crossed", zone="x", labels={"rack": "2"})
    assert fitting(wants, first, second, crossed) == {"first", "second", "crossed"}


def test_the_first_of_a_group_may_begin_it_wherever_all_keys_are():
    first = pod(labels=A, pod_affinity=(term(),))
    assert fitting(first, site("x", zone="x"), site("none")) == {"x"}
    assert fitting(first, site("x", pod("r", labels=A), zone="x"), site("y", zone="y")) == {"x"}


def test_a_group_has_begun_only_where_its_pod_counts_in_a_domain():
    first = pod(labels=A, pod_affinity=(term(),))
    without_zone = site("none", pod("r", labels=A))
    assert fitting(first, without_zone, site("y", zone="y")) == {"y"}


def test_a_pod_that_does_not_meet_its_own_term_waits_for_others():
    assert fitting(pod(labels=B, pod_affinity=(term(),)), site("x", zone="x")) == set()


@pytest.mark.parametrize("namespace", ["default", "other"])
def test_a_group_of_another_namespace_is_not_its_own(namespace):
    first = pod(labels=A, namespace="default", pod_affinity=(term(namespaces=(namespace,)),))
    assert bool(fitting(first, site("x", zone="x"))) is (namespace == "default")


def test_anti_affinity_closes_the_domain_and_a_node_without_the_key_is_open():
    sites = (site("x1", pod("r", labels=A), zone="x"), site("x2", zone="x"), site("y", zone="y"), site("none"))
    assert fitting(pod(pod_anti_affinity=(term(),)), *sites) == {"y", "none"}


def test_a_pod_that_is_there_keeps_the_new_one_away_and_is_named():
    guard = pod("guard", pod_anti_affinity=(term(),))
    said = verdicts(pod(labels=A), site("x1", guard, zone="x"), site("x2", zone="x"), site("y", zone="y"))
    assert said["y"] is None
    assert said["x1"] == said["x2"]
    assert "existing pods anti-affinity rules: those of default/guard in topology.kubernetes.io/zone=x" in said["x2"]


def test_a_guard_on_a_node_without_the_key_guards_nothing():
    guard = pod("guard", pod_anti_affinity=(term(),))
    assert fitting(pod(labels=A), site("none", guard)) == {"none"}


def test_terminating_pods_count_until_they_are_gone():
    leaving = pod("leaving", labels=A, is_terminating=True)
    assert fitting(pod(pod_anti_affinity=(term(HOSTNAME),)), site("n", leaving)) == set()


SPACES = {"blue": {"team": "blue"}, "default": {}}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, False),
        ({"namespaces": ("blue",)}, True),
        ({"namespaces": (), "namespace_selector": ()}, True),
        ({"namespaces": (), "namespace_selector": (Requirement("team", "In", ("blue",)),)}, True),
        ({"namespaces": (), "namespace_selector": (Requirement("team", "DoesNotExist"),)}, False),
        ({"namespaces": ("default",), "namespace_selector": (Requirement("team", "Exists"),)}, True),
        ({"namespaces": ("blue",), "selector": None}, False),
        ({"namespaces": ("blue",), "selector": ()}, True),
    ],
)
def test_where_a_term_looks(fields, found):
    there = pod("there", namespace="blue", labels=A)
    wants = pod(pod_affinity=(term(**fields),))
    keeps_off = pod(pod_anti_affinity=(term(**fields),))
    sites = (site("x", there, zone="x"),)
    assert bool(fitting(wants, *sites, namespaces=SPACES)) is found
    assert bool(fitting(keeps_off, *sites, namespaces=SPACES)) is not found


def test_a_namespace_that_nobody_told_of_has_its_name_as_label():
    looks = (Requirement("kubernetes.io/metadata.name", "In", ("blue",)),)
    wants = pod(pod_affinity=(term(namespaces=(), namespace_selector=looks),))
    assert fitting(wants, site("x", pod("r", namespace="blue", labels=A), zone="x")) == {"x"}


def test_a_seated_pod_guards_its_domain_at_once():
    sites = (site("x", zone="x"), site("y", zone="y"))
    judge = Judge(sites)
    alone = pod("one", labels=A, pod_anti_affinity=(term(),))
    assert judge.verdict(alone, sites[0]) is None
    judge.seat(alone, sites[0])
    assert judge.verdict(pod("two", labels=A), sites[0]) is not None
    assert judge.verdict(pod("two", labels=A), sites[1]) is None
