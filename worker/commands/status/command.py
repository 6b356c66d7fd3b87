"""`growth status`: what Growth sees and does on a live cluster. It only reads, and needs no Temporal."""

import asyncio
from io import StringIO
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.live_cluster import LiveCluster, live_cluster
from worker.commands.shared.tables import guarded
from worker.commands.status.table import draw_status, print_status
from worker.errors import CommandError

PERIOD: Final = 2.0
"""Seconds between two looks of --watch."""


def status(
    *,
    watch: Annotated[bool, Parameter(negative="")] = False,
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> int:
    """Print pools, waiting pods, what is awaited and until when, and machines.

    Args:
        watch: look again every two seconds until Ctrl-C.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.

    Returns:
        The exit code, 0.

    Raises:
        CommandError: the cluster cannot be read, or Growth is not installed in it.
    """
    try:
        asyncio.run(_run(watch=watch, kubeconfig=kubeconfig, context=context))
    except KeyboardInterrupt:
        # The way to end --watch.
        return 0
    return 0


async def _run(*, watch: bool, kubeconfig: Path | None, context: str | None) -> None:
    console = Console(highlight=False, markup=False)
    async with live_cluster(kubeconfig, context) as cluster:
        view = await cluster.look()
        if not watch:
            print_status(view, console)
        elif console.is_terminal:
            await _live(console, cluster, view)
        else:
            await _again(console, cluster, view)


async def _live(console: Console, cluster: LiveCluster, view: ClusterView) -> None:
    """Redraw in place, for ever; an outage is shown above the last view."""
    with Live(console=console, auto_refresh=False) as live:
        trouble = ""
        while True:
            live.update(_drawn(console, view, trouble), refresh=True)
            await asyncio.sleep(PERIOD)
            try:
                view, trouble = await cluster.look(), ""
            except CommandError as error:
                trouble = str(error)


async def _again(console: Console, cluster: LiveCluster, view: ClusterView) -> None:
    """Print one status after the other, for ever."""
    while True:
        print_status(view, console)
        console.file.write("\n")
        console.file.flush()
        await asyncio.sleep(PERIOD)
        view = await cluster.look()


def _drawn(console: Console, view: ClusterView, trouble: str) -> RenderableType:
    # On a console of its own: what is printed on one with a live display moves that display.
    paper = Console(
        file=StringIO(),
        width=console.width,
        highlight=False,
        markup=False,
        force_terminal=True,
        color_system="standard",
    )
    with paper.capture() as drawn:
        draw_status(guarded(paper), view)
    shown = Text.from_ansi(drawn.get())
    return Group(Text(f"As it was: {trouble}", style="bold red"), shown) if trouble else shown
