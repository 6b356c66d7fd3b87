"""How a person's decision reaches the workflow of a removal, and the error when it does not."""

import asyncio
import getpass
import os
import sys
from datetime import timedelta
from typing import Final

from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from planner.lifecycle.step import DecisionKind
from worker.commands.lifecycles.running import UnderWay
from worker.errors import CommandError
from workflows.messages import Asked
from workflows.node_removal import REFUSED

ANSWERED_WITHIN: Final = timedelta(seconds=15)
"""A busy worker may take a few seconds."""
ANSWERED_BY_NOBODY: Final = timedelta(seconds=4)
"""When no worker has asked for work lately: one may have started this moment."""
PATIENCE_SECONDS: Final = 3.0
"""After it, a line on standard error says what is waited for."""


AGAIN: Final = "`growth removals replay` starts again what was not done"


class Ended(CommandError):
    """The removal, or its workflow, ended before it could be asked or could answer."""


class DecisionRefused(CommandError):
    """The decision has no effect, and the removal goes on as before."""


async def limit_of(running: UnderWay) -> timedelta:
    """Return the time limit for an answer: short where no worker has asked for work lately.

    Raises:
        CommandError: the server does not tell.
    """
    return ANSWERED_WITHIN if await running.has_worker() else ANSWERED_BY_NOBODY


async def ask(
    running: UnderWay,
    workflow_id: str,
    kind: DecisionKind,
    name: str,
    reason: str,
    *,
    limit: timedelta,
    update_id: str | None = None,
) -> str:
    """Ask a decision of a running removal, and return what was done.

    Args:
        running: what runs of the cluster.
        workflow_id: of the removal.
        kind: the decision.
        name: of the removal, for messages.
        reason: why, for the record.
        limit: how long to wait for the answer.
        update_id: what is asked twice with the same id is done once, and both get the one answer.

    Raises:
        Ended: there is nothing left to ask.
        Refused: it has no effect now; the message says why.
        CommandError: it was not answered.
    """
    try:
        answer: str = await running.client.get_workflow_handle(workflow_id).execute_update(
            kind.value, Asked(by=person(), reason=reason), id=update_id, result_type=str, rpc_timeout=limit
        )
    except WorkflowUpdateFailedError as error:
        raise _refusal(name, kind, error) from error
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise await _unanswered(running, workflow_id, name, limit) from error
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise Ended(f"{name}: the removal has ended meanwhile, or its workflow has; {AGAIN}") from error
        raise running.failure(error) from error
    return answer


async def _unanswered(running: UnderWay, workflow_id: str, name: str, limit: timedelta) -> CommandError:
    """Return why no answer came: what the worker fails at, or that there is none."""
    trouble = await running.trouble_of(workflow_id)
    if trouble:
        return CommandError(
            f"{name}: not done within {limit.seconds} s, and tried on: {trouble}; `growth removals list` tells when"
        )
    return CommandError(
        f"{name}: no worker of cluster {running.cluster} has answered within {limit.seconds} s: is `growth run` up? "
        "`growth removals list` tells whether it was done"
    )


def _refusal(name: str, kind: DecisionKind, error: WorkflowUpdateFailedError) -> CommandError:
    """Return why a decision was not carried out: refused, or its workflow was ended before it answered."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type == REFUSED:
        return DecisionRefused(str(cause))
    return Ended(f"{name}: its workflow was ended before it answered to {kind}; {AGAIN}")


async def tell_of_waiting(running: UnderWay) -> None:
    """Tell on standard error, after a while, what is waited for; to be cancelled when the answer is there."""
    await asyncio.sleep(PATIENCE_SECONDS)
    print(f"growth: waiting for the worker of cluster {running.cluster}", file=sys.stderr)


def person() -> str:
    """Return the name of the user who asks, for the record."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user need not have a name.
        return f"uid {os.getuid()}"
