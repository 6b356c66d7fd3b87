"""The status of a cluster for people: pools, demand, what is awaited, machines."""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from rich.console import Console
from rich.text import Text

from api.meta import shown_time
from api.v1alpha1.node_pool import NodePool, NodePoolStatus
from planner.model.plan import PoolReport
from planner.report.pool_report import ROUNDS_FAILING, SAVING_FORGONE
from planner.supply.machines import Machine
from planner.supply.sums.pool_sums import CPU, MEMORY, MONEY, sums_limited, written
from worker.commands.plan.table import print_bounds, print_unplaced
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.machine_state import is_ours, own_pods, state
from worker.commands.shared.next_steps import Awaited, awaited
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
from worker.commands.shared.times import clock, until
from worker.commands.status.choice import choices
from worker.commands.status.saving import savings

_FEW: Final = 3
"""So many alike have a line each; a burst of machines shall not fill the screen."""


def print_status(view: ClusterView, console: Console | None = None) -> None:
    """Print the status to `console`; without one, to standard output."""
    print_anywhere(console or Console(highlight=False, markup=False), lambda out: draw_status(out, view))


def draw_status(out: Console, view: ClusterView) -> None:
    """Print the status, for a console that is as wide as it shall be."""
    _paused(out, view)
    _headline(out, view)
    _failing(out, view)
    _problems(out, view)
    _pools(out, view)
    for line in (*savings(view), *choices(view)):
        out.print(Text(line), soft_wrap=True)
    _demand(out, view)
    _awaited(out, view)
    _machines(out, view)


def _paused(out: Console, view: ClusterView) -> None:
    for pool in view.snapshot.pools:
        pause = pool.pause_at(view.snapshot.now)
        if pause is not None:
            sentence = pause.sentence(pool.metadata.name)
            out.print(Text(f"{sentence[:1].upper()}{sentence[1:]}", style="bold yellow"), soft_wrap=True)


def _headline(out: Console, view: ClusterView) -> None:
    statuses = [report.status for report in view.plan.pools]
    ready = sum(status.nodes.ready for status in statuses)
    coming = sum(status.nodes.in_flight for status in statuses)
    going = sum(status.nodes.removing for status in statuses)
    total = sum(status.nodes.total for status in statuses)
    other = total - ready - coming - going
    rest = f", {other} kept for their pods or not Ready" if other else ""
    line = Text(f"{count(total, 'machine')}: {ready} ready, {coming} coming, {going} going{rest}", style="bold")
    cost = _cost(statuses)
    if cost:
        line.append(f"  {cost}", style="not bold")
    line.append(f"  {shown_time(view.snapshot.now)}", style="not bold dim")
    out.print(line, soft_wrap=True)


def _cost(statuses: Iterable[NodePoolStatus]) -> str:
    by_currency: dict[str, Decimal] = {}
    for status in statuses:
        if status.currency is not None and status.price_per_hour is not None:
            by_currency[status.currency] = by_currency.get(status.currency, Decimal(0)) + status.price_per_hour
    return " + ".join(money_told(price, currency) for currency, price in sorted(by_currency.items()))


def _failing(out: Console, view: ClusterView) -> None:
    conditions = (each for pool in view.snapshot.pools for each in pool.status.conditions)
    failing = next((each for each in conditions if each.type == ROUNDS_FAILING and each.status == "True"), None)
    if failing is not None:
        since = shown_time(failing.last_transition_time)
        out.print()
        out.print(Text(f"Rounds fail since {since}: {failing.message}", style="bold red"), soft_wrap=True)


def _problems(out: Console, view: ClusterView) -> None:
    if not view.snapshot.problems:
        return
    rows = table("kind", "name", "what is wrong")
    for problem in view.snapshot.problems:
        rows.add_row(problem.kind, problem.name, problem.message)
    print_section(out, "Left out, as it cannot be read", rows)


def _pools(out: Console, view: ClusterView) -> None:
    if not view.plan.pools:
        out.print()
        out.print("No pool: nothing is bought. `kubectl explain nodepools.growth.dev.spec` tells what one needs.")
        return
    rows = table("name", "machines", "ready", "coming", "going", "max", "per hour", "per month", "not fine")
    for column in rows.columns[1:8]:
        column.justify = "right"
    for report in view.plan.pools:
        nodes = report.status.nodes
        price = report.status.price_per_hour
        rows.add_row(
            report.name,
            str(nodes.total),
            str(nodes.ready),
            str(nodes.in_flight),
            str(nodes.removing),
            _max(view.pool(report.name)),
            "" if price is None else money(price),
            "" if price is None else money_per_month(price),
            "; ".join(dict.fromkeys(_not_fine(report))) or "-",
        )
    print_section(out, "Pools", rows)
    print_bounds(out, view.plan.pools)
    for report in view.plan.pools:
        for line in pool_lines(report, view.plan, lambda moment: clock(moment, view.snapshot.now)):
            out.print(Text(line), soft_wrap=True)
    if view.plan.blocked:
        counts = Counter(machine.reason for machine in view.plan.blocked).most_common()
        listed = ", ".join(f"{number} {reason}" for reason, number in counts)
        summary = f"{count(len(view.plan.blocked), 'machine')} that policies would empty, and that stay: {listed}"
        out.print(f"{summary}. `growth why node` tells more of each.", soft_wrap=True)


def _max(pool: NodePool | None) -> str:
    if pool is None:
        return ""
    of_types = [server_type.max for server_type in pool.spec.server_types]
    bounds = [] if pool.spec.limits.max is None else [pool.spec.limits.max]
    if all(most is not None for most in of_types):
        bounds.append(sum(most for most in of_types if most is not None))
    words = {CPU: " cpu", MEMORY: "", MONEY: " per hour"}
    sums = (f"{written(name, most)}{words[name]}" for name, most in sums_limited(pool).items())
    return ", ".join([str(min(bounds, default="")), *sums])


def _not_fine(report: PoolReport) -> Iterable[str]:
    for condition in report.status.conditions:
        if condition.type == SAVING_FORGONE:
            # A line of its own tells what all pools together would save.
            continue
        fine = (condition.status == "True") == (condition.type == "Ready")
        if not fine or (condition.type == "Ready" and condition.message):
            yield f"{condition.reason}: {condition.message}" if condition.message else condition.reason


def _demand(out: Console, view: ClusterView) -> None:
    plan = view.plan
    existing = sum(placed.node is not None for placed in plan.placed)
    coming = len(plan.placed) - existing
    bought = sum(len(request.seats) for request in plan.requests)
    parts = [
        (existing, "onto machines that are there"),
        (coming, "onto machines that are coming"),
        (bought, f"onto {count(len(plan.requests), 'machine')} that the next round buys"),
        (len(plan.unplaced), "without a place"),
    ]
    total = existing + coming + bought + len(plan.unplaced)
    out.print()
    out.print(Text("Demand", style="bold"))
    summary = ", ".join(f"{number} {words}" for number, words in parts if number)
    out.print(f"{count(total, 'pod')} that the scheduler cannot place: {summary}" if total else "no pod waits for room")
    codes = Counter(entry.reasons[0].code for entry in plan.unplaced)
    if codes:
        out.print("Without a place: " + ", ".join(f"{number} {code}" for code, number in codes.most_common()))
        print_unplaced(out, plan.unplaced)


def _awaited(out: Console, view: ClusterView) -> None:
    alike: dict[tuple[object, ...], list[Awaited]] = {}
    for entry in awaited(view):
        alike.setdefault((entry.kind, entry.message, entry.commands), []).append(entry)
    if not alike:
        return
    rows = table("", "name", "until (UTC)", "what is awaited, and what you may do")
    for group in (each for found in alike.values() for each in _told_apart(found)):
        first = group[0]
        deadline = min((entry.until for entry in group if entry.until is not None), default=None)
        name = first.name if len(group) == 1 else "NAME"
        cell = Text(first.message)
        for command in first.commands:
            cell.append(f"\n{command.replace('NAME', name)}", style="cyan")
        rows.add_row(
            first.kind,
            names([entry.name for entry in group]),
            "-" if deadline is None else until(deadline, view.snapshot.now),
            cell,
        )
    print_section(out, "Awaited", rows)


def _told_apart(alike: list[Awaited]) -> list[list[Awaited]]:
    """Return few that are alike each with its own deadline and commands, many as one."""
    return [alike] if len(alike) > _FEW else [[one] for one in alike]


def _machines(out: Console, view: ClusterView) -> None:
    shown = [m for m in view.machines.values() if m.counts and (is_ours(m) or m.pool)]
    foreign = sum(m.node is not None for m in view.machines.values()) - sum(m.node is not None for m in shown)
    if shown:
        rows = table("name", "pool", "type", "location", "state", "pods", "per hour", "per month")
        rows.columns[5].justify = rows.columns[6].justify = rows.columns[7].justify = "right"
        for machine in sorted(shown, key=lambda m: (m.pool, m.name)):
            rows.add_row(*_row(machine, view))
        print_section(out, "Machines", rows)
    if foreign:
        out.print()
        out.print(f"{count(foreign, 'node')} that Growth did not buy and never removes", style="dim")


def _row(machine: Machine, view: ClusterView) -> tuple[str, ...]:
    price, today = view.price(machine), view.price_today(machine)
    cost = "?" if price is None else money(price[0])
    return (
        machine.name,
        machine.pool,
        machine.server_type,
        machine.location,
        state(machine, view.snapshot.now),
        str(len(own_pods(machine))),
        cost if today is None or today == price else f"{cost}, {money(today[0])} today",
        "?" if price is None else money_per_month(price[0]),
    )
