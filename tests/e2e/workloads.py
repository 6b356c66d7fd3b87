"""The workloads of the scenarios, as API objects."""

from typing import Any

NAMESPACE = "default"

SIZES = {
    "web": (20, "250m", "256Mi"),
    "api": (14, "500m", "1Gi"),
    "batch": (12, "1", "512Mi"),
    "cache": (8, "750m", "3Gi"),
    "quorum": (6, "400m", "512Mi"),
}
"""Deployment: replicas, cpu, memory. 60 pods in all; `quorum` wants a node for each of its pods."""


def deployment(name: str, replicas: int, cpu: str, memory: str, *, spread: bool = False) -> dict[str, Any]:
    """Return a Deployment; with `spread`, no two of its pods may share a node."""
    labels = {"app": name}
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": memory}}},
        ],
    }
    if spread:
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def sixty_pods() -> list[dict[str, Any]]:
    """Return the Deployments of the burst."""
    return [
        deployment(name, replicas, cpu, memory, spread=name == "quorum")
        for name, (replicas, cpu, memory) in SIZES.items()
    ]


def single_pod(name: str, cpu: str) -> dict[str, Any]:
    """Return a pod without a controller."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
            ],
        },
    }


def removal(node: dict[str, Any]) -> dict[str, Any]:
    """Return the removal that a person makes for a machine."""
    labels, name = node["metadata"]["labels"], node["metadata"]["name"]
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodeRemovalRequest",
        "metadata": {"name": name},
        "spec": {
            "serverName": name,
            "pool": labels["growth.dev/pool"],
            "serverType": labels["growth.dev/server-type"],
            "location": labels["topology.kubernetes.io/region"],
            "classRef": {"kind": "KwokNodeClass", "name": "default"},
        },
    }
