"""Pods that cannot share a machine. Source: Kubernetes docs, "Assigning Pods to Nodes"; kube-scheduler, NodePorts."""

import pytest

from planner.objects.kinds import HostPort, Pod, PodTerm, Requirement
from planner.scheduling.conflicts import keep_apart, ports_meet

HOST = "kubernetes.io/hostname"
WEB = (Requirement("app", "In", ("web",)),)


def shy(namespace: str = "default", key: str = HOST, **where) -> Pod:
    term = PodTerm(key, WEB, **({"namespaces": frozenset({namespace})} | where))
    return Pod(namespace, "shy", "u", {}, labels={"app": "shy"}, pod_anti_affinity=(term,))


def web(namespace: str = "default") -> Pod:
    return Pod(namespace, "web", "u", {}, labels={"app": "web"})


def test_anti_affinity_holds_both_ways():
    assert keep_apart(shy(), web(), {}) == "AntiAffinity"
    assert keep_apart(web(), shy(), {}) == "AntiAffinity"
    assert keep_apart(shy(), shy(), {}) is None
    assert keep_apart(web(), web(), {}) is None


@pytest.mark.parametrize(
    ("where", "namespace", "verdict"),
    [
        ({}, "other", None),
        ({"namespaces": frozenset({"other"})}, "other", "AntiAffinity"),
        ({"namespaces": frozenset({"other"})}, "default", None),
        ({"namespaces": frozenset(), "namespace_selector": ()}, "other", "AntiAffinity"),
        (
            {"namespaces": frozenset(), "namespace_selector": (Requirement("team", "In", ("a",)),)},
            "other",
            "AntiAffinity",
        ),
        ({"namespaces": frozenset(), "namespace_selector": (Requirement("team", "In", ("b",)),)}, "other", None),
        ({"key": "topology.kubernetes.io/zone"}, "default", None),
    ],
)
def test_a_term_looks_in_its_namespaces_and_at_hosts_only(where, namespace, verdict):
    assert keep_apart(shy(**where), web(namespace), {"other": {"team": "a"}}) == verdict


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80), HostPort(80, "UDP"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80), True),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="0.0.0.0"), True),
    ],
)
def test_host_ports(one, other, verdict):
    pods = [Pod("default", name, name, {}, host_ports=(port,)) for name, port in (("a", one), ("b", other))]
    assert ports_meet(pods[0], [pods[1]]) is verdict
    assert keep_apart(*pods, {}) == ("HostPortTaken" if verdict else None)
