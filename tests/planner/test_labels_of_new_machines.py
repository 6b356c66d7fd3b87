"""Labels that every real Node has count on a machine to come: Growth's own, old names, its operating system.

Source: kubernetes-sigs/karpenter#919 and aws/karpenter#6015 (labels of the autoscaler itself); Kubernetes "Well-Known
Labels" (beta.kubernetes.io/os and others); issue 1882 of Azure Kubernetes Service (Windows pods).
"""

import pytest

from planner.supply.machine_kind import kinds_of_pools
from tests.builders import before, daemon_set, node, node_request, pod
from tests.planner.outcome import codes, planned, together, types
from tests.planner.scenes import scene
from tests.planner.wishes import needs

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
REQUEST = "growth.dev/request"
UID = "growth.dev/request-uid"


def asks(key, operator, *values):
    return {"affinity": needs([{"key": key, "operator": operator, **({"values": list(values)} if values else {})}])}


@pytest.mark.parametrize("key", [REQUEST, UID, "growth.dev/pool", "growth.dev/server-type"])
def test_a_pod_for_machines_of_growth_gets_one(key):
    assert types(planned(scene(pod("a", **asks(key, "Exists"))))) == ["cx22"]


@pytest.mark.parametrize("key", [REQUEST, UID])
def test_a_pod_that_keeps_off_machines_of_growth_gets_none_and_is_told_so(key):
    made = planned(scene(pod("a", **asks(key, "DoesNotExist"))))
    assert (types(made), codes(made)) == ([], {"a": "NoCompatibleOffering"})
    assert made.unplaced[0].reasons[0].message == (
        "no server type of pool default suits: "
        f"the pod asks for a node without the label {key}, which each machine that Growth buys has"
    )


@pytest.mark.parametrize("key", [REQUEST, UID])
def test_no_new_machine_has_the_name_of_a_request_that_is_there_or_any_other(key):
    made = planned(scene(pod("a", **asks(key, "In", "default-1", "uid-default-1"))))
    assert (types(made), codes(made)) == ([], {"a": "NoCompatibleOffering"})
    assert types(planned(scene(pod("a", **asks(key, "NotIn", "default-1"))))) == ["cx22"]


def test_a_pod_that_names_the_request_of_a_coming_machine_waits_for_that_one():
    coming = node_request("default-7", createAttemptAt=before(seconds=2))
    made = planned(scene(pod("a", **asks(REQUEST, "In", "default-7")), coming))
    assert ([p.request for p in made.placed], made.requests) == (["default-7"], ())
    uid = coming["metadata"]["uid"]
    made = planned(scene(pod("a", **asks(UID, "In", uid)), coming))
    assert ([p.request for p in made.placed], made.requests) == (["default-7"], ())


def test_pods_of_a_daemon_set_for_machines_of_growth_are_on_a_new_one():
    agent = daemon_set("agent", "600m", **asks(REQUEST, "Exists"))
    assert types(planned(scene(pod("a", "1500m"), agent))) == ["cx32"]
    elsewhere = daemon_set("agent", "600m", **asks(REQUEST, "DoesNotExist"))
    assert types(planned(scene(pod("a", "1500m"), elsewhere))) == ["cx22"]


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("beta.kubernetes.io/os", "linux"),
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/instance-type", "cx22"),
        ("failure-domain.beta.kubernetes.io/zone", "fsn1"),
        ("failure-domain.beta.kubernetes.io/region", "fsn1"),
    ],
)
def test_old_names_of_labels_are_on_new_machines(label, value):
    made = planned(scene(pod("a", nodeSelector={label: value}), pod("b", nodeSelector={label: "other"})))
    assert (types(made), codes(made)) == (["cx22"], {"b": "NoCompatibleOffering"})


def test_a_value_that_the_pool_gives_to_an_old_name_stays():
    template = {"labels": {"beta.kubernetes.io/os": "flatcar"}}
    made = planned(scene(pod("a", nodeSelector={"beta.kubernetes.io/os": "flatcar"}), template=template))
    assert types(made) == ["cx22"]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_a_domain_for_each_request_is_not_judged_rather_than_guessed(kind):
    term = {"topologyKey": REQUEST, "labelSelector": {"matchLabels": {"app": "web"}}}
    web = [pod(f"web-{k}", labels={"app": "web"}, affinity={kind: {REQUIRED: [term]}}) for k in range(2)]
    made = planned(scene(*web, pod("other")))
    assert codes(made) == {"web-0": "NotJudged", "web-1": "NotJudged"}
    assert together(made) == [1]


def test_a_spread_over_requests_is_not_judged_and_a_wish_for_one_is_no_obstacle():
    constraint = {"topologyKey": REQUEST, "maxSkew": 1, "labelSelector": {"matchLabels": {"app": "web"}}}
    hard, soft = (constraint | {"whenUnsatisfiable": what} for what in ("DoNotSchedule", "ScheduleAnyway"))
    made = planned(scene(pod("a", topologySpreadConstraints=[hard]), pod("b", topologySpreadConstraints=[soft])))
    assert (codes(made), together(made)) == ({"a": "NotJudged"}, [1])


def test_a_pod_for_windows_is_not_bought_linux_whether_or_not_it_selects():
    by_field = pod("a", os={"name": "windows"})
    by_both = pod("b", os={"name": "windows"}, nodeSelector={"kubernetes.io/os": "windows"})
    made = planned(scene(by_field, by_both, pod("c", os={"name": "linux"})))
    assert (types(made), codes(made)) == (["cx22"], {"a": "NoCompatibleOffering", "b": "NoCompatibleOffering"})
    assert made.unplaced[0].reasons[0].message == (
        "no server type of pool default suits: the pod is for windows (spec.os), but cx22 has linux"
    )


def test_a_pod_is_planned_onto_no_node_of_another_operating_system():
    windows = node("n-1", pool=None, labels={"kubernetes.io/os": "windows"})
    made = planned(scene(pod("a", os={"name": "linux"}), windows))
    assert types(made) == ["cx22"]
    made = planned(scene(pod("a", os={"name": "windows"}), windows))
    assert [p.node for p in made.placed] == ["n-1"]


def test_pods_that_differ_in_their_operating_system_alone_are_no_group():
    made = planned(scene(*(pod(f"p-{k}", os={"name": system}) for k, system in enumerate(("linux", "windows")))))
    assert (together(made), codes(made)) == ([1], {"p-1": "NoCompatibleOffering"})


def test_a_kind_has_all_labels_that_its_node_will_have():
    labels = kinds_of_pools(scene().snapshot())["default"].kinds[0].labels
    assert {"growth.dev/pool", "growth.dev/request", "beta.kubernetes.io/arch", "kubernetes.io/hostname"} <= set(labels)
