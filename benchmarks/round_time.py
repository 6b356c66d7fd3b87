"""How long a whole round takes, from Kubernetes objects to the objects that it writes: the second part of `make bench`.

    python -m benchmarks.round_time
    python -m benchmarks.round_time --pods 10000 --nodes 1000

A live round has its objects parsed already, but for those that are new or have changed: here those are all pods that
wait, and one of a hundred that run. `growth plan` reads the text of all. Seconds are those of the processor, so that
what else runs on the machine counts little. The collector of garbage looks at all objects once in some rounds only, and
not in one that is measured: what that takes is told beside it, and so is reading everything after a start, and a look
at what consolidation would save, for which rounds without anything to do take the time once in ten minutes.
"""

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from activities.ports.cluster import Object
from api.keys import API_VERSION
from api.meta import format_timestamp
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequestSpec
from benchmarks.dump import Size, objects
from benchmarks.generator import Recipe, draw
from benchmarks.live_objects import KINDS, LiveObjects, a_round_later, stamped
from benchmarks.measured import growth
from benchmarks.objects import pods_of, server_types_of, snapshot_of
from benchmarks.round_rows import ROWS, SHAPES, RoundCost, RoundRow, RoundTable, read_tables, with_table, write_tables
from planner.consolidation.potential import potential
from planner.model.plan import Plan, PlanResult, Snapshot
from planner.model.stages import Stopwatch
from planner.packing.optimiser.solve import solve, warm
from planner.packing.problem import Packing, PackingProblem
from planner.parsing.objects import Json, parse_objects
from planner.placement.known_state import prepare
from planner.plan import plan

_ONE_POD: Final = draw(Recipe(pods=1, shapes=1))
"""For its machines."""
_DEADLINE_SECONDS: Final = 2.0
"""For packing, as in a round of the worker."""
_SIZES: Final = (1_000, 10_000, 50_000)
_PODS_A_NODE: Final = 10
_AIM_SECONDS: Final = 3.0
_PARSED_BY: Final[Mapping[str, str]] = {
    "Pod": "pods",
    "Node": "nodes",
    "DaemonSet": "daemon_sets",
    "Namespace": "namespaces",
    "PersistentVolumeClaim": "claims",
    "PersistentVolume": "volumes",
    "StorageClass": "storage_classes",
    "CSINode": "csi_nodes",
}
"""The parser's name for each kind."""
_WIDTH_WITHOUT_TERMINAL: Final = 150
_NEVER: Final = 1_000_000
"""Collections before the next one of all objects."""

app = App(name="benchmarks.round_time")


@dataclass(frozen=True, slots=True)
class Round:
    """A cluster, and what a round did with it."""

    start: float
    """CPU seconds in which what was there before was read."""
    seconds: Mapping[str, float]
    """CPU seconds by stage, in the order in which they begin."""
    made: Plan
    collection: float = 0.0
    """CPU seconds in which Python looks for garbage among all objects: it does so once in some rounds, in none here."""
    look: float = 0.0
    """CPU seconds more of a round without anything to do in which a look at consolidation is due."""

    @property
    def total(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.seconds.values())


@app.default
def main(
    *,
    pods: int | None = None,
    nodes: int = 1_000,
    shapes: int = SHAPES,
    row: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    write: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Print the seconds of a round by stage, for all rows or for one cluster of your own.

    Of one of your own, also those of `growth plan` for the same objects, and of parsing more and more pods.

    Args:
        pods: how many wait, with constraints; as many run.
        nodes: how many nodes there are; some of what waits finds room on them.
        shapes: how many different pods wait.
        row: only these rows, by name.
        write: keep what was measured in benchmarks/round_time.json.
    """
    if pods is None:
        _measure([one for one in ROWS if not row or str(one) in row], is_kept=write)
    else:
        _own(pods, nodes, shapes)


def _measure(rows: Sequence[RoundRow], *, is_kept: bool) -> None:
    tables, costs = read_tables(), dict[str, RoundCost]()
    for row in rows:
        # A process each: what one row leaves behind is no part of another's time and memory.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            costs[str(row)] = process.submit(measured_row, row).result()
    table = RoundTable(f"{datetime.now(UTC).date()}", growth(), os.cpu_count() or 1, costs)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
    console.print(_table(rows, table, tables[0] if tables else None))
    if is_kept:
        write_tables(with_table(tables, table))


def _table(rows: Sequence[RoundRow], measured: RoundTable, first: RoundTable | None) -> Table:
    stages = list(next(iter(measured.rows.values())).seconds)
    title = f"CPU seconds of a round: {measured.version}, {measured.date}, {measured.cores} cores"
    columns = (
        "waiting x nodes (running)",
        *stages,
        "round",
        "target",
        first.date if first else "first",
        "start",
        "gc",
        "look",
        "MiB",
    )
    shown = Table(*columns, title=title)
    for row in rows:
        cost, before = measured.rows[str(row)], first.rows.get(str(row)) if first else None
        shown.add_row(
            str(row),
            *(f"{cost.seconds[stage]:.2f}" for stage in stages),
            f"{cost.total:.2f}",
            "" if row.seconds is None else f"{row.seconds}",
            "" if before is None else f"{before.total:.2f}",
            f"{cost.start:.2f}",
            f"{cost.collection:.2f}",
            f"{cost.look:.2f}",
            f"{cost.mebibytes:,}",
        )
    return shown


def measured_row(row: RoundRow) -> RoundCost:
    """Return what a round on the cluster of this row costs in this process."""
    warm()
    running = _running(row.nodes, row.running)
    waiting = _waiting(row.waiting, SHAPES, row.namespaces) if row.waiting else []
    done = run(running, waiting, {"perNamespace": {"machines": 1}} if row.namespaces > 1 else {})
    return RoundCost(
        running=sum(item["kind"] == "Pod" for item in running),
        start=round(done.start, 3),
        collection=round(done.collection, 3),
        look=round(done.look, 3),
        seconds={stage: round(seconds, 3) for stage, seconds in done.seconds.items()},
        mebibytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        placed=len(done.made.placed),
        bought=len(done.made.requests),
    )


def _own(pods: int, nodes: int, shapes: int) -> None:
    warm()
    running = _running(nodes, pods)
    waiting = _waiting(pods, shapes)
    for title, new in (("nothing waits", []), (f"{pods:,} pods wait", waiting)):
        done = run(running, new)
        parts = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in done.seconds.items())
        say(f"A round, {nodes:,} nodes with {pods:,} pods, {title}: {done.total:.2f} s ({parts})")
        if done.made.result is not PlanResult.NO_DEMANDS:
            placed = f"{len(done.made.placed):,} pods go to nodes, {len(done.made.requests):,} machines are bought"
            verdict = "met" if done.total <= _AIM_SECONDS else "missed"
            say(f"  {placed}; aim: {_AIM_SECONDS:.0f} s on two idle cores, {verdict}")
    say(f"growth plan -o json for the same objects: {_command([*running, *waiting])}")
    say("Objects to a snapshot, one of ten pods on each node:")
    first = 0.0
    for size in _SIZES:
        seconds = snapshot_seconds(size)
        first = first or seconds / size
        say(f"  {size:>6,} pods: {seconds:.2f} s, {seconds / size / first:.2f} times as long a pod")


def _running(nodes: int, pods: int) -> list[Object]:
    return [stamped(item) for item in objects(Size(nodes, pods), 0) if item["kind"] in KINDS]


def _waiting(pods: int, shapes: int, namespaces: int = 1) -> list[Object]:
    # Rules between pods are of their namespace: with some, each pod would be a class of its own.
    recipe = Recipe(pods=pods, shapes=min(pods, shapes), mix=namespaces == 1)
    items = list(pods_of(draw(recipe)))
    for k, item in enumerate(items if namespaces > 1 else ()):
        item["metadata"]["namespace"] = f"tenant-{k % namespaces:05}"
    return [stamped(item) for item in items]


def _settings(limits: Mapping[str, object]) -> Snapshot:
    """Return one pool of all types with these limits, of which a look at consolidation was just taken."""
    settings = snapshot_of(_ONE_POD)
    [pool] = settings.pools
    as_json: dict[str, Any] = pool.to_json()
    spec = {**as_json["spec"], "limits": {**as_json["spec"]["limits"], **limits}}
    status = {"consolidation": {"lookedAt": format_timestamp(settings.now)}}
    return replace(settings, pools=(NodePool.model_validate({**as_json, "spec": spec, "status": status}),))


def run(running: Sequence[Object], waiting: Sequence[Object], limits: Mapping[str, object] | None = None) -> Round:
    """Run a round on these objects and a pool of all types; return its plan and the CPU seconds of each stage.

    `snapshot` is reading what is new or has changed, then come the stages of `planner.model.round`, and `write` makes
    the JSON of the requests.

    Args:
        running: objects that were there in the round before, of some of which there is a newer version.
        waiting: pods that have come since.
        limits: of the pool, beside its max.
    """
    settings, watch, live = _settings(limits or {}), Stopwatch(time.process_time), LiveObjects()
    young, middle, _ = before = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    began = time.process_time()
    live.snapshot(running, settings)
    started = time.process_time()
    items = [*a_round_later(running), *waiting]
    changed = time.process_time()
    snapshot = live.snapshot(items, settings)
    parsed = time.process_time()
    made = plan(snapshot, _packed, watch)
    planned = time.process_time()
    _written(made)
    written = time.process_time()
    gc.set_threshold(*before)
    gc.collect()
    collected = time.process_time()
    seconds = {"snapshot": parsed - changed, **watch.seconds, "write": written - planned}
    look = 0.0 if waiting else _look_seconds(snapshot)
    return Round(started - began, seconds, made, collected - written, look)


def _look_seconds(snapshot: Snapshot) -> float:
    """Return the processor seconds of the look at consolidation, for which a round may have time."""
    known = prepare(snapshot)
    began = time.process_time()
    potential(known)
    return time.process_time() - began


def snapshot_seconds(pods: int) -> float:
    """Return the processor seconds in which so many pods, and the nodes they are on, become a snapshot."""
    items = [item for item in objects(Size(pods // _PODS_A_NODE, pods), 0) if item["kind"] in KINDS]
    began = time.process_time()
    by_kind: dict[str, list[Json]] = {name: [] for name in _PARSED_BY.values()}
    for item in items:
        by_kind[_PARSED_BY[item["kind"]]].append(item)
    parse_objects(**by_kind)
    return time.process_time() - began


def say(line: str) -> None:
    """Print a line at once: some take a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _packed(problem: PackingProblem) -> Packing:
    end = time.process_time() + _DEADLINE_SECONDS
    return solve(problem, is_over=lambda: time.process_time() > end)


def _written(made: Plan) -> str:
    """Return the requests as the text that is sent."""
    specs = [
        NodeRequestSpec(
            pool=planned.pool,
            server_type=planned.server_type,
            location=planned.location,
            class_ref=planned.class_ref,
            reserved_for=planned.seats,
        )
        for planned in made.requests
    ]
    return json.dumps([spec.to_json() for spec in specs])


def _command(items: Sequence[Json]) -> str:
    """Return the seconds of the command for a file of the objects, start and end included, and of its parts."""
    [pool] = snapshot_of(_ONE_POD).pools
    node_class = {
        "apiVersion": API_VERSION,
        "kind": KwokNodeClass.__name__,
        "metadata": {"name": "default"},
        "spec": {"serverTypes": server_types_of(_ONE_POD)},
    }
    own = [node_class, {"apiVersion": API_VERSION, "kind": NodePool.__name__, **pool.to_json()}]
    with tempfile.TemporaryDirectory(prefix="growth-benchmark-") as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, *own]}, default=str))
        size = path.stat().st_size >> 20
        growth = Path(sys.executable).with_name("growth")
        began = time.monotonic()
        done = subprocess.run(  # noqa: S603 - this very program
            [growth, "plan", "-f", path, "-o", "json", "--timing"], capture_output=True, text=True, check=True
        )
        seconds = time.monotonic() - began
    answer = json.loads(done.stdout)
    timing = answer["timing"]
    parts = ", ".join(f"{stage} {part:.2f}" for stage, part in timing.items())
    title = f"{len(answer['requests']):,} machines; planning alone: {parts}"
    return f"{seconds:.2f} s from start to end with {size:,} MiB of JSON text to read, {title}"


if __name__ == "__main__":
    app()
