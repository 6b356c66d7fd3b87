"""`growth requests` and `growth removals`: what is under way, and what a person may ask of it."""

import asyncio
import getpass
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import wraps
from typing import Final, ParamSpec

from cyclopts import App
from rich.console import Console
from rich.table import Table
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError

from planner.lifecycle.step import DecisionKind
from worker.command_error import AtOnce, CommandError
from worker.under_way import UnderWay, Whereabouts, name_of, under_way
from workflows.messages import DEADLINE, NODE_REMOVAL, NODE_REQUEST, PHASE, POOL, REASON, Asked

ANSWERED_WITHIN: Final = timedelta(seconds=15)
"""A busy worker may take a few seconds."""
ANSWERED_BY_NOBODY: Final = timedelta(seconds=4)
"""When no worker has asked for work lately: one may have started this moment."""
PATIENCE_SECONDS: Final = 3.0
"""After it, whoever waits is told what for."""

requests = App(name="requests", help="Machines that shall come.")
removals = App(name="removals", help="Machines that shall go.")

_P = ParamSpec("_P")
_Deed = Callable[_P, Awaitable[None]]


def _command(app: App, name: str) -> Callable[[_Deed[_P]], _Deed[_P]]:
    """Make a command of a function that talks to Temporal: its process ends at once, whatever the outcome."""

    def register(deed: _Deed[_P]) -> _Deed[_P]:
        @wraps(deed)
        async def command(*args: _P.args, **options: _P.kwargs) -> int:
            try:
                await deed(*args, **options)
            except CommandError as error:
                raise CommandError(str(error), error.code, at_once=True) from error
            return AtOnce()

        app.command(command, name=name)
        return deed

    return register


@_command(requests, "list")
async def list_requests(*, where: Whereabouts | None = None) -> None:
    """List the machines that shall come."""
    await _list(NODE_REQUEST, where)


@_command(removals, "list")
async def list_removals(*, where: Whereabouts | None = None) -> None:
    """List the machines that shall go."""
    await _list(NODE_REMOVAL, where)


@_command(requests, "cancel")
async def cancel_request(name: str, /, *, where: Whereabouts | None = None) -> None:
    """Cancel a request: its server is deleted, unless its Node is Ready already; then only the record goes.

    Args:
        name: name of the NodeRequest.
        where: which cluster, and its Temporal.
    """
    there = await under_way(where)
    found = await there.one(NODE_REQUEST, name)
    try:
        await there.client.get_workflow_handle(found.id).cancel()
    except RPCError as error:
        raise there.failure(error) from error
    print(f"{name}: cancelled")


@_command(removals, "cancel")
async def cancel_removal(name: str, /, *, reason: str = "", where: Whereabouts | None = None) -> None:
    """Cancel a removal before its point of no return: the Node stays.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
        where: which cluster, and its Temporal.
    """
    await _ask(DecisionKind.CANCEL, name, reason, where)


@_command(removals, "retry")
async def retry_removal(name: str, /, *, reason: str = "", where: Whereabouts | None = None) -> None:
    """Try to delete the server of a parked removal again.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
        where: which cluster, and its Temporal.
    """
    await _ask(DecisionKind.RETRY, name, reason, where)


@_command(removals, "skip")
async def skip_removal(name: str, /, *, reason: str = "", where: Whereabouts | None = None) -> None:
    """Treat the server of a parked removal as gone: its Node is deleted, the server is not looked at again.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
        where: which cluster, and its Temporal.
    """
    await _ask(DecisionKind.SKIP, name, reason, where)


@_command(removals, "abandon")
async def abandon_removal(name: str, /, *, reason: str = "", where: Whereabouts | None = None) -> None:
    """Leave the server of a parked removal to its people: the Node may be used again, and Growth spares the server.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
        where: which cluster, and its Temporal.
    """
    await _ask(DecisionKind.ABANDON, name, reason, where)


async def _list(kind: str, where: Whereabouts | None) -> None:
    there = await under_way(where)
    table = Table("NAME", "POOL", "PHASE", "WAITS FOR", "UNTIL (UTC)", box=None, pad_edge=False)
    rows: list[tuple[str, ...]] = []
    for one in await there.all(kind):
        attributes = one.typed_search_attributes
        until = attributes.get(DEADLINE)
        rows.append(
            (
                name_of(one),
                attributes.get(POOL) or "",
                attributes.get(PHASE) or "",
                attributes.get(REASON) or "",
                "" if until is None else f"{until:%Y-%m-%d %H:%M:%S}",
            )
        )
    for row in sorted(rows):
        table.add_row(*row)
    Console().print(table if rows else "none")


async def _ask(kind: DecisionKind, name: str, reason: str, where: Whereabouts | None) -> None:
    there = await under_way(where)
    found = await there.one(NODE_REMOVAL, name)
    limit = ANSWERED_WITHIN if await there.has_worker() else ANSWERED_BY_NOBODY
    patience = asyncio.create_task(_tell_of_waiting(there))
    try:
        answer: str = await there.client.get_workflow_handle(found.id).execute_update(
            kind.value, Asked(by=_person(), reason=reason), result_type=str, rpc_timeout=limit
        )
    except WorkflowUpdateFailedError as error:
        raise CommandError(str(error.cause or error)) from error
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise CommandError(
            f"{name}: no worker of cluster {there.cluster} has answered within {limit.seconds} s: is `growth run` up? "
            "`growth removals list` tells whether it was done"
        ) from error
    except RPCError as error:
        raise there.failure(error) from error
    finally:
        patience.cancel()
    print(f"{name}: {answer}")


async def _tell_of_waiting(there: UnderWay) -> None:
    await asyncio.sleep(PATIENCE_SECONDS)
    print(f"growth: waiting for the worker of cluster {there.cluster}", file=sys.stderr)


def _person() -> str:
    """Return who asks, for the record."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user need not have a name.
        return f"uid {os.getuid()}"
