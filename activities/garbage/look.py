"""The look of a sweep for garbage: servers first, then every object that could stand for one of them.

The order is the proof: a server that is listed and whose request, removal or Node is not found later
had none of them when it was listed. Objects are read as plain JSON, so that one that a person broke
still counts as being there.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from activities.objects.nodes import taints_of
from activities.objects.pods import occupants_of
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, Object, find_object
from activities.ports.errors import GrowthError, NotFound
from activities.ports.identity import Ownership
from activities.ports.ports import Ports, Reader
from activities.ports.provider import Provider, Server
from api.keys import (
    ANNOTATION_DO_NOT_REMOVE,
    LABEL_ABANDONED,
    LABEL_NODE_CLASS,
    LABEL_POOL,
    LABEL_REGION,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    LABEL_SERVER_TYPE,
    TAINT_RESERVED,
    TAINT_SCALE_DOWN,
    TAINT_UNREGISTERED,
)
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.garbage import (
    GarbageSeen,
    Guards,
    NodeFact,
    ProviderAnswer,
    RemovalFact,
    RequestFact,
    ServerFact,
    suspects,
)
from planner.lifecycle.json_predicates import is_ready
from planner.objects.provider_ids import NodeMarks, ServerMarks, is_same_machine, proves

ASKED_AT_ONCE: Final = 20
"""Nodes of one sweep whose servers are asked for by name: a provider has few calls to give; the rest comes next."""

log = logging.getLogger(__name__)

Providers = Mapping[str, Provider]
"""By kind of node class."""


async def in_use(ports: Ports) -> dict[str, Provider]:
    """Return the providers that have a node class; no other is ever called.

    Raises:
        NotFound: a definition is gone.
        Unreachable: the API server does not answer.
    """
    return {
        kind: provider
        for kind, provider in ports.providers.items()
        if (await ports.reader.list(provider.node_classes)).items
    }


@dataclass(frozen=True, slots=True)
class ListedServers:
    """The servers at one provider that bear this cluster's name."""

    own: tuple[ServerFact, ...]
    """This cluster's, those included that an earlier version made and nothing has proven yet."""
    namesakes: tuple[Server, ...]
    """Of another cluster that has chosen the same name."""


async def list_servers(ports: Ports, kind: str, provider: Provider) -> ListedServers:
    """Return the servers with this cluster's name at the provider of a kind of node class.

    Raises:
        ProviderError: it does not tell.
    """
    listed = await provider.list(ports.cluster_name)
    # Asked of a list as well: whatever a provider's filter does, another cluster's machine is never ours.
    own = [_fact(ports, kind, one) for one in listed if ports.identity.owner(one.labels) is not Ownership.FOREIGN]
    return ListedServers(tuple(own), tuple(one for one in listed if ports.identity.is_namesake(one.labels)))


async def look_around(ports: Ports, servers: tuple[ServerFact, ...] | None, reader: Reader) -> GarbageSeen:
    """Return all facts that garbage is recognised by, without the providers' answers about single servers.

    Args:
        ports: the outside world.
        servers: what `list_servers` has returned, before; None if there is no provider that lists any.
        reader: where objects are read: a cache to suspect, the cluster to judge.

    Raises:
        NotFound: a definition is gone.
        Unreachable: the API server does not answer.
    """
    # Requests before removals before Nodes: what ends one of them makes the next one first.
    requests = [request_fact(item) for item in (await reader.list(NODE_REQUESTS)).items]
    removals = [removal_fact(item) for item in (await reader.list(NODE_REMOVAL_REQUESTS)).items]
    nodes = [node_fact(item) for item in (await reader.list(NODES)).items]
    return GarbageSeen(
        now=ports.now(),
        servers=servers,
        requests={one.name: one for one in requests},
        removals=tuple(removals),
        nodes=tuple(nodes),
    )


async def look_again(
    ports: Ports, providers: Providers, seen: GarbageSeen, name: str, guards: Guards
) -> tuple[GarbageSeen, Object | None]:
    """Return the facts about one machine, each object read live by its name, and its Node.

    Args:
        ports: the outside world.
        providers: those in use.
        seen: what was seen of all.
        name: of the server or Node.
        guards: how careful the sweep is.

    Raises:
        GrowthError: something gives no answer.
    """
    servers = None if seen.servers is None else [s for s in seen.servers if s.name == name]
    if servers is not None:
        servers = [one for one in servers if await _is_still(ports, providers[one.class_kind], one)]
    node = await find_object(ports.cluster, NODES, name)
    facts = () if node is None else (node_fact(node),)
    wanted = {name, *(value for fact in facts for value in fact.reserved)}
    requests = [
        item for each in sorted(wanted) if (item := await find_object(ports.cluster, NODE_REQUESTS, each)) is not None
    ]
    removal = await find_object(ports.cluster, NODE_REMOVAL_REQUESTS, name)
    others = [one for one in seen.removals if one.name != name]
    again = GarbageSeen(
        now=ports.now(),
        servers=None if servers is None else tuple(servers),
        requests={item["metadata"]["name"]: request_fact(item) for item in requests},
        removals=(*others, *(() if removal is None else (removal_fact(removal),))),
        # A Node of another name may be the server's by its id.
        nodes=(*facts, *(one for one in seen.nodes if one.name != name)),
    )
    return await with_answers(ports, providers, again, guards, only={name}), node


async def with_answers(
    ports: Ports, providers: Providers, seen: GarbageSeen, guards: Guards, *, only: Collection[str] | None = None
) -> GarbageSeen:
    """Return `seen` with the providers' answers about the servers of suspected Nodes.

    Args:
        ports: the outside world.
        providers: those in use.
        seen: what was seen.
        guards: how careful the sweep is.
        only: names of the Nodes to ask about; None asks about all, up to `ASKED_AT_ONCE`.

    Raises:
        Unreachable: the API server does not answer.
    """
    suspected = [node for node in suspects(seen, guards) if only is None or node.name in only][:ASKED_AT_ONCE]
    answers = {node.name: await _answer(ports, providers, node) for node in suspected}
    existing = [node.name for node in suspected if answers[node.name][0] is ProviderAnswer.THERE]
    occupied = frozenset([name for name in existing if await occupants_of(ports.cluster, name)])
    return replace(seen, answers=answers, occupied=occupied)


def server_fact(class_kind: str, server: Server) -> ServerFact:
    """Return the facts about a server that garbage is recognised by."""
    labels = server.labels
    return ServerFact(
        name=server.name,
        provider_id=server.provider_id,
        class_kind=class_kind,
        created_at=server.created_at,
        pool=labels.get(LABEL_POOL, ""),
        server_type=server.server_type,
        location=server.location,
        request=labels.get(LABEL_REQUEST, ""),
        request_uid=labels.get(LABEL_REQUEST_UID, ""),
        is_abandoned=bool(labels.get(LABEL_ABANDONED)),
        class_name=labels.get(LABEL_NODE_CLASS, ""),
    )


def node_fact(node: Object) -> NodeFact:
    """Return the facts about a Node that garbage is recognised by."""
    metadata, labels = node["metadata"], node["metadata"].get("labels") or {}
    taints = taints_of(node)
    keys = {taint["key"] for taint in taints}
    return NodeFact(
        name=metadata["name"],
        uid=metadata["uid"],
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        provider_id=node.get("spec", {}).get("providerID") or "",
        pool=labels.get(LABEL_POOL, ""),
        server_type=labels.get(LABEL_SERVER_TYPE, ""),
        location=labels.get(LABEL_REGION, ""),
        request=labels.get(LABEL_REQUEST, ""),
        request_uid=labels.get(LABEL_REQUEST_UID, ""),
        is_ready=is_ready(node),
        is_kept=bool((metadata.get("annotations") or {}).get(ANNOTATION_DO_NOT_REMOVE)),
        is_terminating="deletionTimestamp" in metadata,
        reserved=tuple(taint.get("value", "") for taint in taints if taint["key"] == TAINT_RESERVED),
        scale_down=TAINT_SCALE_DOWN in keys,
        unregistered=TAINT_UNREGISTERED in keys,
    )


def request_fact(request: Object) -> RequestFact:
    """Return the facts about a NodeRequest that garbage is recognised by."""
    metadata, status = request["metadata"], request.get("status") or {}
    phase = status.get("phase") or RequestPhase.PENDING
    return RequestFact(metadata["name"], metadata["uid"], str(phase), bool(status.get("releasedAt")))


def removal_fact(removal: Object) -> RemovalFact:
    """Return the facts about a NodeRemovalRequest that garbage is recognised by."""
    return RemovalFact(removal["metadata"]["name"], (removal.get("spec") or {}).get("nodeName") or "")


async def _answer(ports: Ports, providers: Providers, node: NodeFact) -> tuple[ProviderAnswer, ServerFact | None]:
    """Return the providers' answer about the Node's server: unknown as soon as one does not answer."""
    answer = ProviderAnswer.ABSENT if providers else ProviderAnswer.UNKNOWN
    for kind, provider in providers.items():
        try:
            server = await provider.get(node.name)
        except NotFound:
            continue
        except GrowthError as error:
            log.warning("the provider gives no answer about server %s: %s", node.name, error)
            return ProviderAnswer.UNKNOWN, None
        fact = _fact(ports, kind, server)
        if ports.identity.owner(server.labels) is not Ownership.FOREIGN and _is_its(node, fact):
            return (ProviderAnswer.THERE if _is_proven(node, fact) else ProviderAnswer.UNKNOWN), fact
        answer = ProviderAnswer.OTHER
    return answer, None


def _is_proven(node: NodeFact, server: ServerFact) -> bool:
    """Return whether the server is this cluster's: by its own mark, or by those of a Node here."""
    return server.is_proven or proves(*_marks(node, server))


def _is_its(node: NodeFact, server: ServerFact) -> bool:
    return is_same_machine(*_marks(node, server))


def _marks(node: NodeFact, server: ServerFact) -> tuple[NodeMarks, ServerMarks]:
    return (
        NodeMarks(node.request_uid, node.provider_id, node.unregistered),
        ServerMarks(server.request_uid, server.provider_id),
    )


def _fact(ports: Ports, kind: str, server: Server) -> ServerFact:
    is_proven = ports.identity.owner(server.labels) is not Ownership.UNMARKED
    return replace(server_fact(kind, server), is_proven=is_proven)


async def _is_still(ports: Ports, provider: Provider, listed: ServerFact) -> bool:
    """Return whether the server is as it was listed; one that was abandoned meanwhile is not."""
    try:
        return _fact(ports, listed.class_kind, await provider.get(listed.name, listed.class_name or None)) == listed
    except NotFound:
        return False
