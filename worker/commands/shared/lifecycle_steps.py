"""The next step of each request and removal, by the lifecycles' own looks and step functions.

The provider is not asked, as these commands only read the cluster: its answer counts as not known.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.removals.look import RemovalObjects, look_at_removal
from activities.requests.look import RequestObjects, look_at_request
from api.meta import ObjectMeta
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.kinds import REMOVAL, REQUEST, LifecycleKind
from planner.lifecycle.step import Step, Wait, shortened
from worker.commands.shared.read_once import ReadOnce

Look = Callable[[Ports, str, str], Awaitable[RequestObjects | RemovalObjects | None]]

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
    # The rows of `activities.registry` have the looks, too, but load the client of Temporal.
    kinds = ((REQUEST, look_at_request, requests), (REMOVAL, look_at_removal, removals))
    return {
        one.metadata.uid: await _step(read, kind, look, one.metadata)
        for kind, look, of_kind in kinds
        for one in of_kind
    }


async def _step(ports: Ports, kind: LifecycleKind[Any], look: Look, subject: ObjectMeta) -> Step:
    try:
        looked = await look(ports, subject.name, subject.uid)
    except GrowthError as error:
        return Wait(reason=error.reason, message=shortened(str(error)), until=None)
    if looked is None:
        # Only an object that is held by other owners' finalizers is listed and yet has no lifecycle any more.
        return Wait(reason=_GONE, message="its lifecycle is over, others' finalizers hold the object", until=None)
    return kind.next_step(looked.seen, None, ports.now())
