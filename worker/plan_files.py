"""Reads the files of `growth plan`: ordinary objects as `kubectl get -o yaml` prints them, or as people write them."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from activities.providers.kwok_catalogue import offerings
from api.model import Model
from api.reading import UnreadableError, read
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.model import NodeClass, Snapshot
from planner.parse import parse_objects
from worker.command_error import USAGE_ERROR, CommandError

Json = dict[str, Any]
STDIN: Final = "-"
_OWN: Final[dict[str, type[Model]]] = {
    "NodePool": NodePool,
    "KwokNodeClass": KwokNodeClass,
    "NodeRequest": NodeRequest,
    "NodeRemovalRequest": NodeRemovalRequest,
}
_KUBERNETES: Final = {"Pod": "v1", "Node": "v1", "DaemonSet": "apps/v1"}
_UNSCHEDULED: Final = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}

T = TypeVar("T", bound=Model)


class _Loader(yaml.CSafeLoader):
    """YAML as the API reads it: a time stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(slots=True)
class _Objects:
    """What the files hold, by kind."""

    by_kind: dict[str, list[Json]] = field(default_factory=dict)
    origin: dict[tuple[str, str], str] = field(default_factory=dict)
    """File by kind and name."""

    def add(self, file: str, kind: str, item: Json) -> None:
        """Keep the object.

        Raises:
            CommandError: it stands twice.
        """
        key = (kind, _name(item))
        if key in self.origin and key[1]:
            raise _bad(f"{file}: {kind} {key[1]} stands twice, the first time in {self.origin[key]}")
        self.origin[key] = file
        self.by_kind.setdefault(kind, []).append(item)

    def of(self, kind: str) -> list[Json]:
        return self.by_kind.get(kind, [])

    def models(self, model: type[T]) -> tuple[T, ...]:
        """Return the objects of an own kind.

        Raises:
            CommandError: one breaks the rules of its kind.
        """
        kind = model.__name__
        return tuple(_model(model, item, self.origin[kind, _name(item)]) for item in self.of(kind))


def read_snapshot(files: Iterable[str], now: datetime) -> Snapshot:
    """Return the snapshot that the files describe; pods, nodes and DaemonSets that cannot be read are its problems.

    A pod without a status was written by hand: it counts as one that the scheduler found no place for.

    Raises:
        CommandError: a file, or an object of Growth's own kinds, cannot be read; names file, object and field.
    """
    objects = _Objects()
    for file in files:
        shown = "standard input" if file == STDIN else file
        for number, document in enumerate(_documents(file, shown), start=1):
            for kind, item in _items(shown, number, document):
                objects.add(shown, kind, item)
    parsed = parse_objects(
        pods=[_waiting(item) for item in objects.of("Pod")],
        nodes=objects.of("Node"),
        daemon_sets=objects.of("DaemonSet"),
    )
    return Snapshot(
        now=now,
        pods=parsed.pods,
        nodes=parsed.nodes,
        daemon_sets=parsed.daemon_sets,
        pools=objects.models(NodePool),
        classes=tuple(_node_class(item) for item in objects.models(KwokNodeClass)),
        requests=objects.models(NodeRequest),
        removals=objects.models(NodeRemovalRequest),
        problems=parsed.problems,
    )


def _documents(file: str, shown: str) -> Iterator[Any]:
    try:
        text = sys.stdin.read() if file == STDIN else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise _bad(f"{shown}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _bad(f"{shown}: not a text in UTF-8") from None
    if text.lstrip().startswith(("{", "[")):
        try:
            yield json.loads(text)
        except json.JSONDecodeError:
            # Flow style of YAML begins like JSON; if it is neither, the message below tells where.
            pass
        else:
            return
    try:
        yield from yaml.load_all(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = "" if mark is None else f":{mark.line + 1}:{mark.column + 1}"
        raise _bad(f"{shown}{place}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise _bad(f"{shown}: not YAML: {' '.join(str(error).split())}") from None


def _items(file: str, number: int, document: Any, inherited: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the objects of known kinds of a document, those of lists one by one."""
    if document is None:
        return
    if isinstance(document, list):
        for item in document:
            yield from _items(file, number, item)
        return
    if not isinstance(document, dict):
        raise _bad(f"{file}: document {number} is no object: it must have apiVersion, kind and metadata")
    kind = document.get("kind") or inherited
    if not isinstance(kind, str) or not kind:
        raise _bad(f"{file}: document {number}: kind is missing")
    if kind.endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _items(file, number, item, kind.removesuffix("List"))
        return
    known = kind in _OWN or (kind in _KUBERNETES and document.get("apiVersion", _KUBERNETES[kind]) == _KUBERNETES[kind])
    if known:
        yield kind, document


def _name(item: Json) -> str:
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return ""
    namespace = metadata.get("namespace")
    if isinstance(namespace, str) and namespace:
        return f"{namespace}/{metadata['name']}"
    return f"default/{metadata['name']}" if item.get("kind") == "Pod" else metadata["name"]


def _waiting(pod: Json) -> Json:
    spec = pod.get("spec")
    is_bound = isinstance(spec, dict) and spec.get("nodeName")
    return pod if pod.get("status") or is_bound else {**pod, "status": _UNSCHEDULED}


def _model(model: type[T], item: Json, file: str) -> T:
    try:
        return read(model, item)
    except UnreadableError as error:
        raise _bad(f"{file}: {error}") from None


def _node_class(item: KwokNodeClass) -> NodeClass:
    return NodeClass(
        ref=ClassRef(name=item.metadata.name),
        offerings=offerings(item),
        status=item.status,
        generation=item.metadata.generation or 0,
    )


def _bad(message: str) -> CommandError:
    return CommandError(message, USAGE_ERROR)
