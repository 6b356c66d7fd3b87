"""The tables of a churn, as markdown."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Final

from benchmarks.catalogue import HOURS
from benchmarks.churn.comparison import Churned, ChurnOutcome
from benchmarks.measured import growth, measured

MARKS: Final = ("<!-- churn -->\n", "\n<!-- end of churn -->")
_HEADS: Final = (
    "side",
    "cost over packing anew",
    "lowest to highest",
    "over the bound",
    "by begun hours, over packing anew",
    "pods moved a day",
    "machines bought a day",
    "pod-minutes without a place a day",
    "95 % of pods wait at most",
)


def tables(churned: Churned) -> str:
    """Return on what and when it was measured, the means over seeds, and the figures of each seed."""
    sides = list(dict.fromkeys(one.side for one in churned.outcomes))
    seeds = len(churned.references)
    return "\n\n".join(
        (
            measured([growth()]),
            f"Means of {_number(seeds, 'seed')}, {_number(churned.recipe.days, 'day')} each.",
            _table(_HEADS, (_mean(churned, side) for side in sides)),
            "### Each seed",
            _table(
                ("seed", "side", "EUR a month", "over packing anew", "over the bound", "pods moved", "machines bought"),
                (_line(churned, one) for one in churned.outcomes),
            ),
        )
    )


def over_anew(churned: Churned, outcome: ChurnOutcome) -> float:
    """Return how much more it costs than packing all pods anew each hour, as a share."""
    return outcome.cost / churned.references[outcome.seed].anew - 1


def _mean(churned: Churned, side: str) -> list[str]:
    outcomes = [one for one in churned.outcomes if one.side == side]
    days = churned.recipe.days
    shares = [over_anew(churned, one) for one in outcomes]

    def mean(value: Callable[[ChurnOutcome], float]) -> float:
        return fmean(value(one) for one in outcomes)

    return [
        side,
        _share(fmean(shares)),
        f"{_share(min(shares))} to {_share(max(shares))}",
        _share(mean(lambda one: one.cost / churned.references[one.seed].bound - 1)),
        _share(mean(lambda one: one.cost_by_hours / churned.references[one.seed].anew - 1)),
        f"{mean(lambda one: one.moved) / days:,.0f}",
        f"{mean(lambda one: one.purchases) / days:,.0f}",
        f"{mean(lambda one: one.waiting_minutes) / days:,.0f}",
        f"{max(one.wait_p95 for one in outcomes)} s",
    ]


def _line(churned: Churned, outcome: ChurnOutcome) -> list[str]:
    hours = churned.recipe.days * 24
    return [
        str(outcome.seed),
        outcome.side,
        f"{outcome.cost / hours * HOURS:,.0f}",
        _share(over_anew(churned, outcome)),
        _share(outcome.cost / churned.references[outcome.seed].bound - 1),
        f"{outcome.moved:,}",
        f"{outcome.purchases:,}",
    ]


def _number(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _share(share: float) -> str:
    return f"{share:+.1%}".replace("%", " %")


def _table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    rules = ["---" if head in {"side", "seed"} else "---:" for head in heads]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *lines))
