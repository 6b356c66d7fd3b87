"""What the demo shows: a catalogue with real sizes and prices, a pool, and the load of a small company."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, Final

from activities.ports.cluster import DAEMON_SETS, NODE_POOLS, PODS, Object
from api.keys import LABEL_ARCH, LABEL_HOSTNAME
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model.node_class import NodeClass
from planner.model.plan import Snapshot
from planner.parsing.objects import parse_objects
from planner.plan import plan
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.world import World
from worker.ports import utc_now
from worker.solver.in_process import packer

CURRENCY_SIGN: Final = "€"
SEED: Final = 1
"""The load that the demo shows when none is asked for."""
STUBBORN_ARCHITECTURE: Final = "arm64"
"""Servers of this architecture refuse to die until the cloud is mended."""
POOL: Final = "default"
"""The name of the pool."""
RETURNING: Final = "web"
"""The workload whose pods come back."""
RETURNING_PODS: Final = 4
STUBBORN: Final = "ci-arm"
"""The workload that runs on servers which refuse to die."""
STUBBORN_PODS: Final = 4
_DATABASE: Final = "db"
"""The workload of which each pod runs on another machine, so that several are needed."""
_BATCH: Final = "batch"

_RESERVED: Final = {"cpu": "100m", "memory": "600Mi"}
"""What kubelet and system keep on a machine of this size."""
_LOCATIONS: Final = ("fsn1", "nbg1")


@dataclass(frozen=True, slots=True)
class MachineType:
    """A line of the catalogue."""

    name: str
    cpu: int
    memory: int
    """GiB."""
    price: Decimal
    """EUR per hour."""
    architecture: str
    boot: str


_TYPES: Final = (
    MachineType("cx23", 2, 4, Decimal("0.0088"), "amd64", "1s"),
    MachineType("cx33", 4, 8, Decimal("0.0136"), "amd64", "1500ms"),
    MachineType("cx43", 8, 16, Decimal("0.0256"), "amd64", "2s"),
    MachineType("cx53", 16, 32, Decimal("0.0473"), "amd64", "2500ms"),
    MachineType("cpx32", 4, 8, Decimal("0.0569"), "amd64", "1s"),
    MachineType("cax11", 2, 4, Decimal("0.0096"), "arm64", "1s"),
    MachineType("cax21", 4, 8, Decimal("0.0168"), "arm64", "1500ms"),
)
"""Source: Hetzner's public price list, August 2026, net; boots are shorter than real ones, which take 20 s and more."""


@dataclass(frozen=True, slots=True)
class SoldOut:
    """An offering that the catalogue lists and the cloud does not have."""

    server_type: str
    location: str

    def __str__(self) -> str:
        return f"{self.server_type} in {self.location}"


def objects(sold_out: SoldOut | None = None) -> list[Object]:
    """Return the node class, the pool and the DaemonSet of the demo.

    Without `sold_out`, all that is listed can be had.
    """
    pool = node_pool(
        POOL,
        [{"name": kind.name} for kind in _TYPES],
        limits={"max": 30},
        scaleUp={"provisioningTimeout": "30s", "joinTimeout": "30s", "recordTTL": "1s"},
        # Minutes in a real pool; a demo has a minute in all.
        scaleDown={
            "mode": "drain",
            "consolidate": {"after": "2s"},
            "idleAfter": "2s",
            "softGrace": "8s",
            "removal": {"maxAttempts": 2, "retry": "1s"},
        },
    )
    return [_node_class(sold_out), pool, _agent()]


def without(sold_out: SoldOut) -> list[Object]:
    """Return the same objects for plans that know from the start what is sold out."""
    return [_node_class(sold_out, is_known=True), *objects()[1:]]


def workloads(seed: int) -> list[Workload]:
    """Return a load of about fifty pods in six workloads; equal seeds give equal loads."""
    random = Random(seed)  # noqa: S311 - a made-up load, not a secret
    intel, arm = ({"nodeSelector": {LABEL_ARCH: name}} for name in ("amd64", "arm64"))

    def about(number: int) -> int:
        return random.randint(number - number // 4, number + number // 4)

    def cpu(*choices: int) -> str:
        return f"{random.choice(choices)}m"

    return [
        Workload(RETURNING, about(14), {"cpu": cpu(350, 400, 450), "memory": "512Mi"}, spec=intel),
        Workload("api", about(9), {"cpu": cpu(700, 800, 900), "memory": "1536Mi"}, spec=intel),
        Workload(_DATABASE, 4, {"cpu": cpu(1500, 1700), "memory": "3Gi"}, spec=intel | _apart(_DATABASE)),
        Workload(_BATCH, about(8), {"cpu": cpu(1600, 1700, 1800), "memory": "2Gi"}, spec=intel),
        Workload("cache", about(5), {"cpu": "250m", "memory": "3Gi"}, spec=intel),
        Workload(STUBBORN, STUBBORN_PODS, {"cpu": "700m", "memory": "1Gi"}, spec=arm),
    ]


def after_peak(load: Iterable[Workload]) -> dict[str, int]:
    """Return how many pods of each workload are left in the evening: the batch is done, and few people come."""
    return {one.name: _in_the_evening(one) for one in load}


def _in_the_evening(workload: Workload) -> int:
    if workload.name == _BATCH:
        return 0
    return workload.replicas if workload.name in (_DATABASE, STUBBORN) else -(-workload.replicas // 3)


def too_large() -> Workload:
    """Return a workload that no machine of the demo is large enough for."""
    return Workload("huge", 1, {"cpu": "64", "memory": "8Gi"})


def stubborn_faults() -> list[dict[str, Any]]:
    """Return the scripted faults of the node class: delete calls for some servers fail."""
    return [
        {"serverType": kind.name, "call": "delete"} for kind in _TYPES if kind.architecture == STUBBORN_ARCHITECTURE
    ]


def prices() -> dict[str, Decimal]:
    """Return the price per hour by server type."""
    return {kind.name: kind.price for kind in _TYPES}


def architectures() -> dict[str, str]:
    """Return the architecture by server type."""
    return {kind.name: kind.architecture for kind in _TYPES}


async def snapshot_of(objects: list[Object], workloads: list[Workload]) -> Snapshot:
    """Return the snapshot of a round when all pods of `workloads` wait and there is no machine.

    A world of its own is filled and left; nothing of it is seen by the show.
    """
    now = utc_now()
    world = World(now=lambda: now, seed=0)
    await world.apply(*objects)
    for workload in workloads:
        world.workloads.add(workload)
    await world.settle()
    cluster = world.cluster
    parsed = parse_objects(pods=(await cluster.list(PODS)).items, daemon_sets=(await cluster.list(DAEMON_SETS)).items)
    classes = (await cluster.list(world.node_classes)).items
    return Snapshot(
        now=now,
        pods=parsed.pods,
        daemon_sets=parsed.daemon_sets,
        pools=tuple(NodePool.model_validate(pool) for pool in (await cluster.list(NODE_POOLS)).items),
        classes=tuple(
            NodeClass(ClassRef(name=kind["metadata"]["name"]), world.provider.offerings(kind)) for kind in classes
        ),
    )


async def first_choice(objects: list[Object], workloads: list[Workload]) -> SoldOut:
    """Return the offering that the first plan for these pods would miss most: the dearest that it buys."""
    planned = plan(await snapshot_of(objects, workloads), packer())
    dearest = max(planned.requests, key=lambda request: (request.price_per_hour, request.server_type))
    return SoldOut(dearest.server_type, dearest.location)


def _node_class(sold_out: SoldOut | None, *, is_known: bool = False) -> Object:
    machines = [
        machine(
            kind.name,
            cpu=kind.cpu,
            memory=kind.memory,
            price=str(kind.price),
            architecture=kind.architecture,
            locations=list(_locations(kind, sold_out, is_known=is_known)),
            overhead=_RESERVED,
        )
        for kind in _TYPES
    ]
    return node_class(machines, faults=stubborn_faults())


def _locations(kind: MachineType, sold_out: SoldOut | None, *, is_known: bool) -> Iterable[dict[str, Any]]:
    for name in _LOCATIONS:
        location: dict[str, Any] = {"name": name, "bootTime": kind.boot}
        if sold_out == SoldOut(kind.name, name):
            # What is not available is left out of plans; what is out of stock is learnt from a refused create call.
            location |= {"available": False} if is_known else {"stock": 0}
        yield location


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
