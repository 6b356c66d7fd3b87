"""Nodes that no pool made and no pod of a test may use: a cluster around the one that is worked on.

They are as large as real ones, and their status changes as often as kubelets report it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import cycle
from typing import Any, Final

from activities.kube.client import KubeCluster
from activities.ports.cluster import NODES
from api.meta import format_timestamp
from tests.load.masses import create

REPORTS_EVERY: Final = 300.0
"""Seconds between two reports of a kubelet while nothing changes.

Source: KubeletConfiguration v1beta1, nodeStatusReportFrequency.
"""
IMAGES: Final = 50
"""A kubelet reports so many. Source: KubeletConfiguration v1beta1, nodeStatusMaxImages."""
WELCOMED_SECONDS: Final = 60
_OTHERS: Final = {"key": "example.com/others", "effect": "NoSchedule"}
"""Keeps the pods of a test away."""
_CONDITIONS: Final = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


def bystander(name: str) -> dict[str, Any]:
    """Return a Node as a kubelet would report it."""
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "150Gi"}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/region": "elsewhere",
                "topology.kubernetes.io/zone": "elsewhere-1",
            },
        },
        "spec": {"taints": [_OTHERS]},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": _conditions(datetime.now(UTC)),
            "addresses": [{"type": "Hostname", "address": name}],
            "images": [
                {
                    "names": [f"registry.example.com/team/service-{i}@sha256:{i:064x}", f"service-{i}:1.{i}"],
                    "sizeBytes": 90_000_000 + i,
                }
                for i in range(IMAGES)
            ],
        },
    }


@asynccontextmanager
async def reporting(cluster: KubeCluster, count: int) -> AsyncIterator[None]:
    """Make so many and let them report for as long as the block lasts."""
    names = [f"bystander-{i}" for i in range(count)]
    await create(cluster, NODES, map(bystander, names))
    async with asyncio.timeout(WELCOMED_SECONDS):
        while await _welcomed(cluster) < count:
            await asyncio.sleep(1)
    reports = asyncio.create_task(_report(cluster, names))
    try:
        yield
        if reports.done():
            reports.result()
    finally:
        reports.cancel()
        with suppress(asyncio.CancelledError):
            await reports


async def _welcomed(cluster: KubeCluster) -> int:
    """Return how many Nodes the controller manager has taken the taint of new ones off."""
    nodes = (await cluster.list(NODES)).items
    return sum(all(taint["key"] == _OTHERS["key"] for taint in node["spec"].get("taints", ())) for node in nodes)


async def _report(cluster: KubeCluster, names: Sequence[str]) -> None:
    pause = REPORTS_EVERY / len(names)
    for name in cycle(names):
        conditions = {"op": "add", "path": "/status/conditions", "value": _conditions(datetime.now(UTC))}
        await cluster.patch(NODES, name, [conditions], subresource="status")
        await asyncio.sleep(pause)


def _conditions(now: datetime) -> list[dict[str, str]]:
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": format_timestamp(now),
            "lastTransitionTime": format_timestamp(now),
        }
        for kind, (status, reason, message) in _CONDITIONS.items()
    ]
