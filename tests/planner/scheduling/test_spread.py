import pytest

from planner.objects.kinds import Requirement, Spread, Taint
from tests.planner.scheduling.scenes import APP_A, HOSTNAME, ZONE, fitting, pod, site, verdicts

A = {"app": "a"}
LINUX = (Requirement("os", "In", ("linux",)),)


def counted(name, zone, count, **fields):
    return site(name, *(pod(f"{name}-{n}", labels=A) for n in range(count)), zone=zone, **fields)


def even(skew=1, key=ZONE, selector=APP_A, **fields):
    return Spread(topology_key=key, max_skew=skew, selector=selector, **fields)


def spreading(*constraints, **fields):
    return pod(labels=fields.pop("labels", A), spread=constraints or (even(),), **fields)


@pytest.mark.parametrize(("skew", "fits"), [(1, {"z"}), (2, {"z", "y"}), (3, {"x", "y", "z"})])
def test_the_skew_is_the_new_count_less_the_least(skew, fits):
    sites = (counted("x", "x", 2), counted("y", "y", 1), counted("z", "z", 0))
    assert fitting(spreading(even(skew)), *sites) == fits


def test_a_pod_that_the_selector_does_not_match_adds_nothing():
    sites = (counted("x", "x", 1), counted("y", "y", 0))
    assert fitting(spreading(labels={"app": "b"}), *sites) == {"x", "y"}
    assert fitting(spreading(), *sites) == {"y"}


def test_too_few_domains_count_as_an_empty_one():
    sites = (counted("x", "x", 1), counted("y", "y", 1))
    assert fitting(spreading(even(min_domains=2)), *sites) == {"x", "y"}
    assert fitting(spreading(even(min_domains=3)), *sites) == set()


def test_a_node_without_the_key_takes_no_pod_and_says_which_key():
    said = verdicts(spreading(), site("none"), counted("x", "x", 0))
    assert said["x"] is None
    assert said["none"].endswith(f"(missing required label): {ZONE}")


def test_a_node_without_one_of_the_keys_counts_for_none():
    sites = (
        counted("x", "x", 1, labels={"rack": "1"}),
        counted("y", "y", 0),
        counted("z", "z", 1, labels={"rack": "1"}),
    )
    both = spreading(even(), even(5, key="rack"))
    assert fitting(both, *sites) == {"x", "z"}
    assert fitting(spreading(), *sites) == {"y"}


def test_nodes_that_the_pod_does_not_want_make_no_domain_unless_told_so():
    sites = (counted("x", "x", 1, labels={"os": "linux"}), counted("y", "y", 0))
    assert fitting(spreading(node_selector=LINUX), *sites) == {"x"}
    assert fitting(spreading(even(honors_node_affinity=False), node_selector=LINUX), *sites) == set()


def test_tainted_nodes_make_a_domain_unless_told_not_to():
    sites = (counted("x", "x", 1), counted("y", "y", 0, taints=(Taint("full"),)))
    assert fitting(spreading(), *sites) == set()
    assert fitting(spreading(even(honors_node_taints=True)), *sites) == {"x"}


def test_terminating_pods_and_those_of_other_namespaces_do_not_count():
    leaving = pod("leaving", labels=A, is_terminating=True)
    elsewhere = pod("elsewhere", labels=A, namespace="other")
    assert fitting(spreading(), site("x", leaving, elsewhere, zone="x"), site("y", zone="y")) == {"x", "y"}


@pytest.mark.parametrize("selector", [(), None])
def test_a_selector_without_requirements_and_no_selector_count_nobody(selector):
    # Source: kube-scheduler, podtopologyspread/common.go: countPodsMatchSelector returns 0 for an empty selector.
    sites = (counted("x", "x", 3), counted("y", "y", 0))
    assert fitting(spreading(even(selector=selector)), *sites) == {"x", "y"}


def test_every_constraint_must_hold():
    sites = (counted("x1", "x", 1), counted("x2", "x", 0), counted("y1", "y", 1), counted("y2", "y", 1))
    assert fitting(spreading(even(), even(key=HOSTNAME)), *sites) == {"x2"}
