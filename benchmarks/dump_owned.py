"""Owners of pods in a dump: what they ask for, and their objects."""

from random import Random
from typing import Any, Final

Json = dict[str, Any]
CREATED: Final = "2026-01-01T00:00:00Z"
_ENVIRONMENT: Final = 12
"""Variables of a container."""


class DumpedWorkload:
    """A DaemonSet or ReplicaSet with pods that are alike.

    Args:
        kind: DaemonSet or ReplicaSet.
        namespace: where it and its pods are.
        name: of the DaemonSet, or of the Deployment above the ReplicaSet.
        random: draws what its pods ask for.
    """

    def __init__(self, kind: str, namespace: str, name: str, random: Random) -> None:
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.hash = f"{random.getrandbits(36):09x}"
        self.uid = f"{random.getrandbits(128):032x}"
        is_daemon = kind == "DaemonSet"
        self.millicores = random.choice((10, 20, 50) if is_daemon else (500, 750, 1000, 1250))
        self.mebibytes = random.choice((32, 64, 100) if is_daemon else (256, 512, 1024, 2048))
        self.is_spread = not is_daemon and random.random() < 0.2  # noqa: PLR2004 - a share, named by the line
        self._names: set[str] = set()
        self.keeps_apart = not is_daemon and random.random() < 0.1  # noqa: PLR2004 - as above

    @property
    def owner_name(self) -> str:
        """Of the pods' controller."""
        return self.name if self.kind == "DaemonSet" else f"{self.name}-{self.hash}"

    def name_of_pod(self, random: Random) -> str:
        """Return the name of one more pod, drawn again where another one has it: so does the API server."""
        while (name := f"{self.owner_name}-{random.getrandbits(25):05x}") in self._names:
            pass
        self._names.add(name)
        return name

    @property
    def labels(self) -> dict[str, str]:
        """Of its pods."""
        key = "controller-revision-hash" if self.kind == "DaemonSet" else "pod-template-hash"
        return {
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/name": self.name,
            key: self.hash,
        }

    @property
    def selector(self) -> Json:
        """Of its pods, whatever their revision."""
        return {"matchLabels": {"app.kubernetes.io/name": self.name}}


def containers(owner: DumpedWorkload) -> list[Json]:
    """Return the containers of its pods."""
    return [
        {
            "args": ["--config=/etc/app/config.yaml", "--log-level=info", f"--name={owner.name}"],
            "env": [
                *({"name": f"SETTING_{i}", "value": f"value of setting {i}"} for i in range(_ENVIRONMENT)),
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            ],
            "image": f"registry.example.com/{owner.namespace}/{owner.name}:v1.2.3",
            "imagePullPolicy": "IfNotPresent",
            "livenessProbe": _probe("/healthz"),
            "name": "main",
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
            "readinessProbe": _probe("/readyz"),
            "resources": {
                "limits": {"memory": f"{owner.mebibytes}Mi"},
                "requests": {"cpu": f"{owner.millicores}m", "memory": f"{owner.mebibytes}Mi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            },
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": [
                {"mountPath": "/etc/app", "name": "config"},
                {
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    "name": "kube-api-access",
                    "readOnly": True,
                },
            ],
        }
    ]


def daemon_set(owner: DumpedWorkload) -> Json:
    """Return the DaemonSet."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "creationTimestamp": CREATED,
            "generation": 1,
            "name": owner.name,
            "namespace": owner.namespace,
            "uid": owner.uid,
        },
        "spec": {"selector": owner.selector, "template": _template(owner)},
        "status": {"currentNumberScheduled": 1, "desiredNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": 1},
    }


def replica_set(owner: DumpedWorkload, random: Random, *, is_newest: bool) -> Json:
    """Return the ReplicaSet of a revision of the Deployment; the newest one owns the pods."""
    suffix = owner.hash if is_newest else f"{random.getrandbits(36):09x}"
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "creationTimestamp": CREATED,
            "generation": 1,
            "labels": owner.labels,
            "name": f"{owner.name}-{suffix}",
            "namespace": owner.namespace,
            "uid": owner.uid if is_newest else f"{random.getrandbits(128):032x}",
        },
        "spec": {"replicas": 6 if is_newest else 0, "selector": owner.selector, "template": _template(owner)},
        "status": {"observedGeneration": 1, "replicas": 6 if is_newest else 0},
    }


def disruption_budget(owner: DumpedWorkload) -> Json:
    """Return the PodDisruptionBudget of a workload's pods."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"creationTimestamp": CREATED, "name": owner.name, "namespace": owner.namespace},
        "spec": {"maxUnavailable": 1, "selector": owner.selector},
        "status": {"currentHealthy": 6, "desiredHealthy": 5, "disruptionsAllowed": 1, "expectedPods": 6},
    }


def _template(owner: DumpedWorkload) -> Json:
    return {
        "metadata": {"labels": owner.labels},
        "spec": {"containers": containers(owner), "restartPolicy": "Always", "schedulerName": "default-scheduler"},
    }


def _probe(path: str) -> Json:
    return {
        "failureThreshold": 3,
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
