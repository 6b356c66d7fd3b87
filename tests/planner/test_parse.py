"""Objects as the API server sends them, and what is said of those that cannot be read."""

from datetime import UTC, datetime

import pytest

from planner.objects import Requirement, Taint, Toleration
from planner.parse import UnreadableObject, parse_daemon_set, parse_node, parse_objects, parse_pod
from tests.planner.scenes import apart, daemon_set, needs, node, pod

HOST = "kubernetes.io/hostname"


def test_a_pod_with_everything_the_planner_judges():
    raw = pod(
        "web-1",
        owner="rs-web",
        labels={"app": "web"},
        nodeSelector={"growth.dev/pool": "default", "disk": "ssd"},
        affinity=needs(
            [{"key": "zone", "operator": "In", "values": ["a", "b"]}], [{"key": "gpu", "operator": "Exists"}]
        )
        | apart(app="web"),
        tolerations=[{"key": "team", "operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"}],
        priority=1000,
    )
    raw["metadata"]["creationTimestamp"] = "2026-03-01T11:00:00Z"
    made = parse_pod(raw)
    assert made.key == "default/web-1"
    assert made.requests == {"cpu": 500, "memory": 512 * 2**20, "pods": 1}
    assert made.node_selector == (
        Requirement("disk", "In", ("ssd",)),
        Requirement("growth.dev/pool", "In", ("default",)),
    )
    assert made.node_affinity == ((Requirement("zone", "In", ("a", "b")),), (Requirement("gpu", "Exists"),))
    assert made.hostname_anti_affinity == ((Requirement("app", "In", ("web",)),),)
    assert made.tolerations == (Toleration("team", "Exists", "", "NoSchedule"), Toleration("", "Exists"))
    assert made.owner is not None
    assert (made.owner.kind, made.owner.uid) == ("ReplicaSet", "rs-web")
    assert (made.priority, made.is_unschedulable, made.unjudged) == (1000, True, ())
    assert made.created_at == datetime(2026, 3, 1, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, "is_mirror"),
        ({"metadata": {"deletionTimestamp": "2026-03-01T11:00:00Z"}}, "is_terminating"),
        ({"spec": {"schedulingGates": [{"name": "quota"}]}}, "is_gated"),
    ],
)
def test_flags_of_a_pod(changes: dict, flag: str):
    raw = pod("a")
    assert not getattr(parse_pod(raw), flag)
    for part, fields in changes.items():
        raw[part] |= fields
    assert getattr(parse_pod(raw), flag)


def test_only_the_controller_of_a_pod_is_its_owner():
    raw = pod("a", owner=("DaemonSet", "ds"))
    assert parse_pod(raw).is_daemon
    raw["metadata"]["ownerReferences"][0]["controller"] = False
    assert parse_pod(raw).owner is None


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
ZONE_APART = {"topologyKey": "zone", "labelSelector": {}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"topologySpreadConstraints": [SPREAD]}, "spec.topologySpreadConstraints[0]"),
        ({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}]}, "spec.topologySpreadConstraints[0]"),
        ({"affinity": {"podAffinity": {REQUIRED: [ZONE_APART]}}}, "spec.affinity.podAffinity"),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [ZONE_APART]}}},
            f"spec.affinity.podAntiAffinity.{REQUIRED}[0] (topologyKey zone)",
        ),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOST, "namespaceSelector": {}}]}}},
            f"spec.affinity.podAntiAffinity.{REQUIRED}[0].namespaceSelector",
        ),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOST, "namespaces": ["other"]}]}}},
            f"spec.affinity.podAntiAffinity.{REQUIRED}[0].namespaces",
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name"}]}]}}
                }
            },
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields",
        ),
        (
            {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]},
            "spec.volumes[0].persistentVolumeClaim",
        ),
        ({"volumes": [{"name": "d", "ephemeral": {}}]}, "spec.volumes[0].ephemeral"),
        ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims"),
        ({"resources": {"requests": {"cpu": "1"}}}, "spec.resources"),
        ({"containers": [{"ports": [{"containerPort": 1, "hostPort": 80}]}]}, "spec.containers[0].ports[0].hostPort"),
        (
            {"hostNetwork": True, "containers": [{"ports": [{"containerPort": 80}]}]},
            "spec.containers[0].ports[0].hostPort",
        ),
        ({"tolerations": [{"key": "a", "operator": "Gt", "value": "3"}]}, "spec.tolerations[0].operator"),
    ],
)
def test_constraints_that_are_not_judged_yet_are_named(spec: dict, field: str):
    assert parse_pod(pod("a", **spec)).unjudged == (field,)


@pytest.mark.parametrize(
    "spec",
    [
        {"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}},
        {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}},
        {"volumes": [{"name": "e", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}]},
        {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOST, "namespaces": ["default"]}]}}},
    ],
)
def test_wishes_and_harmless_parts_do_not_hinder(spec: dict):
    assert parse_pod(pod("a", **spec)).unjudged == ()


def test_a_term_without_a_selector_selects_no_pod_and_an_empty_one_all():
    def selectors(term: dict) -> tuple:
        return parse_pod(pod("a", affinity={"podAntiAffinity": {REQUIRED: [term]}})).hostname_anti_affinity

    assert selectors({"topologyKey": HOST}) == ()
    assert selectors({"topologyKey": HOST, "labelSelector": {}}) == ((),)


def test_match_label_keys_stand_for_the_pods_own_values():
    term = {"topologyKey": HOST, "labelSelector": {}, "matchLabelKeys": ["rev"], "mismatchLabelKeys": ["tenant"]}
    made = parse_pod(pod("a", labels={"rev": "7", "tenant": "x"}, affinity={"podAntiAffinity": {REQUIRED: [term]}}))
    assert made.hostname_anti_affinity == ((Requirement("rev", "In", ("7",)), Requirement("tenant", "NotIn", ("x",))),)


def test_a_node():
    raw = node("n1", taints=[{"key": "team", "value": "blue", "effect": "NoExecute"}], spec={"unschedulable": True})
    made = parse_node(raw)
    assert made.allocatable == {"cpu": 2000, "memory": 4 * 2**30, "pods": 110}
    assert made.taints == (Taint("team", "blue", "NoExecute"),)
    assert (made.is_ready, made.is_cordoned, made.is_terminating) == (True, True, False)
    assert made.provider_id == "kwok://n1"


def test_a_node_without_labels_and_status_is_a_node():
    made = parse_node({"metadata": {"name": "bare"}})
    assert (made.labels, made.allocatable, made.is_ready) == ({}, {}, False)


def test_the_pods_of_a_daemon_set_are_in_its_namespace():
    made = parse_daemon_set(daemon_set("agent", nodeSelector={"disk": "ssd"}))
    assert made.template.namespace == "kube-system"
    assert made.template.requests == {"cpu": 100, "memory": 128 * 2**20, "pods": 1}
    assert made.template.node_selector == (Requirement("disk", "In", ("ssd",)),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"spec": {"containers": [{"resources": {"requests": {"cpu": "a lot"}}}]}},
            "Pod default/a: spec.containers[0].resources.requests.cpu: 'a lot' is not a quantity",
        ),
        (
            {"spec": {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}},
            "Pod default/a: spec.containers[0].resources.requests.cpu: '-1' is negative",
        ),
        (
            {"spec": {"containers": [{"resources": {"requests": {"cpu": True}}}]}},
            "Pod default/a: spec.containers[0].resources.requests.cpu: True is not a quantity",
        ),
        ({"spec": {"containers": {"name": "x"}}}, "Pod default/a: spec.containers: {'name': 'x'} is not a list"),
        (
            {"spec": {"nodeSelector": {"disk": 1}}},
            "Pod default/a: spec.nodeSelector.disk: 1 is not a text: put it in quotes",
        ),
        ({"spec": {"priority": "high"}}, "Pod default/a: spec.priority: 'high' is not a whole number"),
        ({"spec": {"hostNetwork": "yes"}}, "Pod default/a: spec.hostNetwork: 'yes' is neither true nor false"),
        (
            {"spec": {"affinity": needs([{"key": "a", "operator": "Is", "values": ["b"]}])}},
            "matchExpressions[0].operator: 'Is' is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt",
        ),
        (
            {"spec": {"affinity": needs([{"key": "a", "operator": "Gt", "values": ["many"]}])}},
            "matchExpressions[0].values: Gt needs one whole number as text",
        ),
        ({"spec": {"affinity": needs([{"key": "a", "operator": "In"}])}}, "In needs at least one value"),
        ({"spec": "web"}, "Pod default/a: spec: 'web' is not an object with fields"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(change: dict, message: str):
    raw = pod("a") | change
    with pytest.raises(UnreadableObject) as raised:
        parse_pod(raw)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_unreadable_object_stops_no_other():
    broken = pod("broken", cpu="a lot")
    parsed = parse_objects(pods=[pod("a"), broken, {"metadata": {}}, pod("b")], nodes=[node("n"), {"spec": 1}])
    assert [p.name for p in parsed.pods] == ["a", "b"]
    assert [n.name for n in parsed.nodes] == ["n"]
    first, second, third = parsed.problems
    assert (first.kind, first.name, first.uid) == ("Pod", "default/broken", "uid-broken")
    assert first.message.startswith("spec.containers[0].resources.requests.cpu: ")
    assert (second.name, second.message) == ("without a name", "metadata.name: a name is needed")
    assert third.kind == "Node"
