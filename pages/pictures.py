"""Records a real run of the demo as pictures: `python -m pages.pictures docs/pictures`.

Two files, as a whole run is too tall for a page: how the cluster grows, and how it shrinks.
"""

import asyncio
import io
import re
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI

from worker.demo.command import show
from worker.demo.scene import SEED, prices
from worker.demo.screen import Screen
from worker.logs import set_up_logging

WIDTH: Final = 112
FIRST_OF_SECOND_HALF: Final = 5
"""Stage with which the second picture begins."""
_WEB_FONTS: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""A picture that loads a font tells the font's server who reads the page, and GitHub does not show it as meant."""


class PictureRecorder(Screen):
    """A screen that keeps what it shows, and cuts it in two.

    Args:
        console: recording.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(prices(), console, live=False)
        self._recorded = console
        self.halves: list[str] = []

    def stage(self, text: str) -> None:
        """Begin a stage; the one in the middle ends the first picture."""
        if self.stages + 1 == FIRST_OF_SECOND_HALF:
            self.cut("growth demo: pods arrive, machines are bought")
        super().stage(text)

    def cut(self, title: str) -> None:
        """End a picture."""
        drawn = self._recorded.export_svg(title=title, theme=MONOKAI, clear=True)
        self.halves.append(_WEB_FONTS.sub("", drawn))


def record(folder: Path) -> list[Path]:
    """Run the demo and write its pictures into `folder`; return their paths.

    Raises:
        StageFailed: the demo failed, so there is nothing to show.
    """
    set_up_logging("console", "error")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    with PictureRecorder(console) as screen:
        asyncio.run(show(screen, seed=SEED))
        screen.cut("growth demo: pods are moved, the load leaves, machines go")
    paths = [folder / name for name in ("demo-grows.svg", "demo-shrinks.svg")]
    for path, picture in zip(paths, screen.halves, strict=True):
        path.write_text(picture)
    return paths


if __name__ == "__main__":
    for written in record(Path(sys.argv[1])):
        print(written)
