"""Everything an activity may reach, handed in from outside: the worker and the simulator fill it differently."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from activities.ports.attachments import Attachments
from activities.ports.cluster import Cluster, Getter, Object, ObjectList, Resource
from activities.ports.identity import ClusterIdentity
from activities.ports.provider import Provider
from activities.ports.server_lists import ServerLists
from activities.ports.simulated_kinds import SimulatedKinds
from activities.ports.usage import UsageSamples
from planner.model.plan import Plan, Snapshot
from planner.model.stages import Stage
from planner.objects.class_template import ClassTemplate
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packer


class Reader(Getter, Protocol):
    """Where a round reads pods and nodes from: a watch cache, which may be behind, or the API server."""

    async def list(self, resource: Resource) -> ObjectList:
        """Return all objects of the resource, and the version they are from."""
        ...


T = TypeVar("T")


class Compute(Protocol):
    """Runs a long, pure computation."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Return the result of `work`."""
        ...


async def in_place(work: Callable[[], T], /) -> T:
    """Run `work` on the event loop: for the simulator, whose loop knows no other thread."""
    return work()


def _fallback() -> Packer:
    return pack


class Packers(Protocol):
    """Gives each round its packer."""

    def for_round(self) -> Packer:
        """Return the packer of one round, whose packings share the time that a round has for them.

        It is called where `compute` runs the round, and may take seconds.
        """
        ...

    @property
    def is_starting(self) -> bool:
        """Whether what is packed now costs more than what is packed in some seconds."""
        ...

    async def until_started(self) -> None:
        """Wait while `is_starting`: no longer than some seconds, however often it is asked."""
        ...


@dataclass(frozen=True, slots=True)
class ReadyPackers:
    """Packers that are as good at once as they will be."""

    of_round: Callable[[], Packer] = _fallback

    def for_round(self) -> Packer:
        """Return the packer of one round."""
        return self.of_round()

    @property
    def is_starting(self) -> bool:
        """Return that nothing is waited for."""
        return False

    async def until_started(self) -> None:
        """Return at once."""


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
    accounts: Mapping[str, Callable[[Object], str]] = field(default_factory=dict)
    """By kind of node class: returns what is the same for classes of one account. Without one, each has its own."""
    templates: Mapping[str, Callable[[Object], ClassTemplate]] = field(default_factory=dict)
    """By kind of node class: returns what its machines are made with, or raises InvalidConfiguration. Without one, none
    of them drifts."""
    simulated: SimulatedKinds = field(default_factory=SimulatedKinds)
    """The kinds of node class whose machines are simulated. Without any, no class is held back for that."""
    usage: UsageSamples = field(default_factory=UsageSamples)
    """What this worker has seen Nodes use."""
    cluster_uid: str = ""
    """Of the namespace kube-system: tells this cluster from others of its name. Empty: the name alone does."""
    watched_since: Callable[[], datetime | None] = lambda: None
    """Returns since when Nodes are seen without a break; None does not tell, as where each look is live."""
    watched_for: Callable[[], timedelta | None] = lambda: None
    """For how long this worker has been there and the API server has answered it, without a break; None: not known."""
    own_pods: frozenset[str] = frozenset()
    """Pods of the worker and its Temporal, as namespace/name: their nodes are never removed."""
    attachments: Attachments = field(default_factory=Attachments)
    """The volumes attached to nodes, as the removals of this worker share them."""
    server_lists: ServerLists = field(default_factory=ServerLists)
    """The servers of each provider, as the machines at rest of this worker share them."""
    elapsed: Callable[[], float] = time.monotonic
    """Seconds since some moment, by a clock that nobody sets. It may stand still while the machine sleeps."""
    compute: Compute = asyncio.to_thread
    """Off the event loop, so that a big round does not keep other activities from their heartbeats."""
    tell_stages: Callable[[Mapping[Stage, float]], None] = lambda _: None
    """Called with the seconds that each stage of a round took."""
    tell_round: Callable[[Snapshot, Plan], None] = lambda _snapshot, _plan: None
    """Called with each round that was carried out."""
    packers: Packers = field(default_factory=ReadyPackers)
    """Give each round what puts its pods on machines."""

    @property
    def identity(self) -> ClusterIdentity:
        """What tells this cluster's servers from others'."""
        return ClusterIdentity(self.cluster_name, self.cluster_uid)
