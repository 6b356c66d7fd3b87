"""What a load that comes and goes costs, beside the published rules of peers: `make bench-churn`.

    python -m benchmarks.churn --seeds 0 --days 1
    python -m benchmarks.churn --page docs/churn.md

All sides get the same workloads, scheduler and machines in virtual time, and an oracle looks at each moment.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from benchmarks.churn.comparison import ChurnRecipe, compare
from benchmarks.churn.contestants import CONTESTANTS
from benchmarks.churn.page import MARKS, tables
from benchmarks.side_by_side_page import NoPlace, keep

app = App(name="benchmarks.churn")


@app.default
def main(
    *sides: str,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative="")] = (0, 1, 2, 3, 4),
    days: int = 1,
    deployments: int = 60,
    jobs: int = 12,
    processes: int = os.cpu_count() or 1,
    page: Path | None = None,
) -> None:
    """Run all sides on the same streams and print the tables.

    Args:
        sides: names of sides, or how they begin; without any, all.
        seeds: one stream for each.
        days: how long a stream lasts.
        deployments: workloads that come and go.
        jobs: CronJobs beside them.
        processes: how many runs at a time.
        page: write the tables into this document, in place of those that are there, instead of printing them.
    """
    names = [name for name in CONTESTANTS if not sides or name.startswith(sides)]
    if not names:
        sys.exit(f"benchmarks.churn: no side begins with {' or '.join(sides)}: there are {'; '.join(CONTESTANTS)}")
    text = tables(compare(ChurnRecipe(days, deployments, jobs), seeds, names, processes))
    if page is None:
        sys.stdout.write(f"{text}\n")
    else:
        keep(page, text, MARKS)


if __name__ == "__main__":
    try:
        app()
    except NoPlace as error:
        sys.exit(f"benchmarks.churn: {error}")
