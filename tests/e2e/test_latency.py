"""How long a pod waits for its purchase: from the scheduler's word to the provider's create call."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

import pytest

from activities.kube.client import KubeCluster
from activities.ports.cluster import NODE_REQUESTS, PODS
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import NAMESPACE, single_pod

PODS_MEASURED = 20
P50_SECONDS = 1.0
"""Promised: half of all pods have their machine ordered within a second."""
P95_SECONDS = 3.0
"""Of twenty pods nearly the longest wait, measured as 0.5 s. A nudge that is lost costs up to the planner's period of
10 s, a plan that fails its repetition: both showed as 14.7 s once, while the half stayed far below a second."""

pytestmark = [pytest.mark.e2e, pytest.mark.serial, pytest.mark.timeout(300)]


async def unschedulable_at(cluster: KubeCluster, name: str) -> datetime:
    """Return when this process learned that the scheduler has no place for the pod."""
    began = await cluster.list(PODS, namespace=NAMESPACE)
    async for event in cluster.watch(PODS, resource_version=began.resource_version):
        conditions = event.object.get("status", {}).get("conditions", [])
        if event.object["metadata"].get("name") == name and any(c.get("reason") == "Unschedulable" for c in conditions):
            return datetime.now(UTC)
    raise AssertionError(f"{name}: the watch ended before the pod was unschedulable")


async def ordered_at(cluster: KubeCluster, pod: str) -> datetime:
    """Return when the server for the pod was asked for, as its request has it on record."""
    while True:
        for request in (await cluster.list(NODE_REQUESTS)).items:
            seats = {seat["name"] for seat in request["spec"].get("reservedFor", [])}
            asked = request.get("status", {}).get("createAttemptAt")
            if pod in seats and asked is not None:
                return datetime.fromisoformat(asked)
        await asyncio.sleep(0.1)


async def wait_until_running(cluster: KubeCluster, name: str) -> None:
    while (await cluster.get(PODS, name, namespace=NAMESPACE))["status"].get("phase") != "Running":
        await asyncio.sleep(0.2)


async def measure(kubeconfig: Path) -> list[float]:
    """Return the seconds of each pod."""
    cluster = await KubeCluster.connect(str(kubeconfig))
    seconds = []
    try:
        for index in range(PODS_MEASURED):
            name = f"single-{index}"
            told = asyncio.create_task(unschedulable_at(cluster, name))
            await asyncio.sleep(0.2)
            await cluster.create(PODS, single_pod(name, "1500m"), namespace=NAMESPACE)
            began = await told
            seconds.append((await ordered_at(cluster, name) - began).total_seconds())
            await wait_until_running(cluster, name)
    finally:
        await cluster.close()
    return seconds


def test_a_pod_has_its_machine_ordered_within_a_second(control_plane: ControlPlane, tmp_path: Path):
    with scene(control_plane, tmp_path, cluster="latency") as growth:
        growth.start()
        seconds = asyncio.run(measure(control_plane.kubeconfig))
        p95 = quantiles(seconds, n=20)[-1]
        print(
            f"\nunschedulable to create call, {PODS_MEASURED} single pods: p50 {median(seconds):.3f} s, p95 {p95:.3f} s"
        )
        assert median(seconds) < P50_SECONDS
        assert p95 < P95_SECONDS
