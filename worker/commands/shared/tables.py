"""How commands print for people: tables that fit a terminal, and whole sentences in a file or pipe."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from io import StringIO
from typing import Final

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from api.quantity import price_per_month
from worker.printing import shown

WIDTH_WITHOUT_TERMINAL: Final = 250
"""A file has no width; a narrow guess would cut sentences."""
_NAMES: Final = 3
"""Objects named in one cell; the rest is counted."""


def print_anywhere(console: Console, draw: Callable[[Console], None]) -> None:
    """Draw on a terminal as it is; anywhere else wide, without colours and without padding at line ends."""
    if console.is_terminal:
        guarded(console)
        try:
            draw(console)
        finally:
            console.pop_render_hook()
        return
    plain = Console(file=StringIO(), highlight=False, width=WIDTH_WITHOUT_TERMINAL, no_color=True, markup=False)
    with plain.capture() as text:
        draw(plain)
    # Tables are padded to their width, which only a terminal has use for.
    console.file.write("".join(f"{line.rstrip()}\n" for line in shown(text.get()).split("\n")[:-1]))


def guarded(console: Console) -> Console:
    """Return the console, which from now on shows what steers a terminal as escapes; its own colours stay."""
    console.push_render_hook(_Guard())
    return console


class _Guard(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Guarded(renderables)]


class _Guarded:
    def __init__(self, renderables: Iterable[ConsoleRenderable]) -> None:
        self._renderables = renderables

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for renderable in self._renderables:
            for segment in console.render(renderable, options):
                yield segment if segment.control else Segment(shown(segment.text), segment.style)


def table(*columns: str) -> Table:
    """Return a table without lines whose cells wrap and are never cut."""
    made = Table(header_style="dim", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def print_section(out: Console, title: str, rows: Table) -> None:
    """Print a table under its title, after an empty line."""
    # A title of the table itself would be wrapped to the width of its rows.
    out.print()
    out.print(Text(title, style="bold"), soft_wrap=True)
    out.print(rows)


def names(objects: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(objects[:_NAMES])
    return shown if len(objects) <= _NAMES else f"{shown} and {len(objects) - _NAMES} more"


def money(price: Decimal) -> str:
    """Return a price with all its decimals, and at least as many as one column of prices needs to be compared."""
    return f"{price:.4f}" if price == round(price, 4) else f"{price.normalize():f}"


def money_per_month(per_hour: Decimal) -> str:
    """Return a price per hour as one for a month of 730 hours, rounded to two decimals, halves to the even one."""
    return f"{price_per_month(per_hour):.2f}"


def money_told(per_hour: Decimal, currency: str) -> str:
    """Return a price for a sentence: "0.0066 EUR per hour (4.82 a month)"."""
    return f"{money(per_hour)} {currency} per hour ({money_per_month(per_hour)} a month)"


def count(number: int, noun: str) -> str:
    """Return a number and its noun, which takes an s but for one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
