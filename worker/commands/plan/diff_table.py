"""What changes from one plan to another, for people: lines with - and + as in any diff, coloured on a terminal."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.meta import format_timestamp
from planner.model.plan import Plan, Reason, Unplaced
from worker.commands.plan.diff import NewlyPlaced, PlanDiff, counts
from worker.commands.plan.document import gap_percent
from worker.commands.shared.tables import count, money, names, print_anywhere, print_section, table

_BEFORE: Final = "-"
_AFTER: Final = "+"
_BOTH: Final = " "
_COLOURS: Final = {_BEFORE: "red", _AFTER: "green", _BOTH: ""}


def print_diff(diff: PlanDiff, console: Console | None = None) -> None:
    """Print what changes to `console`; without one, to standard output."""
    print_anywhere(console or Console(highlight=False), lambda out: _print_all(out, diff))


def _print_all(out: Console, diff: PlanDiff) -> None:
    out.print(Text(_headline(diff), style="bold"), soft_wrap=True)
    _plans(out, diff)
    _machines(out, diff)
    _placed(out, diff.placed)
    _unplaced(out, diff.unplaced)
    _leaving(out, diff)


def _headline(diff: PlanDiff) -> str:
    if diff.is_empty:
        return "Nothing changes"
    before, after, difference = diff.before, diff.after, diff.cost_difference
    if difference is None:
        cost = f"{_cost(before)} -> {_cost(after)} per hour"
    else:
        currency = after.currency or before.currency
        cost = f"{money(before.cost_per_hour)} -> {money(after.cost_per_hour)} {currency} per hour: {_by(difference)}"
    more = counts(after)[0] - counts(before)[0]
    if not more:
        return f"{cost}, as many pods with a place"
    return f"{cost}, {count(abs(more), 'pod')} {'more' if more > 0 else 'fewer'} with a place"


def _cost(plan: Plan) -> str:
    return f"{money(plan.cost_per_hour)} {plan.currency}"


def _by(difference: Decimal) -> str:
    if not difference:
        return "no difference"
    return f"{money(abs(difference))} {'more' if difference > 0 else 'less'}"


def _plans(out: Console, diff: PlanDiff) -> None:
    rows = table("", "result", "per hour", "bound", "gap", "machines", "placed", "without a place")
    for column in rows.columns[2:]:
        column.justify = "right"
    before, after = _figures(diff.before), _figures(diff.after)
    if before == after:
        _add(rows, _BOTH, after)
    else:
        _add(rows, _BEFORE, before)
        _add(rows, _AFTER, after)
    print_section(out, "Plans", rows)


def _figures(plan: Plan) -> tuple[str, ...]:
    gap = gap_percent(plan)
    placed, unplaced = counts(plan)
    return (
        plan.result.value,
        _cost(plan) if plan.requests else "-",
        money(plan.lower_bound_per_hour) if plan.requests else "-",
        "-" if gap is None or not plan.requests else f"{gap:g} %",
        str(len(plan.requests)),
        str(placed),
        str(unplaced),
    )


def _machines(out: Console, diff: PlanDiff) -> None:
    rows = table("", "type", "location", "pool", "per hour")
    rows.columns[4].justify = "right"
    width = len(str(max((max(machine.before, machine.after) for machine in diff.machines), default=0)))
    for machine in diff.machines:
        more = machine.after - machine.before
        for sign, number in ((_BOTH, min(machine.before, machine.after)), (_AFTER if more > 0 else _BEFORE, abs(more))):
            if number:
                cells = (machine.server_type, machine.location, machine.pool, money(machine.price_per_hour))
                _add(rows, sign, cells, f"{number:>{width}} x")
    if rows.row_count:
        print_section(out, "To buy", rows)


def _placed(out: Console, placed: Sequence[NewlyPlaced]) -> None:
    rows = table("", "pods", "onto", "code", "why not before")
    alike: dict[tuple[Reason, ...], list[NewlyPlaced]] = {}
    for pod in placed:
        alike.setdefault(pod.reasons, []).append(pod)
    for reasons, together in alike.items():
        onto = names(list(dict.fromkeys(pod.node or pod.request or "" for pod in together)))
        _add_reasons(rows, _AFTER, (names([pod.pod for pod in together]), onto), reasons)
    if rows.row_count:
        print_section(out, "With a place now", rows)


def _unplaced(out: Console, unplaced: Sequence[Unplaced]) -> None:
    rows = table("", "pods", "code", "why")
    alike: dict[tuple[Reason, ...], list[str]] = {}
    for entry in unplaced:
        alike.setdefault(entry.reasons, []).append(entry.pod)
    for reasons, together in alike.items():
        _add_reasons(rows, _BEFORE, (names(together),), reasons)
    if rows.row_count:
        print_section(out, "Without a place now", rows)


def _add_reasons(rows: Table, sign: str, cells: tuple[str, ...], reasons: tuple[Reason, ...]) -> None:
    first, *more = [(reason.code, reason.message) for reason in reasons] or [("", "it did not wait for one")]
    _add(rows, sign, (*cells, *first))
    for further in more:
        _add(rows, sign, (*("" for _ in cells), *further))


def _leaving(out: Console, diff: PlanDiff) -> None:
    rows = table("", "node", "reason", "at", "why")
    for sign, removals in ((_BEFORE, diff.removals.dropped), (_AFTER, diff.removals.added)):
        for removal in removals:
            _add(rows, sign, (removal.node, removal.reason, format_timestamp(removal.at), removal.why))
    if rows.row_count:
        print_section(out, "To remove", rows)
    rows = table("", "", "name")
    for word, change in (("removal", diff.cancelled_removals), ("request", diff.cancelled)):
        for sign, changed in ((_BEFORE, change.dropped), (_AFTER, change.added)):
            for name in changed:
                _add(rows, sign, (word, name))
    if rows.row_count:
        print_section(out, "To cancel", rows)


def _add(rows: Table, sign: str, cells: Iterable[str], amount: str = "") -> None:
    rows.add_row(f"{sign} {amount}" if amount else sign, *cells, style=_COLOURS[sign])
