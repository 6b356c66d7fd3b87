"""What a seed decides before anything happens: the classes, pools and workloads, and how everything around fares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import ClassRef
from simulator.catalogue import machine, node_class, node_pool
from simulator.driver.connection import Health
from simulator.scheduling.workloads import Workload
from simulator.world import World

_TIMINGS: Final = {
    "provisioningTimeout": "30s",
    "joinTimeout": "30s",
    "unavailableTTL": "5s",
    "failedTTL": "10s",
    "recordTTL": "40s",
    "podBackoff": {"base": "10s", "max": "40s"},
}
"""Short, so that a history holds many lifecycles; a record outlives the longest stall of a watch, as in production."""
_REMOVAL: Final = {"maxAttempts": 2, "retry": "5s", "parkedRetry": "30s"}
_LONGEST_STALL_SECONDS: Final = 12.0
_DRAINS: Final = 0.4
"""Share of histories."""
_POOLS_WITH_DRAIN: Final = 0.85
HARD_GRACES: Final = ("10s", "45s")
"""Shorter and longer than what keeps pods mostly lasts."""
KWOK_TYPES: Final = ("small", "medium", "big")
KWOK_CLASS: Final = ClassRef()
SPECIAL: Final = "special"
"""The second pool, for pods that select it."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The world of one history."""

    objects: list[Object]
    pools: dict[str, Object]
    """As they were made, by name."""
    workloads: list[Workload]
    longest_binding: timedelta
    losses: float
    stalls: float
    has_slow_starts: bool = field(default=False, kw_only=True)
    """Whether machines start slowly, and the scheduler or the API server stands still at times."""
    has_policies: bool = field(default=False, kw_only=True)
    """Whether rounds move pods, so that machines with pods go."""
    has_drains: bool
    """Whether people drain machines, and keep pods where they are."""
    types: tuple[str, str, str]
    """Server types, the cheapest first."""
    class_ref: ClassRef
    """Of all pools."""
    make_world: Callable[..., World]
    served_within_seconds: float
    """After all troubles: pauses of the pools and of the class are over then."""
    settled_within_seconds: float
    """Without load: all time-outs and pauses, and ten minutes until a server may count as an orphan, are over then."""

    @property
    def longest_behind(self) -> timedelta:
        """The longest that a worker's watch may still show what is over: a few stalls in a row."""
        return timedelta(seconds=3 * _LONGEST_STALL_SECONDS if self.stalls else 2)

    def health(self, dies_after: int | None = None) -> Health:
        """Return the health of a worker's connection to the API server."""
        return Health(
            losses=self.losses,
            stalls=self.stalls,
            longest_stall_seconds=_LONGEST_STALL_SECONDS,
            dies_after=dies_after,
        )


def draw(random: Random, drains: Random) -> Setup:
    """Return a scenario.

    What is about drains is drawn from a stream of its own, so that the other histories do not change with it.
    """
    has_drains = drains_happen(drains)
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
    return peopled([klass], random, drains if has_drains else None)


def drains_happen(drains: Random) -> bool:
    """Return whether the scenario has drains: a share of all has."""
    return drains.random() < _DRAINS


def peopled(
    classes: list[Object],
    random: Random,
    drains: Random | None,
    *,
    types: tuple[str, str, str] = KWOK_TYPES,
    class_ref: ClassRef = KWOK_CLASS,
    timings: Mapping[str, Any] = _TIMINGS,
    removal: Mapping[str, Any] = _REMOVAL,
    make_world: Callable[..., World] = World,
    served_within_seconds: float = 1800.0,
    settled_within_seconds: float = 1800.0,
) -> Setup:
    """Return a scenario with pools and workloads around classes.

    Args:
        classes: and what belongs to them.
        random: decides on pools and workloads.
        drains: decides on drains; without it there are none.
        types: of servers, the cheapest first.
        class_ref: of all pools.
        timings: of requests.
        removal: how removals try again.
        make_world: makes the world that they are in.
        served_within_seconds: so long may pods wait after all troubles.
        settled_within_seconds: so long may machines stay after all load.
    """

    def pool(name: str) -> Object:
        mode = {} if drains is None else _mode(drains)
        return _pool(name, random, mode, types=types, class_ref=class_ref, timings=timings, removal=removal)

    pools = {"default": pool("default")}
    workloads = [
        Workload("web", random.randint(0, 5), {"cpu": "900m", "memory": "1Gi"}),
        Workload("batch", random.randint(0, 3), {"cpu": "1500m", "memory": "2Gi"}),
    ]
    if random.random() < 0.4:  # noqa: PLR2004 - a share
        pools[SPECIAL] = pool(SPECIAL)
        spec = {"nodeSelector": {"growth.dev/pool": SPECIAL}}
        workloads.append(Workload("picky", random.randint(0, 3), {"cpu": "1500m", "memory": "1Gi"}, spec=spec))
    return Setup(
        objects=[*classes, *pools.values()],
        pools=pools,
        workloads=workloads,
        longest_binding=timedelta(seconds=random.choice([0.0, 0.5, 3.0, 3.0])),
        losses=random.choice([0.0, 0.0, 0.01, 0.03]),
        stalls=random.choice([0.0, 0.0, 0.02, 0.1]),
        has_drains=drains is not None,
        types=types,
        class_ref=class_ref,
        make_world=make_world,
        served_within_seconds=served_within_seconds,
        settled_within_seconds=settled_within_seconds,
    )


def _mode(drains: Random) -> dict[str, Any]:
    """Return the drain settings of a pool: mostly a drain, with hardGrace or without."""
    if drains.random() >= _POOLS_WITH_DRAIN:
        return {}
    grace = drains.choice([None, None, *HARD_GRACES])
    return {"mode": "drain"} if grace is None else {"mode": "drain", "hardGrace": grace}


def _pool(
    name: str,
    random: Random,
    mode: dict[str, Any],
    *,
    types: tuple[str, str, str],
    class_ref: ClassRef,
    timings: Mapping[str, Any],
    removal: Mapping[str, Any],
) -> Object:
    wanted: list[dict[str, Any]] = [{"name": each} for each in types]
    most = random.choice([None, 2, 3])
    if most is not None:
        wanted[1] |= {"max": most}
    return node_pool(
        name,
        wanted,
        template={"classRef": class_ref.to_json()},
        limits={"max": random.randint(4, 8), "min": random.choice([0, 0, 0, 1])},
        scaleUp={**timings, "reserve": random.random() < 0.85},  # noqa: PLR2004 - a share
        scaleDown={"idleAfter": "5s", "softGrace": random.choice(["0s", "1s", "8s"]), "removal": dict(removal), **mode},
    )
