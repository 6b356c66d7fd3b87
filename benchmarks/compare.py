"""Growth's plan beside what its peers' published rules buy for the same pods and machines: `make bench`."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from benchmarks.catalogue import HOURS
from benchmarks.comparison import Comparison, compare
from benchmarks.generator import BadRecipe, Recipe

RECIPES: Final = (
    Recipe(pods=100, shapes=50, mix=True),
    Recipe(pods=1000, shapes=50),
    Recipe(pods=1000, shapes=500, mix=True),
    Recipe(pods=10_000, shapes=500, mix=True),
)
_WIDTH_WITHOUT_TERMINAL: Final = 120
_RULES: Final = (
    "Karpenter and Cluster Autoscaler stand for their published rules, run here on the same pods, machines and "
    "prices (benchmarks/peers), not for their programs. The programs decide ties by chance, the rules here by order."
)
_PRICES: Final = (
    "Prices are frozen test data, EUR net per month. The lower bound is what no plan for these pods costs less than."
)

app = App(name="benchmarks.compare")


@app.default
def main(
    *,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative="")] = (0,),
    pods: int | None = None,
    shapes: int | None = None,
    mix: Annotated[bool, Parameter(negative="")] = False,
    zonal: Annotated[bool, Parameter(negative="")] = False,
    limits: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Print tables of what Growth and its peers' rules buy, for four instances or for one of your own.

    Args:
        seeds: one instance each.
        pods: how many pods, for an instance of your own.
        shapes: how many different ones; without it, every pod is one of its own.
        mix: with constraints beyond architecture.
        zonal: with machines in zones.
        limits: with few machines of the cheapest types. Karpenter's rule does not look at limits.

    Raises:
        BadRecipe: there is no such instance; says what to change.
    """
    if pods is None and (shapes is not None or mix or zonal or limits):
        raise BadRecipe("an instance of your own needs --pods")
    own = None if pods is None else Recipe(pods=pods, shapes=shapes, mix=mix, zonal=zonal, limits=limits)
    series = [[replace(recipe, seed=seed) for seed in seeds] for recipe in (RECIPES if own is None else (own,))]
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
    console.print(f"{_RULES}\n{_PRICES}\n")
    for recipes in series:
        found: list[Comparison] = []
        for recipe in recipes:
            found.append(compare(recipe))
            console.print(_table(found[-1]))
            for note in _notes(found[-1]):
                console.print(note, style="dim")
            console.print()
        if len(found) > 1:
            console.print(f"{_means(found)}\n")


def _table(found: Comparison) -> Table:
    table = Table(title=str(found.recipe), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("who buys")
    for heading in ("pods placed", "machines", "EUR per month", "ratio to Growth", "seconds"):
        table.add_column(heading, justify="right")
    for line in found.lines:
        table.add_row(
            line.who,
            f"{line.placed:,}",
            f"{line.machines:,}",
            f"{line.cost_per_hour * HOURS:,.2f}",
            f"{found.ratio(line.cost_per_hour):.3f}",
            f"{line.seconds:.2f}",
        )
    bound = found.lower_bound_per_hour
    table.add_row("lower bound", "", "", f"{bound * HOURS:,.2f}", f"{found.ratio(bound):.3f}", "", style="dim")
    return table


def _notes(found: Comparison) -> Iterator[str]:
    recipe = found.recipe
    if len({line.placed for line in found.lines}) > 1:
        yield "Not all place the same number of pods, so their costs do not compare."
    if recipe.zonal and recipe.mix:
        yield "Pods that must be spread over zones are split evenly, a share pinned to each zone, for everyone."
    if found.unjudged:
        yield (
            f"{found.unjudged:,} of {recipe.pods:,} pods have constraints that Growth does not judge from objects yet: "
            "it would report them and buy nothing. Its packer was given the same numbers as the rules."
        )


def _means(found: Sequence[Comparison]) -> str:
    """Return the mean ratio to Growth's plan of each line over all seeds."""
    names = [line.who for line in found[0].lines[1:]]
    means = [fmean(one.ratio(one.lines[k].cost_per_hour) for one in found) for k in range(1, len(names) + 1)]
    parts = ", ".join(f"{name} {mean:.2f}" for name, mean in zip(names, means, strict=True))
    return f"Mean ratio to Growth over {len(found)} seeds: {parts}"


if __name__ == "__main__":
    try:
        app()
    except BadRecipe as error:
        sys.exit(f"benchmarks.compare: {error}")
