"""Draws the benchmark's instances: the same numbers give the same instance, bit by bit.

Draws are numpy's, bit by bit; no command imports this file, so that none waits for numpy.
Source: the instance generator of this project's study of packing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.catalogue import ZONES, CatalogueMachine, machines
from benchmarks.instance import PORTS, Instance, InstanceShape

Floats = NDArray[np.float64]

CPU_GRID: Final = (
    10,
    25,
    50,
    75,
    100,
    150,
    200,
    250,
    300,
    400,
    500,
    750,
    1000,
    1500,
    2000,
    2500,
    3000,
    4000,
    6000,
    8000,
)
"""Millicores as people write them."""
_DISTINCT: Final = 10**9
"""Stands for the number of shapes in the seed when all pods are distinct."""
_MOST_DISK: Final = 60_000
_DISK_STEP: Final = 512
_PODS_PER_SCARCE: Final = 400
"""With limits, so many pods for each machine that a scarce type may have."""

_AMD64, _ARM64 = 0.6, 0.7
"""Of all shapes, 60 % run on amd64 only and 10 % on arm64 only."""
_WITH_DISK, _DEDICATED, _PORT, _PINNED, _SPREAD = 0.25, 0.05, 0.04, 0.05, 0.2
_DEDICATED_BELOW: Final = 0.5
"""Only shapes that run on amd64 are dedicated."""
_ALONE, _IN_PAIRS = 0.10, 0.18
"""Of the small shapes, 10 % have one pod a machine, and 8 % two."""
_FEWEST_SPREAD: Final = 3
_OVER_HOSTS, _MOST_SKEW = 0.4, 2
"""Of all shapes with more than one pod, 40 % are spread over host names, with `maxSkew` 1 or 2."""


class BadRecipe(ValueError):
    """No instance can be drawn from it; the text says why in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to draw.

    Raises:
        BadRecipe: there is no such instance.
    """

    pods: int
    shapes: int | None
    """How many different ones; None: every pod is one of its own."""
    seed: int = 0
    mix: bool = False
    """Whether some pods ask for more than an architecture: dedicated machines, caps, host ports, pairs kept apart."""
    zonal: bool = False
    """Whether machines are in zones; with `mix`, some pods are pinned to one and some are spread over all."""
    limits: bool = False
    """Whether the cheapest types are scarce."""
    hosts: bool = False
    """Whether some pods are spread over host names."""

    def __post_init__(self) -> None:
        shapes = 1 if self.shapes is None else self.shapes
        if not (self.seed >= 0 and 1 <= shapes <= self.pods):
            raise BadRecipe(f"{self}: pods and shapes must be 1 or more, shapes not above pods, the seed 0 or more")

    def __str__(self) -> str:
        words = [f"{self.pods:,} pods", "all distinct" if self.shapes is None else f"{self.shapes} shapes"]
        words += [name for name in ("mix", "zonal", "hosts", "limits") if getattr(self, name)]
        return ", ".join([*words, f"seed {self.seed}"])


def draw(recipe: Recipe) -> Instance:
    """Return the instance of a recipe."""
    return _Draw(recipe).instance()


class _Draw:
    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        named = _DISTINCT if recipe.shapes is None else recipe.shapes
        self._rng = np.random.default_rng(7919 * recipe.seed + recipe.pods + 13 * named)
        self._size = recipe.pods if recipe.shapes is None else recipe.shapes

    def instance(self) -> Instance:
        recipe = self._recipe
        kinds = machines(zonal=recipe.zonal)
        # The order of the draws is part of what makes an instance the same.
        cpu, memory, disk = self._amounts()
        counts = self._counts()
        where = self._rng.random(self._size)
        shapes = [
            InstanceShape(
                count=int(counts[i]),
                cpu=int(cpu[i]),
                memory=int(memory[i]),
                disk=int(disk[i]),
                architecture="amd64" if where[i] < _AMD64 else "arm64" if where[i] < _ARM64 else "",
            )
            for i in range(self._size)
        ]
        if recipe.mix:
            shapes = self._mixed(shapes, where)
        if recipe.hosts:
            shapes = self._over_hosts(shapes)
        shapes = merged([_shrunk(shape, kinds) for shape in shapes])
        limit = max(1, recipe.pods // _PODS_PER_SCARCE) if recipe.limits else None
        return Instance(tuple(shapes), kinds, limit)

    def _amounts(self) -> tuple[Floats, Floats, Floats]:
        rng, size = self._rng, self._size
        cpu = np.exp(rng.normal(np.log(300), 1.05, size)).clip(10, 7600)
        per_core = np.exp(rng.normal(np.log(2.2), 0.65, size))
        memory = (cpu * per_core * 1.024).clip(16, 27000)
        with_disk = rng.random(size) < _WITH_DISK
        disk = np.where(with_disk, np.exp(rng.normal(np.log(2048), 0.8, size)).clip(max=_MOST_DISK), 0)
        if self._recipe.shapes is not None:
            grid = np.array(CPU_GRID, dtype=float)
            cpu = grid[np.abs(np.log(cpu)[:, None] - np.log(grid)[None, :]).argmin(axis=1)]
            step = np.where(memory < 256, 16, np.where(memory < 2048, 64, 256))  # noqa: PLR2004 - MiB, see the step
            memory = np.ceil(memory / step) * step
            disk = np.ceil(disk / _DISK_STEP) * _DISK_STEP
        return np.ceil(cpu), np.ceil(memory), np.ceil(disk)

    def _counts(self) -> NDArray[np.int64]:
        pods, size, rng = self._recipe.pods, self._size, self._rng
        if self._recipe.shapes is None:
            return np.ones(size, dtype=np.int64)
        weights = 1 / np.arange(1, size + 1) ** 0.8
        rng.shuffle(weights)
        counts = np.maximum(1, np.floor(weights / weights.sum() * pods).astype(np.int64))
        while counts.sum() < pods:
            counts[rng.integers(size)] += 1
        while counts.sum() > pods:
            k = rng.integers(size)
            counts[k] -= counts[k] > 1
        return counts

    def _mixed(self, shapes: Sequence[InstanceShape], where: Floats) -> list[InstanceShape]:
        rng, size, zonal = self._rng, self._size, self._recipe.zonal
        small = [shape.count <= max(2, self._recipe.pods // 100) for shape in shapes]
        dedicated = rng.random(size) < _DEDICATED
        cap = rng.random(size)
        has_port = rng.random(size) < _PORT
        port = rng.integers(0, PORTS, size)
        apart: list[set[int]] = [set() for _ in shapes]
        for _ in range(int(0.05 * size)):
            first, second = (int(k) for k in rng.integers(0, size, 2))
            if first != second:
                apart[first].add(second)
                apart[second].add(first)
        pinned = rng.random(size) < _PINNED if zonal else [False] * size
        zone = rng.integers(0, len(ZONES), size) if zonal else [0] * size
        spread = rng.random(size) < _SPREAD if zonal else [False] * size
        return [
            replace(
                shape,
                is_dedicated=bool(dedicated[i] and where[i] < _DEDICATED_BELOW),
                per_node=None if not small[i] or cap[i] >= _IN_PAIRS else 1 if cap[i] < _ALONE else 2,
                port=int(port[i]) if has_port[i] and small[i] else None,
                apart=frozenset(apart[i]),
                zone=ZONES[zone[i]] if pinned[i] else "",
                is_spread=bool(spread[i] and not pinned[i] and shape.count >= _FEWEST_SPREAD),
            )
            for i, shape in enumerate(shapes)
        ]

    def _over_hosts(self, shapes: Sequence[InstanceShape]) -> list[InstanceShape]:
        drawn = self._rng.random(self._size)
        skews = self._rng.integers(1, _MOST_SKEW + 1, self._size)
        return [
            replace(shape, host_skew=int(skews[i]))
            if drawn[i] < _OVER_HOSTS and shape.count > 1 and shape.per_node is None
            else shape
            for i, shape in enumerate(shapes)
        ]


def _shrunk(shape: InstanceShape, kinds: Sequence[CatalogueMachine]) -> InstanceShape:
    """Return the shape, made smaller until some machine holds a pod of it."""
    while not any(shape.fits(machine) for machine in kinds):
        shape = replace(shape, cpu=max(1, 3 * shape.cpu // 4), memory=max(1, 3 * shape.memory // 4))
    return shape


def merged(shapes: Sequence[InstanceShape]) -> list[InstanceShape]:
    """Return the shapes, those that are alike as one, at the place of the first; others' indexes follow."""
    first: dict[InstanceShape, int] = {}
    place: list[int] = []
    distinct: list[InstanceShape] = []
    for shape in shapes:
        alike = replace(shape, count=0)
        is_own = bool(shape.apart or shape.is_spread or shape.host_skew)
        if is_own or alike not in first:
            place.append(len(distinct))
            if not is_own:
                first[alike] = len(distinct)
            distinct.append(shape)
        else:
            k = first[alike]
            place.append(k)
            distinct[k] = replace(distinct[k], count=distinct[k].count + shape.count)
    return [replace(shape, apart=frozenset(place[k] for k in shape.apart)) for shape in distinct]
