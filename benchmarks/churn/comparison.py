"""All sides on the streams of some seeds, and what their load costs at best: the bound, and packing all pods anew."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import process_time

from benchmarks.churn.contestants import CONTESTANTS
from benchmarks.churn.growth import packer
from benchmarks.churn.loop import run
from benchmarks.churn.oracle import ChurnOracle
from benchmarks.churn.stream import Stream, draw
from benchmarks.churn.view import ChurnView
from benchmarks.churn.world import ChurnWorld
from planner.packing.optimiser.solve import warm
from planner.packing.problem import Packer
from planner.plan import plan
from simulator.peers.fleet import HOUR


@dataclass(frozen=True, slots=True)
class ChurnRecipe:
    """From what a stream is drawn."""

    days: int
    deployments: int = 60
    jobs: int = 12


@dataclass(frozen=True, slots=True)
class ChurnOutcome:
    """What came of a side on the stream of a seed."""

    side: str
    seed: int
    cost: float
    """By the second."""
    cost_by_hours: float
    """By begun hours."""
    moved: int
    purchases: int
    waiting_minutes: float
    """Of all pods together."""
    wait_p95: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class ChurnReference:
    """Integrals over the time of a stream, in its currency."""

    bound: float
    """No machines for the pods of each hour cost less."""
    anew: float
    """Of Growth's optimiser, with all pods packed anew each hour onto machines that are there at once."""


@dataclass(frozen=True, slots=True)
class Churned:
    """All outcomes, and the references by seed."""

    recipe: ChurnRecipe
    outcomes: Sequence[ChurnOutcome]
    references: dict[int, ChurnReference]


def compare(recipe: ChurnRecipe, seeds: Sequence[int], sides: Sequence[str], processes: int) -> Churned:
    """Return what came of these sides on the streams of these seeds."""
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=warm) as pool:
        references = [pool.submit(_reference, recipe, seed) for seed in seeds]
        outcomes = [pool.submit(outcome, recipe, seed, side) for seed in seeds for side in sides]
        return Churned(
            recipe,
            [one.result() for one in outcomes],
            {seed: one.result() for seed, one in zip(seeds, references, strict=True)},
        )


def outcome(recipe: ChurnRecipe, seed: int, side: str) -> ChurnOutcome:
    """Return what came of a side on the stream of a seed; an oracle looks at each moment."""
    began = process_time()
    world = watched(recipe, seed, side)
    tally = world.tally
    return ChurnOutcome(
        side=side,
        seed=seed,
        cost=tally.cost,
        cost_by_hours=tally.cost_by_hours,
        moved=tally.moved,
        purchases=tally.purchases,
        waiting_minutes=tally.waiting_seconds / 60,
        wait_p95=tally.wait_p95,
        cpu_seconds=process_time() - began,
    )


def watched(recipe: ChurnRecipe, seed: int, side: str) -> ChurnWorld:
    """Return the world at the end of a run that an oracle has looked at.

    Raises:
        Broken: something did not hold.
    """
    stream = draw(seed, days=recipe.days, deployments=recipe.deployments, jobs=recipe.jobs)
    return run(stream, CONTESTANTS[side], ChurnOracle)


def _reference(recipe: ChurnRecipe, seed: int) -> ChurnReference:
    stream = draw(seed, days=recipe.days, deployments=recipe.deployments, jobs=recipe.jobs)
    return reference(stream, packer)


def reference(stream: Stream, packer: Packer, every: int = HOUR) -> ChurnReference:
    """Return the reference of a stream, from the pods in the middle of each hour."""
    view = ChurnView(ChurnWorld(stream), {})
    bound = anew = 0.0
    for begin in range(0, stream.seconds, every):
        seconds = min(every, stream.seconds - begin)
        at = begin + seconds // 2
        made = plan(view.empty_cluster(stream.wanted(at), at), packer)
        if made.unplaced:
            raise AssertionError(f"{len(made.unplaced)} pods have no place, first {made.unplaced[0]}")
        bound += float(made.lower_bound_per_hour) * seconds / HOUR
        anew += float(made.cost_per_hour) * seconds / HOUR
    return ChurnReference(bound, anew)
