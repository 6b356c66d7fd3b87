"""Selectors of pods, nodes and volumes as requirements.

Source: Kubernetes docs, "Labels and selectors" and "Assigning Pods to Nodes"; what the API server lets pass
but the scheduler cannot read selects no node (component-helpers, scheduling/corev1/nodeaffinity).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from planner.objects.kinds import Requirement
from planner.objects.predicates import FIELD_NAME, NEVER
from planner.parsing.json_part import FieldError, Part

_VALUED: Final = ("In", "NotIn")
_BARE: Final = ("Exists", "DoesNotExist")
_NUMERIC: Final = ("Gt", "Lt")
_FIELD: Final = "metadata.name"
"""The only field of a node that can be asked for."""


def node_terms(parts: Iterator[Part]) -> tuple[tuple[Requirement, ...], ...]:
    """Return the terms of a node selector, of which one must hold; none at all means that no node can.

    matchFields are requirements of the key `FIELD_NAME`.

    Raises:
        FieldError: a field cannot be read.
    """
    terms = tuple(
        (*(_node_requirement(e) for e in term.parts("matchExpressions")), *map(_on_name, term.parts("matchFields")))
        or (NEVER,)
        for term in parts
    )
    return terms or ((NEVER,),)


def label_selector(selector: Part) -> tuple[Requirement, ...]:
    """Return the requirements of a label selector; none means that it selects everything.

    Raises:
        FieldError: a field cannot be read.
    """
    pairs = (Requirement(key, "In", (value,)) for key, value in sorted(selector.text_map("matchLabels").items()))
    return (*pairs, *(_requirement(e, (*_VALUED, *_BARE)) for e in selector.parts("matchExpressions")))


def optional_selector(part: Part, key: str) -> tuple[Requirement, ...] | None:
    """Return the requirements of the label selector in a field, or None where the field is absent: it selects nothing.

    Raises:
        FieldError: a field cannot be read.
    """
    return label_selector(part.part(key)) if part.has(key) else None


def _node_requirement(expression: Part) -> Requirement:
    requirement = _requirement(expression, (*_VALUED, *_BARE, *_NUMERIC))
    # The API server takes a value that is no number. It holds for no label, and so the term selects no node.
    if requirement.operator in _NUMERIC and len(requirement.values) != 1:
        raise FieldError(expression.where("values"), f"{requirement.operator} needs one value")
    return requirement


def _requirement(expression: Part, known: Sequence[str]) -> Requirement:
    key, operator, values = expression.name("key"), expression.text("operator"), expression.texts("values")
    if operator not in known:
        raise FieldError(expression.where("operator"), f"{operator!r} is not one of {', '.join(known)}")
    if operator in _VALUED and not values:
        raise FieldError(expression.where("values"), f"{operator} needs at least one value")
    return Requirement(key, operator, () if operator in _BARE else values)


def _on_name(field: Part) -> Requirement:
    key, operator, values = field.name("key"), field.text("operator"), field.texts("values")
    if key != _FIELD:
        raise FieldError(field.where("key"), f"{key!r} is not {_FIELD}, the only field of a node that can be asked for")
    if operator not in _VALUED:
        raise FieldError(field.where("operator"), f"{operator!r} is not one of {', '.join(_VALUED)}")
    if len(values) != 1:
        raise FieldError(field.where("values"), f"{operator} needs one value")
    return Requirement(FIELD_NAME, operator, values)
