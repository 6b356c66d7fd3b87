"""The workloads of the scenarios, as API objects."""

from typing import Any

from tests.builders import as_sent, deployment, pod

NAMESPACE = "default"

SIZES = {
    "web": (20, "250m", "256Mi"),
    "api": (14, "500m", "1Gi"),
    "batch": (12, "1", "512Mi"),
    "cache": (8, "750m", "3Gi"),
    "quorum": (6, "400m", "512Mi"),
}
"""Deployment: replicas, cpu, memory. 60 pods in all; `quorum` wants a node for each of its pods."""


def sixty_pods() -> list[dict[str, Any]]:
    """Return the Deployments of the burst."""
    return [
        deployment(name, replicas, cpu, memory, spread=name == "quorum")
        for name, (replicas, cpu, memory) in SIZES.items()
    ]


def single_pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    """Return a pod without a controller that ends at once."""
    return as_sent(pod(name, cpu, "64Mi", namespace=NAMESPACE, terminationGracePeriodSeconds=0, **spec))


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
