"""What can be bought, for people: one table a class, and above it what a person should know of its prices."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from rich.console import Console
from rich.text import Text

from activities.ports.catalogue import CatalogueRow, Standing
from api.quantity import rounded_amount
from worker.commands.catalogue.catalogue import Catalogue
from worker.commands.shared.tables import WIDTH_WITHOUT_TERMINAL, money, print_anywhere, table
from worker.commands.shared.times import ago, clock, until

_GB = 10**9
"""Disks are sold by it."""


def print_catalogues(catalogues: Iterable[Catalogue], now: datetime, console: Console | None = None) -> None:
    """Print the catalogues to `console`; without one, to standard output."""

    def draw(out: Console) -> None:
        for number, catalogue in enumerate(catalogues):
            if number:
                out.print()
            _draw(out, catalogue, now)

    print_anywhere(console or Console(highlight=False, markup=False), draw)


def _draw(out: Console, catalogue: Catalogue, now: datetime) -> None:
    title = Text(str(catalogue.ref), style="bold")
    out.print(title.append(f"  {'; '.join(_prices(catalogue, now))}", style="not bold"), soft_wrap=True)
    for line in _not_fine(catalogue, now):
        out.print(Text(line, style="yellow"), soft_wrap=True)
    if not catalogue.rows:
        return
    rows = table(
        "type", "arch", "vCPU", "memory", "disk", "location", "per hour", "per month", "available", "for pods", "pools"
    )
    for number in (2, 3, 4, 6, 7):
        rows.columns[number].justify = "right"
    for row in catalogue.rows:
        rows.add_row(*_cells(row, catalogue.provider, now))
    out.print()
    # A narrow terminal folds whole lines, as it does for kubectl: a price that a cell folds reads as another price.
    whole = out.measure(rows, options=out.options.update(max_width=WIDTH_WITHOUT_TERMINAL)).maximum
    out.width = max(out.width, whole)
    out.print(rows)
    for line in _notes(catalogue):
        out.print(Text(line, style="dim"), soft_wrap=True)


def _prices(catalogue: Catalogue, now: datetime) -> Iterator[str]:
    if catalogue.currency:
        yield catalogue.currency
    if catalogue.read_at is not None:
        yield "net, with a public IPv4 address" if catalogue.has_ipv4 else "net, without a public IPv4 address"
        yield f"read at {ago(catalogue.read_at, now)}"
    elif not catalogue.currency:
        yield "prices not read yet"


def _not_fine(catalogue: Catalogue, now: datetime) -> Iterator[str]:
    if catalogue.problem:
        yield f"Nothing of it is bought: {catalogue.problem}"
    if catalogue.pause is not None:
        yield f"Nothing of it is bought until {until(catalogue.pause.until, now)}: {catalogue.pause.message}"
    for part in catalogue.parts:
        yield f"Refused {part.limit} until {until(part.until, now)}: {part.message}"
    for condition in catalogue.conditions:
        yield f"{condition.reason}: {condition.message}" if condition.message else condition.reason


def _notes(catalogue: Catalogue) -> Iterator[str]:
    if any(row.learned for row in catalogue.rows):
        yield "* the least that a Node of it turned out to have"
    if any(row.standing is Standing.DOUBTFUL for row in catalogue.rows):
        yield f"What {catalogue.provider} says is sold out can often be had: one machine is tried first."
    if catalogue.elsewhere:
        yield f"The class does not buy in {', '.join(catalogue.elsewhere)}: its locations or networks keep that out."


def _cells(row: CatalogueRow, provider: str, now: datetime) -> tuple[str, ...]:
    return (
        row.server_type,
        row.architecture,
        f"{rounded_amount('cpu', row.millicores)} ded" if row.is_dedicated else rounded_amount("cpu", row.millicores),
        rounded_amount("memory", row.memory_bytes),
        "-" if row.disk_bytes is None else f"{row.disk_bytes / _GB:.0f}G",
        row.location,
        "unknown" if row.price_per_hour is None else money(row.price_per_hour),
        "-" if row.price_per_month is None else f"{row.price_per_month:.2f}",
        _available(row, provider, now),
        _for_pods(row),
        ", ".join(row.pools) or "-",
    )


def _available(row: CatalogueRow, provider: str, now: datetime) -> str:
    match row.standing:
        case Standing.AVAILABLE:
            return "yes" if row.at is None else f"yes, until {row.at:%Y-%m-%d}"
        case Standing.DOUBTFUL:
            return f"sold out, says {provider}"
        case Standing.SOLD_OUT:
            return "sold out"
        case Standing.UNMET:
            return "unmet" if row.at is None else f"unmet until {clock(row.at, now)}"
        case Standing.WITHDRAWN:
            return "withdrawn" if row.at is None else f"withdrawn on {row.at:%Y-%m-%d}"
        case Standing.NO_PRICE:
            return "not without a price"
        case Standing.NO_IMAGE:
            return f"no image for {row.architecture}"


def _for_pods(row: CatalogueRow) -> str:
    if row.allocatable is None:
        return "-"
    return ", ".join(
        f"{rounded_amount(name, row.allocatable[name])}{'*' if name in row.learned else ''}"
        for name in ("cpu", "memory")
    )
