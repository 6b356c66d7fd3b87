"""`growth requests` and `growth removals`: what is under way, and what a person may ask of it."""

import getpass
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from cyclopts import App
from rich.console import Console
from rich.table import Table
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError

from planner.lifecycle.step import DecisionKind
from worker.command_error import CommandError
from worker.embedded import EmbeddedError, embedded_address
from worker.settings import Settings, load, task_queue
from worker.temporal import connect
from workflows.messages import DEADLINE, NODE_REMOVAL, NODE_REQUEST, PHASE, POOL, REASON, Asked

ANSWERED_WITHIN: Final = timedelta(seconds=30)

requests = App(name="requests", help="Machines that shall come.")
removals = App(name="removals", help="Machines that shall go.")


@requests.command(name="list")
async def list_requests() -> None:
    """List the machines that shall come."""
    await _list(NODE_REQUEST)


@removals.command(name="list")
async def list_removals() -> None:
    """List the machines that shall go."""
    await _list(NODE_REMOVAL)


@requests.command(name="cancel")
async def cancel_request(name: str) -> None:
    """Cancel a request: its server is deleted, unless its Node is Ready already; then only the record goes.

    Args:
        name: name of the NodeRequest.
    """
    settings, client = await _client()
    found = await _one(client, settings, NODE_REQUEST, name)
    try:
        await client.get_workflow_handle(found.id).cancel()
    except RPCError as error:
        raise CommandError(f"{name}: {error.message}") from error
    print(f"{name}: cancelled")


@removals.command(name="cancel")
async def cancel_removal(name: str, *, reason: str = "") -> None:
    """Cancel a removal before its point of no return: the Node stays.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
    """
    await _ask(DecisionKind.CANCEL, name, reason)


@removals.command(name="retry")
async def retry_removal(name: str, *, reason: str = "") -> None:
    """Try to delete the server of a parked removal again.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
    """
    await _ask(DecisionKind.RETRY, name, reason)


@removals.command(name="skip")
async def skip_removal(name: str, *, reason: str = "") -> None:
    """Treat the server of a parked removal as gone: its Node is deleted, the server is not looked at again.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
    """
    await _ask(DecisionKind.SKIP, name, reason)


@removals.command(name="abandon")
async def abandon_removal(name: str, *, reason: str = "") -> None:
    """Leave the server of a parked removal to its people: the Node may be used again, and Growth spares the server.

    Args:
        name: name of the NodeRemovalRequest.
        reason: why; kept on the object.
    """
    await _ask(DecisionKind.ABANDON, name, reason)


async def _client() -> tuple[Settings, Client]:
    settings = load()
    address = _address(settings)
    try:
        return settings, await connect(settings, address, attempts=1)
    except (RuntimeError, OSError) as error:
        raise CommandError(
            f"Temporal at {address} does not answer: is the worker up? Else set GROWTH_TEMPORAL_ADDRESS, "
            "or GROWTH_DATA_DIR to the folder of its embedded server"
        ) from error


def _address(settings: Settings) -> str:
    """Return where Temporal is: as set; else the embedded server of the data folder, if one runs there."""
    if "temporal_address" in settings.model_fields_set and not settings.embedded_temporal:
        return settings.temporal_address
    try:
        return embedded_address(settings.data_dir)
    except EmbeddedError as error:
        if settings.embedded_temporal:
            raise CommandError(str(error)) from error
        return settings.temporal_address


async def _running(client: Client, settings: Settings, kind: str) -> AsyncIterator[WorkflowExecution]:
    query = f"TaskQueue = '{task_queue(settings.cluster)}' AND WorkflowType = '{kind}' AND ExecutionStatus = 'Running'"
    try:
        async for one in client.list_workflows(query):
            yield one
    except RPCError as error:
        raise CommandError(f"Temporal refuses the list: {error.message}") from error


async def _one(client: Client, settings: Settings, kind: str, name: str) -> WorkflowExecution:
    """Return the running lifecycle of the object of that name."""
    async for one in _running(client, settings, kind):
        if _name_of(one) == name:
            return one
    raise CommandError(f"{name}: no {kind} of that name is under way in cluster {settings.cluster}")


async def _list(kind: str) -> None:
    settings, client = await _client()
    table = Table("NAME", "POOL", "PHASE", "WAITS FOR", "UNTIL (UTC)", box=None, pad_edge=False)
    rows: list[tuple[str, ...]] = []
    async for one in _running(client, settings, kind):
        attributes = one.typed_search_attributes
        until = attributes.get(DEADLINE)
        rows.append(
            (
                _name_of(one),
                attributes.get(POOL) or "",
                attributes.get(PHASE) or "",
                attributes.get(REASON) or "",
                "" if until is None else f"{until:%Y-%m-%d %H:%M:%S}",
            )
        )
    for row in sorted(rows):
        table.add_row(*row)
    Console().print(table if rows else "none")


async def _ask(kind: DecisionKind, name: str, reason: str) -> None:
    settings, client = await _client()
    found = await _one(client, settings, NODE_REMOVAL, name)
    try:
        answer: str = await client.get_workflow_handle(found.id).execute_update(
            kind.value, Asked(by=getpass.getuser(), reason=reason), result_type=str, rpc_timeout=ANSWERED_WITHIN
        )
    except WorkflowUpdateFailedError as error:
        raise CommandError(str(error.cause or error)) from error
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise CommandError(f"{name}: no worker has answered yet; the wish is kept, look again with `list`") from error
    except RPCError as error:
        raise CommandError(f"{name}: {error.message}") from error
    print(f"{name}: {answer}")


def _name_of(workflow: WorkflowExecution) -> str:
    return workflow.id.split(":")[2]
