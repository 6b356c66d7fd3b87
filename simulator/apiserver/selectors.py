"""Label and field selectors as a Kubernetes API server reads them.

Source: Kubernetes docs, "Labels and Selectors" and "Field Selectors".
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from activities.ports.cluster import Object, Resource
from activities.ports.errors import Rejected

Matches = Callable[[Object], bool]
"""Whether an object is selected."""

_SET: Final = re.compile(r"^(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUALITY: Final = re.compile(r"^(?P<key>[^\s=!]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s=!]*)$")
_EXISTENCE: Final = re.compile(r"^(?P<absent>!?)\s*(?P<key>[^\s=!(),]+)$")
_COMMA_OUTSIDE_PARENTHESES: Final = re.compile(r",(?![^(]*\))")

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "pods": frozenset({"spec.nodeName", "spec.schedulerName", "status.phase", "status.nominatedNodeName"}),
    "nodes": frozenset({"spec.unschedulable"}),
}
"""What can be asked for beyond name and namespace, by plural. Source: Kubernetes docs, "Field Selectors"."""


def label_selector(text: str) -> Matches:
    """Return the predicate of a label selector: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, all must hold.

    Raises:
        Rejected: it is not a label selector.
    """
    terms = [_label_term(term.strip()) for term in _COMMA_OUTSIDE_PARENTHESES.split(text)] if text.strip() else []

    def matches(item: Object) -> bool:
        labels = item["metadata"].get("labels") or {}
        return all(term(labels) for term in terms)

    return matches


def field_selector(resource: Resource, text: str) -> Matches:
    """Return the predicate of a field selector: `path=value`, `path==value` or `path!=value`, all must hold.

    Raises:
        Rejected: it is not a field selector, or the resource cannot be selected by that field.
    """
    terms = [_field_term(resource, term.strip()) for term in text.split(",")] if text.strip() else []
    return lambda item: all(term(item) for term in terms)


def _label_term(term: str) -> Callable[[Mapping[str, str]], bool]:
    if match := _SET.match(term):
        key = match["key"]
        values = frozenset(value.strip() for value in match["values"].split(","))
        if match["operator"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _EQUALITY.match(term):
        key, value = match["key"], match["value"]
        # An object without the label is also "not equal".
        if match["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTENCE.match(term):
        key = match["key"]
        if match["absent"]:
            return lambda labels: key not in labels
        return lambda labels: key in labels
    raise Rejected(f"label selector: cannot read {term!r}")


def _field_term(resource: Resource, term: str) -> Matches:
    match = _EQUALITY.match(term)
    if match is None:
        raise Rejected(f"field selector: cannot read {term!r}")
    path, value = match["key"], match["value"]
    known = {"metadata.name", "metadata.namespace"} if resource.namespaced else {"metadata.name"}
    if path not in known | _FIELDS.get(resource.plural, frozenset()):
        raise Rejected(f"field selector: {resource.plural} cannot be selected by {path}")
    keys = path.split(".")
    is_equal = match["operator"] != "!="
    return lambda item: (_text(item, keys) == value) is is_equal


def _text(item: Object, keys: list[str]) -> str:
    """Return the field as text; what is absent is empty, and so is an absent flag "false"."""
    here: object = item
    for key in keys:
        here = here.get(key) if isinstance(here, dict) else None
    if keys[-1] == "unschedulable":
        return "true" if here else "false"
    return str(here) if here is not None else ""
