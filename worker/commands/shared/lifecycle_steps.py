"""The next step of each request and removal, by the lifecycles' own looks and step functions.

The provider is not asked, as these commands only read the cluster: its answer counts as not known.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.removals.look import look_at_removal
from activities.requests.look import look_at_request
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle import removal, request
from planner.lifecycle.step import Step, Wait, shortened
from worker.commands.shared.read_once import ReadOnce

_GONE: Final = "Gone"


async def next_steps(
    ports: Ports,
    cluster: ReadOnce,
    requests: Iterable[NodeRequest],
    removals: Iterable[NodeRemovalRequest],
) -> Mapping[str, Step]:
    """Return the next step by uid of the object; of one that cannot be read further, a wait that says why.

    Args:
        ports: of the command.
        cluster: the same cluster as it was read, so that all steps are of one moment.
        requests: whose steps are wanted.
        removals: likewise.
    """
    read = replace(ports, cluster=cluster, reader=cluster, providers={})

    async def of_request(name: str, uid: str) -> Step | None:
        looked = await look_at_request(read, name, uid)
        return None if looked is None else request.next_step(looked.seen, read.now())

    async def of_removal(name: str, uid: str) -> Step | None:
        looked = await look_at_removal(read, name, uid)
        return None if looked is None else removal.next_step(looked.seen, None, read.now())

    steps = {one.metadata.uid: await _step(of_request, one) for one in requests}
    return steps | {one.metadata.uid: await _step(of_removal, one) for one in removals}


async def _step(
    step_of: Callable[[str, str], Awaitable[Step | None]], subject: NodeRequest | NodeRemovalRequest
) -> Step:
    try:
        step = await step_of(subject.metadata.name, subject.metadata.uid)
    except GrowthError as error:
        return Wait(reason=error.reason, message=shortened(str(error)), until=None)
    # Only an object that is held by other owners' finalizers is listed and yet has no lifecycle any more.
    return step or Wait(reason=_GONE, message="its lifecycle is over, others' finalizers hold the object", until=None)
