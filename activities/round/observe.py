"""The snapshot of a round: the watch caches, and Growth's own objects listed live, each parsed once per version.

An object that cannot be read becomes a problem with its name and field; nothing else is stopped by it.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from activities.objects.definitions import are_going
from activities.objects.kinds import REMOVALS, REQUESTS, STORED_KINDS, StoredKind
from activities.objects.node_classes import class_status, read_template
from activities.objects.simulated_classes import SimulatedClass, simulated_classes
from activities.ports.cluster import (
    CSI_NODES,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    LIMIT_RANGES,
    NAMESPACES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    Object,
    Resource,
    version_number,
)
from activities.ports.errors import Forbidden, InvalidConfiguration, NotFound, Unreachable, Unreadable
from activities.ports.ports import Ports
from activities.ports.provider import Provider
from activities.round.capacity_buffers import BufferReader, ObservedBuffers
from activities.round.parsed import JoinedNodes, ParsedCache, problem_of
from activities.round.workflow_starts import ObjectsByKind
from api.model import read
from api.v1alpha1.class_parts.billing import billing_period
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.json_predicates import is_terminating
from planner.model.node_class import NodeClass
from planner.model.plan import PlannerMemory, Problem, Snapshot
from planner.objects.counted_pods import heeded
from planner.objects.storage import Volumes
from planner.parsing.admitted import with_limit_ranges
from planner.parsing.objects import (
    parse_claim,
    parse_csi_node,
    parse_daemon_set,
    parse_disruption_budget,
    parse_limit_range,
    parse_namespace,
    parse_node,
    parse_pod,
    parse_storage_class,
    parse_volume,
)
from planner.supply.machine_kind import unserved
from planner.supply.type_faults import refusals

log = logging.getLogger(__name__)

SURROUNDINGS: Final = (
    PODS,
    NODES,
    DAEMON_SETS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    CSI_NODES,
    LIMIT_RANGES,
    DISRUPTION_BUDGETS,
)
"""Kubernetes' own kinds that a round decides on: it reads all of them."""


_WITHOUT_SERVER: Final = frozenset({RequestPhase.UNMET, RequestPhase.FAILED})
_Read = tuple[Sequence[Object] | None, str]
"""The objects of a kind, None where it is not defined, and their version: empty where they could not be read."""


class DefinitionsGoing(Exception):
    """One of our definitions is gone or being deleted: nothing is decided and no cloud is called."""

    def __init__(self, objects: ObjectsByKind) -> None:
        super().__init__("a CustomResourceDefinition of growth.dev is gone or being deleted")
        self.objects = objects
        """Objects with a lifecycle that still exist: their workflows drop the finalizers."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A snapshot, and by name the objects it was made from, for writes that are conditional on them."""

    snapshot: Snapshot
    versions: dict[str, str]
    """Highest resourceVersion by plural name, for the next round."""
    nodes: Mapping[str, Object]
    pools: Mapping[str, Object]
    requests: Mapping[str, Object]
    removals: Mapping[str, Object]
    simulated: tuple[SimulatedClass, ...] = ()
    """The classes whose machines are simulated."""
    buffers: ObservedBuffers = ObservedBuffers()
    others: ObjectsByKind = field(default_factory=dict)
    """Objects of the other kinds with a lifecycle, on which no round decides."""


class Observer:
    """Builds snapshots, and remembers what it has parsed.

    Args:
        ports: the outside world.
        kinds: with a lifecycle.
    """

    def __init__(self, ports: Ports, kinds: Sequence[StoredKind[Any]] = STORED_KINDS) -> None:
        self._ports = ports
        self._others = [kind for kind in kinds if kind not in (REQUESTS, REMOVALS)]
        self._surroundings: tuple[ParsedCache[Any], ...] = (
            ParsedCache(PODS, parse_pod),
            ParsedCache(NODES, parse_node),
            ParsedCache(DAEMON_SETS, parse_daemon_set),
            ParsedCache(NAMESPACES, parse_namespace),
            ParsedCache(PERSISTENT_VOLUME_CLAIMS, parse_claim),
            ParsedCache(PERSISTENT_VOLUMES, parse_volume),
            ParsedCache(STORAGE_CLASSES, parse_storage_class),
            ParsedCache(CSI_NODES, parse_csi_node),
            ParsedCache(LIMIT_RANGES, parse_limit_range),
            ParsedCache(DISRUPTION_BUDGETS, parse_disruption_budget),
        )
        self._buffers = BufferReader(ports)
        self._joined_nodes = JoinedNodes()
        self._pools = ParsedCache(NODE_POOLS, partial(read, NodePool))
        self._requests = ParsedCache(NODE_REQUESTS, partial(read, NodeRequest))
        self._removals = ParsedCache(NODE_REMOVAL_REQUESTS, partial(read, NodeRemovalRequest))
        self._had_server: frozenset[str] = frozenset()
        """Names of the requests that may have had a server when they were listed last."""

    async def observe(self, memory: PlannerMemory, versions: Mapping[str, str]) -> Observation:
        """Return the observation of this round; a cache older than `versions` is passed over and listed live.

        Raises:
            DefinitionsGoing: one of our definitions is gone or being deleted.
            Unreachable: the API server does not answer.
        """
        resources = (*SURROUNDINGS, NODE_POOLS, *(each.node_classes for each in self._ports.providers.values()))
        requests, removals, cached = await asyncio.gather(
            self._list_own(NODE_REQUESTS),
            self._list_own(NODE_REMOVAL_REQUESTS),
            asyncio.gather(*(self._read(each, versions.get(each.plural, "")) for each in resources)),
        )
        others = await self._read_others()
        cached = await self._with_known_machines(cached, requests or (), removals or ())
        lists = [found for found, _ in cached if found is not None]
        if requests is None or removals is None or len(lists) < len(cached):
            raise DefinitionsGoing({REQUESTS: requests or (), REMOVALS: removals or (), **others})
        around = len(SURROUNDINGS)
        surroundings, pools = lists[:around], lists[around]
        own = (*pools, *requests, *removals)
        if any(is_terminating(item) for item in own) and await are_going(self._ports):
            raise DefinitionsGoing({REQUESTS: requests, REMOVALS: removals, **others})

        own_parts = ((self._pools, pools), (self._requests, requests), (self._removals, removals))
        parsed, problems = await self._parse((*zip(self._surroundings, surroundings, strict=True), *own_parts))
        pods, nodes, daemon_sets, namespaces, claims, volumes, storage_classes, csi_nodes, *rest = parsed
        limit_ranges, budgets, *owned = rest
        if limit_ranges:
            daemon_sets = with_limit_ranges(daemon_sets, lists[SURROUNDINGS.index(DAEMON_SETS)], limit_ranges)
        simulated: tuple[SimulatedClass, ...] = ()
        if self._ports.simulated.rules:
            by_kind = dict(zip(resources[around + 1 :], lists[around + 1 :], strict=True))
            simulated = simulated_classes(self._ports, lists[SURROUNDINGS.index(NODES)], by_kind)
        classes, class_problems = self._classes(lists[around + 1 :], owned[0], simulated)
        buffers = await self._buffers.read(limit_ranges)
        snapshot = Snapshot(
            now=self._ports.now(),
            pods=heeded(pods, nodes),
            nodes=self._joined_nodes.read(nodes, csi_nodes),
            daemon_sets=daemon_sets,
            namespaces=dict(namespaces),
            volumes=Volumes(claims, volumes, storage_classes),
            # A list has a version wherever it could be read.
            disruption_budgets=budgets if cached[SURROUNDINGS.index(DISRUPTION_BUDGETS)][1] else None,
            usage=self._ports.usage.observed,
            buffers=buffers.buffers,
            buffers_due=buffers.due,
            pools=owned[0],
            classes=classes,
            requests=owned[1],
            removals=owned[2],
            protected_nodes=self._protected(lists[0]),
            watched_since=self._ports.watched_since(),
            memory=memory,
            problems=(*problems, *class_problems),
        )
        return Observation(
            snapshot=snapshot,
            versions={
                resource.plural: version for resource, (_, version) in zip(resources, cached, strict=True) if version
            },
            nodes=_by_name(lists[1]),
            pools=_by_name(pools),
            requests=_by_name(requests),
            removals=_by_name(removals),
            simulated=simulated,
            buffers=buffers,
            others=others,
        )

    async def _read_others(self) -> dict[StoredKind[Any], Sequence[Object]]:
        """Return the objects of other kinds from the cache: nothing is decided on them, they only need workflows."""
        by_kind: dict[StoredKind[Any], Sequence[Object]] = {}
        for kind in self._others:
            with suppress(Unreachable, NotFound):
                by_kind[kind] = (await self._ports.reader.list(kind.resource)).items
        return by_kind

    async def _list_own(self, resource: Resource) -> Sequence[Object] | None:
        try:
            return (await self._ports.cluster.list(resource)).items
        except NotFound:
            return None

    async def _read(self, resource: Resource, wanted: str) -> _Read:
        try:
            with suppress(Unreachable):
                # A cache that knows nothing yet, or nothing any more, is passed over like an old one.
                cached = await self._ports.reader.list(resource)
                if not _is_older(cached.resource_version, wanted):
                    return cached.items, cached.resource_version
            return await self._list_live(resource, wanted)
        except NotFound:
            return ([], "") if resource.is_optional else (None, wanted)
        except Forbidden:
            if not resource.is_dispensable:
                raise
            return [], ""

    async def _with_known_machines(
        self, cached: Sequence[_Read], requests: Sequence[Object], removals: Sequence[Object]
    ) -> Sequence[_Read]:
        """Return the lists, that of Nodes listed live if it lacks a machine of which only the request is gone.

        Requests are listed live, so one that ends may be gone before a cache has its Node: counted nowhere, its machine
        would let one more than the limit be bought.
        """
        at = SURROUNDINGS.index(NODES)
        nodes, version = cached[at]
        by_name = _by_name(requests)
        gone = self._had_server - by_name.keys() - {item["spec"].get("serverName") for item in removals}
        self._had_server = frozenset(name for name, item in by_name.items() if _phase(item) not in _WITHOUT_SERVER)
        # Mostly none is gone, and the Nodes of a large cluster are not gone through for that.
        if nodes is None or not gone or gone <= _by_name(nodes).keys():
            return cached
        return [*cached[:at], await self._list_live(NODES, version), *cached[at + 1 :]]

    async def _list_live(self, resource: Resource, wanted: str) -> tuple[Sequence[Object], str]:
        live = await self._ports.cluster.list(resource)
        # A live list has the version of the whole cluster, which a cache reaches only with the next
        # change of this kind; what the items say, every cache that has them has reached.
        seen = [item["metadata"]["resourceVersion"] for item in live.items]
        # Behind `wanted` is only a cluster that was restored from a backup: its versions begin anew.
        known = [] if _is_older(live.resource_version, wanted) else [wanted]
        return live.items, max([*known, *seen], key=version_number, default="")

    async def _parse(
        self, parts: Sequence[tuple[ParsedCache[Any], Sequence[Object]]]
    ) -> tuple[list[tuple[Any, ...]], list[Problem]]:
        results = await self._ports.compute(lambda: [parser.read(items) for parser, items in parts])
        return [found for found, _ in results], [problem for _, problems in results for problem in problems]

    def _classes(
        self, lists: Sequence[Sequence[Object]], pools: Sequence[NodePool], simulated: Iterable[SimulatedClass]
    ) -> tuple[tuple[NodeClass, ...], list[Problem]]:
        barriers = {each.key: each.barrier for each in simulated}
        classes: list[NodeClass] = []
        problems: list[Problem] = []
        for provider, items in zip(self._ports.providers.values(), lists, strict=True):
            for item in items:
                try:
                    node_class = _node_class(provider, item, pools, self._ports.now())
                    template = read_template(self._ports, node_class.ref.kind, item)
                    barrier = barriers.get((node_class.ref.kind, node_class.ref.name), "")
                    classes.append(replace(node_class, barrier=barrier, template=template))
                except (ValueError, Unreadable) as error:
                    problems.append(problem_of(provider.node_classes, item, error))
                except Exception as error:
                    # A fault in one provider's own code must not stop the rounds of all others.
                    log.debug("offerings of %s cannot be read", item["metadata"]["name"], exc_info=True)
                    fault = RuntimeError(f"its provider failed: {type(error).__name__}: {error}")
                    problems.append(problem_of(provider.node_classes, item, fault))
        return (*classes, *unserved(pools, self._ports.providers)), problems

    def _protected(self, pods: Sequence[Object]) -> frozenset[str]:
        own = self._ports.own_pods
        if not own:
            return frozenset()
        return frozenset(
            pod["spec"]["nodeName"]
            for pod in pods
            if f"{pod['metadata'].get('namespace')}/{pod['metadata']['name']}" in own
            and pod.get("spec", {}).get("nodeName")
        )


def _node_class(provider: Provider, item: Object, pools: Iterable[NodePool], now: datetime) -> NodeClass:
    metadata = item["metadata"]
    ref = ClassRef.model_validate({"kind": provider.node_classes.kind, "name": metadata["name"]})
    generation = int(metadata.get("generation", 0))
    billing = (item.get("spec") or {}).get("billing")
    try:
        offerings = provider.offerings(item)
    except InvalidConfiguration as error:
        return NodeClass(ref=ref, offerings=(), generation=generation, problem=str(error))
    return NodeClass(
        ref=ref,
        offerings=offerings,
        status=class_status(item, now),
        generation=generation,
        refusals=refusals(ref, offerings, pools, provider.refusal),
        billing_period=None if billing is None else billing_period(billing),
    )


def _phase(item: Object) -> str:
    return str((item.get("status") or {}).get("phase", ""))


def _by_name(items: Sequence[Object]) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in items}


def _is_older(version: str, wanted: str) -> bool:
    return bool(wanted) and version_number(version) < version_number(wanted)
