"""The stream of a churn: Deployments that come, go, grow, shrink and are rolled out, CronJobs, and sold-out types.

All sides get the same stream: what they do changes where pods are, never how many are wanted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, exp, log, pi
from random import Random
from typing import Final

from benchmarks.catalogue import ZONES, CatalogueMachine, machines

DAY: Final = 86_400
GRID: Final = 30
"""Seconds: what happens to workloads happens at multiples of it."""
FAMILIES: Final = ("cx", "cax")
"""As an operator who knows prices would choose: the families that are never far too dear."""
_LOOKS_A_DAY: Final = 36
"""How often a Deployment's replicas are judged anew."""
_CPU_GRID: Final = (50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000, 3000)
_MEMORY_GRID: Final = 64
_LONGEST_JOB: Final = 1200
_BUDGET_WINDOW: Final = 1200
"""Seconds for which a budget is open or closed: as long as a rollout or a pod that is not Ready takes."""
_THIRD: Final = 3


@dataclass(frozen=True, slots=True)
class ChurnWorkload:
    """A Deployment or a CronJob."""

    name: str
    cpu: int
    """Millicores of a pod."""
    memory: int
    """MiB of a pod."""
    architecture: str = ""
    """The only one it runs on; empty: any."""
    zone_skew: int | None = None
    host_skew: int | None = None
    has_empty_dir: bool = False
    has_budget: bool = False
    """Whether a PodDisruptionBudget lets one pod at a time be missing."""
    closed: int | None = None
    """In which of the three windows of an hour its budget lets none go; None in no one."""
    is_job: bool = False
    """A CronJob's pods ask not to be disrupted."""

    def lets_go(self, at: int) -> bool:
        """Return whether its budget lets any pod be evicted at a time."""
        return self.closed is None or at // _BUDGET_WINDOW % _THIRD != self.closed


@dataclass(frozen=True, slots=True, order=True)
class ChurnChange:
    """A change of a workload."""

    at: int
    workload: int
    replicas: int = -1
    """How many it is to have from now on; -1 is unchanged."""
    rollout: bool = False
    """Whether all pods are replaced by those of a new revision."""
    job: int = 0
    """Seconds that a new pod of a CronJob runs."""


@dataclass(frozen=True, slots=True, order=True)
class SoldOutTime:
    """A time in which a server type cannot be had in a zone."""

    begin: int
    end: int
    offering: int


@dataclass(frozen=True, slots=True)
class Stream:
    """All that happens, whoever buys machines."""

    seed: int
    seconds: int
    workloads: tuple[ChurnWorkload, ...]
    machines: tuple[CatalogueMachine, ...]
    changes: tuple[ChurnChange, ...]
    sold_out: tuple[SoldOutTime, ...]

    def wanted(self, at: int) -> list[int]:
        """Return the pods that there should be of each workload at a time; of CronJobs those that would run."""
        counts = [0] * len(self.workloads)
        for change in self.changes:
            if change.at > at:
                break
            if change.replicas >= 0:
                counts[change.workload] = change.replicas
            elif change.job and at < change.at + change.job:
                counts[change.workload] += 1
        return counts


def draw(seed: int, *, days: int, deployments: int = 60, jobs: int = 12, is_steady: bool = False) -> Stream:
    """Return the stream of a seed; a steady one is a morning's load that nothing changes any more."""
    random = Random(7919 * seed + 17)  # noqa: S311 - it draws test data
    offered = tuple(machine for machine in machines(zonal=True) if machine.family in FAMILIES)
    workloads: list[ChurnWorkload] = []
    changes: list[ChurnChange] = []
    for i in range(deployments):
        workloads.append(_deployment(random, i))
        changes += _rhythm(random, i, days)
    for k in range(jobs):
        i = deployments + k
        workloads.append(_workload(random, f"job-{k:02}", is_job=True))
        changes += _runs(random, i, days)
    if is_steady:
        changes = [ChurnChange(0, c.workload, c.replicas) for c in changes if c.at == 0 and c.replicas > 0]
    return Stream(
        seed=seed,
        seconds=days * DAY,
        workloads=tuple(workloads),
        machines=offered,
        changes=tuple(sorted(changes)),
        sold_out=() if is_steady else tuple(sorted(_sold_out(random, offered, days))),
    )


def _deployment(random: Random, i: int) -> ChurnWorkload:
    return _workload(random, f"app-{i:02}", is_job=False)


def _workload(random: Random, name: str, *, is_job: bool) -> ChurnWorkload:
    cpu = min(3000.0, max(50.0, exp(random.gauss(log(300), 0.9))))
    per_core = min(6.0, max(0.5, exp(random.gauss(log(2.0), 0.5))))
    kind, rule, budget = random.random(), random.random(), random.random()
    has_empty_dir, closed = random.random() < 0.5, random.randrange(_THIRD)  # noqa: PLR2004 - half of them
    return ChurnWorkload(
        name=name,
        cpu=min(_CPU_GRID, key=lambda amount: abs(log(amount / cpu))),
        memory=max(_MEMORY_GRID, round(cpu * per_core * 1.024 / _MEMORY_GRID) * _MEMORY_GRID),
        architecture="amd64" if kind < 0.6 else "arm64" if kind < 0.7 else "",  # noqa: PLR2004 - shares
        zone_skew=1 if rule < 0.2 and not is_job else None,  # noqa: PLR2004 - shares
        host_skew=1 if 0.2 <= rule < 0.35 and not is_job else None,  # noqa: PLR2004 - shares
        has_empty_dir=has_empty_dir,
        has_budget=budget < 0.7 and not is_job,  # noqa: PLR2004 - shares
        closed=None if is_job else closed,
        is_job=is_job,
    )


def _rhythm(random: Random, i: int, days: int) -> Iterator[ChurnChange]:
    """Yield the changes of a Deployment: by day more than by night, or only by day, with some noise, and rollouts."""
    most = max(2.0, min(24.0, exp(random.gauss(log(7), 0.8))))
    depth, peak = random.uniform(0.3, 0.85), random.gauss(14 * 3600, 2 * 3600)
    by_day_only = random.random() < 0.2  # noqa: PLR2004 - a fifth of them
    opens, closes = random.uniform(6, 9) * 3600, random.uniform(16, 21) * 3600
    before = -1
    offset = random.randrange(DAY // _LOOKS_A_DAY)
    for look in range(days * _LOOKS_A_DAY):
        at = 0 if look == 0 else _on_grid(look * DAY // _LOOKS_A_DAY + offset)
        wave = (1 + cos(2 * pi * (at - peak) / DAY)) / 2
        replicas = max(1, round(most * (1 - depth + depth * wave) * exp(random.gauss(0, 0.06))))
        if by_day_only and not opens <= at % DAY < closes:
            replicas = 0
        if replicas != before:
            yield ChurnChange(at, i, replicas)
        before = replicas
    for day in range(days):
        if random.random() < 0.4:  # noqa: PLR2004 - two of five a day
            yield ChurnChange(_on_grid(day * DAY + random.uniform(9, 18) * 3600), i, rollout=True)


def _runs(random: Random, i: int, days: int) -> Iterator[ChurnChange]:
    every = random.choice((1800, 3600, 3600, 7200, 14_400, DAY))
    offset, lasts, width = random.randrange(every), random.uniform(120, _LONGEST_JOB), random.choice((1, 1, 2, 6))
    for at in range(offset, days * DAY, every):
        for _ in range(width):
            yield ChurnChange(_on_grid(at), i, job=_on_grid(lasts * random.uniform(0.7, 1.3)))


def _sold_out(random: Random, offered: Sequence[CatalogueMachine], days: int) -> Iterator[SoldOutTime]:
    for _ in range(4 * days):
        begin = random.randrange(days * DAY)
        end = begin + random.randrange(3600, 5 * 3600)
        name, zone = random.choice(offered).name, random.choice(("", *ZONES))
        for b, machine in enumerate(offered):
            if machine.name == name and zone in ("", machine.zone):
                yield SoldOutTime(_on_grid(begin), _on_grid(end), b)


def _on_grid(seconds: float) -> int:
    return max(GRID, round(seconds / GRID) * GRID)
