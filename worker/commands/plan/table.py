"""The plan for people: tables on a terminal, the same words without colour in a file or pipe."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from api.meta import format_timestamp
from planner.model.plan import Alternative, Placed, Plan, PlannedRequest, PlanResult, PoolReport, Unplaced
from planner.report.machine_choice import missed, percent
from worker.commands.plan.document import (
    BLOCKED_NAMED,
    blocked_of,
    buffer_reason,
    gap_percent,
    replacements,
    request_name,
)
from worker.commands.shared.pool_lines import pool_lines
from worker.commands.shared.tables import (
    count,
    money,
    money_per_month,
    money_told,
    names,
    print_anywhere,
    print_section,
    table,
)

_COLOURS: Final = {
    PlanResult.ALL_PLACED: "bold green",
    PlanResult.NO_DEMANDS: "bold",
    PlanResult.INCOMPLETE_PLACEMENT: "bold red",
}


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Print the plan to `console`; without one, to standard output."""
    print_anywhere(console or Console(highlight=False), lambda out: _print_all(out, plan))


def _print_all(out: Console, plan: Plan) -> None:
    _headline(out, plan)
    _bought(out, plan)
    _on_machines(out, "On machines that are there or coming", plan.placed)
    _on_machines(out, "On their way to nodes that the scheduler keeps for them", plan.nominated)
    print_unplaced(out, plan.unplaced)
    _leaving(out, plan)
    _buffers(out, plan)
    _pools(out, plan)


def _headline(out: Console, plan: Plan) -> None:
    seats = sum(len(request.seats) for request in plan.requests)
    headroom = sum(request.headroom for request in plan.requests)
    spare = f" and headroom of {count(headroom, 'pod')}" if headroom else ""
    parts = [f"{count(len(plan.requests), 'new machine')} for {count(seats, 'pod')}{spare}"] if plan.requests else []
    if plan.placed:
        parts.append(f"{count(len(plan.placed), 'pod')} on machines that are there or coming")
    if plan.unplaced:
        parts.append(f"{count(len(plan.unplaced), 'pod')} without a place")
    line = Text(plan.result.value, style=_COLOURS[plan.result])
    out.print(line.append(f"  {', '.join(parts) or 'nothing to buy'}", style="not bold default"), soft_wrap=True)
    if plan.requests:
        out.print(f"{money_told(plan.cost_per_hour, plan.currency)}, {_quality(plan)}", soft_wrap=True)


def _quality(plan: Plan) -> str:
    choice = plan.choice_costs_per_hour
    more = f"; priorities cost {money(choice)} of it, beside price alone" if choice else ""
    if plan.optimal:
        return f"proven to be the least possible{more}"
    gap = gap_percent(plan)
    bound = f"nothing can cost less than {money(plan.lower_bound_per_hour)}"
    return f"{bound}{more}" if gap is None else f"{bound}: at most {gap:g} % above the least possible{more}"


def _bought(out: Console, plan: Plan) -> None:
    if not plan.requests:
        return
    rows = table("", "type", "location", "pool", "per hour", "per month", "fullest", "next", "pods")
    rows.columns[0].justify = rows.columns[4].justify = rows.columns[5].justify = "right"
    kinds: dict[tuple[object, ...], list[PlannedRequest]] = {}
    for request in plan.requests:
        shape = tuple(sorted(Counter(seat.owner or seat.name for seat in request.seats).items()))
        kinds.setdefault((request.pool, request.server_type, request.location, shape), []).append(request)
    for requests in kinds.values():
        first = requests[0]
        pods = [f"{seat.namespace}/{seat.name}" for request in requests for seat in request.seats]
        rows.add_row(
            f"{len(requests)} x",
            first.server_type,
            first.location,
            first.pool,
            money(first.price_per_hour),
            money_per_month(first.price_per_hour),
            _fullest(first),
            _next(first),
            _for_whom(pods, requests),
        )
    print_section(out, "To buy", rows)
    for line in _cheaper(plan.requests):
        out.print(line, soft_wrap=True)


def _buffers(out: Console, plan: Plan) -> None:
    if not plan.buffers:
        return
    rows = table("buffer", "pods", "room")
    rows.columns[1].justify = "right"
    for buffer in plan.buffers:
        reason = buffer_reason(buffer, plan)
        rows.add_row(buffer.key, str(buffer.count), "kept" if reason is None else f"{reason.code}: {reason.message}")
    print_section(out, "Capacity buffers", rows)


def _for_whom(pods: Sequence[str], requests: Sequence[PlannedRequest]) -> str:
    headroom = sum(request.headroom for request in requests)
    spare = [f"headroom of {count(headroom, 'pod')}"] if headroom else []
    named = [names(pods)] if pods else []
    return " and ".join((*named, *spare)) or requests[0].why


def _fullest(request: PlannedRequest) -> str:
    name = request.because.binding
    return "-" if name is None else f"{name} {percent(request.because.shares[name])} %"


def _next(request: PlannedRequest) -> str:
    other = request.because.runner_up
    if other is None:
        return "-"
    place = "" if other.location == request.location else f" {other.location}"
    pool = "" if other.pool == request.pool else f" {other.pool}"
    return f"{other.server_type}{place}{pool} {money(other.price_per_hour)}"


def _cheaper(requests: Iterable[PlannedRequest]) -> Iterator[str]:
    """Yield the cheaper machines that one obstacle keeps from being bought."""
    alike: dict[tuple[str, Alternative], list[PlannedRequest]] = {}
    for request in requests:
        if request.because.cheaper is not None:
            alike.setdefault((request.server_type, request.because.cheaper), []).append(request)
    for (server_type, cheaper), instead in alike.items():
        yield f"For {len(instead)} x {server_type}, {missed(cheaper, instead[0].price_per_hour)}."


def _on_machines(out: Console, title: str, pods_placed: Iterable[Placed]) -> None:
    by_machine: dict[tuple[str, str], list[str]] = {}
    for placed in pods_placed:
        key = ("node", placed.node) if placed.node is not None else ("request", placed.request or "")
        by_machine.setdefault(key, []).append(placed.pod)
    if by_machine:
        rows = table("", "machine", "pods")
        for (kind, name), pods in by_machine.items():
            rows.add_row(kind, name, names(pods))
        print_section(out, title, rows)


def print_unplaced(out: Console, unplaced: Sequence[Unplaced]) -> None:
    """Print the pods without a place, those with the same reasons together; nothing if there are none."""
    if not unplaced:
        return
    rows = table("pods", "code", "why")
    alike: dict[tuple[object, ...], list[Unplaced]] = {}
    for entry in unplaced:
        alike.setdefault(entry.reasons, []).append(entry)
    for entries in alike.values():
        first, *more = entries[0].reasons
        rows.add_row(names([entry.pod for entry in entries]), first.code, first.message)
        for reason in more:
            rows.add_row("", reason.code, reason.message)
    print_section(out, "Without a place", rows)


def _leaving(out: Console, plan: Plan) -> None:
    if plan.removals:
        rows = table("node", "reason", "at", "why")
        for removal in plan.removals:
            rows.add_row(removal.node, removal.reason, format_timestamp(removal.at), removal.why)
        print_section(out, "To remove", rows)
        _moves(out, plan)
    if plan.kept_machines:
        rows = table("node", "why")
        for machine in plan.kept_machines:
            rows.add_row(machine.node, machine.why)
        print_section(out, "Without pods, and kept", rows)
    _blocked(out, plan)
    if plan.removal_cancels or plan.cancelled:
        rows = table("", "name", "why")
        for cancel in plan.removal_cancels:
            rows.add_row("removal", cancel.removal, cancel.why or f"wanted by {names(cancel.pods)}")
        for name in plan.cancelled:
            rows.add_row("request", name, "no pod needs it any more, and no server was asked for")
        print_section(out, "To cancel", rows)


def _moves(out: Console, plan: Plan) -> None:
    rows = table("from", "to", "pods")
    for removal in plan.removals:
        targets: dict[str, list[str]] = {}
        for move in removal.moves:
            targets.setdefault(move.node, []).append(move.pod)
        for node, pods in targets.items():
            rows.add_row(removal.node, node, names(pods))
        new = [request_name(request) for request in replacements(removal, plan)]
        if new:
            rows.add_row(removal.node, f"new: {', '.join(new)}", "once they are Ready")
    if rows.row_count:
        print_section(out, "To move", rows)


def _blocked(out: Console, plan: Plan) -> None:
    rows = table("pool", "node", "would go by", "kept by", "why")
    for report in plan.pools:
        blocked = blocked_of(plan, report.name)
        for machine in blocked[:BLOCKED_NAMED]:
            rows.add_row(machine.pool, machine.node, machine.trigger, machine.reason, machine.why)
        if len(blocked) > BLOCKED_NAMED:
            rows.add_row(report.name, f"{len(blocked) - BLOCKED_NAMED} more", "", "", "")
    if rows.row_count:
        print_section(out, "Held back", rows)


def _pools(out: Console, plan: Plan) -> None:
    reports = plan.pools
    rows = table("name", "ready", "in flight", "removing", "change", "cpu", "memory", "per hour", "per month", "")
    for column in rows.columns[1:9]:
        column.justify = "right"
    for report in reports:
        counts = report.status.nodes
        conditions = [
            c
            for c in report.status.conditions
            if (c.status == "True") != (c.type == "Ready") or (c.type == "Ready" and c.message)
        ]
        shares = [
            f"{report.utilisation[name]:.0%}" if name in report.utilisation else "-" for name in ("cpu", "memory")
        ]
        rows.add_row(
            report.name,
            str(counts.ready),
            str(counts.in_flight),
            str(counts.removing),
            f"{report.delta:+d}" if report.delta else "0",
            *shares,
            *_costs(report),
            # Two conditions may say the same.
            "; ".join(dict.fromkeys(f"{c.reason}: {c.message}" if c.message else c.reason for c in conditions)),
        )
    if rows.row_count:
        print_section(out, "Pools", rows)
    print_bounds(out, reports)
    for report in reports:
        for line in pool_lines(report, plan, format_timestamp):
            out.print(line, soft_wrap=True)


def print_bounds(out: Console, reports: Iterable[PoolReport]) -> None:
    """Print the bounds of pools whose schedule has a window open, a line each."""
    for report in reports:
        if report.bounds:
            out.print(f"Pool {report.name} has {report.bounds}.", soft_wrap=True)


def _costs(report: PoolReport) -> tuple[str, str]:
    price = report.status.price_per_hour
    return ("-", "-") if price is None else (money(price), money_per_month(price))
