"""Classes of simulated machines: how they stand on this cluster, told as their condition and in the log.

A class that is not used here still has its offerings: machines of it that are there already are counted, priced and
removed like all others.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from activities.kube.json_patch import patch_if_same, set_field
from activities.ports.cluster import NODES, Cluster, Object, PatchOp, Resource
from activities.ports.ports import Ports
from activities.ports.simulated_kinds import ALLOWED, ClassUse
from api.meta import READY, Condition, set_condition
from api.model import UnreadableError, read
from api.v1alpha1.node_class_status import NodeClassStatus
from planner.lifecycle.request import REAL_CLUSTER

NO_REAL_NODE: Final = "NoRealNode"
"""Reason of a class whose cluster has lost its last real Node."""
_OURS: Final = frozenset({REAL_CLUSTER, ALLOWED})
"""Reasons of the condition Ready that are withdrawn then: a class that never met a real Node has no condition."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SimulatedClass:
    """A class of simulated machines as a round found it."""

    resource: Resource
    item: Object
    use: ClassUse | None
    """None where no Node is real."""

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name."""
        return self.resource.kind, str(self.item["metadata"]["name"])

    @property
    def barrier(self) -> str:
        """Why nothing of it is bought; empty where it can be."""
        return "" if self.use is None else self.use.barrier


def simulated_classes(
    ports: Ports, nodes: Sequence[Object], classes: Mapping[Resource, Sequence[Object]]
) -> tuple[SimulatedClass, ...]:
    """Return the classes of simulated machines among `classes`, as they stand beside these Nodes.

    All Nodes are gone through once, and only where there is such a class.
    """
    simulated = [
        (resource, item)
        for resource, items in classes.items()
        if resource.kind in ports.simulated.rules
        for item in items
    ]
    real_node = ports.simulated.real_node(nodes) if simulated else None
    return tuple(
        SimulatedClass(resource, item, ports.simulated.use_of(item, real_node)) for resource, item in simulated
    )


async def barrier_of(ports: Ports, node_class: Object) -> str:
    """Return why nothing of a class of simulated machines is bought on this cluster now; empty where it can be.

    Raises:
        Unreachable: the Nodes cannot be read.
    """
    nodes = (await ports.reader.list(NODES)).items
    use = ports.simulated.use_of(node_class, ports.simulated.real_node(nodes))
    return "" if use is None else use.barrier


async def write_condition(cluster: Cluster, simulated: SimulatedClass, now: datetime) -> Object:
    """Write the condition Ready of the class if it says something else, and return the class.

    Raises:
        NotFound: it does not exist any more.
        Conflict: it keeps changing.
    """

    def operations(item: Object) -> Sequence[PatchOp]:
        conditions = _conditions(item, simulated.use, now)
        return [] if conditions is None else set_field(item, ("status", "conditions"), conditions)

    if not operations(simulated.item):
        return simulated.item
    return await patch_if_same(
        cluster, simulated.resource, simulated.item, operations, lambda _: True, subresource="status"
    )


def _conditions(item: Object, use: ClassUse | None, now: datetime) -> list[object] | None:
    """Return the conditions to write; None where they say so already, or cannot be read."""
    try:
        before = read(NodeClassStatus, item.get("status") or {}).conditions
    except UnreadableError:
        return None
    ready = next((each for each in before if each.type == READY), None)
    after = _with_ready(before, ready, use, now, item["metadata"].get("generation"))
    return None if after == before else [each.to_json() for each in after]


def _with_ready(
    before: tuple[Condition, ...],
    ready: Condition | None,
    use: ClassUse | None,
    now: datetime,
    generation: int | None,
) -> tuple[Condition, ...]:
    if use is None:
        if ready is None or ready.reason not in _OURS:
            return before
        return set_condition(before, READY, status=True, reason=NO_REAL_NODE, now=now, generation=generation)
    return set_condition(
        before,
        READY,
        status=use.is_used,
        reason=use.reason,
        message=use.message,
        now=now,
        generation=generation,
    )


class BarrierLog:
    """Logs that classes are not used, when that begins and when it ends: not once a round."""

    def __init__(self) -> None:
        self._is_barred = False

    def tell(self, simulated: Iterable[SimulatedClass]) -> None:
        """Log what has changed since the last round of this worker."""
        barred = [each for each in simulated if each.barrier]
        if barred and not self._is_barred:
            names = ", ".join("/".join(each.key) for each in barred)
            log.warning("nothing of %s is bought: %s", names, barred[0].barrier)
        elif self._is_barred and not barred:
            log.info("simulated machines are bought again: no Node is real")
        self._is_barred = bool(barred)
