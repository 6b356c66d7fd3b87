"""What pods keep their machine from being emptied, case by case."""

from datetime import timedelta

import pytest

from tests.builders import NOW, before, disruption_budget, node, node_removal_request
from tests.planner.policies.safety.trigger import decided, drained, one_node, outcome, runs

KARPENTER = "karpenter.sh/do-not-disrupt"
AUTOSCALER = "cluster-autoscaler.kubernetes.io/safe-to-evict"
BARE = "pod default/x has no controller that would start it again"
LATE = f"pod default/x should have ended at {NOW - timedelta(seconds=30):%Y-%m-%d %H:%M:%S} UTC"
GOES = (["n"], {})
CACHE = {"volumes": [{"name": "cache", "emptyDir": {}}]}
HOST = {"volumes": [{"name": "sock", "hostPath": {"path": "/run/sock"}}]}


def kept(reason, why):
    return [], {"n": (reason, why)}


def terminating(*, ended_ago):
    made = runs("x", deleting=True)
    made["metadata"]["deletionTimestamp"] = before(seconds=ended_ago)
    return made


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([runs("x")], GOES),
        ([runs("x", annotations={"growth.dev/do-not-remove": ""})], GOES),
        (
            [runs("x", annotations={"growth.dev/do-not-remove": "mine"})],
            kept("BlockedByAnnotation", "pod default/x is annotated growth.dev/do-not-remove: mine"),
        ),
        (
            [runs("x", annotations={"growth.dev/safe-to-evict": "false"})],
            kept("BlockedByAnnotation", "pod default/x is annotated growth.dev/safe-to-evict: false"),
        ),
        (
            [runs("x", annotations={AUTOSCALER: "false"})],
            kept("BlockedByAnnotation", f"pod default/x is annotated {AUTOSCALER}: false"),
        ),
        ([runs("x", annotations={AUTOSCALER: "maybe"})], GOES),
        (
            [runs("x", owner=None)],
            kept("BlockedByBarePod", BARE),
        ),
        ([runs("x", owner=None, annotations={AUTOSCALER: "true"})], GOES),
        ([runs("x", **HOST)], kept("BlockedByLocalStorage", "pod default/x has local storage: hostPath sock")),
        ([runs("x", **CACHE)], GOES),
        ([runs("x", owner=None, phase="Succeeded")], GOES),
        ([runs("x", owner=("DaemonSet", "d"), **HOST)], GOES),
        ([runs("x", owner=None, annotations={"kubernetes.io/config.mirror": "h"})], GOES),
        ([terminating(ended_ago=-10)], GOES),
        ([terminating(ended_ago=29)], GOES),
        (
            [terminating(ended_ago=30)],
            kept(
                "BlockedByTerminating",
                f"pod default/x should have ended at {NOW - timedelta(seconds=30):%Y-%m-%d %H:%M:%S} UTC",
            ),
        ),
        (
            [runs("b", owner=None), runs("c", annotations={AUTOSCALER: "false"}), runs("a", **HOST)],
            kept(
                "BlockedByAnnotation",
                f"pod default/c is annotated {AUTOSCALER}: false, and 2 more of its pods must stay",
            ),
        ),
    ],
)
def test_pods(pods, expected):
    assert outcome(one_node(pods=pods)) == expected


def test_an_empty_dir_keeps_its_pod_only_where_the_pool_says_so():
    assert outcome(one_node(pods=[runs("x", **CACHE)], scale_down={"emptyDir": "evict"})) == GOES
    told = kept("BlockedByLocalStorage", "pod default/x has local storage: emptyDir cache")
    assert outcome(one_node(pods=[runs("x", **CACHE)], scale_down={"emptyDir": "keep"})) == told
    spared = runs("x", annotations={"growth.dev/safe-to-evict-local-volumes": "cache"}, **CACHE)
    assert outcome(one_node(pods=[spared], scale_down={"emptyDir": "keep"})) == GOES


def protected(name, word, started_ago):
    made = runs(name, annotations={KARPENTER: word})
    if started_ago is not None:
        made["status"]["startTime"] = before(minutes=started_ago)
    return made


def test_a_time_of_protection_wakes_the_planner_at_its_end():
    given = one_node(pods=[protected("x", "30m", 10), protected("y", "25m", 10)])
    made = decided(given)
    assert [(b.reason, b.trigger) for b in made.blocked] == [("BlockedByAnnotation", "Consolidation")]
    assert made.wake_at == NOW + timedelta(minutes=20)
    given.now = NOW + timedelta(minutes=20)
    assert outcome(given) == GOES


@pytest.mark.parametrize(
    "others", [[protected("y", "true", 10)], [protected("y", "1h", None)], [runs("y", owner=None)]]
)
def test_a_time_of_protection_wakes_nobody_beside_a_pod_that_stays(others):
    made = decided(one_node(pods=[protected("x", "30m", 10), *others]))
    assert ([b.node for b in made.blocked], made.wake_at) == (["n"], None)


def test_a_pod_that_has_not_started_is_protected_from_a_start_to_come():
    _, blocked = outcome(one_node(pods=[protected("x", "30m", None)]))
    assert blocked["n"][1] == f"pod default/x is annotated {KARPENTER}: 30m, from its start, which is to come"


SYSTEM = {"namespace": "kube-system", "labels": {"app": "dns"}, "owner": ("ReplicaSet", "dns")}
SINGLE = "pod kube-system/dns-1 is the only one of its controller, and no PodDisruptionBudget says that it may go"


def system_scene(*others, first=None, budgets=()):
    first = runs("dns-1", **(SYSTEM | (first or {})))
    return drained(node("n"), node("m", spec={"unschedulable": True}), *budgets, pods=[first, *others])


def with_status(budget, **status):
    return budget | {"status": status}


ROOM = with_status(disruption_budget("dns", namespace="kube-system"), disruptionsAllowed=1)


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [
        (system_scene(), True),
        (system_scene(first={"ready": False}), True),
        # Its other replica serves meanwhile, on another machine and Ready.
        (system_scene(runs("dns-2", "m", **SYSTEM)), False),
        (system_scene(runs("dns-2", "n", **SYSTEM)), True),
        (system_scene(runs("dns-2", "m", **SYSTEM, ready=False)), True),
        (system_scene(runs("dns-2", "m", **SYSTEM, deleting=True)), True),
        (system_scene(runs("dns-2", "m", **SYSTEM, phase="Failed")), True),
        (system_scene(runs("dns-2", "m", **(SYSTEM | {"owner": ("ReplicaSet", "other")}))), True),
        (system_scene(first={"annotations": {AUTOSCALER: "true"}}), False),
        (system_scene(first={"owner": ("DaemonSet", "dns")}), False),
        (system_scene(first={"namespace": "kube-system-2"}), False),
        (system_scene(first={"deleting": True}), False),
        (system_scene(budgets=[ROOM]), False),
        # Of another namespace, it says nothing.
        (system_scene(budgets=[with_status(disruption_budget("dns"), disruptionsAllowed=1)]), True),
    ],
)
def test_a_single_pod_of_the_system(given, is_kept):
    """Source: Cluster Autoscaler, FAQ, "How to set PDBs to enable CA to move kube-system pods?"."""
    leaving, blocked = outcome(given)
    assert leaving == ([] if is_kept else ["n"])
    assert blocked.get("n") == (("BlockedBySystemPod", SINGLE) if is_kept else None)


def test_a_replica_on_a_machine_that_goes_serves_nobody_for_long():
    given = system_scene(runs("dns-2", "m", **SYSTEM))
    given.removals = [node_removal_request("m")]
    assert outcome(given)[1]["n"] == ("BlockedBySystemPod", SINGLE)
