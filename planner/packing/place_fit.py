"""Which pod groups fit onto a place: the same judgement for many places, made once where they look alike.

A round judges each group against each machine with room. What a group asks of labels and taints is the same
on most machines; what it asks of amounts is a comparison, and most groups are too large for what is left.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from planner.objects.kinds import Pod, Taint
from planner.objects.predicates import selects, untolerated, wants_node
from planner.scheduling.attachments import Handle, amount_of, asked
from planner.scheduling.conflicts import ports_meet
from planner.supply.places import Place
from planner.supply.pod_group import PodGroup

_SORTED_BY: Final = "cpu"
"""Of this, machines have least left, as a rule."""


def reaches_volumes(pod: Pod, labels: Mapping[str, str]) -> bool:
    """Return whether every volume of the pod can be used from a node of these labels."""
    return all(any(selects(term, labels) for term in terms) for terms in pod.volume_terms)


def suits(pod: Pod, labels: Mapping[str, str], taints: Iterable[Taint]) -> bool:
    """Return whether a node of these labels and taints suits the pod and its volumes, whatever room it has."""
    return wants_node(pod, labels) and untolerated(pod.tolerations, taints) is None and reaches_volumes(pod, labels)


class PlaceFit:
    """Judges pod groups against places."""

    def __init__(self, groups: Sequence[PodGroup]) -> None:
        self._groups = groups
        self._pods = [group.example for group in groups]
        self._order = sorted(range(len(groups)), key=lambda i: self._pods[i].requests.get(_SORTED_BY, 0))
        self._sizes = [self._pods[i].requests.get(_SORTED_BY, 0) for i in self._order]
        self._amounts = [tuple(pod.requests.items()) for pod in self._pods]
        self._keys = sorted({key for pod in self._pods for key in _keys(pod)})
        self._suits: dict[tuple[object, ...], dict[int, bool]] = {}

    def held(self, place: Place, attached: Collection[Handle]) -> list[int]:
        """Return the groups of which a pod fits onto the place, ascending; `attached` volumes are there already."""
        near = self._order[: bisect_right(self._sizes, max(0, place.free.get(_SORTED_BY, 0)))]
        known = self._suits.setdefault(self._looks(place), {})
        return sorted(i for i in near if self._fits(i, place, attached, known))

    def _fits(self, i: int, place: Place, attached: Collection[Handle], known: dict[int, bool]) -> bool:
        pod = self._pods[i]
        free = place.free
        for name, amount in self._amounts[i]:
            if free.get(name, 0) < amount:
                return False
        if place.only_pool is not None and place.only_pool not in self._groups[i].pools:
            return False
        if i not in known:
            known[i] = suits(pod, place.labels, place.taints)
        if not known[i]:
            return False
        if pod.attachments and any(amount_of(free, name) < n for name, n in asked(pod, attached).items()):
            return False
        return not (pod.host_ports and ports_meet(pod, (*place.pods, *place.daemons)))

    def _looks(self, place: Place) -> tuple[object, ...]:
        """Return all of a place that labels and taints can be judged by."""
        return tuple(place.labels.get(key) for key in self._keys), tuple(place.taints)


def _keys(pod: Pod) -> Iterator[str]:
    """Yield the labels that decide where the pod may be."""
    for requirements in (
        pod.node_selector,
        *pod.node_affinity,
        *(term for terms in pod.volume_terms for term in terms),
    ):
        yield from (requirement.key for requirement in requirements)
