"""Sentences on what a pool goes by that grows or shrinks by its use, and on its lock: none for other pools."""

from collections.abc import Callable, Iterator
from datetime import datetime

from planner.model.plan import Plan, PoolReport
from planner.model.pool_figures import LockFigures, Use, UseBounds, shown

Moment = Callable[[datetime], str]


def pool_lines(report: PoolReport, plan: Plan, moment: Moment) -> Iterator[str]:
    """Yield the sentences on a pool; `moment` writes times."""
    yield from use_lines(report.name, plan)
    if report.lock is not None:
        buys = sum(request.pool == report.name for request in plan.requests)
        yield _lock(report.name, report.lock, buys, moment)


def use_lines(name: str, plan: Plan) -> Iterator[str]:
    """Yield what is requested of the pool, as each decision counts it, beside the bounds of that decision."""
    figures = plan.figures().get(name)
    if figures is None:
        return
    if figures.growth is not None and figures.bounds.threshold is not None:
        above = f"grows above {figures.bounds.threshold} %"
        yield f"Pool {name} {above}: {_requested(figures.growth)}, machines that are coming included."
    if figures.bounds.upper is not None:
        yield f"Pool {name} {_shrinks(figures.bounds)}: {_requested(figures.use)}."


def _shrinks(bounds: UseBounds) -> str:
    faster = f", faster below {bounds.lower} %" if bounds.lower else ""
    return f"shrinks below {bounds.upper} %{faster}"


def _requested(use: Use) -> str:
    if not use.shares:
        return "it has no machine that counts" + (", and pods that wait" if any(use.requests.values()) else "")
    return " and ".join(f"{shown(share)} % of its {name}" for name, share in use.shares.items()) + " is requested"


def _lock(pool: str, lock: LockFigures, buys: int, moment: Moment) -> str:
    if not lock.is_closed:
        opened = "" if lock.opened_at is None else f" since {moment(lock.opened_at)}"
        return f"The lock of pool {pool} is open{opened}: {_opened_by(lock)}."
    machines, are_ready = ("1 machine", "it is") if lock.requested == 1 else (f"{lock.requested} machines", "all are")
    since = f"closes with this purchase of {machines}"
    if not buys:
        asked = "was" if lock.requested == 1 else "were"
        since = f"is closed since {moment(lock.closed_at)}, as {machines} {asked} asked for"
    times = f"from {moment(lock.earliest)} on, and at {moment(lock.latest)} in any case"
    return f"The lock of pool {pool} {since}: it opens once {are_ready} Ready, {times}."


def _opened_by(lock: LockFigures) -> str:
    match lock.opened_by:
        case "Ready":
            return "all that was asked for was Ready"
        case "Ended":
            return "requests ended without a machine, and nothing was coming any more"
        case _:
            return "its time was over before all that was asked for was Ready"
