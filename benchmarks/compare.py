"""Growth's plans, how far above the proven bound they are, and what simpler rules buy: `make bench`."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.console import Console

from benchmarks.case import Case
from benchmarks.checker import WrongPurchase
from benchmarks.comparison import InstanceComparison, compare
from benchmarks.comparison_table import means, plans, ratios
from benchmarks.generator import BadRecipe, Recipe
from benchmarks.growth_program import growth_run
from benchmarks.rows import ROWS, BenchmarkRow, Quality, is_better, read_quality, with_best, worse, write_quality
from planner.packing.optimiser.effort import Effort
from simulator.peers.problem import Purchase

_WIDTH_WITHOUT_TERMINAL: Final = 150
_LONG: Final = Effort(
    starts=60,
    placing=200_000_000,
    turns=60,
    improving=2_000_000_000,
    improving_a_machine=100_000_000,
    whole=60.0,
    proof=2,
    stock=5.0,
    stocking=100_000_000,
)
"""For the best plan of rows that are judged by it: a minute or two each."""
_LEGEND: Final = """\
over bound: what Growth's plan costs above what it is proven that no plan can cost less than. aim: what that should
be at most; "of best": above the best plan known, in place of the bound. missed: aims that were not reached, those of
time and memory, too: they are meant for two idle cores and a warm process. first: seconds until there is any plan.
Ratios: cost of another way over Growth's, or how many pods more or fewer have a machine, as then costs do not compare.
Karpenter and Cluster Autoscaler (CA) stand for their published rules, run here (simulator/peers), not for their
programs; Karpenter's look at no limits. Prices are frozen test data, EUR net per month. Every plan is checked.
Asserted: no row places fewer pods, costs more or proves less than benchmarks/quality.json says, 0.1 % aside, and none
costs more than any rule that places as many. Budgets count work, so that holds on any machine. Seconds and memory are
told, never asserted."""

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
    write: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Print what Growth and simpler rules buy, for all rows or for one instance of your own.

    Args:
        seeds: one instance each.
        pods: how many pods, for an instance of your own.
        shapes: how many different ones; without it, every pod is one of its own.
        mix: with constraints beyond architecture.
        zonal: with machines in zones; pods to be spread are split evenly, a share pinned to each zone, for everyone.
        limits: with few machines of the cheapest types. Karpenter's rule does not look at limits.
        write: renew what is known of the quality of the rows, and look for better plans of those that are
            judged by the best one.

    Returns:
        The exit code: 1 where a plan is worse than it was known to be, or dearer than that of a simpler rule.

    Raises:
        BadRecipe: there is no such instance; says what to change.
        WrongPurchase: a plan breaks the rules of its problem.
    """
    if pods is None and (shapes is not None or mix or zonal or limits):
        raise BadRecipe("an instance of your own needs --pods")
    if pods is not None and write:
        raise BadRecipe("--write is for the rows: leave out --pods")
    own = None if pods is None else Recipe(pods=pods, shapes=shapes, mix=mix, zonal=zonal, limits=limits)
    rows = ROWS if own is None else (BenchmarkRow(Case(own), 0.0),)
    seeded = [_seeded(row, seed) for row in rows for seed in seeds]
    known, comparisons = read_quality(), []
    for row in seeded:
        sys.stderr.write(f"{row.case}\n")
        comparisons.append(compare(row.case))
    qualities = {str(one.case): with_best(_quality(one), known.get(str(one.case))) for one in comparisons}
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
    console.print(plans(seeded, comparisons, qualities, is_aimed=own is None))
    console.print(ratios(comparisons))
    if len(seeds) > 1:
        console.print(means(comparisons, len(seeds)))
    console.print(f"\n{_LEGEND}", style="dim")
    if write:
        write_quality(known | {str(row.case): _searched(row, qualities[str(row.case)]) for row in seeded})
        return 0
    return 0 if own is not None else _judged(console, comparisons, qualities, known)


def _seeded(row: BenchmarkRow, seed: int) -> BenchmarkRow:
    return replace(row, case=replace(row.case, recipe=replace(row.case.recipe, seed=seed)))


def _quality(comparison: InstanceComparison) -> Quality:
    costs = [comparison.growth.cost]
    for name, bought in comparison.rules.items():
        if comparison.ratio(name) is not None and not comparison.case.recipe.limits:
            costs.append(bought.cost)
    return Quality(comparison.growth.unplaced, comparison.run.packing.proven, costs[0], min(costs))


def _searched(row: BenchmarkRow, quality: Quality) -> Quality:
    """Return the quality with the best plan of a long search, where the row is judged by it."""
    if not row.is_of_best:
        return quality
    sys.stderr.write(f"{row.case}: the best plan of a long search\n")
    problem = row.case.problem
    bought = Purchase(problem, growth_run(problem.packing, _LONG).packing)
    return replace(quality, best=min(quality.best, bought.cost)) if not bought.unplaced else quality


def _judged(
    console: Console,
    comparisons: Sequence[InstanceComparison],
    qualities: Mapping[str, Quality],
    known: Mapping[str, Quality],
) -> int:
    """Tell which rows are worse or better than they were known to be, or dearer than a rule; return the exit code."""
    regressions = [
        f"{row}: {what}" for row, quality in qualities.items() if row in known for what in worse(quality, known[row])
    ]
    dearer = [
        f"{one.case}: {name} costs {1 - ratio:.2%} less"
        for one in comparisons
        for name in one.rules
        if (ratio := one.ratio(name)) is not None and ratio < 1
    ]
    better = [row for row, quality in qualities.items() if row in known and is_better(quality, known[row])]
    unknown = [row for row in qualities if row not in known]
    if better:
        console.print(f"Better than benchmarks/quality.json says; --write renews it: {'; '.join(better)}")
    if unknown:
        console.print(f"Not in benchmarks/quality.json: {'; '.join(unknown)}")
    for regression in regressions:
        console.print(f"Worse than benchmarks/quality.json says: {regression}", style="bold red")
    for row in dearer:
        console.print(f"Dearer than a simpler rule: {row}", style="bold red")
    return 1 if regressions or dearer else 0


if __name__ == "__main__":
    try:
        sys.exit(app())
    except (BadRecipe, WrongPurchase) as error:
        sys.exit(f"benchmarks.compare: {error}")
