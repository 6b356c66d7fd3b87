"""Topology spread: whether one more pod on the node keeps the skew over domains small enough.

Source: kube-scheduler's plugin PodTopologySpread.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.objects.kinds import Pod, Spread, Taint
from planner.objects.predicates import selects, untolerated, wants_node
from planner.scheduling.site import Occupancies, Occupancy


@dataclass(frozen=True, slots=True)
class Evenness:
    """One constraint of a pod, counted over the cluster.

    Attributes:
        constraint: that must hold.
        counts: matching pods by domain, of all domains that count.
        least: pods in the emptiest domain, 0 while there are fewer domains than wanted.
        own: 1 if the pod matches the constraint itself, else 0.
    """

    constraint: Spread
    counts: Mapping[str, int]
    least: int
    own: int


def evenness_of(pod: Pod, places: Occupancies) -> tuple[Evenness, ...]:
    """Return the pod's constraints, each with its counts over the cluster.

    A node that lacks the key of any of them counts for none.
    """
    keys = [constraint.topology_key for constraint in pod.spread]
    keyed = [place for place in places if all(key in place.labels for key in keys)] if keys else []
    return tuple(_counted(pod, constraint, keyed) for constraint in pod.spread)


def spread_obstacle(place: Occupancy, evenness: tuple[Evenness, ...]) -> str | None:
    """Return a sentence on the constraint that one more pod on the node would break, or None."""
    for counted in evenness:
        constraint = counted.constraint
        domain = place.labels.get(constraint.topology_key)
        if domain is None:
            return (
                "the node didn't match pod topology spread constraints (missing required label): "
                f"{constraint.topology_key}"
            )
        count = counted.counts.get(domain, 0)
        if count + counted.own - counted.least > constraint.max_skew:
            return (
                f"the node didn't match pod topology spread constraints: {count} pods in "
                f"{constraint.topology_key}={domain}, {counted.least} in the emptiest domain, "
                f"maxSkew {constraint.max_skew}"
            )
    return None


def _counted(pod: Pod, constraint: Spread, keyed: Occupancies) -> Evenness:
    counts: dict[str, int] = {}
    for place in keyed:
        if makes_domain(pod, constraint, place.labels, place.site.taints):
            domain = place.labels[constraint.topology_key]
            counts[domain] = counts.get(domain, 0) + _matching(pod, constraint, place)
    enough = counts and len(counts) >= constraint.min_domains
    return Evenness(
        constraint=constraint,
        counts=counts,
        least=min(counts.values()) if enough else 0,
        own=own_count(pod, constraint),
    )


def own_count(pod: Pod, constraint: Spread) -> int:
    """Return 1 if the pod itself counts for its constraint, else 0."""
    return int(constraint.selector is not None and selects(constraint.selector, pod.labels))


def is_counted(constraint: Spread, other: Pod) -> bool:
    """Return whether another pod of the same namespace counts for the constraint.

    A selector without requirements matches the pod itself, yet the scheduler counts no other pod for it.
    """
    return bool(constraint.selector) and not other.is_terminating and selects(constraint.selector, other.labels)


def makes_domain(pod: Pod, constraint: Spread, labels: Mapping[str, str], taints: Iterable[Taint]) -> bool:
    """Return whether a node, which has the keys of all constraints, counts as part of its domain for this pod."""
    return (not constraint.honors_node_affinity or wants_node(pod, labels)) and not (
        constraint.honors_node_taints and untolerated(pod.tolerations, taints)
    )


def _matching(pod: Pod, constraint: Spread, place: Occupancy) -> int:
    return sum(is_counted(constraint, resident) for resident in place.pods.get(pod.namespace, ()))
