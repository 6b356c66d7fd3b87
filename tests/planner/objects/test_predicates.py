"""Labels, taints and pods that keep away from each other. Source: Kubernetes docs, "Assigning Pods to Nodes"."""

import pytest

from planner.objects.kinds import Requirement, Taint, Toleration
from planner.objects.predicates import NEW_HOST, holds, untolerated, wants_node
from planner.parsing.objects import parse_pod
from tests.builders import pod
from tests.planner.wishes import needs

LABELS = {"arch": "arm64", "cores": "8", "empty": ""}


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [
        (Requirement("arch", "In", ("amd64", "arm64")), True),
        (Requirement("arch", "In", ("amd64",)), False),
        (Requirement("gone", "In", ("",)), False),
        (Requirement("arch", "NotIn", ("arm64",)), False),
        (Requirement("gone", "NotIn", ("arm64",)), True),
        (Requirement("empty", "Exists"), True),
        (Requirement("gone", "Exists"), False),
        (Requirement("gone", "DoesNotExist"), True),
        (Requirement("empty", "DoesNotExist"), False),
        (Requirement("cores", "Gt", ("7",)), True),
        (Requirement("cores", "Gt", ("8",)), False),
        (Requirement("cores", "Lt", ("9",)), True),
        (Requirement("arch", "Gt", ("1",)), False),
        (Requirement("gone", "Lt", ("1",)), False),
    ],
)
def test_operators(requirement, verdict):
    assert holds(requirement, LABELS) is verdict


@pytest.mark.parametrize(
    ("toleration", "taint", "kept_out"),
    [
        (None, Taint("a", "b"), True),
        (None, Taint("a", "b", "PreferNoSchedule"), False),
        (Toleration("a", "Equal", "b", "NoSchedule"), Taint("a", "b"), False),
        (Toleration("a", "Equal", "c", "NoSchedule"), Taint("a", "b"), True),
        (Toleration("a", "Equal", "b", "NoExecute"), Taint("a", "b"), True),
        (Toleration("a", "Equal", "b"), Taint("a", "b", "NoExecute"), False),
        (Toleration("a", "Exists"), Taint("a", "b"), False),
        (Toleration("b", "Exists"), Taint("a", "b"), True),
        (Toleration("", "Exists"), Taint("a", "b", "NoExecute"), False),
    ],
)
def test_taints(toleration, taint, kept_out):
    assert (untolerated([] if toleration is None else [toleration], [taint]) == taint) is kept_out


def test_selector_and_one_of_the_terms_must_hold():
    terms = ([{"key": "zone", "operator": "In", "values": ["a"]}], [{"key": "arch", "operator": "In", "values": ["x"]}])
    made = parse_pod(pod("p", nodeSelector={"disk": "ssd"}, affinity=needs(*terms)))
    assert wants_node(made, {"disk": "ssd", "zone": "a"})
    assert wants_node(made, {"disk": "ssd", "arch": "x"})
    assert not wants_node(made, {"zone": "a"})
    assert not wants_node(made, {"disk": "ssd", "zone": "b"})


def test_a_term_without_expressions_selects_no_node():
    assert not wants_node(parse_pod(pod("p", affinity=needs([]))), {"disk": "ssd"})


def test_no_pod_can_name_a_machine_that_does_not_exist_yet():
    labels = {"kubernetes.io/hostname": NEW_HOST}
    assert not wants_node(parse_pod(pod("p", nodeSelector={"kubernetes.io/hostname": "node-1"})), labels)
    other = needs([{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["node-1"]}])
    assert wants_node(parse_pod(pod("p", affinity=other)), labels)
