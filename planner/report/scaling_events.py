"""Events of a pool that grows or shrinks: how many machines of which types, from how many to how many, and why.

They tell of what a round has written: one for a pool that buys and one for a pool that lets machines go, however many
these are. A round that writes nothing tells nothing, so a decision is not told again by the rounds after it. Requests
and removals say why: where a bound on the use of the pool asks for them, with that use and the bound.
Source: VPSie's scaling events `ScalingUp` and `ScalingDown`; kubernetes/autoscaler issue 3991 for both counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from planner.model.plan import PlannedEvent, PlannedRemoval, PlannedRequest, PoolReport

SCALING_UP: Final = "ScalingUp"
SCALING_DOWN: Final = "ScalingDown"
MOST_POOLS: Final = 20
"""Pools that are told of in one round, for either: requests and removals have events of their own."""
_REASONS_TOLD: Final = 3
_NAMES_TOLD: Final = 3


def scaling_events(
    bought: Iterable[tuple[PlannedRequest, str]],
    begun: Iterable[PlannedRemoval],
    reports: Iterable[PoolReport],
    uids: Mapping[str, str],
) -> tuple[PlannedEvent, ...]:
    """Return the events of a round.

    Args:
        bought: the requests that were written, each with its name.
        begun: the removals that were written.
        reports: of the plan.
        uids: of pools, by name.
    """
    by_pool = {report.name: report for report in reports if report.name in uids}
    up: dict[str, list[tuple[PlannedRequest, str]]] = {}
    for request, name in bought:
        up.setdefault(request.pool, []).append((request, name))
    down: dict[str, list[PlannedRemoval]] = {}
    for removal in begun:
        down.setdefault(removal.pool, []).append(removal)
    growing = (_grows(by_pool[name], each, uids[name]) for name, each in up.items() if name in by_pool)
    shrinking = (_shrinks(by_pool[name], each, uids[name]) for name, each in down.items() if name in by_pool)
    return (*islice(growing, MOST_POOLS), *islice(shrinking, MOST_POOLS))


def _grows(report: PoolReport, bought: Sequence[tuple[PlannedRequest, str]], uid: str) -> PlannedEvent:
    kinds = Counter(f"{request.server_type} in {request.location}" for request, _ in bought)
    why = _few(dict.fromkeys(request.why for request, _ in bought))
    message = f"{_from_to(report, len(bought))}: {_counted(kinds)}. {why}"
    return PlannedEvent("NodePool", report.name, None, uid, SCALING_UP, message, machine=bought[0][1])


def _shrinks(report: PoolReport, begun: Sequence[PlannedRemoval], uid: str) -> PlannedEvent:
    kinds = Counter(removal.server_type for removal in begun)
    rest = len(begun) - _NAMES_TOLD
    names = ", ".join(removal.node for removal in begun[:_NAMES_TOLD]) + (f" and {rest} more" if rest > 0 else "")
    why = _few(dict.fromkeys(f"{removal.reason}: {removal.why}" for removal in begun))
    message = f"{_from_to(report, -len(begun))}: {_counted(kinds)} ({names}). {why}"
    return PlannedEvent("NodePool", report.name, None, uid, SCALING_DOWN, message, machine=begun[0].node)


def _from_to(report: PoolReport, change: int) -> str:
    """Return the machines that stay before and after, those that are coming included."""
    before = report.status.nodes.total - report.status.nodes.removing
    verb, number = ("asks for", change) if change > 0 else ("lets go", -change)
    machines = "1 machine" if number == 1 else f"{number} machines"
    return f"Pool {report.name} {verb} {machines}, from {before} to {before + change}"


def _counted(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{number} x {kind}" for kind, number in kinds.items())


def _few(sentences: Iterable[str]) -> str:
    reasons = list(sentences)
    rest = len(reasons) - _REASONS_TOLD
    return "; ".join(reasons[:_REASONS_TOLD]) + (f"; and {rest} more" if rest > 0 else "")
