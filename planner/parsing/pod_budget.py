"""The budget of a pod: how much of each kind it may ask for, so that no pod takes the time of a round from all others.

The API server takes 1.5 MB of any pod, such as 10,000 anti-affinity terms. What is more than pods of this world have is
not judged: the pod is reported and left out, and others are planned.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from planner.parsing.json_part import FieldError, Part
from planner.parsing.neighbours import PREFERRED, REQUIRED

MOST_TERMS: Final = 100
"""Of one list of terms or constraints: each is compared with every kind of pod or machine. Pods have a handful."""
MOST_PARTS: Final = 10_000
"""Expressions, values and namespaces of all rules of a pod: some exclude each of a few thousand hosts by name."""
MOST_TOLERATIONS: Final = 500
MOST_CONTAINERS: Final = 500
MOST_PORTS: Final = 1000
"""Media servers take a port for each call."""
MOST_VOLUMES: Final = 500
"""A node attaches 128 at most; others are secrets and the like."""
MOST_RESOURCES: Final = 100
"""Each is one more number of every machine in the packing."""

_LISTS: Final = (
    ("tolerations", "tolerations", MOST_TOLERATIONS),
    ("topologySpreadConstraints", "constraints", MOST_TERMS),
    ("volumes", "volumes", MOST_VOLUMES),
    ("initContainers", "containers", MOST_CONTAINERS),
    ("containers", "containers", MOST_CONTAINERS),
    ("nodeSelector", "labels", MOST_TERMS),
)


class OverBudget(FieldError):
    """A pod asks for more of something than a round judges."""

    def __init__(self, path: str, number: int, noun: str, most: int) -> None:
        super().__init__(path, f"{number:,} {noun}; at most {most:,} are judged")


def check_budget(spec: Part) -> None:
    """Check that a round can judge all that the pod asks for.

    Raises:
        OverBudget: it asks for too much of something; names the field.
        FieldError: a field cannot be read.
    """
    for key, noun, most in _LISTS:
        if key in spec.value:
            _check_list(spec, key, noun, most)
    # Most pods have neither, and thousands of them are read in one go.
    _check_containers(spec)
    if not (spec.has("affinity") or spec.has("topologySpreadConstraints")):
        return
    for part, key in _term_lists(spec):
        _check_list(part, key, "terms", MOST_TERMS)
    parts = 0
    for rule in _rules(spec):
        parts += _size(rule)
        if parts > MOST_PARTS:
            raise OverBudget(rule.path, parts, "expressions and values up to here", MOST_PARTS)


def _check_list(part: Part, key: str, noun: str, most: int) -> None:
    # What is of another type is told of where it is read.
    value = part.value.get(key)
    if isinstance(value, list | dict) and len(value) > most:
        raise OverBudget(part.where(key), len(value), noun, most)


def _check_containers(spec: Part) -> None:
    ports, amounts = 0, len(spec.part("overhead").value) if spec.has("overhead") else 0
    for group in ("initContainers", "containers"):
        for container in spec.parts(group):
            if container.has("ports"):
                ports += container.length("ports")
                if ports > MOST_PORTS:
                    raise OverBudget(container.where("ports"), ports, "ports up to here", MOST_PORTS)
            if container.has("resources"):
                resources = container.part("resources")
                for key in ("requests", "limits"):
                    if resources.has(key):
                        amounts += len(resources.part(key).value)
    if amounts > MOST_RESOURCES:
        _check_resources(spec)


def _check_resources(spec: Part) -> None:
    names: set[object] = set(spec.part("overhead").value)
    for part in (spec, *spec.parts("initContainers"), *spec.parts("containers")):
        names.update(*_amounts(part))
        if len(names) > MOST_RESOURCES:
            raise OverBudget(part.where("resources"), len(names), "kinds of resources up to here", MOST_RESOURCES)


def _amounts(part: Part) -> tuple[Mapping[str, object], ...]:
    resources = part.part("resources")
    return tuple(resources.part(key).value for key in ("requests", "limits") if resources.has(key))


def _term_lists(spec: Part) -> Iterator[tuple[Part, str]]:
    affinity = spec.part("affinity")
    if affinity.has("nodeAffinity"):
        nodes = affinity.part("nodeAffinity")
        yield nodes.part(REQUIRED), "nodeSelectorTerms"
        yield nodes, PREFERRED
    for key in ("podAffinity", "podAntiAffinity"):
        if affinity.has(key):
            yield affinity.part(key), REQUIRED
            yield affinity.part(key), PREFERRED


def _rules(spec: Part) -> Iterator[Part]:
    """Yield the parts with expressions."""
    for part, key in _term_lists(spec):
        for term in part.parts(key):
            yield from (term.part(inner) for inner in ("podAffinityTerm", "preference") if term.has(inner))
            yield term
    yield from spec.parts("topologySpreadConstraints")


def _size(rule: Part) -> int:
    size = 0
    for key in ("namespaces", "matchLabelKeys", "mismatchLabelKeys"):
        if rule.has(key):
            size += rule.length(key)
    size += _selector_size(rule)
    for key in ("labelSelector", "namespaceSelector"):
        if rule.has(key):
            size += _selector_size(rule.part(key))
    return size


def _selector_size(part: Part) -> int:
    size = len(part.part("matchLabels").value) if part.has("matchLabels") else 0
    for key in ("matchExpressions", "matchFields"):
        if part.has(key):
            for expression in part.parts(key):
                size += 1 + expression.length("values")
    return size
