"""A ProvisioningRequest as users of Cluster Autoscaler make it, and its definition: only what a test needs of it."""

import json

from tests.e2e.harness import ControlPlane

NAME = "provisioningrequests.autoscaling.x-k8s.io"
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": NAME,
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"},
    },
    "spec": {
        "group": "autoscaling.x-k8s.io",
        "scope": "Namespaced",
        "names": {
            "kind": "ProvisioningRequest",
            "plural": "provisioningrequests",
            "singular": "provisioningrequest",
            "listKind": "ProvisioningRequestList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}},
                },
            }
        ],
    },
}
REQUEST = {
    "apiVersion": "autoscaling.x-k8s.io/v1",
    "kind": "ProvisioningRequest",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "provisioningClassName": "check-capacity.autoscaling.x-k8s.io",
        "podSets": [{"count": 2, "podTemplateRef": {"name": "train"}}],
    },
}


def ask(plane: ControlPlane) -> None:
    """Define the kind, and make a request."""
    plane.kubectl("create", "-f", "-", stdin=json.dumps(DEFINITION))
    plane.kubectl("wait", "--for=condition=Established", f"crd/{NAME}", "--timeout=30s")
    plane.kubectl("create", "-f", "-", stdin=json.dumps(REQUEST))


def answers(plane: ControlPlane) -> list[tuple[str, str, str]]:
    """Return the conditions of the request: type, status and reason."""
    found = json.loads(plane.kubectl("get", NAME, "train", "-n", "default", "-o", "json"))
    return [(each["type"], each["status"], each["reason"]) for each in found.get("status", {}).get("conditions", ())]


def forget(plane: ControlPlane) -> None:
    """Take all of it away."""
    plane.kubectl("delete", "crd", NAME, "--ignore-not-found", "--timeout=30s")
