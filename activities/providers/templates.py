"""What machines of each kind of node class are made with, read from objects as the API server has them."""

from collections.abc import Callable, Mapping
from typing import Any

from activities.objects.node_classes import class_of
from activities.ports.cluster import Object
from activities.ports.provider_kind import ProviderKind
from activities.providers.kinds import provider_kinds
from planner.objects.class_template import ClassTemplate


def templates() -> Mapping[str, Callable[[Object], ClassTemplate]]:
    """Return by kind what reads the template of a class: `Ports.templates`."""
    return {kind.kind: _reader(kind) for kind in provider_kinds()}


def _reader(kind: ProviderKind[Any]) -> Callable[[Object], ClassTemplate]:
    def read(node_class: Object) -> ClassTemplate:
        return kind.template(class_of(kind.model, node_class))

    return read
