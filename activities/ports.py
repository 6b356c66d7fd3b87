"""Everything an activity may reach, handed in from outside: the worker and the simulator fill it differently."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from activities.cluster import Cluster, ObjectList, Resource
from activities.providers.base import Provider


class Reader(Protocol):
    """Where a round reads pods and nodes from: a watch cache, or a live list."""

    async def list(self, resource: Resource) -> ObjectList:
        """Return all objects of the resource, and the version they are from."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world."""

    cluster: Cluster
    reader: Reader
    providers: Mapping[str, Provider]
    """By kind of node class."""
    now: Callable[[], datetime]
    """The time, UTC: the wall clock, or the simulator's."""
    cluster_name: str
    """Tells this cluster's servers, workflows and events from others'."""
    namespace: str
    """Where Growth keeps its own objects: the fence's Lease, KWOK's server records."""
