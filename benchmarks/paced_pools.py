"""What the fields of pace cost a round: 20 pools with all of them, and the same cluster without any.

    python -m benchmarks.paced_pools
    python -m benchmarks.paced_pools --write

Processor seconds of planning alone, nothing waits: estimators, locks, rates, windows, schedules and health are decided
about all machines, and little-used ones are looked for. Each row has a process of its own, so that memory is its own.
"""

import gc
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from activities.ports.cluster import Object
from api.keys import LABEL_POOL
from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from benchmarks.dump import Size, objects
from benchmarks.generator import Recipe, draw
from benchmarks.live_objects import KINDS, LiveObjects, stamped
from benchmarks.measured import growth, measured
from benchmarks.objects import snapshot_of
from planner.model.plan import Plan, Snapshot
from planner.packing.optimiser.solve import solve
from planner.plan import plan

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
MARKS: Final = ("<!-- paced pools -->\n", "\n<!-- end of paced pools -->")
POOLS: Final = 20
PODS_A_NODE: Final = 10
SIZES: Final = (100, 300, 1_000, 3_000)
"""Nodes."""
_ROUNDS: Final = 3
_SCALE_UP: Final[dict[str, Any]] = {
    "estimators": ["binPack", "threshold"],
    "thresholdPercent": 70,
    "starvation": True,
    "batchMax": 5,
    "maxInFlight": 10,
    "podGrace": "30s",
    "cooldown": "1m",
    "lock": {"min": "2m", "max": "10m"},
    "breaker": {"failures": 3, "halfOpenAfter": "10m"},
}
_SCALE_DOWN: Final[dict[str, Any]] = {
    "mode": "drain",
    "group": {"lowerPercent": 10, "upperPercent": 40, "slow": 1, "fast": 3, "every": "1m"},
    "node": {"cpuPercent": 50, "memoryPercent": 50, "window": "10m"},
    "order": "leastUtilised",
    "cooldownAfterScaleUp": "10m",
    "cooldownAfterScaleDown": "5m",
    "maxRemainingPercent": 80,
}
_MORE: Final[dict[str, Any]] = {
    "schedule": [{"days": ["Mon", "Tue"], "start": "07:30", "end": "18:00", "timezone": "Europe/Berlin", "min": 1}],
    "health": {"grace": "15m", "newestPercent": 50, "maxUnhealthyPercent": 50},
}

app = App(name="benchmarks.paced_pools")


@dataclass(frozen=True, slots=True)
class PacedRow:
    """What a round costs in one cluster."""

    nodes: int
    seconds: float
    """Processor seconds of planning: the least of some rounds."""
    mebibytes: int
    """The most memory that the process had."""


@app.default
def main(*, write: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Print what the fields cost, for each number of nodes.

    Args:
        write: keep the table in docs/performance.md.
    """
    table = page([(measured_row(nodes, paced=False), measured_row(nodes, paced=True)) for nodes in SIZES])
    sys.stdout.write(f"{table}\n")
    if write:
        before, rest = PAGE.read_text().split(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}{table}{MARKS[1]}{rest.split(MARKS[1])[1]}")


def measured_row(nodes: int, *, paced: bool) -> PacedRow:
    """Return what a round costs, measured in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(row, nodes, paced=paced).result()


def row(nodes: int, *, paced: bool) -> PacedRow:
    """Return what a round costs, measured in this process."""
    seconds, _ = planned(nodes, paced=paced)
    return PacedRow(nodes, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)


def planned(nodes: int, *, paced: bool) -> tuple[float, Plan]:
    """Return the processor seconds of planning for a cluster with so many nodes, and the plan."""
    snapshot = LiveObjects().snapshot(_running(nodes), _settings(paced=paced))
    gc.collect()
    gc.disable()
    try:
        rounds = [_timed(snapshot) for _ in range(_ROUNDS)]
    finally:
        gc.enable()
    return min(seconds for seconds, _ in rounds), rounds[-1][1]


def _timed(snapshot: Snapshot) -> tuple[float, Plan]:
    began = time.process_time()
    made = plan(snapshot, solve)
    return time.process_time() - began, made


def page(rows: Sequence[tuple[PacedRow, PacedRow]]) -> str:
    """Return the table as markdown: of each cluster without the fields and with them."""
    heads = ("nodes", "pods", "without", "with", "the fields", "more memory")
    lines = [
        (
            f"{plain.nodes:,}",
            f"{PODS_A_NODE * plain.nodes:,}",
            f"{1000 * plain.seconds:.0f} ms",
            f"{1000 * paced.seconds:.0f} ms",
            f"{1000 * (paced.seconds - plain.seconds):.0f} ms",
            f"{max(0, paced.mebibytes - plain.mebibytes)} MiB",
        )
        for plain, paced in rows
    ]
    rule = f"|{'---|' * len(heads)}"
    table = [_line(heads), rule, *map(_line, lines)]
    return "\n".join((measured([growth()]), "", *table))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _running(nodes: int) -> list[Object]:
    """Return the objects of a cluster, its Nodes dealt out to the pools."""
    return list(_dealt(item for item in objects(Size(nodes, PODS_A_NODE * nodes), 0) if item["kind"] in KINDS))


def _dealt(items: Iterator[Object]) -> Iterator[Object]:
    number = 0
    for item in items:
        if item["kind"] == "Node":
            item["metadata"]["labels"][LABEL_POOL] = f"pool-{number % POOLS}"
            number += 1
        yield stamped(item)


def _settings(*, paced: bool) -> Snapshot:
    """Return the pools, of which a look at consolidation was just taken."""
    settings = snapshot_of(draw(Recipe(pods=1, shapes=1)))
    [pool] = settings.pools
    as_json: dict[str, Any] = pool.to_json()
    spec = as_json["spec"]
    if paced:
        downs = {**spec.get("scaleDown", {}), **_SCALE_DOWN}
        spec = {**spec, **_MORE, "scaleUp": {**spec.get("scaleUp", {}), **_SCALE_UP}, "scaleDown": downs}
    status = {"consolidation": {"lookedAt": format_timestamp(settings.now)}}
    pools = [
        NodePool.model_validate({**as_json, "metadata": {"name": f"pool-{k}"}, "spec": spec, "status": status})
        for k in range(POOLS)
    ]
    return replace(settings, pools=tuple(pools))


if __name__ == "__main__":
    app()
