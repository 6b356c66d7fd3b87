"""The model of kube-scheduler: its scores, and whom it binds where.

Whether a pod fits at all is the judge's word, which tests/e2e/test_scheduler.py holds against the real scheduler.
"""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.default_scheduler import DefaultScheduler, score
from planner.objects.kinds import Pod, PodTerm, Requirement, Spread, Taint, Toleration
from planner.scheduling.site import Site

HOSTNAME = "kubernetes.io/hostname"
SELECTOR = (Requirement("app", "In", ("web",)),)


def node(name: str, cpu: int = 4000, memory: int = 10000, **more) -> Site:
    return Site(name, {"cpu": cpu, "memory": memory, "pods": 110}, {HOSTNAME: name}, **more)


def waiting(name: str, cpu: int = 100, memory: int = 100, **more) -> Pod:
    requests = {"cpu": cpu, "memory": memory, "pods": 1}
    return Pod(namespace="default", name=name, uid=name, requests=requests, labels={"app": "web"}, **more)


def scheduler(*sites: Site, seed: int = 0) -> DefaultScheduler:
    made = DefaultScheduler(seed)
    for site in sites:
        made.open(site)
    return made


# Source: kube-scheduler v1.36, noderesources/least_allocated_test.go and balanced_allocation_test.go: cases for a pod
# that asks for cpu 3000 and memory 5000.
@pytest.mark.parametrize(
    ("there", "used", "least_allocated", "balanced"),
    [
        pytest.param((4000, 10000), (0, 0), 37, 68, id="empty"),
        pytest.param((6000, 10000), (0, 0), 50, 75, id="empty and larger"),
        pytest.param((10000, 20000), (3000, 0), 57, 73, id="used"),
        pytest.param((10000, 20000), (3000, 5000), 45, 74, id="used evenly"),
        pytest.param((10000, 50000), (3000, 5000), 60, 70, id="used and larger"),
    ],
)
def test_scores_are_those_of_the_schedulers_own_tests(there, used, least_allocated, balanced):
    pod = waiting("pod", cpu=3000, memory=5000)
    found = score(pod, node("node", *there), dict(zip(("cpu", "memory"), used, strict=True)))
    assert found == least_allocated + balanced


def test_pods_go_where_most_is_free():
    resident = waiting("resident", cpu=2000, memory=5000, node_name="used")
    found = scheduler(node("used", pods=(resident,)), node("free")).bind([waiting("pod")])
    assert found == {"pod": "free"}


def test_each_pod_counts_for_the_next():
    found = scheduler(node("one"), node("other")).bind([waiting(f"pod-{i}", cpu=500, memory=1250) for i in range(16)])
    assert Counter(found.values()) == {"one": 8, "other": 8}


def test_the_most_important_pod_comes_first():
    pods = [waiting(f"pod-{i}", cpu=4000) for i in range(20)]
    pods[7] = replace(pods[7], priority=5)
    assert scheduler(node("one")).bind(pods) == {"pod-7": "one"}


def test_chance_decides_from_the_seed():
    def landed(seed: int) -> dict[str, str]:
        return scheduler(*map(node, "abcdefgh"), seed=seed).bind([waiting(f"pod-{i}", cpu=900) for i in range(20)])

    assert landed(1) == landed(1)
    assert len({tuple(sorted(landed(seed).items())) for seed in range(5)}) == 5


def test_who_was_refused_is_tried_on_what_comes_later():
    one = scheduler(node("small", cpu=1000))
    pods = [waiting("large", cpu=2000), waiting("other", cpu=900)]
    assert one.bind(pods) == {"other": "small"}
    assert one.bind(pods[:1]) == {}
    one.open(node("large", cpu=4000))
    assert one.bind(pods[:1]) == {"large": "large"}


def test_a_reserved_node_takes_those_who_tolerate_it():
    taint = Taint("growth.dev/reserved", "mine")
    one = scheduler(node("mine", taints=(taint,)))
    toleration = Toleration("growth.dev/reserved", value="mine", effect="NoSchedule")
    stranger, other = waiting("stranger"), Toleration("growth.dev/reserved", value="other", effect="NoSchedule")
    pods = [stranger, replace(waiting("of-another"), tolerations=(other,)), waiting("own", tolerations=(toleration,))]
    assert one.bind(pods) == {"own": "mine"}


def test_pods_keep_apart():
    apart = (PodTerm(HOSTNAME, SELECTOR, frozenset({"default"})),)
    found = scheduler(node("one"), node("other")).bind([waiting(f"pod-{i}", pod_anti_affinity=apart) for i in range(3)])
    assert sorted(found.values()) == ["one", "other"]


def test_a_node_that_would_break_a_spread_is_asked_again_when_others_have_filled_up():
    taint = Taint("reserved", "other")
    one = scheduler(node("one", pods=(waiting("resident", node_name="one"),)), node("other", taints=(taint,)))
    spread = waiting("spread", spread=(Spread(HOSTNAME, 1, SELECTOR),))
    # A second pod on "one" while "other", which it does not tolerate, has none.
    assert one.bind([spread]) == {}
    assert one.bind([waiting("own", tolerations=(Toleration("reserved", "Exists"),))]) == {"own": "other"}
    assert one.bind([spread]) == {"spread": "one"}


def test_in_a_large_cluster_the_first_nodes_that_fit_are_compared():
    # Source: numFeasibleNodesToFind: of 300 nodes (50 - 300 / 125) %.
    enough = 144
    sites = [node(f"node-{i}") for i in range(300)]
    sites[enough] = node("best", cpu=8000, memory=20000)
    one = scheduler(*sites)
    assert one.bind([waiting("first", 1000, 2500)])["first"] != "best"
    # The next search begins where the last one ended.
    assert one.bind([waiting("second", 1000, 2500)])["second"] == "best"
