"""What an object that cannot be read still says: enough for nobody to take it for absent.

A pod takes room on its node although nobody can tell how much, and a node is a machine of its pool
although nobody can tell what it holds. Without them an occupied machine would look idle, and one
more would be bought in place of one that is there.
"""

from collections.abc import Mapping
from typing import Any

from planner.objects.kinds import Node, Pod


def pod_remains(pod: object) -> Pod | None:
    """Return the pod as far as its place goes; None where it has no name, or is on no node."""
    metadata, name, namespace = _metadata(pod), text_in(pod, "metadata", "name"), text_in(pod, "metadata", "namespace")
    node = text_in(pod, "spec", "nodeName")
    if not name or not node:
        return None
    return Pod(
        namespace=namespace or "default",
        name=name,
        uid=text_in(pod, "metadata", "uid") or f"{namespace}/{name}",
        requests={},
        labels=_texts(metadata.get("labels")),
        node_name=node,
        phase=text_in(pod, "status", "phase") or "Running",
        is_terminating="deletionTimestamp" in metadata,
        is_unreadable=True,
    )


def node_remains(node: object) -> Node | None:
    """Return the node as a cordoned one without room: it takes no pods, and stays; None where it has no name."""
    metadata, name = _metadata(node), text_in(node, "metadata", "name")
    if not name:
        return None
    return Node(
        name=name,
        uid=text_in(node, "metadata", "uid") or name,
        allocatable={},
        labels=_texts(metadata.get("labels")),
        annotations=_texts(metadata.get("annotations")),
        is_cordoned=True,
        is_terminating="deletionTimestamp" in metadata,
        provider_id=text_in(node, "spec", "providerID"),
    )


def _metadata(item: object) -> Mapping[str, Any]:
    metadata = item.get("metadata") if isinstance(item, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def text_in(item: object, part: str, key: str) -> str:
    """Return a text in a part of an object that is broken somewhere, perhaps right here; empty if it is none."""
    found = item.get(part) if isinstance(item, Mapping) else None
    value = found.get(key) if isinstance(found, Mapping) else None
    return value if isinstance(value, str) else ""


def _texts(found: object) -> dict[str, str]:
    if not isinstance(found, Mapping):
        return {}
    return {key: value for key, value in found.items() if isinstance(key, str) and isinstance(value, str)}
