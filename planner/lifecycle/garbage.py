"""Garbage: servers, Nodes and taints that no object stands for any more, found in one observation.

Servers of nobody, Nodes whose server is gone, taints whose reason is gone. Pure; `activities.garbage.sweep`
removes it. Nothing is garbage by one look alone: `confirmed` asks for two, some time
apart, and `excess` stops removals when so much looks like garbage that the look itself must be wrong.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from api.v1alpha1.node_request import RequestPhase

_REMEMBERED: Final = 1000
"""Findings that a sweep keeps in mind; those beyond come up again once these are healed."""


@dataclass(frozen=True, slots=True)
class Guards:
    """The limits that keep a sweep from healing too early or too much."""

    oldest_young: timedelta = timedelta(minutes=10)
    """What was made within this may still be on its way into the objects."""
    apart: timedelta = timedelta(seconds=30)
    """Between two sightings: within it, a cache or a provider's list catches up."""
    percent: int = 20
    """More orphans at once than this share of the listed servers, and more than one, are an error of the look."""


class Garbage(StrEnum):
    """Kinds of garbage; each is also the reason of the event that tells of it."""

    ORPHAN = "Orphan"
    """A server without request, removal and Node."""
    STRAY = "OrphanNode"
    """A server whose Node joined after request and removal had gone: nobody registers it."""
    SERVER_GONE = "ServerGone"
    """A Node that is not Ready and whose server does not exist."""
    RESERVED = "StaleReservation"
    """A reservation's taint, but no reservation."""
    SCALE_DOWN = "StaleScaleDown"
    """A cool-off's taint, but no removal."""
    UNREGISTERED = "StaleStartup"
    """The startup taint on a Node that is no machine of this cluster's Growth."""


class ProviderAnswer(StrEnum):
    """What the providers say of the server of one Node."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    """All of them say NotFound."""
    THERE = "there"
    """It exists and is the Node's."""
    OTHER = "other"
    """One of that name exists, and is not the Node's."""


@dataclass(frozen=True, slots=True)
class ServerFact:
    """A server at a provider, with this cluster's label on it."""

    name: str
    provider_id: str
    class_kind: str
    """Kind of node class that its provider serves."""
    created_at: datetime
    pool: str = ""
    server_type: str = ""
    location: str = ""
    request: str = ""
    """Label: name of the request that made it. Empty or another one: nothing shows that Growth did."""
    request_uid: str = ""
    is_abandoned: bool = False
    class_name: str = ""
    """Label: node class that it was made by, where its provider knows several accounts."""
    is_proven: bool = True
    """It is certainly this cluster's. Else it bears the name alone, which another cluster may bear too."""

    @property
    def is_growths(self) -> bool:
        """Whether its labels say that a request of its name made it."""
        return self.request == self.name and bool(self.request_uid)


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A Node."""

    name: str
    uid: str
    created_at: datetime
    provider_id: str = ""
    pool: str = ""
    server_type: str = ""
    location: str = ""
    request: str = ""
    request_uid: str = ""
    is_ready: bool = True
    is_kept: bool = False
    """A person annotated it do-not-remove."""
    is_terminating: bool = False
    reserved: tuple[str, ...] = ()
    """Values of its reservation taints: names of requests."""
    scale_down: bool = False
    unregistered: bool = False

    @property
    def is_growths(self) -> bool:
        """Whether its labels say that a request of its name made it."""
        return self.request == self.name


@dataclass(frozen=True, slots=True)
class RequestFact:
    """A NodeRequest, readable or not."""

    name: str
    uid: str
    phase: str = RequestPhase.PENDING
    is_released: bool = False
    """Its reservation has ended."""


@dataclass(frozen=True, slots=True)
class RemovalFact:
    """A NodeRemovalRequest, readable or not."""

    name: str
    node_name: str = ""


@dataclass(frozen=True, slots=True)
class GarbageSeen:
    """The observation of a sweep; the servers were listed before everything else.

    In this order a server that is made meanwhile is missing in the list, not without a request.
    """

    now: datetime
    servers: tuple[ServerFact, ...] | None = None
    """None: not all providers could be asked, so no server can be called an orphan."""
    requests: Mapping[str, RequestFact] = field(default_factory=dict)
    """By name."""
    removals: tuple[RemovalFact, ...] = ()
    nodes: tuple[NodeFact, ...] = ()
    answers: Mapping[str, tuple[ProviderAnswer, ServerFact | None]] = field(default_factory=dict)
    """On the server of a Node, by the Node's name, of those in `suspects`."""
    occupied: frozenset[str] = frozenset()
    """Nodes in `suspects` with a pod on them that is not a DaemonSet's or a mirror pod."""

    @property
    def under_removal(self) -> frozenset[str]:
        """Names of all servers and Nodes that removals are about."""
        return frozenset(name for one in self.removals for name in (one.name, one.node_name) if name)

    def is_claimed(self, name: str) -> bool:
        """Return whether a request or a removal is about the machine of this name."""
        return name in self.requests or name in self.under_removal


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of garbage."""

    kind: Garbage
    name: str
    """Of the server or the Node."""
    identity: str
    """Id or uid: a later machine of that name is another one."""
    why: str
    """A sentence for people."""
    value: str = ""
    """Of the taint."""
    server: ServerFact | None = None
    node: NodeFact | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the finding in later sweeps."""
        return self.kind, self.name, self.identity, self.value

    @property
    def is_orphan(self) -> bool:
        """Whether healing it deletes a server that exists."""
        return self.kind in {Garbage.ORPHAN, Garbage.STRAY}


def suspects(seen: GarbageSeen, guards: Guards) -> tuple[NodeFact, ...]:
    """Return the Nodes whose server has to be looked up by name: a list does not prove an absence."""
    if seen.servers is None:
        return ()
    listed = {name for one in seen.servers for name in (one.name, one.provider_id)}
    return tuple(
        node
        for node in seen.nodes
        if not (seen.is_claimed(node.name) or node.is_terminating or node.is_kept)
        and (
            (node.unregistered and _is_old(node.created_at, seen.now, guards))
            or (node.is_growths and not node.is_ready and not listed & {node.name, node.provider_id})
        )
    )


def garbage(seen: GarbageSeen, guards: Guards) -> tuple[Finding, ...]:
    """Return all findings of this observation, in the order of names."""
    asked = {node.name for node in suspects(seen, guards)}
    findings = [*_orphans(seen, guards)]
    for node in seen.nodes:
        if node.name in asked:
            findings += _by_answer(node, seen)
        findings += _stale_taints(node, seen)
    return tuple(sorted(findings, key=lambda one: (one.name, one.key)))


def confirmed(
    findings: Sequence[Finding], before: Mapping[tuple[str, str, str, str], datetime], now: datetime, guards: Guards
) -> tuple[tuple[Finding, ...], dict[tuple[str, str, str, str], datetime]]:
    """Return the garbage that a sweep long enough ago found too, and the memory for the next sweep.

    Args:
        findings: in this sweep.
        before: the memory that the sweep before this one returned; empty if it could not see everything.
        now: the time.
        guards: how long ago is long enough.
    """
    remembered = findings[:_REMEMBERED]
    due = tuple(one for one in remembered if one.key in before and now - before[one.key] >= guards.apart)
    return due, {one.key: before.get(one.key, now) for one in remembered}


def excess(findings: Iterable[Finding], seen: GarbageSeen, guards: Guards) -> tuple[Finding, ...]:
    """Return all orphans if they are too many to be believed, else nothing."""
    orphans = tuple(one for one in findings if one.is_orphan)
    listed = len(seen.servers or ())
    return orphans if len(orphans) > max(1, listed * guards.percent // 100) else ()


def _orphans(seen: GarbageSeen, guards: Guards) -> Iterator[Finding]:
    nodes = {name for node in seen.nodes for name in (node.name, node.provider_id) if name}
    for server in seen.servers or ():
        if (
            server.is_growths
            and server.is_proven
            and not server.is_abandoned
            and _is_old(server.created_at, seen.now, guards)
            # Also one of that name and another uid: it may be about to adopt or to refuse this server.
            and not seen.is_claimed(server.name)
            and not nodes & {server.name, server.provider_id}
        ):
            why = "The server belongs to no request, no removal and no Node of this cluster: it is deleted"
            yield Finding(Garbage.ORPHAN, server.name, server.provider_id, why, server=server)


def _by_answer(node: NodeFact, seen: GarbageSeen) -> Iterator[Finding]:
    answer, server = seen.answers.get(node.name, (ProviderAnswer.UNKNOWN, None))
    if answer is ProviderAnswer.ABSENT and node.is_growths and not node.is_ready:
        why = "Its server does not exist any more and it is not Ready: the Node object is deleted"
        yield Finding(Garbage.SERVER_GONE, node.name, node.uid, why, node=node)
    elif node.unregistered and answer is ProviderAnswer.THERE and server is not None:
        if server.is_growths and not server.is_abandoned and node.name not in seen.occupied:
            why = "It joined when its request had gone, so nobody opens it for pods: its server is deleted"
            yield Finding(Garbage.STRAY, node.name, node.uid, why, server=server, node=node)
    elif node.unregistered and answer in {ProviderAnswer.ABSENT, ProviderAnswer.OTHER} and not node.request:
        why = "It has the startup taint of a machine, but no request and no server made it: the taint is lifted"
        yield Finding(Garbage.UNREGISTERED, node.name, node.uid, why, node=node)


def _stale_taints(node: NodeFact, seen: GarbageSeen) -> Iterator[Finding]:
    for value in node.reserved:
        request = seen.requests.get(value)
        why = ""
        if request is None:
            why = f"It is reserved for NodeRequest {value}, which does not exist"
        elif value != node.name or (node.request_uid and node.request_uid != request.uid):
            why = f"It is reserved for NodeRequest {value}, which is about another machine"
        elif request.is_released:
            why = f"It is reserved for NodeRequest {value}, whose reservation has ended"
        if why:
            yield Finding(Garbage.RESERVED, node.name, node.uid, f"{why}: the taint is lifted", value, node=node)
    request = seen.requests.get(node.name)
    # A hand-over closes the Node before it orders the removal.
    is_handed_over = request is not None and request.phase == RequestPhase.DEPROVISIONING
    if node.scale_down and node.name not in seen.under_removal and not is_handed_over:
        why = "It has the taint of a cool-off, but no removal is about it: the taint is lifted"
        yield Finding(Garbage.SCALE_DOWN, node.name, node.uid, why, node=node)


def _is_old(created_at: datetime, now: datetime, guards: Guards) -> bool:
    return now - created_at >= guards.oldest_young
