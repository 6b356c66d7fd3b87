"""Lost places: machines and Nodes that are none for a class of pods, as the scheduler did not bind them there.

A plan does not know all that a scheduler looks at: its plug-ins, quotas, admission. What it saw differently is
remembered in the status of pools, for the class of pods alone; here is what of that holds in a round.
Source: docs/design.md#refused-placements.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.refused_placement import RefusedPlacement
from planner.model.plan import Reason
from planner.supply.machines import Machine

PLACEMENT_REFUSED: Final = "PlacementRefused"
"""Code and reason of events: the scheduler does not bind pods where a plan has room for them."""

PoolEntries = dict[str, tuple[RefusedPlacement, ...]]
"""What the status of each pool remembers, by its name."""
PodClass = tuple[str, str]
"""Namespace and hash: tenants do not learn from each other, however alike their pods are."""


@dataclass(frozen=True, slots=True)
class LostPlaces:
    """What is no place for a class of pods now."""

    types: frozenset[tuple[str, str]] = frozenset()
    """Pool and server type in lower case."""
    nodes: frozenset[str] = frozenset()
    nodes_before: datetime | None = None
    """Nodes made before that are none, whatever their names."""
    entries: tuple[tuple[str, RefusedPlacement], ...] = ()
    """Why, with the pool that remembers it."""

    def stops_buying(self, pool: str, server_type: str) -> bool:
        """Return whether no machine of this type is bought of the pool for these pods."""
        return (pool, server_type.lower()) in self.types

    def loses(self, machine: Machine, *, is_coming: bool) -> bool:
        """Return whether the machine is no place for these pods; one that comes is as one that would be bought."""
        if is_coming and self.stops_buying(machine.pool, machine.server_type):
            return True
        return machine.node is not None and self.loses_node(machine.node.name, machine.node.created_at)

    def loses_node(self, name: str, created_at: datetime | None) -> bool:
        """Return whether the Node is no place for these pods."""
        if name in self.nodes:
            return True
        return self.nodes_before is not None and created_at is not None and created_at < self.nodes_before

    def reasons(self, pools: Sequence[str]) -> Iterator[Reason]:
        """Yield what pods of the class are told: of types of these pools, and of Nodes."""
        for pool, entry in self.entries:
            is_of_nodes = entry.server_type is None and (entry.nodes or entry.nodes_before is not None)
            if is_of_nodes or (entry.server_type is not None and pool in pools):
                yield Reason(PLACEMENT_REFUSED, sentence(pool, entry), entry.server_type)


class LostPlacesByClass:
    """What is lost to whom at a time."""

    def __init__(self, remembered: PoolEntries, now: datetime) -> None:
        by_class: dict[PodClass, list[tuple[str, RefusedPlacement]]] = {}
        for pool, entries in sorted(remembered.items()):
            for entry in entries:
                if entry.until is not None and now < entry.until:
                    by_class.setdefault((entry.namespace, entry.pod_class), []).append((pool, entry))
        self._known = {pod_class: _joined(entries) for pod_class, entries in by_class.items()}

    def of(self, namespace: str, pod_class: str) -> LostPlaces | None:
        """Return what is no place for pods of this class in this namespace; None where nothing is known."""
        return self._known.get((namespace, pod_class)) if self._known else None


def _joined(entries: Sequence[tuple[str, RefusedPlacement]]) -> LostPlaces:
    of_types = [(pool, entry.server_type.lower()) for pool, entry in entries if entry.server_type is not None]
    of_nodes = [entry for _, entry in entries if entry.server_type is None]
    return LostPlaces(
        types=frozenset(of_types),
        nodes=frozenset(name for entry in of_nodes for name in entry.nodes),
        nodes_before=max((e.nodes_before for e in of_nodes if e.nodes_before is not None), default=None),
        entries=tuple(entries),
    )


def remembered_of(pools: Iterable[NodePool]) -> PoolEntries:
    """Return what the pools remember, as far as any does."""
    of_pools = ((pool.metadata.name, pool.status.refused_placements) for pool in pools)
    return {name: entries for name, entries in of_pools if entries}


def sentence(pool: str, entry: RefusedPlacement) -> str:
    """Return what an entry that holds says, for people."""
    until = "" if entry.until is None else f" until {format_timestamp(entry.until)}"
    said = f": {entry.message}" if entry.message else ""
    pod = f"pod {entry.namespace}/{entry.pod}"
    if entry.server_type is None:
        are = [*entry.nodes, *(["others that are as old"] if entry.nodes_before is not None else [])]
        nodes = f"node {are[0]} counts" if len(are) == 1 else f"nodes {', '.join(are)} count"
        return f"{nodes} as no place for such pods{until}: {pod} was not bound there{said}"
    on = f" on node {entry.nodes[-1]}" if entry.nodes else ""
    return (
        f"pool {pool} buys no {entry.server_type} for such pods{until}: bought for {pod}, "
        f"which the scheduler did not bind{on}{said}"
    )
