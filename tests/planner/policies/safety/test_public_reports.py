"""Public reports on scale-down of peers, each reduced to a machine or two, and what Growth does with it."""

import pytest

from tests.builders import NOW, before, disruption_budget, node, pod
from tests.planner.policies.safety.trigger import drained, one_node, outcome, runs

KARPENTER = "karpenter.sh/do-not-disrupt"
AUTOSCALER = "cluster-autoscaler.kubernetes.io/safe-to-evict"
GOES = (["n"], {})
WEB = {"labels": {"app": "web"}}


def counted(name="web", *, namespace="default", allowed=0, healthy=1, needed=1, conditions=(), **spec):
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "conditions": list(conditions),
    }
    made = disruption_budget(name, {"app": "web"}, namespace=namespace, **spec) | {"status": status}
    made["metadata"]["generation"] = 1
    return made


def test_a_budget_of_another_namespace_says_nothing():
    """kubernetes/autoscaler#98."""
    assert outcome(one_node(counted(namespace="other"), pods=[runs("x", **WEB)])) == GOES


def test_two_budgets_over_a_pod_are_told_before_a_drain_would_hang():
    """kubernetes/kubernetes#75957, aws/karpenter-provider-aws#1414."""
    leaving, blocked = outcome(one_node(counted(allowed=1), counted("old", allowed=1), pods=[runs("x", **WEB)]))
    assert (leaving, blocked["n"][0]) == ([], "BlockedByBudget")
    assert "PodDisruptionBudgets old and web, and the eviction API refuses" in blocked["n"][1]


def test_a_budget_over_a_single_replica_blocks_before_anything_is_tainted():
    """kubernetes-sigs/karpenter#2802, aws/karpenter-provider-aws#3854: minAvailable 1 over one replica."""
    leaving, blocked = outcome(one_node(counted(minAvailable=1), pods=[runs("x", **WEB), runs("other")]))
    assert leaving == []
    assert blocked["n"][1].endswith("PodDisruptionBudget web, which lets none go now: 1 Ready, 1 needed")


def test_a_budget_that_lets_a_few_go_blocks_no_step_of_several_machines():
    """aws/karpenter-provider-aws#7586: maxUnavailable 25 %, 4 of them allowed."""
    pods = [runs(f"x-{i}", f"n-{i // 2}", **WEB) for i in range(8)]
    given = drained(*(node(f"n-{i}") for i in range(4)), counted(allowed=1, healthy=8, needed=7), pods=pods)
    assert outcome(given) == ([f"n-{i}" for i in range(4)], {})


def test_a_budget_over_jobs_tells_why_it_is_not_counted():
    """aws/karpenter-provider-aws#3594: the controller of its pods has no scale subresource."""
    message = "jobs.batch does not implement the scale subresource"
    failed = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": message}
    given = one_node(counted(healthy=0, needed=0, conditions=[failed]), pods=[runs("x", owner=("Job", "j"), **WEB)])
    assert outcome(given)[1]["n"] == (
        "BlockedByBudget",
        f"pod default/x is under PodDisruptionBudget web, which lets none go as it cannot be counted: {message}",
    )


@pytest.mark.parametrize(("policy", "goes"), [("AlwaysAllow", True), ("IfHealthyBudget", False)])
def test_pods_that_crash_block_only_where_their_budget_says_so(policy, goes):
    """kubernetes/kubernetes#72320, kubernetes-sigs/karpenter#455: all replicas in CrashLoopBackOff."""
    budget = counted(healthy=0, needed=1, unhealthyPodEvictionPolicy=policy)
    leaving, _ = outcome(one_node(budget, pods=[runs("x", ready=False, **WEB)]))
    assert leaving == (["n"] if goes else [])


@pytest.mark.parametrize(
    "volumes",
    [
        [{"name": "cache", "emptyDir": {}}],
        [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        [{"name": name, "emptyDir": {}} for name in ("istio-envoy", "istio-data", "tmp")],
    ],
)
def test_an_empty_dir_of_a_chart_blocks_nothing(volumes):
    """kubernetes/autoscaler#2184, #2048, #4664, #4219."""
    assert outcome(one_node(pods=[runs("x", volumes=volumes)])) == GOES


def test_a_replica_of_the_systems_addons_blocks_only_while_it_is_the_only_one():
    """kubernetes/autoscaler#525, #1577, kubermatic/kubeone#1891: metrics-server, coredns."""
    addon = {"namespace": "kube-system", "owner": ("ReplicaSet", "metrics-server")}
    assert outcome(one_node(pods=[runs("m-1", **addon)]))[1]["n"][0] == "BlockedBySystemPod"
    # A second replica of it, on a machine that Growth has not bought, is enough.
    given = drained(node("n"), node("fixed", pool=None), pods=[runs("m-1", **addon), runs("m-2", "fixed", **addon)])
    assert outcome(given) == GOES


def test_a_pod_that_has_ended_protects_nothing():
    """aws/karpenter-provider-aws#6086: an annotated pod has already been stopped."""
    ended = runs("x", phase="Succeeded", annotations={KARPENTER: "true"})
    assert outcome(one_node(pods=[ended])) == GOES


def test_a_pod_whose_init_containers_run_is_protected():
    """aws/karpenter-provider-aws#5786: bound twenty seconds ago, its containers are still to start."""
    starting = runs("x", phase="Pending", ready=False, annotations={KARPENTER: "true"})
    assert outcome(one_node(pods=[starting]))[1]["n"][0] == "BlockedByAnnotation"


def test_a_protection_ends_with_its_time():
    """kubernetes-sigs/karpenter#752, #2874."""
    made = runs("x", annotations={KARPENTER: "4h"})
    for hours, goes in ((3, False), (4, True)):
        made["status"]["startTime"] = before(hours=hours)
        assert (outcome(one_node(pods=[made], now=NOW)) == GOES) is goes


def test_a_pod_that_does_not_end_is_told_and_moves_nobody_else():
    """Cluster Autoscaler's LongTerminating: a pod whose finalizer nobody takes off, beside others."""
    stuck = runs("x", deleting=True)
    stuck["metadata"]["deletionTimestamp"] = before(hours=1)
    assert outcome(one_node(pods=[stuck, runs("y")]))[1]["n"][0] == "BlockedByTerminating"


def test_only_what_stands_on_the_pod_itself_counts():
    """kubernetes/autoscaler#5668: the word stood on the Deployment, not on its pods."""
    assert outcome(one_node(pods=[runs("x", annotations={AUTOSCALER: "False "})]))[1]["n"][0] == "BlockedByAnnotation"
    assert outcome(one_node(pods=[pod("x", node="n", owner="web")])) == GOES
