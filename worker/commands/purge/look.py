"""What there is of one cluster, for `growth purge`: all that Growth has made, and what becomes of it.

What may be another cluster's or another owner's is told and stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from activities.garbage.adopt import Proofs
from activities.garbage.look import node_fact, server_fact
from activities.objects.kinds import STORED_KINDS
from activities.ports.cluster import (
    CONFIG_MAPS,
    LEASES,
    NODE_POOLS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Object,
    Resource,
    find_object,
)
from activities.ports.errors import InvalidConfiguration, NotFound
from activities.ports.identity import Ownership
from activities.ports.ports import Ports
from activities.ports.provider import Provider, Server
from activities.providers.kinds import provider_kinds
from activities.round.fence import NAME as FENCE
from api.keys import LABEL_CLUSTER, LABEL_CLUSTER_UID, LABEL_REQUEST_UID
from planner.lifecycle.garbage import Garbage, NodeFact, ServerFact
from planner.lifecycle.request import BELIEVE_ABSENCE_AFTER
from planner.model.round import cluster_of
from worker.commands.shared.live_cluster import list_known

ROUND_WITHIN: Final = timedelta(seconds=90)
"""A planner that is up takes the fence at least once a minute. Source: docs/design.md#round."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that bears the name of the cluster."""

    fact: ServerFact
    state: str
    price: Decimal | None
    """Per hour, None if no class tells it."""
    currency: str
    stays: str
    """Why it is not deleted; empty if it is."""
    is_marked: bool = True
    """It bears the cluster's uid, which one of an earlier version does not."""


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A Node of a machine that Growth has made."""

    fact: NodeFact
    pods: int
    """On it, DaemonSet and mirror pods included."""
    stays: str


@dataclass(frozen=True, slots=True)
class ClusterContents:
    """Everything of a cluster."""

    cluster: str
    servers: tuple[FoundServer, ...]
    nodes: tuple[FoundNode, ...]
    objects: tuple[tuple[Resource, Object], ...]
    """Those with a lifecycle."""
    own: tuple[tuple[Resource, str], ...]
    """Growth's own objects in its namespace: resource and name."""
    pools: tuple[tuple[Resource, Object], ...]
    """NodePools, then node classes."""
    others: frozenset[str]
    """Names of other clusters whose machines are here: then this is not the cluster that is meant."""
    last_round: datetime | None
    """When a planner last took the fence."""
    asked_at: datetime | None
    """When a server was last asked for; it may appear for a while yet."""
    proofs: Proofs = frozenset()
    """By which a server of an earlier version is known as this cluster's."""

    def price_per_hour(self) -> dict[str, Decimal]:
        """Return the price per hour of the servers that go together, by currency."""
        total: dict[str, Decimal] = {}
        for server in self.servers:
            if server.price is not None and not server.stays:
                total[server.currency] = total.get(server.currency, Decimal(0)) + server.price
        return total

    def settled_at(self) -> datetime | None:
        """Return from when on no server can appear that was asked for before, None if that is so already."""
        return None if self.asked_at is None else self.asked_at + BELIEVE_ABSENCE_AFTER


async def look(ports: Ports, *, abandoned: bool) -> ClusterContents:
    """Return the contents of the cluster that `ports` name; kinds that the API server does not know have none.

    Args:
        ports: the outside world.
        abandoned: servers that a person abandoned go as well.

    Raises:
        GrowthError: the cluster or a provider does not tell everything; nothing may be concluded from the rest.
    """
    objects = [(stored.resource, item) for stored in STORED_KINDS for item in await list_known(ports, stored.resource)]
    kinds = [provider.node_classes for provider in ports.providers.values()]
    classes = [(each, item) for each in kinds for item in await list_known(ports, each)]
    pools = [(NODE_POOLS, item) for item in await list_known(ports, NODE_POOLS)]
    proofs = await _proofs(ports, objects)
    servers = await servers_of(ports, proofs, [item for _, item in classes], abandoned=abandoned)
    nodes, others = await _nodes(ports, servers)
    workflows = [(item.get("status") or {}).get("workflowId") or "" for _, item in objects]
    others |= {cluster_of(one) for one in workflows if one.count(":") > 1}
    lease = await find_object(ports.cluster, LEASES, FENCE, namespace=ports.namespace)
    renewed = ((lease or {}).get("spec") or {}).get("renewTime")
    asked = [at for _, item in objects if (at := _create_attempt(item)) is not None]
    return ClusterContents(
        cluster=ports.cluster_name,
        servers=tuple(servers),
        nodes=tuple(nodes),
        objects=tuple(objects),
        own=(*(((LEASES, FENCE),) if lease is not None else ()), *await _config_maps_of_providers(ports)),
        pools=(*pools, *classes),
        others=frozenset(others - {ports.cluster_name}),
        last_round=None if renewed is None else datetime.fromisoformat(renewed),
        asked_at=max(asked, default=None),
        proofs=proofs,
    )


async def _config_maps_of_providers(ports: Ports) -> list[tuple[Resource, str]]:
    """Return the ConfigMaps that providers keep in Growth's namespace for themselves."""
    names = [name for kind in provider_kinds() if kind.kind in ports.providers for name in kind.config_maps]
    config_maps = [await find_object(ports.cluster, CONFIG_MAPS, name, namespace=ports.namespace) for name in names]
    return [(CONFIG_MAPS, item["metadata"]["name"]) for item in config_maps if item is not None]


async def _proofs(ports: Ports, objects: Sequence[tuple[Resource, Object]]) -> Proofs:
    """Return the machines that requests, removals and Nodes of this cluster speak for."""
    proofs = {
        (item["metadata"]["name"], item["metadata"]["uid"]) for resource, item in objects if resource == NODE_REQUESTS
    }
    # An orphan's removal has its marks from the server, which may be another cluster's.
    witnesses = [item for _, item in objects if (item.get("spec") or {}).get("reason") != Garbage.ORPHAN]
    for item in (*witnesses, *(await ports.cluster.list(NODES)).items):
        metadata = item["metadata"]
        proofs.add((metadata["name"], (metadata.get("labels") or {}).get(LABEL_REQUEST_UID) or ""))
    return frozenset((name, uid) for name, uid in proofs if uid)


async def servers_of(
    ports: Ports, proofs: Proofs, classes: Sequence[Object] = (), *, abandoned: bool
) -> list[FoundServer]:
    """Return the servers that bear the name of the cluster, with prices from `classes`.

    Every provider is asked, whether there is a class for it or not.

    Args:
        ports: the outside world.
        proofs: by which a server of an earlier version is known as this cluster's.
        classes: what servers cost.
        abandoned: servers that a person abandoned go as well.

    Raises:
        ProviderError: one of them does not tell.
    """
    prices = _prices(ports, classes)
    servers = []
    for kind, provider in ports.providers.items():
        for server in await _listed(ports, provider):
            if server.labels.get(LABEL_CLUSTER) != ports.cluster_name:
                continue
            fact = server_fact(kind, server)
            owner = ports.identity.owner(server.labels)
            stays = ""
            if owner is Ownership.FOREIGN:
                stays = f"it is of another Kubernetes cluster, {LABEL_CLUSTER_UID}={server.labels[LABEL_CLUSTER_UID]}"
            elif owner is Ownership.UNMARKED and (fact.name, fact.request_uid) not in proofs:
                stays = f"nothing here proves it to be this cluster's: it has no label {LABEL_CLUSTER_UID}"
            elif not fact.is_growths:
                stays = "its labels do not say that Growth made it"
            elif fact.is_abandoned and not abandoned:
                stays = "a person abandoned it: --abandoned deletes it too"
            price, currency = prices.get((kind, server.server_type, server.location), (None, ""))
            servers.append(
                FoundServer(fact, server.state.value, price, currency, stays, is_marked=owner is not Ownership.UNMARKED)
            )
    return sorted(servers, key=lambda one: (one.fact.class_kind, one.fact.name))


def _prices(ports: Ports, classes: Sequence[Object]) -> Mapping[tuple[str, str, str], tuple[Decimal, str]]:
    prices: dict[tuple[str, str, str], tuple[Decimal, str]] = {}
    for item in classes:
        kind = item["kind"]
        try:
            offerings = ports.providers[kind].offerings(item)
        except InvalidConfiguration:
            # Its servers go all the same; that they cost something is told by a question mark.
            continue
        for offering in offerings:
            prices.setdefault(
                (kind, offering.server_type, offering.location), (offering.price_per_hour, offering.currency)
            )
    return prices


async def _nodes(ports: Ports, servers: Sequence[FoundServer]) -> tuple[list[FoundNode], set[str]]:
    """Return the Nodes of the cluster's machines, and the names of other clusters that Nodes belong to."""
    pods: dict[str, int] = {}
    for pod in (await ports.cluster.list(PODS)).items:
        name = pod["spec"].get("nodeName") or ""
        pods[name] = pods.get(name, 0) + 1
    by_mark = {mark: one for one in servers for mark in (one.fact.name, one.fact.provider_id)}
    nodes, others = [], set()
    for item in (await ports.cluster.list(NODES)).items:
        fact = node_fact(item)
        server = by_mark.get(fact.provider_id) or by_mark.get(fact.name)
        if server is not None:
            stays = "its server stays" if server.stays else ""
        elif fact.is_growths:
            owner = await _owner(ports, fact)
            others |= {owner} if owner else set()
            stays = "" if owner is None else "its server is not this cluster's"
        else:
            continue
        nodes.append(FoundNode(fact, pods.get(fact.name, 0), stays))
    return sorted(nodes, key=lambda one: one.fact.name), others


async def _listed(ports: Ports, provider: Provider) -> Sequence[Server]:
    try:
        return await provider.list(ports.cluster_name)
    except NotFound:
        # The kind of its classes is gone, and with the classes all that says which account to look into.
        return ()


async def _owner(ports: Ports, node: NodeFact) -> str | None:
    """Return the cluster of the Node's server, None if no provider has one: asked by name, not by a list."""
    for provider in ports.providers.values():
        try:
            return (await provider.get(node.name)).labels.get(LABEL_CLUSTER, "")
        except NotFound:
            continue
        except InvalidConfiguration:
            # Where there is no class, nobody knows the account: only of a Node that is another's this says nothing.
            if await list_known(ports, provider.node_classes) or not _is_of_another(provider, node):
                raise
    return None


def _is_of_another(provider: Provider, node: NodeFact) -> bool:
    """Return whether the Node's provider id is one that a provider of another kind gives."""
    others = (kind for kind in provider_kinds() if kind.kind != provider.node_classes.kind)
    return any(node.provider_id.startswith(kind.provider_id_prefix) for kind in others)


def _create_attempt(item: Object) -> datetime | None:
    attempt = (item.get("status") or {}).get("createAttemptAt") or (item.get("spec") or {}).get("createAttemptAt")
    try:
        return None if attempt is None else datetime.fromisoformat(attempt)
    except ValueError:
        return None
