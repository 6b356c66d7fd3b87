"""`growth requests`: the machines that come, and what a person may ask of one."""

from temporalio.service import RPCError

from planner.lifecycle.kinds import REQUEST
from worker.commands.lifecycles.group import lifecycle_app, register
from worker.commands.lifecycles.group_help import GROUP_HELP
from worker.commands.lifecycles.running import CALL_LIMIT, ENDED_EARLY, Whereabouts, under_way
from worker.errors import CommandError

app = lifecycle_app(REQUEST, GROUP_HELP["requests"])


async def cancel(name: str, /, *, where: Whereabouts | None = None) -> None:
    """Cancel a request: its server is deleted, unless its Node is Ready already; then only the record goes.

    Args:
        name: name of the NodeRequest.
        where: which cluster, and its Temporal.
    """
    running = await under_way(where)
    execution = await running.find(REQUEST.workflow, name)
    is_heard = await running.has_worker()
    try:
        await running.client.get_workflow_handle(execution.id).cancel(rpc_timeout=CALL_LIMIT)
    except RPCError as error:
        raise running.failure(error) from error
    # A workflow that a person has ended takes a cancel without a word.
    state = await running.state_of(execution.id)
    if state in ENDED_EARLY:
        raise CommandError(
            f"{name}: its workflow was ended meanwhile ({state}); the worker starts it again within a minute: ask then"
        )
    print(f"{name}: {'cancelled' if is_heard else f'is cancelled when a worker of cluster {running.cluster} is up'}")


register(app, "cancel", cancel)
