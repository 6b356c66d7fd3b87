"""LimitRanges: what admission makes of pods before anybody sees them, asked ahead for pods that do not exist yet.

A DaemonSet's template may ask for nothing, and each of its pods for what the LimitRange of its namespace gives: the
first machine of a cluster would be bought too small. What such a pod runs with is known better from itself, once there
is one (`planner/supply/observed/carried.py`).

Source: Kubernetes docs, "Limit Ranges"; SetDefaults_LimitRangeItem and defaultPodRequests in
pkg/apis/core/v1/defaults.go; mergePodResourceRequirements and PodValidateLimitFunc in
plugin/pkg/admission/limitranger/admission.go; validateResourceRequirements and validatePodResourceConsistency in
pkg/apis/core/validation/validation.go, which a pod meets after it was given its defaults.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Final

from api.quantity import format_amount, parse_quantity
from planner.parsing.effective_request import OVERCOMMITTABLE, container_request, is_sidecar, pod_total
from planner.parsing.json_part import FieldError, Part

_CONTAINER: Final = "Container"
_POD: Final = "Pod"
_REQUESTS: Final = 0
_LIMITS: Final = 1
"""Where they stand in what a container or a pod states."""
Json = Mapping[str, Any]
Quantities = Mapping[str, tuple[Fraction, Any]]
"""By resource the exact amount, and how it is written."""
Amounts = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class _Rule:
    """One item of a LimitRange."""

    scope: str
    """Container or Pod."""
    least: Quantities
    most: Quantities
    ratio: Quantities
    """The most that a limit may be, as a multiple of its request."""
    limits: Quantities
    """Of a container that states none."""
    requests: Quantities


@dataclass(frozen=True, slots=True)
class LimitRange:
    """What one LimitRange says of pods and containers; what it says of claims is left out."""

    namespace: str
    name: str
    rules: tuple[_Rule, ...]


def limit_range_from(root: Part) -> LimitRange:
    """Return the LimitRange, with the defaults that an API server fills in.

    Raises:
        FieldError: a field cannot be read.
    """
    metadata = root.part("metadata")
    rules = tuple(_rule(item) for item in root.part("spec").parts("limits") if item.text("type") in (_CONTAINER, _POD))
    return LimitRange(metadata.text("namespace") or "default", metadata.text("name"), rules)


class LimitRanges:
    """The LimitRanges of a cluster.

    Args:
        ranges: of all namespaces.
    """

    def __init__(self, ranges: Iterable[LimitRange]) -> None:
        self._of: dict[str, list[LimitRange]] = defaultdict(list)
        for each in sorted(ranges, key=lambda limit_range: limit_range.name):
            self._of[each.namespace].append(each)

    def has_any(self, namespace: str) -> bool:
        """Return whether there is any in the namespace."""
        return namespace in self._of

    def completed(self, namespace: str, spec: Json) -> Json:
        """Return the spec of a pod with the requests and limits that its containers do not state.

        Where several LimitRanges give a default, nobody knows whose counts: it is the largest here.

        Raises:
            FieldError: a field cannot be read.
        """
        if not self.has_any(namespace):
            return spec
        requests, limits = self._default(namespace, "requests"), self._default(namespace, "limits")
        root = Part(spec, "spec")
        complete = {**spec, **_of_the_whole(root)}
        for group in ("initContainers", "containers"):
            if root.has(group):
                complete[group] = [_with_defaults(each, requests, limits) for each in root.parts(group)]
        return complete

    def refusal(self, namespace: str, spec: Json) -> str:
        """Return why the API server takes no pod of this spec, which is complete; empty if it takes it.

        Raises:
            FieldError: a field cannot be read.
        """
        if not self.has_any(namespace):
            return ""
        root = Part(spec, "spec")
        containers = [_stated(each) for group in ("containers", "initContainers") for each in root.parts(group)]
        whole = _whole(root)
        for each in self._of[namespace]:
            for rule in each.rules:
                problems = [_violations(rule, *stated) for stated in ([whole] if rule.scope == _POD else containers)]
                for problem in chain(*problems, _contradictions(rule, root, containers)):
                    return f"LimitRange {each.name} of namespace {namespace} refuses its pods: {problem}"
        return ""

    def _default(self, namespace: str, field: str) -> Quantities:
        largest: dict[str, tuple[Fraction, Any]] = {}
        for each in self._of.get(namespace, ()):
            for rule in each.rules:
                for name, quantity in getattr(rule, field).items():
                    largest[name] = max(largest.get(name, quantity), quantity, key=_amount_of)
        return largest


def _rule(item: Part) -> _Rule:
    least, most, ratio = (_quantities(item, key) for key in ("min", "max", "maxLimitRequestRatio"))
    if item.text("type") == _POD:
        return _Rule(_POD, least, most, ratio, {}, {})
    limits = {**most, **_quantities(item, "default")}
    requests = {**least, **limits, **_quantities(item, "defaultRequest")}
    return _Rule(_CONTAINER, least, most, ratio, limits, requests)


def _quantities(part: Part, key: str) -> Quantities:
    # Read for what they may not be, such as negative.
    part.amounts(key)
    values = part.part(key).value
    try:
        return {name: (parse_quantity(value), value) for name, value in values.items()}
    except ValueError as error:
        raise FieldError(part.where(key), str(error)) from None


def _with_defaults(container: Part, requests: Quantities, limits: Quantities) -> dict[str, Any]:
    resources = container.part("resources")
    own_limits, own_requests = dict(resources.part("limits").value), dict(resources.part("requests").value)
    return {
        **container.value,
        "resources": {
            **resources.value,
            # A limit of its own stands for a request before any default does: pods are defaulted before admission.
            "requests": _written(requests) | own_limits | own_requests,
            "limits": _written(limits) | own_limits,
        },
    }


def _written(quantities: Quantities) -> dict[str, Any]:
    return {name: written for name, (_, written) in quantities.items()}


def _stated(container: Part) -> tuple[Amounts, Amounts]:
    """Return the requests and limits of a container."""
    resources = container.part("resources")
    requests, limits = _quantities(resources, "requests"), _quantities(resources, "limits")
    return _exact({**limits, **requests}), _exact(limits)


def _amount_of(quantity: tuple[Fraction, Any]) -> Fraction:
    return quantity[0]


def _exact(quantities: Quantities) -> Amounts:
    return {name: amount for name, (amount, _) in quantities.items()}


def _whole(spec: Part) -> tuple[Amounts, Amounts]:
    """Return the requests and limits of a pod: as it states them for the whole, else of its containers together."""
    requests, limits = (
        _of_containers(spec, index)
        | {
            name: amount
            for name, amount in _exact(_quantities(spec.part("resources"), key)).items()
            if name in OVERCOMMITTABLE
        }
        for index, key in ((_REQUESTS, "requests"), (_LIMITS, "limits"))
    )
    return requests, limits


def _of_containers(spec: Part, index: int) -> dict[str, Fraction]:
    """Return the requests or the limits of all containers of a pod together."""
    return pod_total(
        (_stated(each)[index] for each in spec.parts("containers")),
        ((_stated(each)[index], is_sidecar(each)) for each in spec.parts("initContainers")),
    )


def _of_the_whole(spec: Part) -> Json:
    """Return the pod's own resources with the requests that it has before any LimitRange is asked; none without them.

    Containers that get a default afterwards add nothing to them.
    """
    resources = spec.part("resources")
    limits = resources.part("limits").value
    if not limits:
        return {}
    together = pod_total(
        (container_request(each) for each in spec.parts("containers")),
        ((container_request(each), is_sidecar(each)) for each in spec.parts("initContainers")),
    )
    of_containers = {n: format_amount(n, amount) for n, amount in together.items() if n in OVERCOMMITTABLE}
    return {
        "resources": {**resources.value, "requests": {**limits, **of_containers, **resources.part("requests").value}}
    }


def _violations(rule: _Rule, requests: Amounts, limits: Amounts) -> Iterator[str]:
    unit = rule.scope.lower()
    for name, (least, written) in rule.least.items():
        if min(requests.get(name, Fraction(0)), limits.get(name, least)) < least:
            yield f"at least {written} {name} for each {unit}"
    for name, (most, written) in rule.most.items():
        if name not in limits or max(limits[name], requests.get(name, Fraction(0))) > most:
            yield f"at most {written} {name} for each {unit}, as a limit"
    for name, (ratio, written) in rule.ratio.items():
        request, limit = requests.get(name, Fraction(0)), limits.get(name, Fraction(0))
        if not (request and limit) or limit > ratio * request:
            yield f"a limit of {name} of at most {written} times the request for each {unit}"


def _contradictions(rule: _Rule, spec: Part, containers: Iterable[tuple[Amounts, Amounts]]) -> Iterator[str]:
    """Yield where a default that a container was given does not go with what it or its pod states."""
    pod_requests, pod_limits = (_exact(_quantities(spec.part("resources"), key)) for key in ("requests", "limits"))
    main = [_stated(each)[1] for each in spec.parts("containers")]
    for name, (limit, written) in rule.limits.items():
        given = f"it gives each container a limit of {written} {name}"
        if any(limits.get(name) == limit < requests.get(name, limit) for requests, limits in containers):
            yield f"{given}, and one asks for more"
        if name in pod_limits and any(limits.get(name) == limit > pod_limits[name] for limits in main):
            yield f"{given}, which is more than their pod may have"
    together = _of_containers(spec, _REQUESTS)
    for name, (_, written) in rule.requests.items():
        if name in pod_requests and together.get(name, Fraction(0)) > pod_requests[name]:
            yield f"it gives each container a request of {written} {name}, more together than their pod asks for"
