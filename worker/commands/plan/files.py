"""Reads the files of `growth plan`: ordinary objects as `kubectl get -o yaml` prints them, or as people write them."""

import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from activities.ports.provider_kind import NodeClassModel
from activities.providers.kinds import provider_kinds
from api.model import Model, UnreadableError
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.model.node_class import NodeClass
from planner.model.plan import Snapshot
from planner.objects.capacity_buffer import CapacityBuffer
from planner.parsing.admitted import with_limit_ranges
from planner.parsing.capacity_buffers import (
    TEMPLATE_NOT_FOUND,
    Missing,
    Reference,
    in_order,
    is_served,
    read_buffers,
    reference_of,
)
from planner.parsing.limit_ranges import LimitRanges
from planner.parsing.objects import parse_objects
from planner.supply.machine_kind import unserved
from worker.commands.plan.assignments import Setting, check_objects, notes, read_changed
from worker.commands.plan.completion.defaults import Completed, completed
from worker.commands.plan.doubts import doubts
from worker.commands.plan.objects import Json, Objects, items_of, key
from worker.commands.plan.syntax import BadDocument, documents
from worker.commands.plan.usage import usage_in
from worker.commands.shared.node_classes import as_planned, unread
from worker.errors import USAGE_ERROR, CommandError

STDIN: Final = "-"

T = TypeVar("T", bound=Model)


def read_objects(files: Iterable[str]) -> Objects:
    """Return the objects that the files hold.

    Raises:
        CommandError: a file cannot be read, or two objects of it differ and have one name.
    """
    objects = Objects()
    with _much_is_made():
        for file in files:
            shown = "standard input" if file == STDIN else file
            for number, document in enumerate(_documents(file, shown), start=1):
                for where, kind, item in items_of(f"{shown}: document {number}", document):
                    objects.add(shown, where, kind, item)
    return objects


def snapshot_of(objects: Objects, now: datetime) -> tuple[Snapshot, list[str]]:
    """Return the snapshot that the objects describe, and a line for each thing that a person should know of it.

    Objects of Kubernetes' own kinds that cannot be read are problems of the snapshot, and nothing else is lost.
    What an API server would have filled in is filled in: see `worker.commands.plan.completion.defaults`.

    Raises:
        CommandError: an object of Growth's own kinds cannot be read; names file, object and field.
    """
    with _much_is_made():
        complete = completed(objects)
        snapshot = _snapshot(objects, complete, now)
    left_out = [
        f"left out: {objects.file_of(problem.kind, problem.name)}: {problem.kind} {problem.name}: {problem.message}"
        for problem in snapshot.problems
    ]
    assumptions = (
        *objects.notes(),
        *complete.notes,
        *unread(_class_models(objects), now),
        *doubts(snapshot, complete.pods, objects.of("Node")),
    )
    return snapshot, [*assumptions, *left_out]


def with_settings(snapshot: Snapshot, objects: Objects, settings: Sequence[Setting]) -> tuple[Snapshot, list[str]]:
    """Return the snapshot of these objects as it is after the settings, and what a person should know of them.

    Raises:
        CommandError: a setting has no object or no field, or an object breaks the rules of its kind by it.
    """
    if not settings:
        return snapshot, []
    check_objects(settings, objects)
    assumptions = [
        line
        for kind in (NodePool.__name__, *(each.kind for each in provider_kinds()))
        for item in objects.of(kind)
        for line in notes(item, [one for one in settings if one.is_of(kind, item)])
    ]
    pools = models(objects, NodePool, settings)
    return replace(snapshot, pools=pools, classes=_classes(objects, pools, snapshot.now, settings)), assumptions


def _snapshot(objects: Objects, complete: Completed, now: datetime) -> Snapshot:
    parsed = parse_objects(
        pods=complete.pods,
        nodes=objects.of("Node"),
        daemon_sets=complete.daemon_sets,
        namespaces=objects.of("Namespace"),
        claims=complete.claims,
        volumes=objects.of("PersistentVolume"),
        storage_classes=objects.of("StorageClass"),
        csi_nodes=objects.of("CSINode"),
        disruption_budgets=complete.disruption_budgets,
    )
    pools = models(objects, NodePool)
    usage, unread_usage = usage_in(objects.of("NodeMetrics"))
    return Snapshot(
        now=now,
        pods=parsed.pods,
        nodes=parsed.nodes,
        daemon_sets=with_limit_ranges(parsed.daemon_sets, complete.daemon_sets, complete.limit_ranges),
        namespaces=parsed.namespaces,
        volumes=parsed.volumes,
        disruption_budgets=parsed.disruption_budgets,
        usage=usage,
        buffers=_buffers(objects, LimitRanges(complete.limit_ranges)),
        pools=pools,
        classes=_classes(objects, pools, now),
        requests=models(objects, NodeRequest),
        removals=models(objects, NodeRemovalRequest),
        problems=(*complete.problems, *parsed.problems, *unread_usage),
    )


def _buffers(objects: Objects, ranges: LimitRanges) -> tuple[CapacityBuffer, ...]:
    items = in_order(item for item in objects.of("CapacityBuffer") if is_served(item, None))
    if not items:
        return ()
    references = {each for each in map(reference_of, items) if isinstance(each, Reference)}
    known = {(kind, key(item)): item for kind in {each.kind for each in references} for item in objects.of(kind)}
    targets = {
        each: known.get((each.kind, f"{each.namespace}/{each.name}"))
        or Missing(TEMPLATE_NOT_FOUND, f"{each.text} is in no file")
        for each in references
    }
    return read_buffers(items, targets, ranges)


@contextmanager
def _much_is_made() -> Iterator[None]:
    """Keep the collector of garbage from looking through a growing heap again and again: nothing here is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _documents(file: str, shown: str) -> Iterator[Any]:
    try:
        yield from documents(sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes())
    except OSError as error:
        raise _bad(f"{shown}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _bad(f"{shown}: not a text in UTF-8") from None
    except BadDocument as error:
        raise _bad(f"{shown}{error.place}: {error}") from None


def models(objects: Objects, model: type[T], settings: Sequence[Setting] = ()) -> tuple[T, ...]:
    """Return the objects of an own kind, after the settings.

    Raises:
        CommandError: one breaks the rules of its kind.
    """
    return tuple(_model(model, item, objects, settings) for item in objects.of(model.__name__))


def _model(model: type[T], item: Json, objects: Objects, settings: Sequence[Setting]) -> T:
    own = [one for one in settings if one.is_of(model.__name__, item)]
    try:
        return read_changed(model, item, own)
    except UnreadableError as error:
        raise _bad(f"{objects.origin(model.__name__, item)}: {error}") from None


def _classes(
    objects: Objects, pools: Sequence[NodePool], now: datetime, settings: Sequence[Setting] = ()
) -> tuple[NodeClass, ...]:
    known = tuple(as_planned(item, pools, now) for item in _class_models(objects, settings))
    return (*known, *unserved(pools, [kind.kind for kind in provider_kinds()]))


def _class_models(objects: Objects, settings: Sequence[Setting] = ()) -> Iterator[NodeClassModel]:
    for kind in provider_kinds():
        yield from models(objects, kind.model, settings)


def _bad(message: str) -> CommandError:
    return CommandError(message, USAGE_ERROR)
