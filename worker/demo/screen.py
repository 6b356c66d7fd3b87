"""How the demo looks: on a terminal with a live part at the bottom, in a file as plain lines."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from textwrap import wrap
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.text import Text

from simulator.view import View
from worker.demo.tables import machines_table, pods_table, totals

_WIDTH_WITHOUT_TERMINAL: Final = 120
_NARROWEST: Final = 30
"""Columns for a sentence on a terminal that has hardly any."""


class Screen:
    """Prints stages, lines and tables; as a context manager it also shows progress on a terminal.

    Args:
        prices: per hour, by server type.
        console: where to; without one, standard output.
        live: whether a terminal gets a live part; a recording wants none.
    """

    def __init__(self, prices: Mapping[str, Decimal], console: Console | None = None, *, live: bool = True) -> None:
        console = console or Console(highlight=False)
        if not console.is_terminal:
            # A file has no width; a narrow guess would cut names and sentences.
            console = Console(file=console.file, highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
        self._console = console
        self._prices = prices
        self.stages = 0
        """Stages begun."""
        self._began = time.monotonic()
        self._held: list[Text] | None = None
        """Lines that wait for the heading of their stage."""
        self._spinner = Spinner("dots")
        self._live = (
            Live(console=console, transient=True, refresh_per_second=8) if live and console.is_terminal else None
        )

    def __enter__(self) -> Self:
        """Begin: times are told from here on."""
        self._began = time.monotonic()
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Take the live part away; what was printed stays."""
        self.still()

    def still(self) -> None:
        """Take the live part away for good: the terminal is as it was, and lines that come are printed below."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def title(self) -> None:
        """Say what this is."""
        self._console.print("[bold]Growth demo[/]: a simulated cluster, simulated machines, the real Temporal server")
        self._console.print("No cluster, no token, nothing is bought.\n")

    def note(self, text: str) -> None:
        """Print one line as it is."""
        self._console.print(escape(text), soft_wrap=True)

    def remark(self, text: str) -> None:
        """Print a sentence on what was shown."""
        self._console.print(f"[dim]{escape(text)}[/]")

    def stage(self, text: str) -> None:
        """Begin a stage."""
        self.stages += 1
        self._console.print(f"\n[bold cyan]{self.stages}. {escape(text)}[/]")

    def line(self, sign: str, style: str, subject: str, text: str) -> None:
        """Print what happened to a machine, when, and why."""
        start = f"{self.seconds:5.1f} s "
        indent = " " * (len(start) + len(sign) + len(subject) + 2)
        first, *others = wrap(text, max(_NARROWEST, self._console.width - len(indent))) or [""]
        printed = Text.assemble((start, "dim"), (sign, style), f" {subject} {first}")
        for part in others:
            printed.append(f"\n{indent}{part}")
        if self._held is not None:
            self._held.append(printed)
            return
        self._console.print(printed, soft_wrap=True)

    @contextmanager
    def lines_held(self) -> Iterator[None]:
        """Print lines on machines at the end of this block: what is bought at once stands below its heading, too."""
        self._held = held = []
        try:
            yield
        finally:
            self._held = None
            for printed in held:
                self._console.print(printed, soft_wrap=True)

    def command(self, text: str) -> None:
        """Print what a person would type."""
        self._console.print(f"  [bold]$ {escape(text)}[/]", soft_wrap=True)

    def passed(self, text: str) -> None:
        """Print what was checked."""
        self._console.print(f"  [green]✓[/] {escape(text)}")

    def failure(self, text: str) -> None:
        """Say what went wrong."""
        self._console.print(f"\n[bold red]The demo failed[/] {escape(text)}", soft_wrap=True)

    def pods(self, view: View) -> None:
        """Print the pods by workload."""
        self._console.print(pods_table(view))

    def machines(self, view: View) -> None:
        """Print the machines with their pods, load, state and price."""
        self._console.print(machines_table(view, self._prices))
        self._console.print(f"[bold]{totals(view, self._prices)}[/]")

    def table(self, table: RenderableType) -> None:
        """Print a table."""
        self._console.print(table)

    def progress(self, view: View, awaited: str) -> None:
        """Show what is awaited, and the machines as they are, until the next call."""
        if self._live is None:
            return
        self._spinner.update(text=Text(f"{self.seconds:4.0f} s  waiting for {awaited}", style="dim"))
        parts: list[RenderableType] = [Text(), self._spinner]
        if view.servers:
            parts += [machines_table(view, self._prices), Text(totals(view, self._prices), style="bold")]
        self._live.update(Group(*parts))
