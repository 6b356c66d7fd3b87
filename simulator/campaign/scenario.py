"""What a seed decides before anything happens: the classes, pools and workloads, and how everything around fares."""

from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Final

from activities.cluster import Object
from simulator.catalogue import machine, node_class, node_pool
from simulator.connection import Health
from simulator.workloads import Workload

_TIMINGS: Final = {
    "provisioningTimeout": "30s",
    "joinTimeout": "30s",
    "unavailableTTL": "5s",
    "failedTTL": "10s",
    "recordTTL": "40s",
    "podBackoff": {"base": "10s", "max": "40s"},
}
"""Short, so that a history holds many lives; a record outlives the longest stall of a watch, as in production."""
_REMOVAL: Final = {"maxAttempts": 2, "retry": "5s", "parkedRetry": "30s"}
_LONGEST_STALL_SECONDS: Final = 12.0
_DRAINS: Final = 0.4
"""Share of histories."""
_POOLS_WITH_DRAIN: Final = 0.85
HARD_GRACES: Final = ("10s", "45s")
"""Shorter and longer than what keeps pods mostly lasts."""
SPECIAL: Final = "special"
"""The second pool, for pods that select it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The world of one history."""

    objects: list[Object]
    pools: dict[str, Object]
    """As they were made, by name."""
    workloads: list[Workload]
    longest_binding: timedelta
    losses: float
    stalls: float
    has_drains: bool
    """Whether people drain machines, and keep pods where they are."""

    def health(self, dies_after: int | None = None) -> Health:
        """Return how a worker's way to the API server fares."""
        return Health(
            losses=self.losses,
            stalls=self.stalls,
            longest_stall_seconds=_LONGEST_STALL_SECONDS,
            dies_after=dies_after,
        )


def draw(random: Random, drains: Random) -> Scenario:
    """Return a scenario.

    What is about drains is drawn from a stream of its own, so that the other histories do not change with it.
    """
    has_drains = drains.random() < _DRAINS
    boot = random.choice(["1s", "4s", "12s"])
    slow = random.choice(["4s", "12s", "45s"])
    stock = random.choice([None, None, 1, 2])
    small_location: dict[str, Any] = {"name": "fsn1", "bootTime": boot} | ({} if stock is None else {"stock": stock})
    klass = node_class(
        [
            machine("small", cpu=2, memory=4, price="0.010", locations=[small_location]),
            machine("medium", cpu=4, memory=8, price="0.021", locations=["fsn1", "nbg1"], boot_time=boot),
            machine("big", cpu=8, memory=16, price="0.045", boot_time=slow),
        ]
    )
    pools = {"default": _pool("default", random, _mode(drains) if has_drains else {})}
    workloads = [
        Workload("web", random.randint(0, 5), {"cpu": "900m", "memory": "1Gi"}),
        Workload("batch", random.randint(0, 3), {"cpu": "1700m", "memory": "2Gi"}),
    ]
    if random.random() < 0.4:  # noqa: PLR2004 - a share
        pools[SPECIAL] = _pool(SPECIAL, random, _mode(drains) if has_drains else {})
        spec = {"nodeSelector": {"growth.dev/pool": SPECIAL}}
        workloads.append(Workload("picky", random.randint(0, 3), {"cpu": "1500m", "memory": "1Gi"}, spec=spec))
    return Scenario(
        objects=[klass, *pools.values()],
        pools=pools,
        workloads=workloads,
        longest_binding=timedelta(seconds=random.choice([0.0, 0.5, 3.0, 3.0])),
        losses=random.choice([0.0, 0.0, 0.01, 0.03]),
        stalls=random.choice([0.0, 0.0, 0.02, 0.1]),
        has_drains=has_drains,
    )


def _mode(drains: Random) -> dict[str, Any]:
    """Return how the machines of a pool are drained: mostly at all, with hardGrace or without."""
    if drains.random() >= _POOLS_WITH_DRAIN:
        return {}
    grace = drains.choice([None, None, *HARD_GRACES])
    return {"mode": "drain"} if grace is None else {"mode": "drain", "hardGrace": grace}


def _pool(name: str, random: Random, mode: dict[str, Any]) -> Object:
    types: list[dict[str, Any]] = [{"name": "small"}, {"name": "medium"}, {"name": "big"}]
    most = random.choice([None, 2, 3])
    if most is not None:
        types[1] |= {"max": most}
    return node_pool(
        name,
        types,
        limits={"max": random.randint(4, 8), "min": random.choice([0, 0, 0, 1])},
        scaleUp={**_TIMINGS, "reserve": random.random() < 0.85},  # noqa: PLR2004 - a share
        scaleDown={"idleAfter": "5s", "softGrace": random.choice(["0s", "1s", "8s"]), "removal": _REMOVAL, **mode},
    )
