"""`growth removals`: the machines that go, and what a person may decide about one."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from planner.lifecycle.kinds import REMOVAL
from planner.lifecycle.step import DecisionKind
from worker.commands.lifecycles.group import lifecycle_app, register
from worker.commands.lifecycles.group_help import GROUP_HELP
from worker.commands.lifecycles.running import Whereabouts, under_way
from worker.commands.lifecycles.send_decision import ask, limit_of, tell_of_waiting

app = lifecycle_app(REMOVAL, GROUP_HELP["removals"])

DECISIONS: Final = {
    DecisionKind.CANCEL: "Cancel a removal before its point of no return: the Node stays.",
    DecisionKind.RETRY: "Try to delete the server of a parked removal again.",
    DecisionKind.SKIP: (
        "Treat the server of a parked removal as gone: its Node is deleted, the server is not looked at again."
    ),
    DecisionKind.ABANDON: (
        "Leave the server of a parked removal to its people: the Node may be used again, and Growth spares the server."
    ),
}
"""The decisions that a person may send, with the help of their commands."""


async def decide(kind: DecisionKind, name: str, *, reason: str = "", where: Whereabouts | None = None) -> None:
    """Send a decision to the workflow of a removal, and print the answer.

    Raises:
        CommandError: there is no such removal, it refuses, or nobody answers.
    """
    running = await under_way(where)
    execution = await running.find(
        REMOVAL.workflow, name, otherwise=f", and `growth removals replay {name}` starts again what has an object"
    )
    limit = await limit_of(running)
    patience = asyncio.create_task(tell_of_waiting(running))
    try:
        answer = await ask(running, execution.id, kind, name, reason, limit=limit)
    finally:
        patience.cancel()
    print(f"{name}: {answer}")


def _deciding(kind: DecisionKind) -> Callable[..., Awaitable[None]]:
    async def command(name: str, /, *, reason: str = "", where: Whereabouts | None = None) -> None:
        """Decide on a removal.

        Args:
            name: name of the NodeRemovalRequest.
            reason: why; kept on the object.
            where: which cluster, and its Temporal.
        """
        await decide(kind, name, reason=reason, where=where)

    return command


async def replay(
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
    from worker.commands.lifecycles.replay_command import replay as replay_all  # noqa: PLC0415
    from worker.commands.lifecycles.replay_look import Selection  # noqa: PLC0415

    await replay_all(
        Selection(names=names, nodes=node, pools=pool, all_parked=all_parked),
        reason=reason,
        dry_run=dry_run,
        output=output,
        kubeconfig=kubeconfig,
        context=context,
        where=where,
    )


for _kind, _summary in DECISIONS.items():
    register(app, _kind.value, _deciding(_kind), summary=_summary)
register(app, "replay", replay)
