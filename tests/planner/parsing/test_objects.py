"""Objects as the API server sends them, and what is said of those that cannot be read."""

from datetime import UTC, datetime

import pytest

from planner.objects.kinds import PodTerm, Requirement, Taint, Toleration
from planner.parsing.objects import UnreadableObject, parse_daemon_set, parse_node, parse_objects, parse_pod
from tests.builders import daemon_set, node, pod
from tests.planner.wishes import apart, needs

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
    assert made.pod_anti_affinity == (
        PodTerm(HOST, (Requirement("app", "In", ("web",)),), frozenset({"default"}), namespace_selector=None),
    )
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
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
WISH = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
DISKS = ["awsElasticBlockStore", "azureDisk", "cinder", "gcePersistentDisk", "iscsi", "portworxVolume", "rbd"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims"),
        ({"tolerations": [{"key": "a", "operator": "Gt", "value": "3"}]}, "spec.tolerations[0].operator"),
        *(({"volumes": [{"name": "e", "emptyDir": {}}, {"name": "d", d: {}}]}, f"spec.volumes[1].{d}") for d in DISKS),
    ],
)
def test_what_is_not_judged_is_named(spec: dict, field: str):
    assert parse_pod(pod("a", **spec)).unjudged == (field,)


@pytest.mark.parametrize(
    "spec",
    [
        {"topologySpreadConstraints": [SPREAD, SPREAD | {"whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}},
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [NAMED]}}}},
        {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "s", "ephemeral": {}}]},
        {"containers": [{"ports": [{"containerPort": 1, "hostPort": 80}]}]},
        {"affinity": {"podAffinity": {PREFERRED: [WISH]}, "nodeAffinity": {PREFERRED: [{"weight": 1}]}}},
        {"volumes": [{"name": "e", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}]},
        {"volumes": [{"name": "inline", "csi": {"driver": "secrets.example"}}]},
        {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOST, "namespaces": ["default"]}]}}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"runtimeClassName": "gvisor", "overhead": {"cpu": "100m"}},
    ],
)
def test_what_is_judged_and_what_is_a_wish_is_not_named(spec: dict):
    assert parse_pod(pod("a", **spec)).unjudged == ()


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
            {"spec": {"affinity": needs([{"key": "a", "operator": "Gt", "values": ["1", "2"]}])}},
            "matchExpressions[0].values: Gt needs one value",
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
    parsed = parse_objects(
        pods=[pod("a"), broken, {"metadata": {}}, pod("b")],
        nodes=[node("n"), {"spec": 1}],
        daemon_sets=[daemon_set("agent"), {"metadata": {"name": "d"}, "spec": {"template": []}}],
        namespaces=[{"metadata": {"name": "shop", "labels": {"team": "blue"}}}, {"metadata": {"name": 1}}],
        claims=[{"metadata": {"name": "c"}}, {"metadata": {"name": "d"}, "spec": "x"}],
        volumes=[{"metadata": {"name": "v"}}, {"metadata": {"name": "w"}, "spec": {"capacity": {"storage": "big"}}}],
        storage_classes=[{"metadata": {"name": "fast"}}, {"metadata": {"name": "slow"}, "provisioner": 3}],
        csi_nodes=[{"metadata": {"name": "n"}}, {"metadata": {"name": "m"}, "spec": {"drivers": 1}}],
    )
    assert [p.name for p in parsed.pods] == ["a", "b"]
    assert [n.name for n in parsed.nodes] == ["n"]
    assert [d.name for d in parsed.daemon_sets] == ["agent"]
    assert parsed.namespaces == {"shop": {"team": "blue", "kubernetes.io/metadata.name": "shop"}}
    assert [c.key for c in parsed.volumes.claims] == ["default/c"]
    assert [v.name for v in parsed.volumes.volumes] == ["v"]
    assert [c.name for c in parsed.volumes.classes] == ["fast"]
    first, second, *others = parsed.problems
    assert (first.kind, first.name, first.uid) == ("Pod", "default/broken", "uid-broken")
    assert first.message.startswith("spec.containers[0].resources.requests.cpu: ")
    assert (second.name, second.message) == ("without a name", "metadata.name: a name is needed")
    assert sorted((p.kind, p.name, p.message.partition(":")[0]) for p in others) == [
        ("CSINode", "m", "spec.drivers"),
        ("DaemonSet", "d", "spec.template"),
        ("Namespace", "without a name", "metadata.name"),
        ("Node", "without a name", "metadata.name"),
        ("PersistentVolume", "w", "spec.capacity.storage"),
        ("PersistentVolumeClaim", "d", "spec"),
        ("StorageClass", "slow", "provisioner"),
    ]


def test_nodes_have_what_their_csi_nodes_tell():
    def csi_node(name: str, *drivers: dict) -> dict:
        return {"metadata": {"name": name}, "spec": {"drivers": list(drivers)}}

    limited = {"name": "a.example", "nodeID": "1", "allocatable": {"count": 16}}
    full = {"name": "b.example", "nodeID": "1", "allocatable": {"count": 0}}
    unlimited = {"name": "c.example", "nodeID": "1", "allocatable": {}, "topologyKeys": ["c.example/zone"]}
    parsed = parse_objects(
        nodes=[node("n1"), node("n2"), node("n3")],
        csi_nodes=[csi_node("n1", limited, full, unlimited), csi_node("n2", unlimited), csi_node("gone", limited)],
    )
    assert [n.attach_limits for n in parsed.nodes] == [{"a.example": 16, "b.example": 0}, {}, {}]
    assert [n.topology_keys for n in parsed.nodes] == [{"c.example/zone"}, {"c.example/zone"}, set()]
