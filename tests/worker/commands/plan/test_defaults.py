"""What a cluster fills into objects from files: pods, templates and claims; and what is told if it cannot be known.

Source: Kubernetes docs, "Runtime Class", "Pod Overhead", "Pod Priority and Preemption", "Storage Classes" and
"Ephemeral Volumes".
"""

import pytest

from planner.model.plan import Problem
from tests.builders import claim, daemon_set, differing, limit_range, pod, storage_class
from tests.planner.wishes import own_disk
from worker.commands.plan.completion.defaults import completed
from worker.commands.plan.objects import Objects

GVISOR = {
    "kind": "RuntimeClass",
    "metadata": {"name": "gvisor"},
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"runtime": "gvisor"}, "tolerations": [{"key": "gvisor", "operator": "Exists"}]},
}


def by_hand(name="a", **spec):
    """Return a pod that no API server has stored."""
    made = pod(name, **spec)
    del made["metadata"]["uid"]
    return made


def priority_class(name, value, **more):
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value} | more


def cluster(*items):
    objects = Objects()
    for item in items:
        objects.add("f", "f: document 1", item["kind"], item)
    return completed(objects)


def spec_of(*items):
    made = cluster(*items)
    assert (made.problems, made.notes) == ([], [])
    return made.pods[0]["spec"]


def test_a_runtime_class_adds_overhead_selector_and_tolerations():
    own = [{"key": "gpu", "operator": "Exists"}]
    spec = spec_of(GVISOR, by_hand(runtimeClassName="gvisor", nodeSelector={"disk": "ssd"}, tolerations=own))
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "gvisor"}
    assert spec["tolerations"] == [*own, {"key": "gvisor", "operator": "Exists"}]
    # What is there already is there once.
    assert spec_of(GVISOR, by_hand(**spec)) == spec | {"priority": 0}


def test_the_template_of_a_daemon_set_has_it_too():
    made = cluster(GVISOR, daemon_set("agent", runtimeClassName="gvisor"))
    assert made.daemon_sets[0]["spec"]["template"]["spec"]["overhead"] == {"cpu": "250m"}
    assert made.daemon_sets[0]["metadata"] == daemon_set("agent")["metadata"]


def test_a_pod_that_was_stored_is_taken_as_it_is():
    stored = pod("a", runtimeClassName="gvisor", priorityClassName="high")
    made = cluster(GVISOR, priority_class("usual", 7, globalDefault=True), stored)
    assert made.pods == [stored]
    assert made.notes == []


def test_a_runtime_class_that_is_not_known_or_contradicts():
    pods = [by_hand(name, runtimeClassName="kata") for name in "abcd"]
    other = by_hand("other", runtimeClassName="gvisor", nodeSelector={"runtime": "runc"})
    made = cluster(GVISOR, *pods, by_hand("with", runtimeClassName="kata", overhead={"cpu": "1"}), other)
    named = "default/a, default/b, default/c and 1 more"
    assert made.notes == [
        f"RuntimeClass kata is not known: what it adds to pods is left out for {named}",
        "RuntimeClass gvisor contradicts the nodeSelector, and an API server would refuse default/other",
    ]
    assert made.pods[-1]["spec"]["nodeSelector"] == {"runtime": "runc"}


def test_classes_that_cannot_be_read():
    broken = [differing(GVISOR, {"overhead": {"podFixed": {"cpu": "much"}}}), priority_class("high", "1")]
    made = cluster(*broken, by_hand(runtimeClassName="gvisor", priorityClassName="high"))
    assert [(problem.kind, problem.name) for problem in made.problems] == [
        ("RuntimeClass", "gvisor"),
        ("PriorityClass", "high"),
    ]
    assert made.problems[0].message.startswith("overhead.podFixed.cpu: 'much' is not a quantity")
    assert made.notes == [
        "RuntimeClass gvisor is not known: what it adds to pods is left out for default/a",
        "PriorityClass high is not known: a priority of 0 is taken for default/a",
    ]


@pytest.mark.parametrize(
    ("spec", "classes", "value"),
    [
        ({}, (), 0),
        ({"priorityClassName": "high"}, (priority_class("high", 5),), 5),
        ({"priorityClassName": "high", "priority": 3}, (priority_class("high", 5),), 3),
        ({"priorityClassName": "system-node-critical"}, (), 2_000_001_000),
        ({}, (priority_class("high", 5),), 0),
        # Of several defaults the lowest counts, as in the admission plugin Priority.
        ({}, (priority_class("a", 9, globalDefault=True), priority_class("b", 5, globalDefault=True)), 5),
    ],
)
def test_the_priority_of_a_pod(spec, classes, value):
    assert spec_of(*classes, by_hand(**spec))["priority"] == value


def test_pods_and_daemon_sets_without_containers_are_problems():
    empty = [{"kind": "Pod", "metadata": {"name": "a"}}, pod("b", containers=[]), pod("c", containers=None)]
    sets = [differing(daemon_set("agent"), {"spec": change}) for change in ({"template": None},)]
    made = cluster(*empty, *sets)
    message = "spec.containers: at least one container is needed"
    assert made.problems == [
        *(Problem("Pod", f"default/{name}", message) for name in "abc"),
        Problem("DaemonSet", "kube-system/agent", "spec.template.spec.containers: at least one container is needed"),
    ]
    assert made.pods == made.daemon_sets == []


def test_what_is_formed_wrongly_is_left_to_who_parses_it():
    odd = [
        {"kind": "Pod", "metadata": {"name": "a"}, "spec": 3},
        by_hand("b", runtimeClassName="gvisor", tolerations=3),
        by_hand("c", volumes=[3, {"name": "x", "ephemeral": 3}]),
        {**daemon_set("agent"), "spec": {"template": {"spec": 3}}},
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "x", "annotations": 3}, "spec": {}},
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "y"}, "spec": 3},
    ]
    made = cluster(GVISOR, *odd)
    assert made.problems == []
    assert made.pods[0]["spec"] == 3
    assert made.pods[1]["spec"]["tolerations"] == 3
    assert made.daemon_sets == [odd[3]]
    assert made.claims == odd[4:]


def test_a_pod_without_a_status_waits_or_runs_on_its_node():
    bare, bound = by_hand("a"), by_hand("b", node="n")
    del bare["status"]
    bound.pop("status", None)
    made = cluster(bare, bound)
    assert made.pods[0]["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert made.pods[1]["status"] == {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def marked(name, at=None, *, key="storageclass.kubernetes.io/is-default-class", value="true"):
    return differing(storage_class(name), {"metadata": {"annotations": {key: value}, "creationTimestamp": at}})


@pytest.mark.parametrize(
    ("classes", "taken"),
    [
        ((storage_class("plain"),), None),
        ((storage_class("plain"), marked("usual")), "usual"),
        ((marked("usual", key="storageclass.beta.kubernetes.io/is-default-class"),), "usual"),
        ((marked("not", value="false"),), None),
        # The newest, and of the same age the first by name.
        ((marked("old", "2026-01-01T00:00:00Z"), marked("new", "2026-02-01T00:00:00Z")), "new"),
        ((marked("b", "2026-01-01T00:00:00Z"), marked("a", "2026-01-01T00:00:00Z")), "a"),
    ],
)
def test_a_claim_without_a_class_has_the_default_one(classes, taken):
    (found,) = cluster(claim("data", storage_class=None), *classes).claims
    assert found["spec"].get("storageClassName") == taken


def test_a_claim_that_says_its_class_keeps_it():
    old = differing(
        claim("old", storage_class=None),
        {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}},
    )
    given = [claim("none", storage_class=""), claim("own", storage_class="own"), old]
    assert cluster(*given, marked("usual")).claims == given


def test_a_claim_that_is_bound_is_so_without_the_annotation():
    short = differing(claim("data", "v"), {"metadata": {"annotations": None}})
    waiting = differing(short, {"metadata": {"name": "w"}, "status": {"phase": "Pending"}})
    found, other = cluster(short, waiting).claims
    assert found["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}
    assert other == waiting


def test_the_claim_of_an_ephemeral_volume_is_made_from_its_template():
    made = cluster(own_disk(pod("a")), own_disk(pod("b", namespace="shop")), claim("a-scratch"), marked("usual"))
    given, new = made.claims
    assert given == claim("a-scratch")
    assert (new["metadata"]["namespace"], new["metadata"]["name"]) == ("shop", "b-scratch")
    assert new["spec"] == {"storageClassName": "usual"}


def test_a_pod_by_hand_has_what_the_limit_ranges_of_its_namespace_give():
    """Source: Kubernetes docs, "Limit Ranges": defaults are for containers that state nothing, in their namespace."""
    usual = limit_range("usual", {"defaultRequest": {"cpu": "300m", "memory": "1Gi"}}, namespace="default")
    spec = spec_of(usual, by_hand(cpu=None, memory="2Gi"))
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "300m", "memory": "2Gi"}
    elsewhere = limit_range("usual", {"defaultRequest": {"cpu": "300m"}}, namespace="shop")
    assert "cpu" not in spec_of(elsewhere, by_hand(cpu=None))["containers"][0]["resources"]["requests"]
    assert cluster(usual, pod("a", cpu=None)).pods == [pod("a", cpu=None)]


def test_a_pod_that_a_limit_range_refuses_is_named_and_planned():
    made = cluster(limit_range("small", {"max": {"cpu": "1"}}, namespace="default"), by_hand(cpu="2"))
    [note] = made.notes
    assert note == (
        "LimitRange small of namespace default refuses its pods: at most 1 cpu for each container, as a limit, and an "
        "API server would refuse default/a"
    )
    assert len(made.pods) == 1


def test_a_limit_range_that_cannot_be_read_is_told_of():
    made = cluster(limit_range("bad", {"min": {"cpu": "much"}}, namespace="shop"), by_hand())
    assert [(problem.kind, problem.name) for problem in made.problems] == [("LimitRange", "shop/bad")]
