"""CapacityBuffers read as so many pods: how many, of what, whose they are, and what cannot be read.

Source: CapacityBuffer of SIG Autoscaling, the descriptions of its fields; kubernetes/autoscaler #9948 and #9959, which
settle that the larger of replicas and percentage counts, rounded up, within limits.
"""

from typing import Any

import pytest

from planner.parsing.capacity_buffers import (
    ANSWERED_WITHIN,
    Missing,
    Reference,
    in_order,
    is_served,
    read_buffers,
    reference_of,
)
from planner.parsing.limit_ranges import LimitRanges
from planner.parsing.objects import parse_limit_range
from tests.builders import NOW, before, limit_range

ACTIVE = "buffer.x-k8s.io/active-capacity"
TEMPLATE = {"podTemplateRef": {"name": "web"}}
SCALABLE = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}


def buffer(name: str = "b", status: Any = None, annotations: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "annotations": annotations}
    return {"metadata": metadata, "spec": spec, "status": status}


def pods_of(cpu: Any = "500m", memory: Any = "1Gi", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"spec": {"containers": [container], **spec}}


def pod_template(**changes: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "generation": 3}, "template": pods_of(**changes)}


def scalable(template: Any = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"template": template or pods_of(), **spec}}


def read(item, target, ranges=()):
    found = reference_of(item)
    targets = {found: target} if isinstance(found, Reference) else {}
    (made,) = read_buffers([item], targets, LimitRanges([parse_limit_range(each) for each in ranges]))
    return made


@pytest.mark.parametrize(
    ("spec", "scale", "count"),
    [
        (TEMPLATE | {"replicas": 3}, None, 3),
        (TEMPLATE | {"replicas": 0}, None, 0),
        (TEMPLATE | {"replicas": -5}, None, 0),
        (TEMPLATE | {"limits": {"cpu": "2"}}, None, 4),
        (TEMPLATE | {"limits": {"cpu": "2", "memory": "3Gi"}}, None, 3),
        (TEMPLATE | {"limits": {"cpu": "400m"}}, None, 0),
        (TEMPLATE | {"limits": {"cpu": "2", "example.com/gpu": "1"}}, None, 4),
        (TEMPLATE | {"replicas": 3, "limits": {"cpu": "1"}}, None, 2),
        (SCALABLE | {"percentage": 20}, 10, 2),
        (SCALABLE | {"percentage": 20}, 11, 3),
        (SCALABLE | {"percentage": 1}, 5, 1),
        (SCALABLE | {"percentage": 20}, 0, 0),
        (SCALABLE | {"percentage": 100}, None, 1),
        (SCALABLE | {"percentage": 20, "replicas": 50}, 100, 50),
        (SCALABLE | {"percentage": 20, "replicas": 5}, 100, 20),
        (SCALABLE | {"percentage": 20, "replicas": 5, "limits": {"cpu": "3"}}, 100, 6),
    ],
)
def test_how_many_pods(spec, scale, count):
    target = pod_template() if "podTemplateRef" in spec else scalable(**({} if scale is None else {"replicas": scale}))
    made = read(buffer(**spec), target)
    assert (made.count, made.code, made.message) == (count, "", "")


def test_what_a_pod_of_it_takes_and_where_it_may_be():
    spec = pods_of(
        overhead={"cpu": "100m"},
        initContainers=[{"name": "i", "resources": {"requests": {"memory": "3Gi"}}}],
        nodeSelector={"disk": "fast"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        priorityClassName="high",
    )
    made = read(buffer(**TEMPLATE, replicas=1), {"metadata": {"generation": 3}, "template": spec})
    assert (made.template_name, made.template_generation) == ("web", 3)
    pod = made.template
    assert pod.requests == {"cpu": 600, "memory": 3 * 2**30, "pods": 1}
    assert [(each.key, each.values) for each in pod.node_selector] == [("disk", ("fast",))]
    assert [each.key for each in pod.tolerations] == ["gpu"]
    assert (pod.claims, pod.priority, pod.is_headroom) == ((), 0, True)


def test_a_job_has_as_many_as_run_beside_each_other():
    job = {"apiGroup": "batch", "kind": "Job", "name": "web"}
    assert read(buffer(scalableRef=job, percentage=50), scalable(parallelism=6, completions=100)).count == 3


def test_limit_ranges_give_its_pods_what_they_do_not_ask_for():
    bare = {"metadata": {"name": "web"}, "template": {"spec": {"containers": [{"name": "c"}]}}}
    item = {"type": "Container", "defaultRequest": {"cpu": "250m"}}
    made = read(buffer(**TEMPLATE, limits={"cpu": "1"}), bare, [limit_range("l", item, namespace="shop")])
    assert made.count == 4
    refused = read(
        buffer(**TEMPLATE, replicas=1),
        pod_template(),
        [limit_range("l", {"type": "Pod", "max": {"cpu": "100m"}}, namespace="shop")],
    )
    assert (refused.code, refused.count) == ("PodsRefused", 0)


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"replicas": 1}, "UnreadableByGrowth", "spec: either podTemplateRef or scalableRef is needed"),
        (TEMPLATE | SCALABLE, "UnreadableByGrowth", "spec: either podTemplateRef or scalableRef is needed"),
        (TEMPLATE, "UnreadableByGrowth", "spec: replicas, limits, or percentage of a scalableRef is needed"),
        (TEMPLATE | {"percentage": 5}, "UnreadableByGrowth", "spec: replicas, limits, or percentage of a scal"),
        (TEMPLATE | {"limits": {"gpu": "1"}}, "UnreadableByGrowth", "spec.limits: names nothing that the pods request"),
        (TEMPLATE | {"limits": {"cpu": "much"}}, "UnreadableByGrowth", "spec.limits.cpu: 'much' is not a quantity"),
        (TEMPLATE | {"replicas": "3"}, "UnreadableByGrowth", "spec.replicas: '3' is not a whole number"),
        ({"podTemplateRef": {}}, "UnreadableByGrowth", "spec.podTemplateRef.name: "),
        ({"podTemplateRef": "web"}, "UnreadableByGrowth", "spec.podTemplateRef: 'web' is not an object"),
        ({"scalableRef": {"kind": "Fleet", "name": "f"}}, "KindNotRead", "spec.scalableRef: Fleet without an apiGroup"),
        (
            {"scalableRef": {"apiGroup": "agones.dev", "kind": "Fleet", "name": "f"}},
            "KindNotRead",
            "spec.scalableRef: Fleet of agones.dev is not read: Deployment of apps",
        ),
    ],
)
def test_what_is_wrong_is_told_of_that_buffer_alone(spec, code, message):
    good = buffer("good", **TEMPLATE, replicas=2)
    targets = {
        each: pod_template() for each in map(reference_of, [good, buffer(**spec)]) if isinstance(each, Reference)
    }
    bad, other = read_buffers([buffer(**spec), good], targets, LimitRanges(()))
    assert (bad.code, bad.count, bad.template) == (code, 0, None)
    assert bad.message.startswith(message), bad.message
    assert (other.code, other.count) == ("", 2)


@pytest.mark.parametrize("template", [pods_of(cpu="much"), {"spec": {"containers": "none"}}, {"spec": 3}, None, "x"])
def test_a_template_that_cannot_be_read(template):
    made = read(buffer(**TEMPLATE, replicas=1), {"metadata": {}, "template": template})
    assert made.code == ("UnreadableByGrowth" if template else ""), (
        "an empty one asks for nothing, as an API server has it"
    )


def test_a_template_that_is_not_there():
    made = read(buffer(**TEMPLATE, replicas=1), Missing("TemplateNotFound", "PodTemplate shop/web does not exist"))
    assert (made.code, made.message) == ("TemplateNotFound", "PodTemplate shop/web does not exist")


def test_nothing_that_is_asked_for_takes_the_time_of_a_round():
    target = {reference_of(buffer(**TEMPLATE)): pod_template()}
    (one,) = read_buffers([buffer(**TEMPLATE, replicas=2**31 - 1)], target, LimitRanges(()))
    assert one.count == 1000
    assert one.message == "1,000 of 2,147,483,647 pods are counted: at most 1,000 of one buffer"
    many = [buffer(f"b{n}", **TEMPLATE, replicas=900) for n in range(150)]
    made = read_buffers(many, target, LimitRanges(()))
    assert sum(each.count for each in made) == 16_000
    assert made[17].message == "700 of 900 pods are counted: at most 16,000 of all buffers"
    assert [each.code for each in made[100:]] == ["TooManyBuffers"] * 50


def answered(ready: str, provisioning: str = "") -> dict[str, Any]:
    conditions = [{"type": "ReadyForProvisioning", "reason": ready}]
    return {"conditions": conditions + [{"type": "Provisioning", "reason": provisioning}] * bool(provisioning)}


@pytest.mark.parametrize(
    ("item", "served"),
    [
        (buffer(), True),
        (buffer(provisioningStrategy=""), True),
        (buffer(provisioningStrategy=ACTIVE), True),
        (buffer(provisioningStrategy="buffer.gke.io/standby-capacity"), False),
        (buffer(annotations={"growth.dev/capacity-buffer": "false"}), False),
        (buffer(status=answered("ReadByGrowth", "NoRoom")), True),
        (buffer(status=answered("TemplateNotFound")), True),
        (buffer(status=answered("AttributesSetSuccessfully")), False),
        (buffer(status=answered("error")), False),
        (buffer(status=answered("ReadByGrowth", "CapacityInjected")), False),
        (
            buffer(status=answered("AttributesSetSuccessfully"), annotations={"growth.dev/capacity-buffer": "true"}),
            True,
        ),
        (buffer(status={"conditions": [{"type": "LimitedByQuotas", "reason": "ResourceQuotasAllocated"}]}), True),
        (buffer(status={"conditions": "none"}), True),
        ({"metadata": {"name": "b", "deletionTimestamp": before(seconds=1)}, "spec": {}}, False),
        ({"metadata": {"name": "b"}, "spec": None}, True),
    ],
)
def test_whose_a_buffer_is(item, served):
    assert is_served(item, NOW) is served


@pytest.mark.parametrize(("seconds", "served"), [(14, False), (15, True)])
def test_others_have_their_time_to_answer_first(seconds, served):
    assert ANSWERED_WITHIN.total_seconds() == 15
    item = buffer()
    item["metadata"]["creationTimestamp"] = before(seconds=seconds)
    assert is_served(item, NOW) is served
    assert is_served(item, None)


def test_the_oldest_are_served_first():
    items = [buffer("c"), buffer("a"), buffer("b")]
    for item, minutes in zip(items, (1, 2, 2), strict=True):
        item["metadata"]["creationTimestamp"] = before(minutes=minutes)
    assert [item["metadata"]["name"] for item in in_order(items)] == ["a", "b", "c"]
