"""How many files of the product one pod enters on its way to a node, and one machine on its way out."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation, simulate

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "planner", "activities")
"""What runs in production too: the simulator stands for the surroundings, workflows and the worker."""
MOST = {"pod": 180, "removal": 183}
"""Whoever follows a pod or a removal through the code reads this many files at most."""
OBJECTS = [
    node_class([machine("small", cpu=2, memory=4, price="0.010")]),
    node_pool("default", [{"name": "small"}], limits={"max": 5}, scaleDown={"idleAfter": "5s", "softGrace": "5s"}),
]


@contextmanager
def entered() -> Iterator[set[str]]:
    """Collect the files of the rooms in which a function is called meanwhile; imports do not count."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    files: set[str] = set()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(before)
        paths = [Path(name) for name in seen if name.startswith(f"{ROOT}/")]
        files.update(str(path.relative_to(ROOT)) for path in paths if path.relative_to(ROOT).parts[0] in ROOMS)


@pytest.fixture(scope="module")
def ways() -> dict[str, set[str]]:
    """Return the files entered by one pod until it is bound, and by one machine until it is gone."""
    found: dict[str, set[str]] = {}

    async def story(sim: Simulation) -> None:
        await asyncio.sleep(30)
        with entered() as found["pod"]:
            sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
            sim.world.wake()
            await sim.until(lambda v: bool(v.pods) and not v.pending(), "the pod bound", within=60)
        await asyncio.sleep(120)
        with entered() as found["removal"]:
            sim.scale("web", 0)
            await sim.until(lambda v: not (v.servers or v.nodes or v.removals), "the machine gone", within=200)

    simulate(1, story, objects=OBJECTS)
    return found


@pytest.mark.parametrize("way", MOST)
def test_one_way_leads_through_few_files(ways: dict[str, set[str]], way: str):
    files = ways[way]
    print(f"{way}: {len(files)} files", *sorted(files), sep="\n")
    # A measurement that saw nothing would always be small enough.
    assert {"planner/plan.py", "activities/round/plan_round.py"} <= files
    assert len(files) <= MOST[way]
