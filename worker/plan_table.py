"""The plan for people: tables on a terminal, the same words without colour in a file or pipe."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from io import StringIO
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.timestamp import format_timestamp
from planner.model import Plan, PlannedRequest, PlanResult, PoolReport, Unplaced
from worker.plan_document import gap_percent

_WIDTH_WITHOUT_TERMINAL: Final = 250
"""A file has no width; a narrow guess would cut sentences."""
_NAMES: Final = 3
"""Pods named in a row; the rest is counted."""
_COLOURS: Final = {
    PlanResult.ALL_PLACED: "bold green",
    PlanResult.NO_DEMANDS: "bold",
    PlanResult.INCOMPLETE_PLACEMENT: "bold red",
}


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Print the plan to `console`; without one, to standard output."""
    out = console or Console(highlight=False)
    if out.is_terminal:
        _print_all(out, plan)
        return
    plain = Console(file=StringIO(), highlight=False, width=_WIDTH_WITHOUT_TERMINAL, no_color=True)
    with plain.capture() as text:
        _print_all(plain, plan)
    # Tables are padded to their width, which only a terminal has use for.
    out.file.write("".join(f"{line.rstrip()}\n" for line in text.get().splitlines()))


def _print_all(out: Console, plan: Plan) -> None:
    _headline(out, plan)
    _bought(out, plan)
    _placed(out, plan)
    _unplaced(out, plan.unplaced)
    _leaving(out, plan)
    _pools(out, plan.pools)


def _headline(out: Console, plan: Plan) -> None:
    seats = sum(len(request.seats) for request in plan.requests)
    parts = [f"{_count(len(plan.requests), 'new machine')} for {_count(seats, 'pod')}"] if plan.requests else []
    if plan.placed:
        parts.append(f"{_count(len(plan.placed), 'pod')} on machines that are there or coming")
    if plan.unplaced:
        parts.append(f"{_count(len(plan.unplaced), 'pod')} without a place")
    line = Text(plan.result.value, style=_COLOURS[plan.result])
    out.print(line.append(f"  {', '.join(parts) or 'nothing to buy'}", style="not bold default"), soft_wrap=True)
    if plan.requests:
        out.print(f"{_money(plan.cost_per_hour)} {plan.currency} per hour, {_quality(plan)}", soft_wrap=True)


def _quality(plan: Plan) -> str:
    if plan.optimal:
        return "proven to be the least possible"
    gap = gap_percent(plan)
    bound = f"nothing can cost less than {_money(plan.lower_bound_per_hour)}"
    return bound if gap is None else f"{bound}: at most {gap:g} % above the least possible"


def _bought(out: Console, plan: Plan) -> None:
    if not plan.requests:
        return
    table = _table("", "type", "location", "pool", "per hour", "pods")
    table.columns[0].justify = table.columns[4].justify = "right"
    kinds: dict[tuple[object, ...], list[PlannedRequest]] = {}
    for request in plan.requests:
        shape = tuple(sorted(Counter(seat.owner or seat.name for seat in request.seats).items()))
        kinds.setdefault((request.pool, request.server_type, request.location, shape), []).append(request)
    for requests in kinds.values():
        first = requests[0]
        pods = [f"{seat.namespace}/{seat.name}" for request in requests for seat in request.seats]
        table.add_row(
            f"{len(requests)} x",
            first.server_type,
            first.location,
            first.pool,
            _money(first.price_per_hour),
            _names(pods) if pods else first.why,
        )
    _print(out, "To buy", table)


def _placed(out: Console, plan: Plan) -> None:
    by_machine: dict[tuple[str, str], list[str]] = {}
    for placed in plan.placed:
        key = ("node", placed.node) if placed.node is not None else ("request", placed.request or "")
        by_machine.setdefault(key, []).append(placed.pod)
    if by_machine:
        table = _table("", "machine", "pods")
        for (kind, name), pods in by_machine.items():
            table.add_row(kind, name, _names(pods))
        _print(out, "On machines that are there or coming", table)


def _unplaced(out: Console, unplaced: Sequence[Unplaced]) -> None:
    if not unplaced:
        return
    table = _table("pods", "code", "why")
    alike: dict[tuple[object, ...], list[Unplaced]] = {}
    for entry in unplaced:
        alike.setdefault(entry.reasons, []).append(entry)
    for entries in alike.values():
        first, *more = entries[0].reasons
        table.add_row(_names([entry.pod for entry in entries]), first.code, first.message)
        for reason in more:
            table.add_row("", reason.code, reason.message)
    _print(out, "Without a place", table)


def _leaving(out: Console, plan: Plan) -> None:
    if plan.removals:
        table = _table("node", "reason", "at", "why")
        for removal in plan.removals:
            table.add_row(removal.node, removal.reason, format_timestamp(removal.at), removal.why)
        _print(out, "To remove", table)
    if plan.removal_cancels or plan.cancelled:
        table = _table("", "name", "why")
        for cancel in plan.removal_cancels:
            table.add_row("removal", cancel.removal, f"wanted by {_names(cancel.pods)}")
        for name in plan.cancelled:
            table.add_row("request", name, "no pod needs it any more, and no server was asked for")
        _print(out, "To cancel", table)


def _pools(out: Console, reports: Iterable[PoolReport]) -> None:
    table = _table("name", "ready", "in flight", "removing", "change", "cpu", "memory", "")
    for column in table.columns[1:7]:
        column.justify = "right"
    for report in reports:
        counts = report.status.nodes
        told = [
            c
            for c in report.status.conditions
            if (c.status == "True") != (c.type == "Ready") or (c.type == "Ready" and c.message)
        ]
        shares = [
            f"{report.utilisation[name]:.0%}" if name in report.utilisation else "-" for name in ("cpu", "memory")
        ]
        table.add_row(
            report.name,
            str(counts.ready),
            str(counts.in_flight),
            str(counts.removing),
            f"{report.delta:+d}" if report.delta else "0",
            *shares,
            "; ".join(f"{c.reason}: {c.message}" if c.message else c.reason for c in told),
        )
    if table.row_count:
        _print(out, "Pools", table)


def _print(out: Console, title: str, table: Table) -> None:
    # A title of the table itself would be wrapped to the width of its rows.
    out.print()
    out.print(Text(title, style="bold"), soft_wrap=True)
    out.print(table)


def _table(*columns: str) -> Table:
    table = Table(
        header_style="dim",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _names(pods: Sequence[str]) -> str:
    shown = ", ".join(pods[:_NAMES])
    return shown if len(pods) <= _NAMES else f"{shown} and {len(pods) - _NAMES} more"


def _money(price: Decimal) -> str:
    """Return a price with all its decimals, and at least as many as one column of prices needs to be compared."""
    return f"{price:.4f}" if price == round(price, 4) else f"{price.normalize():f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
