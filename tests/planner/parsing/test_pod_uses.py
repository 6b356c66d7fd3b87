"""Ports of the node and claims of pods. Values follow the scheduler's GetHostPorts and the pod API's defaults."""

from typing import Any

import pytest

from planner.objects.kinds import HostPort
from planner.parsing.objects import parse_pod
from tests.builders import pod


def container(*ports: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "c", "ports": list(ports)} | more


@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        ({"containers": [container({"containerPort": 80})]}, []),
        ({"containers": [container({"containerPort": 80, "hostPort": 8080})]}, [HostPort(8080)]),
        (
            {"containers": [container({"containerPort": 80, "hostPort": 8080, "protocol": "UDP"})]},
            [HostPort(8080, "UDP")],
        ),
        ({"containers": [container({"containerPort": 1, "hostPort": 1, "hostIP": "0.0.0.0"})]}, [HostPort(1)]),
        (
            {"containers": [container({"containerPort": 1, "hostPort": 1, "hostIP": "127.0.0.1"})]},
            [HostPort(1, ip="127.0.0.1")],
        ),
        # For the scheduler, this is one address like others.
        ({"containers": [container({"containerPort": 1, "hostPort": 1, "hostIP": "::"})]}, [HostPort(1, ip="::")]),
        ({"hostNetwork": True, "containers": [container({"containerPort": 80})]}, [HostPort(80)]),
        ({"hostNetwork": True, "containers": [container({"containerPort": 80, "hostPort": 80})]}, [HostPort(80)]),
        # An init container that ends holds no port while the pod runs.
        ({"containers": [], "initContainers": [container({"hostPort": 7})]}, []),
        (
            {"containers": [container({"hostPort": 8})], "initContainers": [container({"hostPort": 7})]},
            [HostPort(8)],
        ),
        (
            {
                "containers": [container({"hostPort": 8})],
                "initContainers": [container({"hostPort": 7}, restartPolicy="Always")],
            },
            [HostPort(7), HostPort(8)],
        ),
        ({"containers": [container({"hostPort": 8}), container({"hostPort": 8})]}, [HostPort(8)]),
    ],
)
def test_host_ports(spec: dict[str, Any], ports: list[HostPort]):
    assert list(parse_pod(pod("a", **spec)).host_ports) == ports


@pytest.mark.parametrize(
    ("volumes", "claims"),
    [
        ([{"name": "e", "emptyDir": {}}], ()),
        ([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}], ("data",)),
        ([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}], ("web-0-scratch",)),
        (
            [
                {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "again", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
                {"name": "x", "ephemeral": {}},
            ],
            ("data", "web-0-x"),
        ),
    ],
)
def test_claims(volumes: list[dict[str, Any]], claims: tuple[str, ...]):
    assert parse_pod(pod("web-0", volumes=volumes)).claims == claims
