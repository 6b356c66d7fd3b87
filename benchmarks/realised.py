"""What plans cost once kube-scheduler has had its way, with reservations and without.

    python -m benchmarks.realised --seeds 0 1 2
    python -m benchmarks.realised --packer fallback --pods 200 --shapes 20

Pods and machines are the benchmark's. The scheduler is a model of the default profile: benchmarks/default_scheduler.py.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import Annotated, Final, Literal

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from benchmarks.catalogue import HOURS
from benchmarks.closed_loop import ClosedLoopRun, LeftOver, Realised, realise
from benchmarks.generator import BadRecipe, Recipe, draw
from benchmarks.objects import snapshot_of
from planner.packing.fallback.pack import pack
from planner.packing.optimiser.solve import solve
from planner.packing.problem import Packer

RECIPES: Final = tuple(
    Recipe(pods=pods, shapes=shapes, mix=mix)
    for pods, shapes in ((300, 30), (1000, 50), (1000, 500))
    for mix in (False, True)
)
PACKERS: Final[Mapping[str, Packer]] = {"fallback": pack, "solver": solve}
COURSES: Final = {
    "reserved": ClosedLoopRun(reserves=True, together=False),
    "reserved, all at once": ClosedLoopRun(reserves=True, together=True),
    "not reserved": ClosedLoopRun(reserves=False, together=False),
    "not reserved, all at once": ClosedLoopRun(reserves=False, together=True),
}
"""Machines turn Ready one after the other, in random order, or all at once."""
_WIDTH_WITHOUT_TERMINAL: Final = 120
_COLUMNS: Final[Mapping[str, Callable[[Realised], str]]] = {
    "machines": lambda result: f"{result.machines:,}",
    "EUR per month": lambda result: f"{result.cost_per_hour * HOURS:,.2f}",
    "ratio to plan": lambda result: f"{result.ratio:.3f}",
    "empty": lambda result: f"{result.empty:,}",
    "with empty": lambda result: f"{result.bought_per_hour / result.planned_per_hour:.3f}",
    "elsewhere": lambda result: f"{result.astray:,}",
    "left over": lambda result: f"{result.left_over:,}",
    "rounds": lambda result: str(result.rounds),
}

app = App(name="benchmarks.realised")


@app.default
def main(
    *,
    packer: Literal["fallback", "solver"] = "solver",
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative="")] = (0,),
    pods: int | None = None,
    shapes: int | None = None,
    mix: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Print a table for each of six problems, or for one of your own: what a plan costs, and what came of it.

    Args:
        packer: who packs: the optimiser, or the fallback that stands in for it.
        seeds: one problem each; also the order in which machines turn Ready and pods come up.
        pods: how many pods, for a problem of your own.
        shapes: how many different ones; without it, every pod is one of its own.
        mix: with constraints beyond architecture.

    Cost and ratio are those of machines that have pods in the end; "with empty" is the ratio for all that were bought.

    Raises:
        BadRecipe: there is no such problem; says what to change.
        LeftOver: pods of a problem have no place in the end.
    """
    if pods is None and (shapes is not None or mix):
        raise BadRecipe("a problem of your own needs --pods")
    recipes = RECIPES if pods is None else (Recipe(pods=pods, shapes=shapes, mix=mix),)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
    of_all: dict[str, list[Realised]] = {name: [] for name in COURSES}
    for recipe in (replace(one, seed=seed) for one in recipes for seed in seeds):
        snapshot = snapshot_of(draw(recipe))
        # All courses begin with the same plan.
        packs = cache(PACKERS[packer])
        results = {
            name: realise(snapshot, packs, replace(course, seed=recipe.seed)) for name, course in COURSES.items()
        }
        console.print(_table(recipe, results))
        console.print()
        for name, run in results.items():
            of_all[name].append(run)
    means = ", ".join(f"{name} {_mean(runs):.3f}" for name, runs in of_all.items())
    console.print(f"Mean ratio to plan: {means}")


def _table(recipe: Recipe, results: Mapping[str, Realised]) -> Table:
    table = Table(title=str(recipe), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("machines are", no_wrap=True)
    for heading in _COLUMNS:
        table.add_column(heading, justify="right")
    first = next(iter(results.values()))
    planned = replace(
        first,
        cost_per_hour=first.planned_per_hour,
        bought_per_hour=first.planned_per_hour,
        machines=first.planned_machines,
        empty=0,
        astray=0,
        left_over=0,
        rounds=1,
    )
    for name, result in {"planned": planned, **results}.items():
        table.add_row(name, *(tell(result) for tell in _COLUMNS.values()))
    return table


def _mean(results: Sequence[Realised]) -> float:
    return fmean(float(one.ratio) for one in results)


if __name__ == "__main__":
    try:
        app()
    except (BadRecipe, LeftOver) as error:
        sys.exit(f"benchmarks.realised: {error}")
