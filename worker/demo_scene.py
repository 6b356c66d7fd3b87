"""What the demo shows: a catalogue with real sizes and prices, a pool, and the load of a small company."""

from decimal import Decimal
from typing import Any, Final

from activities.cluster import Object
from api.keys import LABEL_ARCH, LABEL_HOSTNAME
from simulator.catalogue import machine, node_class, node_pool
from simulator.workloads import Workload

CURRENCY_SIGN: Final = "€"
_RESERVED: Final = {"cpu": "100m", "memory": "600Mi"}
"""What kubelet and system keep on a machine of this size."""

_TYPES: Final = (
    ("cx23", 2, 4, "0.0088", "amd64", "1s"),
    ("cx33", 4, 8, "0.0136", "amd64", "1500ms"),
    ("cx43", 8, 16, "0.0256", "amd64", "2s"),
    ("cx53", 16, 32, "0.0473", "amd64", "2500ms"),
    ("cpx32", 4, 8, "0.0569", "amd64", "1s"),
    ("cax11", 2, 4, "0.0096", "arm64", "1s"),
    ("cax21", 4, 8, "0.0168", "arm64", "1500ms"),
)
"""Name, cores, GiB, EUR per hour, architecture, boot. Source: Hetzner's public price list, August 2026, net."""


def objects() -> list[Object]:
    """Return the node class, the pool and the DaemonSet of the demo."""
    machines = [
        machine(
            name,
            cpu=cpu,
            memory=memory,
            price=price,
            boot_time=boot,
            architecture=architecture,
            locations=("fsn1", "nbg1"),
            overhead=_RESERVED,
        )
        for name, cpu, memory, price, architecture, boot in _TYPES
    ]
    pool = node_pool(
        "default",
        [{"name": name} for name, *_ in _TYPES],
        limits={"max": 20},
        scaleUp={"provisioningTimeout": "30s", "joinTimeout": "30s", "recordTTL": "1s"},
        # No wait before the cool-off and a short one: a demo has no time for second thoughts.
        scaleDown={"idleAfter": "0s", "softGrace": "3s"},
    )
    return [node_class(machines), pool, _agent()]


def workloads() -> list[Workload]:
    """Return the load: 28 pods of five kinds."""
    intel, arm = ({"nodeSelector": {LABEL_ARCH: name}} for name in ("amd64", "arm64"))
    return [
        Workload("web", 10, {"cpu": "400m", "memory": "512Mi"}, spec=intel),
        Workload("api", 6, {"cpu": "900m", "memory": "1536Mi"}, spec=intel),
        Workload("db", 3, {"cpu": "1500m", "memory": "3Gi"}, spec=intel | _apart("db")),
        Workload("batch", 5, {"cpu": "1700m", "memory": "2Gi"}, spec=intel),
        Workload("ci-arm", 4, {"cpu": "700m", "memory": "1Gi"}, spec=arm),
    ]


def prices() -> dict[str, Decimal]:
    """Return the price per hour by server type."""
    return {name: Decimal(price) for name, _, _, price, *_ in _TYPES}


def _apart(app: str) -> dict[str, Any]:
    term = {"topologyKey": LABEL_HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _agent() -> Object:
    container = {"name": "agent", "image": "example.org/agent", "resources": {"requests": {"cpu": "50m"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "node-agent", "namespace": "kube-system"},
        "spec": {"template": {"metadata": {"labels": {"app": "node-agent"}}, "spec": {"containers": [container]}}},
    }
