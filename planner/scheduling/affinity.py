"""Whether the node's domains hold the pods that a pod wants near, and none that it or they want apart.

Source: kube-scheduler's plugin InterPodAffinity.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.objects.kinds import Pod, PodTerm
from planner.objects.predicates import selects
from planner.scheduling.site import Occupancies, Occupancy

Domain = tuple[str, str]
"""A topology key and one of its values."""
Namespaces = Mapping[str, Mapping[str, str]]
"""Labels by name of the namespace."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Which domains the pods that are there open or close for one pod.

    Attributes:
        near: domains of the pod's affinity terms with a pod that meets all of them.
        apart: domains with a pod that the pod's own anti-affinity names.
        repelled: domains closed by the anti-affinity of a pod that is there, with that pod's name.
        is_first: no pod meets the affinity terms but this one itself: it may begin its group anywhere.
    """

    near: frozenset[Domain]
    apart: frozenset[Domain]
    repelled: Mapping[Domain, str]
    is_first: bool


def neighbours_of(
    pod: Pod, places: Occupancies, repelling: Iterable[tuple[Pod, Occupancy]], namespaces: Namespaces
) -> Neighbours:
    """Return the domains that other pods open or close for the pod; `repelling` are pods with anti-affinity."""
    near: set[Domain] = set()
    apart: set[Domain] = set()
    if pod.pod_affinity or pod.pod_anti_affinity:
        for place in places:
            near.update(_met(pod.pod_affinity, place, namespaces))
            apart.update(_named(pod.pod_anti_affinity, place, namespaces))
    repelled: dict[Domain, str] = {}
    for resident, place in repelling:
        for term in resident.pod_anti_affinity:
            value = place.labels.get(term.topology_key)
            if value is not None and (term.topology_key, value) not in repelled and term_matches(term, pod, namespaces):
                repelled[term.topology_key, value] = resident.key
    return Neighbours(
        near=frozenset(near),
        apart=frozenset(apart),
        repelled=repelled,
        is_first=not near and meets_all(pod.pod_affinity, pod, namespaces),
    )


def affinity_obstacle(pod: Pod, place: Occupancy, neighbours: Neighbours) -> str | None:
    """Return a sentence on the affinity rule that the node breaks, or None."""
    labels = place.labels
    wanted = [(term.topology_key, labels.get(term.topology_key)) for term in pod.pod_affinity]
    for key, value in wanted:
        if value is None:
            return f"the node didn't match pod affinity rules: it has no label {key}"
    if not neighbours.is_first:
        for domain in wanted:
            if domain not in neighbours.near:
                return f"the node didn't match pod affinity rules: no such pod in {domain[0]}={domain[1]}"
    for term in pod.pod_anti_affinity:
        domain = (term.topology_key, labels.get(term.topology_key))
        if domain in neighbours.apart:
            return f"the node didn't match pod anti-affinity rules: such a pod is in {domain[0]}={domain[1]}"
    for (key, value), resident in neighbours.repelled.items():
        if labels.get(key) == value:
            return f"the node didn't satisfy existing pods anti-affinity rules: those of {resident} in {key}={value}"
    return None


def term_matches(term: PodTerm, other: Pod, namespaces: Namespaces) -> bool:
    """Return whether a term means another pod, wherever that is."""
    return (
        term.selector is not None
        and looks_in(term, other.namespace, namespaces)
        and selects(term.selector, other.labels)
    )


def meets_all(terms: Sequence[PodTerm], other: Pod, namespaces: Namespaces) -> bool:
    """Return whether a pod meets all affinity terms at once, of which there is one at least."""
    return bool(terms) and all(term_matches(term, other, namespaces) for term in terms)


def looks_in(term: PodTerm, namespace: str, namespaces: Namespaces) -> bool:
    """Return whether a term means pods of this namespace."""
    if namespace in term.namespaces:
        return True
    if term.namespace_selector is None:
        return False
    labels = namespaces.get(namespace, {"kubernetes.io/metadata.name": namespace})
    return selects(term.namespace_selector, labels)


def _met(terms: tuple[PodTerm, ...], place: Occupancy, namespaces: Namespaces) -> Iterator[Domain]:
    """Yield the domains of a node where a pod meets all terms at once: two pods that meet one each are not enough."""
    if any(meets_all(terms, resident, namespaces) for resident in _residents(terms, place, namespaces)):
        for term in terms:
            value = place.labels.get(term.topology_key)
            if value is not None:
                yield term.topology_key, value


def _named(terms: tuple[PodTerm, ...], place: Occupancy, namespaces: Namespaces) -> Iterator[Domain]:
    for term in terms:
        value = place.labels.get(term.topology_key)
        if value is not None and any(
            term_matches(term, resident, namespaces) for resident in _residents((term,), place, namespaces)
        ):
            yield term.topology_key, value


def _residents(terms: tuple[PodTerm, ...], place: Occupancy, namespaces: Namespaces) -> Iterator[Pod]:
    for namespace, pods in place.pods.items():
        if all(looks_in(term, namespace, namespaces) for term in terms):
            yield from pods
