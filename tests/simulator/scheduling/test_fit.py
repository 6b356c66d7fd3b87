import pytest

from simulator.scheduling.fit import FitHost, misfit, node_matches, not_simulated, selects, tolerates
from tests import builders
from tests.builders import node


def pod(cpu="1", **more):
    return builders.pod("p", cpu, None, **more)


def required(*terms):
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}},
    }


def apart(**term):
    body = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}} | term
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [body]}}


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (FitHost(node("a")), None),
        (FitHost(node("a"), [pod("1")]), None),
        (FitHost(node("a"), [pod("1001m")]), "Insufficient cpu"),
        (FitHost(node("a", allocatable={"pods": "1"}), [pod("0")]), "Too many pods"),
        (FitHost(node("a", spec={"unschedulable": True})), "node(s) were unschedulable"),
        (FitHost(node("a", taints=[TAINT])), "node(s) had untolerated taint(s)"),
        (FitHost(node("a", taints=[TAINT | {"effect": "NoExecute"}])), "node(s) had untolerated taint(s)"),
        (FitHost(node("a", taints=[TAINT | {"effect": "PreferNoSchedule"}])), None),
    ],
)
def test_reasons_are_those_of_the_scheduler(host, expected):
    assert misfit(pod("1"), host, [host]) == expected


def test_a_resource_that_the_node_lacks_is_insufficient():
    wants_device = pod(containers=[{"resources": {"limits": {"example.org/gpu": "1"}}}])
    host = FitHost(node("a"))
    assert misfit(wants_device, host, [host]) == "Insufficient example.org/gpu"


def test_a_cordoned_node_takes_who_tolerates_it():
    host = FitHost(node("a", spec={"unschedulable": True}))
    daemon = pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert misfit(daemon, host, [host]) is None


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(toleration, expected):
    assert tolerates([toleration], TAINT) is expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "z1"}}, True),
        ({"nodeSelector": {"zone": "z2"}}, False),
        ({"affinity": required({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]})}, True),
        ({"affinity": required({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["z1"]}]})}, False),
        ({"affinity": required({"matchExpressions": [{"key": "gone", "operator": "NotIn", "values": ["x"]}]})}, True),
        ({"affinity": required({"matchExpressions": [{"key": "gone", "operator": "DoesNotExist"}]})}, True),
        ({"affinity": required({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]})}, False),
        ({"affinity": required({"matchExpressions": [{"key": "gone", "operator": "Exists"}]})}, False),
        ({"affinity": required({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["7"]}]})}, True),
        ({"affinity": required({"matchExpressions": [{"key": "size", "operator": "Lt", "values": ["8"]}]})}, False),
        ({"affinity": required({"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}]})}, False),
        ({"affinity": required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]})}, True),
        # Terms are alternatives; an empty term matches nothing. Source: NodeSelectorTerm's API text.
        ({"affinity": required({}, {"matchExpressions": [{"key": "zone", "operator": "Exists"}]})}, True),
        ({"affinity": required({})}, False),
    ],
)
def test_node_selector_and_affinity(spec, expected):
    assert node_matches(pod(**spec), node("a", labels={"zone": "z1", "size": "8"})) is expected


def test_label_selectors():
    labels = {"app": "db", "tier": "1"}
    assert selects({}, labels)
    assert not selects(None, labels)
    assert selects({"matchLabels": {"app": "db"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}, labels)
    assert not selects({"matchLabels": {"app": "web"}}, labels)


def test_anti_affinity_holds_for_the_newcomer_and_for_those_already_there():
    shy = pod(labels={"app": "db"}, affinity=apart())
    open_to_all = pod(labels={"app": "db"})
    here, there = FitHost(node("a"), [shy]), FitHost(node("b"))
    hosts = [here, there]
    assert misfit(shy, here, hosts) == "node(s) didn't match pod anti-affinity rules"
    assert misfit(open_to_all, here, hosts) == "node(s) didn't satisfy existing pods anti-affinity rules"
    assert misfit(pod(labels={"app": "web"}), here, hosts) is None
    assert misfit(shy, there, hosts) is None


def test_anti_affinity_is_of_its_namespace_unless_it_names_others():
    resident = pod(labels={"app": "db"}, namespace="other")
    host = FitHost(node("a", allocatable={"cpu": "9"}), [resident])
    assert misfit(pod(affinity=apart()), host, [host]) is None
    assert misfit(pod(affinity=apart(namespaces=["other"])), host, [host]) is not None
    assert misfit(pod(affinity=apart(namespaceSelector={})), host, [host]) is not None


def test_anti_affinity_over_zones_looks_at_all_nodes_of_the_zone():
    here = FitHost(node("a", labels={"zone": "z1"}))
    same_zone = FitHost(node("b", labels={"zone": "z1"}), [pod(labels={"app": "db"})])
    shy = pod(affinity=apart(topologyKey="zone"))
    assert misfit(shy, here, [here, same_zone]) is not None
    assert misfit(shy, here, [here]) is None


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, None),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}, None),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, "spec.topologySpreadConstraints"),
        ({"volumes": [{"emptyDir": {}}]}, None),
        ({"volumes": [{"persistentVolumeClaim": {"claimName": "c"}}]}, "spec.volumes"),
        ({"containers": [{"ports": [{"hostPort": 80}]}]}, "spec.containers.ports.hostPort"),
        ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims"),
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
            "spec.affinity.podAffinity",
        ),
    ],
)
def test_what_is_not_simulated_is_named(spec, path):
    assert not_simulated(pod(**spec)) == path
