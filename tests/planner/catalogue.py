"""Problems drawn from a frozen catalogue and a seed, for measuring packers.

In the spirit of the generator of this project's study of packing (section 7): its types and prices,
its shapes of pods and its constraints; the draws are those of Python's generator, so that no
further library is needed, and the instances are therefore others.
"""

import math
import random

from benchmarks import catalogue
from benchmarks.catalogue import HOURS
from benchmarks.generator import CPU_GRID
from benchmarks.instance import PORTS, capacity
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_units


def machines() -> list[tuple[str, tuple[int, ...], int]]:
    """Return name, usable amounts (cpu m, memory MiB, disk MiB, pods, host ports) and price of each type."""
    return [(m.name, capacity(m), price_units(m.price_per_hour * HOURS)) for m in catalogue.machines()]


def instance(pods: int, shapes: int, seed: int, *, limits: bool = False) -> PackingProblem:
    """Return so many pods of so many shapes: with architectures, caps per node, host ports, pairs that keep apart."""
    draw = random.Random(7919 * seed + pods + 13 * shapes)
    kinds = machines()
    shapes = min(shapes, pods)
    counts = _counts(draw, pods, shapes)
    apart: list[set[int]] = [set() for _ in counts]
    for _ in range(shapes // 20):
        one, other = draw.randrange(shapes), draw.randrange(shapes)
        if one != other:
            apart[one].add(other)
            apart[other].add(one)
    groups = tuple(
        _group(draw, kinds, n, apart[i], small=n <= max(2, pods // 100), on_grid=shapes < pods)
        for i, n in enumerate(counts)
    )
    limited = [b for b, (name, _, _) in enumerate(kinds) if limits and name.startswith(("cx22", "cx32", "cax"))]
    bins = tuple(
        BinRow(usable, price, (limited.index(b),) if b in limited else ()) for b, (_, usable, price) in enumerate(kinds)
    )
    return PackingProblem(groups, bins, (max(1, pods // 400),) * len(limited))


def _counts(draw: random.Random, pods: int, shapes: int) -> list[int]:
    weights = [1 / k**0.8 for k in range(1, shapes + 1)]
    draw.shuffle(weights)
    counts = [max(1, int(w / sum(weights) * pods)) for w in weights]
    while sum(counts) < pods:
        counts[draw.randrange(shapes)] += 1
    while sum(counts) > pods:
        k = draw.randrange(shapes)
        counts[k] -= counts[k] > 1
    return counts


def _group(
    draw: random.Random,
    kinds: list[tuple[str, tuple[int, ...], int]],
    count: int,
    apart: set[int],
    *,
    small: bool,
    on_grid: bool,
) -> GroupRow:
    cpu = min(max(math.exp(draw.gauss(math.log(300), 1.05)), 10), 7600)
    memory = min(max(cpu * math.exp(draw.gauss(math.log(2.2), 0.65)) * 1.024, 16), 27000)
    disk = min(math.exp(draw.gauss(math.log(2048), 0.8)), 60000) if draw.random() < 0.25 else 0
    if on_grid:
        cpu = min(CPU_GRID, key=lambda g: abs(math.log(g / cpu)))
        step = 16 if memory < 256 else 64 if memory < 2048 else 256
        memory, disk = math.ceil(memory / step) * step, math.ceil(disk / 512) * 512
    arch = draw.random()
    dedicated = draw.random() < 0.05 and arch < 0.5
    cap = draw.random()
    per_node = None if not small or cap >= 0.18 else 1 if cap < 0.10 else 2
    ports = [0] * PORTS
    if draw.random() < 0.04 and small:
        ports[draw.randrange(PORTS)] = 1
    while True:
        demand = (math.ceil(cpu), math.ceil(memory), math.ceil(disk), 1, *ports)
        fitting = frozenset(
            b
            for b, (name, usable, _) in enumerate(kinds)
            if (arch >= 0.7 or (arch >= 0.6) == name.startswith("cax"))
            and (not dedicated or name.startswith("ccx"))
            and all(d <= u for d, u in zip(demand, usable, strict=True))
        )
        if fitting:
            return GroupRow(demand, count, fitting, 0, per_node, frozenset(apart))
        cpu, memory = max(1, cpu * 0.75), max(1, memory * 0.75)
