"""How long a whole round takes, from Kubernetes objects to the objects that it writes: the second part of `make bench`.

    python -m benchmarks.round_time --pods 10000 --nodes 1000

A live round has its objects parsed already, but for those that changed; `growth plan` reads their text, too.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cyclopts import App

from api.keys import API_VERSION
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequestSpec
from benchmarks.dump import Size, objects
from benchmarks.generator import Recipe, draw
from benchmarks.objects import pods_of, server_types_of, snapshot_of
from planner.model.plan import Plan, PlanResult, Snapshot
from planner.model.stages import Stopwatch
from planner.packing.optimiser.solve import solve, warm
from planner.packing.problem import Packing, PackingProblem
from planner.parsing.objects import Json, parse_objects
from planner.plan import plan

_ONE_POD: Final = draw(Recipe(pods=1, shapes=1))
"""For its machines."""
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_DEADLINE_SECONDS: Final = 2.0
"""For packing, as in a round of the worker."""
_SIZES: Final = (1_000, 10_000, 50_000)
_PODS_A_NODE: Final = 10
_AIM_SECONDS: Final = 3.0
_KINDS: Final[Mapping[str, str]] = {
    "Pod": "pods",
    "Node": "nodes",
    "DaemonSet": "daemon_sets",
    "Namespace": "namespaces",
    "PersistentVolumeClaim": "claims",
    "PersistentVolume": "volumes",
    "StorageClass": "storage_classes",
    "CSINode": "csi_nodes",
}
"""What a round reads, and the parser's name for it."""

app = App(name="benchmarks.round_time")


@dataclass(frozen=True, slots=True)
class Round:
    """A cluster, and what a round did with it."""

    seconds: Mapping[str, float]
    """By stage, in the order in which they begin."""
    made: Plan

    @property
    def total(self) -> float:
        """Seconds of all stages."""
        return sum(self.seconds.values())


@app.default
def main(*, pods: int = 10_000, nodes: int = 1_000, shapes: int = 500) -> None:
    """Print the seconds of a round by stage, of `growth plan` for the same objects, and of parsing more and more pods.

    Args:
        pods: how many wait, with constraints; as many run.
        nodes: how many nodes there are; some of what waits finds room on them.
        shapes: how many different pods wait.
    """
    warm()
    running = [item for item in objects(Size(nodes, pods), 0) if item["kind"] in _KINDS]
    waiting = list(pods_of(draw(Recipe(pods=pods, shapes=shapes, mix=True))))
    for title, items in (("nothing waits", running), (f"{pods:,} pods wait", [*running, *waiting])):
        done = run(items)
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


def run(items: Iterable[Json]) -> Round:
    """Run a round on these objects and a pool of all types; return its plan and the seconds of each stage.

    `snapshot` is parsing, then come the stages of `planner.model.round`, and `write` makes the JSON of the requests.
    """
    settings, watch = snapshot_of(_ONE_POD), Stopwatch(time.monotonic)
    began = time.monotonic()
    snapshot = _snapshot(items, settings)
    parsed = time.monotonic()
    made = plan(snapshot, _packed, watch)
    planned = time.monotonic()
    _written(made)
    seconds = {"snapshot": parsed - began, **watch.seconds, "write": time.monotonic() - planned}
    return Round(seconds, made)


def snapshot_seconds(pods: int) -> float:
    """Return the processor seconds in which so many pods, and the nodes they are on, become a snapshot."""
    items = [item for item in objects(Size(pods // _PODS_A_NODE, pods), 0) if item["kind"] in _KINDS]
    began = time.process_time()
    _snapshot(items, Snapshot(now=_NOW))
    return time.process_time() - began


def say(line: str) -> None:
    """Print a line at once: some take a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _snapshot(items: Iterable[Json], settings: Snapshot) -> Snapshot:
    by_kind: dict[str, list[Json]] = {name: [] for name in _KINDS.values()}
    for item in items:
        by_kind[_KINDS[item["kind"]]].append(item)
    parsed = parse_objects(**by_kind)
    return Snapshot(
        now=_NOW,
        pods=parsed.pods,
        nodes=parsed.nodes,
        daemon_sets=parsed.daemon_sets,
        namespaces=parsed.namespaces,
        volumes=parsed.volumes,
        pools=settings.pools,
        classes=settings.classes,
        problems=parsed.problems,
    )


def _packed(problem: PackingProblem) -> Packing:
    end = time.monotonic() + _DEADLINE_SECONDS
    return solve(problem, is_over=lambda: time.monotonic() > end)


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
