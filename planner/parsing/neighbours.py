"""Affinity, anti-affinity and spreading of a pod: required and preferred rules about other pods.

Source: Kubernetes docs, "Inter-pod affinity and anti-affinity" and "Pod Topology Spread Constraints".
"""

from collections.abc import Iterator, Mapping
from typing import Final

from planner.objects.kinds import PodTerm, PreferredPods, Requirement, Spread
from planner.parsing.json_part import FieldError, Part
from planner.parsing.selectors import optional_selector

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHTS: Final = range(1, 101)
"""What the API server takes."""
_HONOR: Final = "Honor"
_IGNORE: Final = "Ignore"
HARD: Final = "DoNotSchedule"
_SOFT: Final = "ScheduleAnyway"

Labels = Mapping[str, str]


def pod_terms(affinity: Part, namespace: str, labels: Labels) -> tuple[PodTerm, ...]:
    """Return the required terms of a podAffinity or podAntiAffinity of a pod with this namespace and these labels.

    Raises:
        FieldError: a field cannot be read.
    """
    return tuple(_term(part, namespace, labels) for part in affinity.parts(REQUIRED))


def preferred_terms(affinity: Part, namespace: str, labels: Labels) -> tuple[PreferredPods, ...]:
    """Return the preferred terms of a podAffinity or podAntiAffinity of a pod with this namespace and these labels.

    Raises:
        FieldError: a field cannot be read.
    """
    return tuple(
        PreferredPods(weight(part), _term(part.part("podAffinityTerm"), namespace, labels))
        for part in affinity.parts(PREFERRED)
    )


def weight(part: Part) -> int:
    """Return the weight of a preferred term.

    Raises:
        FieldError: it is none.
    """
    number = part.number("weight")
    if number not in _WEIGHTS:
        raise FieldError(part.where("weight"), f"{number} is not between {_WEIGHTS[0]} and {_WEIGHTS[-1]}")
    return number


def spreads(spec: Part, labels: Labels, *, is_soft: bool = False) -> tuple[Spread, ...]:
    """Return the spread constraints that must hold, or with `is_soft` those of ScheduleAnyway.

    Raises:
        FieldError: a field cannot be read.
    """
    wanted = _SOFT if is_soft else HARD
    constraints = spec.parts("topologySpreadConstraints")
    return tuple(_spread(c, labels) for c in constraints if _choice(c, "whenUnsatisfiable", HARD, _SOFT) == wanted)


def _term(part: Part, namespace: str, labels: Labels) -> PodTerm:
    selector = optional_selector(part, "labelSelector")
    namespaces = frozenset(part.texts("namespaces"))
    namespace_selector = optional_selector(part, "namespaceSelector")
    return PodTerm(
        topology_key=part.name("topologyKey"),
        selector=None if selector is None else _merged(selector, _same_labels(part, labels)),
        namespaces=namespaces if namespaces or namespace_selector is not None else frozenset({namespace}),
        namespace_selector=namespace_selector,
    )


def _spread(part: Part, labels: Labels) -> Spread:
    selector = optional_selector(part, "labelSelector")
    if selector is not None:
        selector = _merged(selector, _same_labels(part, labels))
    return Spread(
        topology_key=part.name("topologyKey"),
        max_skew=_positive(part, "maxSkew"),
        # The scheduler counts no pod for a selector without requirements, although it selects all of them
        # (podtopologyspread/common.go, countPodsMatchSelector).
        selector=selector or None,
        min_domains=_positive(part, "minDomains") if part.has("minDomains") else 1,
        honors_node_affinity=_choice(part, "nodeAffinityPolicy", _HONOR, _IGNORE) == _HONOR,
        honors_node_taints=_choice(part, "nodeTaintsPolicy", _IGNORE, _HONOR) == _HONOR,
    )


def _same_labels(part: Part, labels: Labels) -> Iterator[Requirement]:
    # The API server writes these into the selector at creation; pods from files lack that.
    for key in part.texts("matchLabelKeys"):
        if key in labels:
            yield Requirement(key, "In", (labels[key],))
    for key in part.texts("mismatchLabelKeys"):
        if key in labels:
            yield Requirement(key, "NotIn", (labels[key],))


def _merged(selector: tuple[Requirement, ...], more: Iterator[Requirement]) -> tuple[Requirement, ...]:
    return tuple(dict.fromkeys((*selector, *more)))


def _positive(part: Part, key: str) -> int:
    number = part.number(key)
    if number < 1:
        raise FieldError(part.where(key), f"{number} is not 1 or more")
    return number


def _choice(part: Part, key: str, default: str, other: str) -> str:
    text = part.text(key) or default
    if text not in (default, other):
        raise FieldError(part.where(key), f"{text!r} is not one of {default}, {other}")
    return text
