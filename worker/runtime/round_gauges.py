"""What the last round saw, for whoever watches the worker: pods that wait, machines, prices, what is parked."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.model.plan import Plan, PoolReport, Snapshot
from planner.policies.next_round import QUIET_PERIOD
from worker.metric import Labels, counter, gauge, histogram
from worker.metrics import (
    BLOCKED,
    DECISIONS,
    DISRUPTIONS,
    DUE,
    LAST_ROUND,
    LOCK_TIME,
    MACHINES,
    PARKED,
    PRICE,
    ROUNDS,
    WAITING_PODS,
)
from worker.pool_gauges import Values, pool_values
from worker.pool_metrics import POOL_METRICS

FORGOTTEN_AFTER_SECONDS: Final = 2.5 * QUIET_PERIOD.total_seconds()
"""Rounds go to any worker of the cluster: what one saw this long ago, another knows better."""


@dataclass(frozen=True, slots=True)
class _Round:
    """What is shown of a round: figures alone, for a snapshot of a large cluster must not outlive its round."""

    at: float
    timestamp: float
    values: Mapping[str, Values]
    """By name of the metric."""


class RoundGauges:
    """Shows rounds of this worker, always the last one.

    Args:
        elapsed: seconds since some moment.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._last: _Round | None = None
        self._rounds = counter(ROUNDS)
        self._decisions = counter(DECISIONS)
        self._lock_seconds = histogram(LOCK_TIME)
        for metric in (WAITING_PODS, MACHINES, PRICE, PARKED, BLOCKED, DISRUPTIONS, DUE, *POOL_METRICS):
            gauge(metric, partial(self._of_last, metric.name))
        # It stays: a worker that has run no round for long is what it is there to show.
        gauge(LAST_ROUND, lambda: () if self._last is None else [(self._last.timestamp, {})])

    def __call__(self, snapshot: Snapshot, plan: Plan) -> None:
        """Take a round that has been carried out."""
        values = {
            WAITING_PODS.name: _waiting(plan),
            MACHINES.name: list(_machines(plan.pools)),
            PRICE.name: list(_prices(plan.pools)),
            PARKED.name: _parked(snapshot, plan),
            BLOCKED.name: _blocked(plan),
            DISRUPTIONS.name: list(_disruptions(plan.pools)),
            DUE.name: list(_due(plan.pools)),
            **pool_values(plan),
        }
        self._last = _Round(self._elapsed(), snapshot.now.timestamp(), values)
        self._rounds.add(1, {"result": plan.result.value})
        for (decision, reason), number in _decisions(plan).items():
            self._decisions.add(number, {"decision": decision, "reason": reason})
        for seconds, opened_by in _opened_locks(snapshot, plan):
            self._lock_seconds.record(seconds, {"opened_by": opened_by})

    def _of_last(self, name: str) -> Values:
        last = self._last
        if last is None or self._elapsed() - last.at > FORGOTTEN_AFTER_SECONDS:
            return []
        return last.values[name]


def _waiting(plan: Plan) -> Values:
    planned = {placed.pod for placed in plan.placed}
    planned |= {f"{seat.namespace}/{seat.name}" for request in plan.requests for seat in request.seats}
    return [(len(planned), {"place": "planned"}), (len(plan.unplaced), {"place": "none"})]


def _machines(pools: Iterable[PoolReport]) -> Iterator[tuple[float, Labels]]:
    for pool in pools:
        counts = pool.status.nodes
        yield counts.ready, {"pool": pool.name, "phase": "ready"}
        yield counts.in_flight, {"pool": pool.name, "phase": "in_flight"}
        yield counts.removing, {"pool": pool.name, "phase": "removing"}


def _due(pools: Iterable[PoolReport]) -> Iterator[tuple[float, Labels]]:
    for pool in pools:
        for reason, number in pool.due.items():
            yield number, {"pool": pool.name, "reason": reason}


def _prices(pools: Iterable[PoolReport]) -> Iterator[tuple[float, Labels]]:
    for pool in pools:
        price, currency = pool.status.price_per_hour, pool.status.currency
        if price is not None and currency is not None:
            yield float(price), {"pool": pool.name, "currency": currency}


def _disruptions(pools: Iterable[PoolReport]) -> Iterator[tuple[float, Labels]]:
    for pool in pools:
        for state in pool.budget:
            if state.left is not None:
                yield state.left, {"pool": pool.name, "reason": state.reason}


def _parked(snapshot: Snapshot, plan: Plan) -> Values:
    parked = Counter(
        removal.spec.pool for removal in snapshot.removals if removal.status.phase is RemovalPhase.COULD_NOT_REMOVE
    )
    pools = {pool.name for pool in plan.pools} | set(parked)
    return [(parked[pool], {"pool": pool}) for pool in sorted(pools)]


def _blocked(plan: Plan) -> Values:
    counts = Counter((machine.pool, machine.reason) for machine in plan.blocked)
    return [(number, {"pool": pool, "reason": reason}) for (pool, reason), number in sorted(counts.items())]


def _decisions(plan: Plan) -> Counter[tuple[str, str]]:
    grown = Counter(("grow", "Pods" if r.seats else "Headroom" if r.headroom else "Ahead") for r in plan.requests)
    return grown + Counter(("shrink", removal.reason) for removal in plan.removals)


def _opened_locks(snapshot: Snapshot, plan: Plan) -> Iterator[tuple[float, str]]:
    """Yield the seconds that locks were closed which this round opens, and what opens each."""
    before = {pool.metadata.name: pool.status.lock for pool in snapshot.pools}
    for pool in plan.pools:
        lock, known = pool.status.lock, before.get(pool.name)
        if lock is None or lock.closed_at is None or lock.opened_at is None:
            continue
        if known is None or (known.closed_at, known.opened_at) != (lock.closed_at, lock.opened_at):
            yield (lock.opened_at - lock.closed_at).total_seconds(), lock.opened_by or ""
