"""Scenes of raw objects, as the API server would hold them, that turn into snapshots."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from activities.providers.kwok.catalogue import offerings
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.model.plan import NodeClass, PlannerMemory, Snapshot
from planner.parsing.objects import parse_objects, parse_pod
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
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels by name."""
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
        )
        kwok = [KwokNodeClass.model_validate(c) for c in self.classes]
        return Snapshot(
            now=self.now,
            pods=parsed.pods,
            nodes=parsed.nodes,
            daemon_sets=parsed.daemon_sets,
            namespaces=parsed.namespaces,
            volumes=parsed.volumes,
            pools=tuple(NodePool.model_validate(p) for p in self.pools),
            classes=tuple(
                NodeClass(
                    ref=ClassRef(name=c.metadata.name),
                    offerings=offerings(c),
                    status=c.status,
                    generation=c.metadata.generation or 0,
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


def scene(
    *pods: Json,
    types: Iterable[str | Json] = ("cx22", "cx32", "cx42"),
    kinds: Iterable[Json] = (),
    unavailable: list[Json] | None = None,
    **parts: Any,
) -> Scene:
    """Return pods in a cluster with one class and one pool.

    Args:
        pods: of the scene, unless it has some by keyword.
        types: server types of the pool.
        kinds: server types of the class, or all that are known.
        unavailable: offerings that the class has no capacity of.
        parts: fields of the scene, and of the pool's spec.
    """
    spec = {name: value for name, value in parts.items() if name not in _PARTS}
    usual = {
        "pools": [node_pool(types=types, **spec)],
        "classes": [kwok_node_class(*kinds, unavailable=unavailable)],
        "pods": list(pods),
    }
    return Scene(**usual | {name: value for name, value in parts.items() if name in _PARTS})


def seat(raw: Json) -> Json:
    """Return the seat of a pod on a request, as a round wrote it."""
    made = parse_pod(raw)
    return seat_of(made, GroupKeys().of(made)).to_json()
