"""All sides on the streams of some seeds, in as many processes as wanted."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import process_time

from benchmarks.churn.contestants import CONTESTANTS
from benchmarks.churn.growth import packer
from benchmarks.churn.loop import run
from benchmarks.churn.oracle import ChurnOracle
from benchmarks.churn.reference import Reference, reference
from benchmarks.churn.stream import draw
from benchmarks.churn.world import ChurnWorld
from planner.packing.optimiser.solve import warm


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
class Churned:
    """All outcomes, and the references by seed."""

    recipe: ChurnRecipe
    outcomes: Sequence[ChurnOutcome]
    references: dict[int, Reference]


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


def _reference(recipe: ChurnRecipe, seed: int) -> Reference:
    stream = draw(seed, days=recipe.days, deployments=recipe.deployments, jobs=recipe.jobs)
    return reference(stream, packer)
