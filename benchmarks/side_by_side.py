"""Growth and its peers on the same files, side by side: `make bench-peers`.

    python -m benchmarks.side_by_side 1000x50 1000x50-zonal --seeds 0 --repetitions 9
    python -m benchmarks.side_by_side --page docs/benchmarks.md

Karpenter is its own scheduler, built from source; Cluster Autoscaler stands for its published rules.
Every plan is checked before anything is told of it.
"""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter

from benchmarks.checker import WrongPurchase
from benchmarks.generator import BadRecipe, Recipe
from benchmarks.peers.karpenter_program import BuildError, KarpenterFailed
from benchmarks.side_by_side_page import NoPlace, keep, tables
from benchmarks.sides import SideEffort, measure

ROWS: Final = (
    *(f"{size}{mix}" for size in ("100x50", "1000x50", "1000x500", "10000x50", "10000x500") for mix in ("", "-mix")),
    *(f"{size}{spread}" for spread in ("-zonal", "-hosts") for size in ("100x50", "1000x50", "1000x500")),
)
_ROW: Final = re.compile(r"(\d+)x(\d+)(-mix|-zonal|-hosts)?", re.ASCII)

app = App(name="benchmarks.side_by_side")


@app.default
def main(
    *rows: str,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative="")] = (0, 1, 2),
    repetitions: int = 3,
    patience: float = 30.0,
    page: Path | None = None,
) -> None:
    """Run both sides on the same files and print the tables.

    Args:
        rows: which problems, as PODSxSHAPES with "-mix" for constraints beyond architecture, "-zonal" for those and
            spread over zones, "-hosts" for spread over host names; without any, sixteen.
        seeds: one problem of each row for each; the tables hold the median over all.
        repetitions: how often each side plans a problem; Karpenter's pods have other random uids each time.
        patience: above 1,000 pods, seconds of planning after which a side does not begin another run.
        page: write the tables into this document, in place of those that are there, instead of printing them.

    Raises:
        BadRecipe: there is no such problem; says what to change.
    """
    if repetitions < 1:
        raise BadRecipe(f"--repetitions {repetitions}: must be 1 or more")
    effort = SideEffort(repetitions=repetitions, patience=patience)
    recipes = [replace(recipe, seed=seed) for recipe in map(_recipe, rows or ROWS) for seed in seeds]
    text = tables([measure(recipe, effort) for recipe in recipes])
    if page is None:
        sys.stdout.write(f"{text}\n")
    else:
        keep(page, text)


def _recipe(row: str) -> Recipe:
    matched = _ROW.fullmatch(row)
    if matched is None:
        raise BadRecipe(f"{row!r}: a row is PODSxSHAPES, or that with -mix, -zonal or -hosts, such as 1000x50-mix")
    kind = matched[3] or ""
    return Recipe(
        pods=int(matched[1]),
        shapes=int(matched[2]),
        mix=kind in {"-mix", "-zonal"},
        zonal=kind == "-zonal",
        hosts=kind == "-hosts",
    )


if __name__ == "__main__":
    try:
        app()
    except (BadRecipe, BuildError, KarpenterFailed, NoPlace, WrongPurchase) as error:
        sys.exit(f"benchmarks.side_by_side: {error}")
