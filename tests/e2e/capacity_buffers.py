"""CapacityBuffers as users of Cluster Autoscaler make them, and their definition in both versions.

Source: CapacityBuffer of SIG Autoscaling: its fields, their bounds and the rules between them.
"""

import json
from typing import Any, Final

from tests.e2e.harness import ControlPlane

NAME: Final = "capacitybuffers.autoscaling.x-k8s.io"
SCALABLE: Final = {"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "Job": "batch"}
_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer", "format": "int32"}
_NAMED: Final = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}
_AMOUNTS: Final = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
}
_SPEC: Final = {
    "type": "object",
    "properties": {
        "provisioningStrategy": {"type": "string", "default": "buffer.x-k8s.io/active-capacity"},
        "podTemplateRef": _NAMED,
        "scalableRef": {
            "type": "object",
            "required": ["kind", "name"],
            "properties": {"apiGroup": _TEXT, "kind": _TEXT, "name": _TEXT},
        },
        "replicas": _NUMBER | {"minimum": 0},
        "percentage": _NUMBER | {"minimum": 0},
        "limits": _AMOUNTS,
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)", "message": "how many?"},
        {"rule": "!(has(self.podTemplateRef) && has(self.scalableRef))", "message": "only one of both"},
    ],
}
_CONDITION: Final = {
    "type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "message": {"type": "string", "maxLength": 32768},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "reason": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "type": {"type": "string", "maxLength": 316},
    },
}
_STATUS: Final = {
    "type": "object",
    "properties": {
        "podTemplateRef": _NAMED,
        "replicas": _NUMBER,
        "podTemplateGeneration": {"type": "integer", "format": "int64"},
        "provisioningStrategy": _TEXT,
        "conditions": {
            "type": "array",
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    },
}


def _version(name: str, *, stored: bool) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "required": ["spec"],
                "properties": {"spec": _SPEC, "status": _STATUS},
            }
        },
    }


DEFINITION: Final = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": NAME,
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/8151"},
    },
    "spec": {
        "group": "autoscaling.x-k8s.io",
        "scope": "Namespaced",
        "names": {
            "kind": "CapacityBuffer",
            "plural": "capacitybuffers",
            "singular": "capacitybuffer",
            "listKind": "CapacityBufferList",
            "shortNames": ["cb"],
        },
        "versions": [_version("v1beta1", stored=True), _version("v1alpha1", stored=False)],
    },
}
TEMPLATE: Final = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "web", "namespace": "default"},
    "template": {
        "spec": {
            "containers": [
                {"name": "web", "image": "pause", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}
            ]
        }
    },
}


def buffer(name: str, **spec: Any) -> dict[str, Any]:
    """Return a buffer of this spec."""
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def define(plane: ControlPlane) -> None:
    """Define the kind."""
    plane.kubectl("create", "-f", "-", stdin=json.dumps(DEFINITION))
    plane.kubectl("wait", "--for=condition=Established", f"crd/{NAME}", "--timeout=30s")


def make(plane: ControlPlane) -> None:
    """Make a buffer of two pods, and one of each kind that may be referred to, of which there is none."""
    made = [TEMPLATE, buffer("web", podTemplateRef={"name": "web"}, replicas=2)]
    for kind, group in SCALABLE.items():
        made.append(buffer(kind.lower(), scalableRef={"apiGroup": group, "kind": kind, "name": "gone"}, percentage=10))
    for item in made:
        plane.kubectl("create", "-f", "-", stdin=json.dumps(item))


def told(plane: ControlPlane, name: str) -> list[tuple[str, str, str]]:
    """Return the conditions of a buffer: type, status and reason."""
    found = json.loads(plane.kubectl("get", NAME, name, "-n", "default", "-o", "json"))
    return [(each["type"], each["status"], each["reason"]) for each in found.get("status", {}).get("conditions", ())]


def forget(plane: ControlPlane) -> None:
    """Take all of it away."""
    plane.kubectl("delete", "crd", NAME, "--ignore-not-found", "--timeout=30s")
    plane.kubectl("delete", "podtemplate", "web", "-n", "default", "--ignore-not-found")
