"""The objects of a cluster as a worker has them: each parsed once per version, so that a round reads what has changed.

Without an API server: `activities.round.observe` lists objects, and parses them as is done here.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from activities.ports.cluster import (
    CSI_NODES,
    DAEMON_SETS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    Object,
    Resource,
)
from activities.round.parsed import JoinedNodes, ParsedCache
from planner.model.plan import Problem, Snapshot
from planner.objects.counted_pods import heeded
from planner.objects.storage import Volumes
from planner.parsing.objects import (
    Json,
    parse_claim,
    parse_csi_node,
    parse_daemon_set,
    parse_namespace,
    parse_node,
    parse_pod,
    parse_storage_class,
    parse_volume,
)

_PARSERS: Final[tuple[tuple[Resource, Callable[[Object], Any]], ...]] = (
    (PODS, parse_pod),
    (NODES, parse_node),
    (DAEMON_SETS, parse_daemon_set),
    (NAMESPACES, parse_namespace),
    (PERSISTENT_VOLUME_CLAIMS, parse_claim),
    (PERSISTENT_VOLUMES, parse_volume),
    (STORAGE_CLASSES, parse_storage_class),
    (CSI_NODES, parse_csi_node),
)
KINDS: Final = frozenset(resource.kind for resource, _ in _PARSERS)
"""What a round reads of Kubernetes' own kinds."""
_CHANGED: Final = 100
"""Of so many pods that run, one has changed since the round before."""


class LiveObjects:
    """Objects with what was parsed of them before."""

    def __init__(self) -> None:
        self._caches = [(resource.kind, ParsedCache(resource, parse)) for resource, parse in _PARSERS]
        self._joined_nodes = JoinedNodes()

    def snapshot(self, items: Iterable[Object], settings: Snapshot) -> Snapshot:
        """Return the snapshot of these objects, with the pools and classes of the settings."""
        by_kind: dict[str, list[Object]] = {kind: [] for kind, _ in self._caches}
        for item in items:
            by_kind[item["kind"]].append(item)
        parsed_kinds: list[tuple[Any, ...]] = []
        problems: list[Problem] = []
        for kind, cache in self._caches:
            parsed, wrong = cache.read(by_kind[kind])
            parsed_kinds.append(parsed)
            problems += wrong
        pods, nodes, daemon_sets, namespaces, claims, volumes, classes, csi_nodes = parsed_kinds
        return replace(
            settings,
            pods=heeded(pods, nodes),
            nodes=self._joined_nodes.read(nodes, csi_nodes),
            daemon_sets=daemon_sets,
            namespaces=dict(namespaces),
            volumes=Volumes(claims, volumes, classes),
            problems=tuple(problems),
        )


def stamped(item: Json, version: str = "1") -> Object:
    """Return the object as the API server gives it: with a uid and a version, whatever it has already."""
    metadata = item["metadata"]
    name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    return {**item, "metadata": {"uid": name, **metadata, "resourceVersion": version}}


def a_round_later(running: Iterable[Object]) -> list[Object]:
    """Return the objects that are there for long, one of a hundred pods in a new version."""
    later: list[Object] = []
    pods = 0
    for item in running:
        is_pod = item["kind"] == PODS.kind
        later.append(stamped(item, "2") if is_pod and not pods % _CHANGED else item)
        pods += is_pod
    return later
