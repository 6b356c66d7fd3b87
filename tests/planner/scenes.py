"""Scenes of raw objects, as the API server would hold them, that turn into snapshots."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from activities.providers.kwok.catalogue import class_template, offerings
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.model.node_class import NodeClass
from planner.model.plan import PlannerMemory, Snapshot
from planner.objects.capacity_buffer import CapacityBuffer
from planner.parsing.admitted import with_limit_ranges
from planner.parsing.objects import parse_limit_range, parse_objects, parse_pod
from planner.supply.pod_group import GroupKeys, seat_of
from tests.builders import NOW, Json, kwok_node_class, namespace, node_pool


@dataclass
class Scene:
    """Raw objects, as lists by kind."""

    pods: list[Json] = field(default_factory=list)
    nodes: list[Json] = field(default_factory=list)
    daemon_sets: list[Json] = field(default_factory=list)
    pools: list[Json] = field(default_factory=list)
    classes: list[Json] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    removals: list[Json] = field(default_factory=list)
    claims: list[Json] = field(default_factory=list)
    volumes: list[Json] = field(default_factory=list)
    storage_classes: list[Json] = field(default_factory=list)
    csi_nodes: list[Json] = field(default_factory=list)
    limit_ranges: list[Json] = field(default_factory=list)
    disruption_budgets: list[Json] | None = field(default_factory=list)
    """None where they may not be read."""
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels by name."""
    buffers: list[CapacityBuffer] = field(default_factory=list)
    """As they were read."""
    protected: set[str] = field(default_factory=set)
    now: datetime = NOW

    def snapshot(self, memory: PlannerMemory | None = None) -> Snapshot:
        parsed = parse_objects(
            pods=self.pods,
            nodes=self.nodes,
            daemon_sets=self.daemon_sets,
            namespaces=[namespace(name, labels) for name, labels in self.namespaces.items()],
            claims=self.claims,
            volumes=self.volumes,
            storage_classes=self.storage_classes,
            csi_nodes=self.csi_nodes,
            disruption_budgets=self.disruption_budgets or (),
        )
        kwok = [KwokNodeClass.model_validate(c) for c in self.classes]
        return Snapshot(
            now=self.now,
            pods=parsed.pods,
            nodes=parsed.nodes,
            daemon_sets=with_limit_ranges(
                parsed.daemon_sets, self.daemon_sets, [parse_limit_range(each) for each in self.limit_ranges]
            ),
            namespaces=parsed.namespaces,
            volumes=parsed.volumes,
            disruption_budgets=None if self.disruption_budgets is None else parsed.disruption_budgets,
            buffers=tuple(self.buffers),
            pools=tuple(NodePool.model_validate(p) for p in self.pools),
            classes=tuple(
                NodeClass(
                    ref=ClassRef(name=c.metadata.name),
                    offerings=offerings(c),
                    status=c.status,
                    generation=c.metadata.generation or 0,
                    billing_period=c.spec.billing.period if c.spec.billing else None,
                    template=class_template(c),
                )
                for c in kwok
            ),
            requests=tuple(NodeRequest.model_validate(r) for r in self.requests),
            removals=tuple(NodeRemovalRequest.model_validate(r) for r in self.removals),
            protected_nodes=frozenset(self.protected),
            memory=memory or PlannerMemory(),
            problems=parsed.problems,
        )


_PARTS = {part.name for part in fields(Scene)}
_LISTS = {
    "Pod": "pods",
    "Node": "nodes",
    "DaemonSet": "daemon_sets",
    "NodePool": "pools",
    "KwokNodeClass": "classes",
    "NodeRequest": "requests",
    "NodeRemovalRequest": "removals",
    "PersistentVolumeClaim": "claims",
    "PersistentVolume": "volumes",
    "StorageClass": "storage_classes",
    "CSINode": "csi_nodes",
    "LimitRange": "limit_ranges",
    "PodDisruptionBudget": "disruption_budgets",
}


def scene(
    *objects: Json,
    types: Iterable[str | Json] = ("cx22", "cx32", "cx42"),
    kinds: Iterable[Json] = (),
    unavailable: list[Json] | None = None,
    limits: Json | None = None,
    **parts: Any,
) -> Scene:
    """Return these objects in a cluster, with one pool and one class unless there are some among them.

    Args:
        objects: each goes into the list of its kind.
        types: server types of the pool.
        kinds: server types of the class, or all that are known.
        unavailable: offerings that the class has no capacity of.
        limits: of the pool, which has at most 100 machines if they do not say.
        parts: fields of the scene, and of the pool's spec.
    """
    given = {name: parts.pop(name) for name in _PARTS & parts.keys()}
    made = Scene(**given)
    for each in objects:
        part = _LISTS[each["kind"]]
        setattr(made, part, [*getattr(made, part), each])
    if not made.pools and "pools" not in given:
        made.pools = [node_pool(types=types, limits={"max": 100} | (limits or {}), **parts)]
    if not made.classes and "classes" not in given:
        made.classes = [kwok_node_class(*kinds, unavailable=unavailable)]
    return made


def seat(raw: Json) -> Json:
    """Return the seat of a pod on a request, as a round wrote it."""
    made = parse_pod(raw)
    return seat_of(made, GroupKeys().of(made)).to_json()
