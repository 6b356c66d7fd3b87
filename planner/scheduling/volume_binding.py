"""Conditions on the node of a pod whose claims are bound only when it has one.

Source: kube-scheduler's plugin VolumeBinding (FindPodVolumes) and FindMatchingVolume in component-helpers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from planner.objects.kinds import Requirement
from planner.objects.predicates import FIELD_NAME, NEVER, selects
from planner.objects.storage import Claim, StorageClass, Volume, VolumeNeed

Term = tuple[Requirement, ...]
Terms = tuple[Term, ...]
_ByPlace = Mapping[Terms, Sequence[Volume]]
"""Volumes by their node affinity, the smallest first."""
_Wish = tuple[VolumeNeed, tuple[Requirement, ...] | None]

MOST_ALTERNATIVES: Final = 10_000
"""As many as nodes with a local volume each. Claims of unlike classes multiply out: ten of three places are 59,049."""


class TooManyAlternatives(ValueError):
    """The claims of one pod may be bound in more ways than are judged."""

    def __init__(self) -> None:
        super().__init__(
            f"its claims can be bound in more than {MOST_ALTERNATIVES:,} combinations of places, the most that are "
            "judged: use storage classes with the same or fewer allowedTopologies"
        )


class VolumeBinding:
    """Volumes and storage classes, as claims choose among them.

    Volumes with the same node affinity are taken to be in one place; one with another affinity is not used there,
    although a node might meet both.
    """

    def __init__(self, volumes: Iterable[Volume], classes: Mapping[str, StorageClass]) -> None:
        self._classes = classes
        self._kept: dict[str, list[Volume]] = {}
        self._free: dict[str, list[Volume]] = {}
        self._offered: dict[_Wish, _ByPlace] = {}
        self._known: dict[tuple[object, ...], list[Terms]] = {}
        for volume in sorted(volumes, key=lambda volume: (volume.offer.size, volume.name)):
            if volume.is_terminating:
                continue
            if volume.claim:
                self._kept.setdefault(volume.claim, []).append(volume)
            elif volume.is_available:
                self._free.setdefault(volume.offer.storage_class, []).append(volume)

    def conditions(self, claims: Sequence[Claim]) -> list[Terms]:
        """Return the conditions on the node that all these claims of one pod make, as terms of which one must hold.

        A claim takes a volume that is there, or one is made for it.

        Raises:
            TooManyAlternatives: there are too many ways.
        """
        conditions: list[Terms] = []
        free: list[Claim] = []
        for claim in claims:
            if claim.selected_node:
                conditions.append(((Requirement(FIELD_NAME, "In", (claim.selected_node,)),),))
                conditions += self._made_in(claim)
            else:
                free.append(claim)
        # The smallest claim chooses first, so that it does not take the volume that only a larger one needs.
        free.sort(key=lambda claim: claim.need.size)
        reserved = [self._kept_for(claim) for claim in free]
        # The pods of a StatefulSet have claims that differ in their names alone.
        key = tuple((*_wish(claim), *(v.name for v in own)) for claim, own in zip(free, reserved, strict=True))
        if key not in self._known:
            fitting = [
                _by_place(own) if own else self._free_for(claim) for claim, own in zip(free, reserved, strict=True)
            ]
            self._known[key] = self._of_free(free, fitting)
        return conditions + self._known[key]

    def _of_free(self, claims: Sequence[Claim], fitting: Sequence[_ByPlace]) -> list[Terms]:
        if not any(fitting):
            return [terms for claim in claims for terms in self._made_in(claim)]
        places = dict.fromkeys(place for volumes in fitting for place in volumes)
        alternatives: dict[Term, None] = {}
        for place in dict.fromkeys([*places, ()]):
            alternatives.update(dict.fromkeys(self._together(place, claims, fitting)))
            if len(alternatives) > MOST_ALTERNATIVES:
                raise TooManyAlternatives
        if () in alternatives:
            return []
        return [tuple(alternatives) or ((NEVER,),)]

    def _together(self, place: Terms, claims: Sequence[Claim], fitting: Sequence[_ByPlace]) -> Sequence[Term]:
        """Return terms of nodes in a place where all claims find a volume: one there, one from everywhere, or made."""
        taken: set[str] = set()
        conditions: dict[Terms, None] = dict.fromkeys([place] if place else [])
        for claim, volumes in zip(claims, fitting, strict=True):
            reachable = dict.fromkeys((place, ()))
            here = [v for each in reachable for v in _first_left(volumes.get(each, ()), taken)]
            if here:
                taken.add(min(here, key=lambda v: (v.offer.size, v.name)).name)
            elif self._classes[claim.need.storage_class].driver:
                conditions.update(dict.fromkeys(self._made_in(claim)))
            else:
                return ()
        return _all_of(conditions)

    def _made_in(self, claim: Claim) -> list[Terms]:
        """Return the conditions of making a volume: none, or where it can be made."""
        storage_class = self._classes[claim.need.storage_class]
        if not storage_class.driver:
            return [((NEVER,),)]
        return [storage_class.allowed_topologies] if storage_class.allowed_topologies else []

    def _kept_for(self, claim: Claim) -> list[Volume]:
        return [
            volume
            for volume in self._kept.get(claim.key, ())
            if volume.offer.storage_class == claim.need.storage_class
            and volume.claim_uid in ("", claim.uid)
            and _suffices(claim, volume)
        ]

    def _free_for(self, claim: Claim) -> _ByPlace:
        wish = _wish(claim)
        if wish not in self._offered:
            free = self._free.get(claim.need.storage_class, ())
            self._offered[wish] = _by_place([v for v in free if _suffices(claim, v) and _is_wanted(claim, v)])
        return self._offered[wish]


def _wish(claim: Claim) -> _Wish:
    return claim.need, claim.selector


def _by_place(volumes: Iterable[Volume]) -> _ByPlace:
    by_place: dict[Terms, list[Volume]] = {}
    for volume in volumes:
        by_place.setdefault(volume.node_affinity, []).append(volume)
    return by_place


def _first_left(volumes: Iterable[Volume], taken: set[str]) -> Sequence[Volume]:
    return next(((volume,) for volume in volumes if volume.name not in taken), ())


def _all_of(conditions: Iterable[Terms]) -> Sequence[Term]:
    """Return the terms that together say that one term of each condition holds, each once.

    Raises:
        TooManyAlternatives: there are too many.
    """
    alternatives: list[Term] = [()]
    for terms in conditions:
        pairs = (_both(term, more) for term in alternatives for more in terms)
        alternatives = list(dict.fromkeys(both for both in pairs if both is not None))
        if len(alternatives) > MOST_ALTERNATIVES:
            raise TooManyAlternatives
    return alternatives


def _both(term: Term, more: Term) -> Term | None:
    """Return the term that says both, or None if no node can meet it, as two of its lists have nothing in common."""
    both = list(dict.fromkeys((*term, *more)))
    values: dict[str, tuple[str, ...]] = {}
    for requirement in both:
        if requirement.operator == "In":
            key, before = requirement.key, values.get(requirement.key, requirement.values)
            values[key] = tuple(value for value in before if value in requirement.values)
    if not all(values.values()):
        return None
    merged = (Requirement(r.key, "In", values[r.key]) if r.operator == "In" else r for r in both)
    return tuple(dict.fromkeys(merged))


def _suffices(claim: Claim, volume: Volume) -> bool:
    need, offer = claim.need, volume.offer
    return (offer.mode, offer.attributes_class) == (need.mode, need.attributes_class) and offer.size >= need.size


def _is_wanted(claim: Claim, volume: Volume) -> bool:
    return claim.need.access_modes <= volume.offer.access_modes and (
        claim.selector is None or selects(claim.selector, volume.labels)
    )
