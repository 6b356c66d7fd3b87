"""What the command group of every lifecycle kind has: made of the kind's row, beside what the kind's own file adds."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from cyclopts import App
from rich.console import Console
from rich.table import Table

from planner.lifecycle.kinds import LifecycleKind
from worker.commands.lifecycles.running import Whereabouts, name_of, under_way
from worker.commands.shared.tables import guarded
from worker.errors import AtOnce, CommandError
from workflows.messages import DEADLINE, PHASE, POOL, REASON

_P = ParamSpec("_P")
_Body = Callable[_P, Awaitable[None]]


def lifecycle_app(kind: LifecycleKind[Any], summary: str) -> App:
    """Return the command group of a kind, with the command `list`.

    Args:
        kind: the plural of its word is the name of the group.
        summary: help of the group, a sentence about the machines.
    """
    app = App(name=f"{kind.word}s", help=summary)

    async def list_all(*, where: Whereabouts | None = None) -> None:
        await list_lifecycles(kind, where=where)

    register(app, "list", list_all, summary=f"List the {summary[0].lower()}{summary[1:]}")
    return app


def register(app: App, name: str, body: _Body[_P], *, summary: str | None = None) -> None:
    """Make a command of a function that talks to Temporal: its process ends at once, whatever the outcome.

    Args:
        app: the group.
        name: of the command.
        body: what the command does.
        summary: help of the command, if the docstring of `body` does not begin with it.
    """

    @wraps(body)
    async def command(*args: _P.args, **options: _P.kwargs) -> int:
        try:
            await body(*args, **options)
        except CommandError as error:
            raise CommandError(str(error), error.code, at_once=True) from error
        return AtOnce()

    app.command(command, name=name, help=summary)


async def list_lifecycles(kind: LifecycleKind[Any], *, where: Whereabouts | None = None) -> None:
    """Print what runs of a kind, from Temporal's search attributes.

    Raises:
        CommandError: it cannot be listed, or nothing runs of the cluster.
    """
    table = Table("NAME", "POOL", "PHASE", "WAITS FOR", "UNTIL (UTC)", box=None, pad_edge=False)
    rows: list[tuple[str, ...]] = []
    for execution in await (await under_way(where)).all(kind.workflow):
        attributes = execution.typed_search_attributes
        until = attributes.get(DEADLINE)
        rows.append(
            (
                name_of(execution),
                attributes.get(POOL) or "",
                attributes.get(PHASE) or "",
                attributes.get(REASON) or "",
                "" if until is None else f"{until:%Y-%m-%d %H:%M:%S}",
            )
        )
    for row in sorted(rows):
        table.add_row(*row)
    guarded(Console()).print(table if rows else "none")
