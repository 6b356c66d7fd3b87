"""`growth requests` and `growth removals`: what is under way, and what a person may ask of it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Literal, ParamSpec

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table
from temporalio.service import RPCError

from planner.lifecycle.kinds import REMOVAL, REQUEST
from planner.lifecycle.step import DecisionKind
from worker.commands.lifecycles.running import CALL_LIMIT, ENDED_EARLY, Whereabouts, name_of, under_way
from worker.commands.lifecycles.send_decision import ask, limit_of, tell_of_waiting
from worker.errors import AtOnce, CommandError
from workflows.messages import DEADLINE, PHASE, POOL, REASON

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
    await _list(REQUEST.workflow, where)


@_command(removals, "list")
async def list_removals(*, where: Whereabouts | None = None) -> None:
    """List the machines that shall go."""
    await _list(REMOVAL.workflow, where)


@_command(requests, "cancel")
async def cancel_request(name: str, /, *, where: Whereabouts | None = None) -> None:
    """Cancel a request: its server is deleted, unless its Node is Ready already; then only the record goes.

    Args:
        name: name of the NodeRequest.
        where: which cluster, and its Temporal.
    """
    there = await under_way(where)
    found = await there.one(REQUEST.workflow, name)
    is_heard = await there.has_worker()
    try:
        await there.client.get_workflow_handle(found.id).cancel(rpc_timeout=CALL_LIMIT)
    except RPCError as error:
        raise there.failure(error) from error
    # A workflow that a person has ended takes a cancel without a word.
    state = await there.state_of(found.id)
    if state in ENDED_EARLY:
        raise CommandError(
            f"{name}: its workflow was ended meanwhile ({state}); the worker starts it again within a minute: ask then"
        )
    print(f"{name}: {'cancelled' if is_heard else f'is cancelled when a worker of cluster {there.cluster} is up'}")


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


@_command(removals, "replay")
async def replay_removals(
    *names: Annotated[str, Parameter(name="NAME")],
    node: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    pool: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    all_parked: Annotated[bool, Parameter(negative="")] = False,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    reason: str = "",
    output: Annotated[Literal["table", "json"], Parameter(name=["--output", "-o"])] = "table",
    kubeconfig: Path | None = None,
    context: str | None = None,
    where: Whereabouts | None = None,
) -> None:
    """Try failed removals again: parked ones, and those whose workflow has ended before its work was done.

    What is under way is left alone. The provider is asked first for each server.

    Args:
        names: names of NodeRemovalRequests.
        node: the removal of this Node; may be repeated.
        pool: all removals of this pool; may be repeated.
        all_parked: all parked removals.
        dry_run: only print what would be done.
        reason: why; kept on the objects.
        output: a table for people, or data.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.
        where: which cluster, and its Temporal.
    """
    # The other commands of this module do without a client of Kubernetes, which takes its time to load.
    from worker.commands.lifecycles.replay_command import replay  # noqa: PLC0415
    from worker.commands.lifecycles.replay_look import Selection  # noqa: PLC0415

    await replay(
        Selection(names=names, nodes=node, pools=pool, all_parked=all_parked),
        reason=reason,
        dry_run=dry_run,
        output=output,
        kubeconfig=kubeconfig,
        context=context,
        where=where,
    )


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
    found = await there.one(REMOVAL.workflow, name)
    limit = await limit_of(there)
    patience = asyncio.create_task(tell_of_waiting(there))
    try:
        answer = await ask(there, found.id, kind, name, reason, limit=limit)
    finally:
        patience.cancel()
    print(f"{name}: {answer}")
