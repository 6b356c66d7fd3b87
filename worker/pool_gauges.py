"""What the last round counted of each pool, as values of gauges."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from planner.model.plan import Plan
from planner.model.pool_figures import PoolFigures, Use
from worker.metric import Labels
from worker.pool_metrics import (
    LARGEST_FREE,
    LARGEST_PENDING,
    LOCK_CLOSED,
    POOL_CAPACITY,
    POOL_LIMITS,
    POOL_METRICS,
    POOL_NODES,
    POOL_REQUESTS,
    POOL_UTILISATION,
    SCALE_DELTA,
    THRESHOLD_UTILISATION,
)

Values = list[tuple[float, Labels]]
_PER_UNIT: Final = {"cpu": 1000}
"""Amounts are in thousandths of a core; memory is in bytes as it is shown."""


def pool_values(plan: Plan) -> dict[str, Values]:
    """Return the values of each metric by its name, none for pools that were not counted."""
    values: dict[str, Values] = {metric.name: [] for metric in POOL_METRICS}
    all_figures = plan.figures()
    for report in plan.pools:
        figures, pool = all_figures.get(report.name), {"pool": report.name}
        if figures is None:
            continue
        values[SCALE_DELTA.name].append((report.delta, pool))
        values[POOL_UTILISATION.name] += _shares(figures.use, pool)
        values[THRESHOLD_UTILISATION.name] += _shares(figures.growth, pool)
        values[POOL_NODES.name] += [(n, {**pool, "state": state.value}) for state, n in figures.nodes.items()]
        values[POOL_LIMITS.name] += [(n, {**pool, "bound": bound}) for bound, n in figures.limits.items()]
        if figures.has_lock:
            is_closed = report.lock is not None and report.lock.is_closed
            values[LOCK_CLOSED.name].append((int(is_closed), pool))
        for name, amounts in _amounts(figures).items():
            values[name] += [(_shown(resource, n), {**pool, "resource": resource}) for resource, n in amounts.items()]
    return values


def _amounts(figures: PoolFigures) -> Mapping[str, Mapping[str, int]]:
    return {
        POOL_REQUESTS.name: figures.use.requests,
        POOL_CAPACITY.name: figures.use.capacity,
        LARGEST_PENDING.name: figures.largest_pending,
        LARGEST_FREE.name: figures.largest_free,
    }


def _shares(use: Use | None, pool: Labels) -> Iterator[tuple[float, Labels]]:
    for resource, share in ({} if use is None else use.shares).items():
        yield float(share), {**pool, "resource": resource}


def _shown(resource: str, amount: int) -> float:
    return float(Fraction(amount, _PER_UNIT.get(resource, 1)))
