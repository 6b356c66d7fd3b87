"""Conditions on the node of a pod whose claims are bound only when it has one.

Source: kube-scheduler's plugin VolumeBinding (FindPodVolumes) and FindMatchingVolume in component-helpers.
"""

from collections.abc import Iterator, Mapping, Sequence

from planner.objects.kinds import Requirement
from planner.objects.predicates import FIELD_NAME, NEVER, selects
from planner.objects.storage import Claim, StorageClass, Volume

Term = tuple[Requirement, ...]
Terms = tuple[Term, ...]


def binding_terms(
    claims: Sequence[Claim], offered: Mapping[str, Sequence[Volume]], classes: Mapping[str, StorageClass]
) -> list[Terms]:
    """Return the conditions on the node that all these claims of one pod make, each as terms of which one must hold.

    A claim takes a volume that is there, or one is made for it. `offered` are all volumes by storage class.
    Volumes with the same node affinity are taken to be in one place; one with another affinity is not used there,
    although a node might meet both.
    """
    conditions: list[Terms] = []
    free: list[Claim] = []
    for claim in claims:
        if claim.selected_node:
            conditions.append(((Requirement(FIELD_NAME, "In", (claim.selected_node,)),),))
            conditions += _made_in(classes[claim.need.storage_class])
        else:
            free.append(claim)
    # The smallest claim chooses first, so that it does not take the volume that only a larger one needs.
    free.sort(key=lambda claim: claim.need.size)
    fitting = [_fitting(claim, offered.get(claim.need.storage_class, ())) for claim in free]
    if not any(fitting):
        return conditions + [terms for claim in free for terms in _made_in(classes[claim.need.storage_class])]
    places: list[Terms] = list(dict.fromkeys(v.node_affinity for volumes in fitting for v in volumes))
    alternatives: list[Term] = []
    for place in dict.fromkeys([*places, ()]):
        alternatives += _together(place, free, fitting, classes)
    if () not in alternatives:
        conditions.append(tuple(dict.fromkeys(alternatives)) or ((NEVER,),))
    return conditions


def _together(
    place: Terms, claims: Sequence[Claim], fitting: Sequence[Sequence[Volume]], classes: Mapping[str, StorageClass]
) -> Iterator[Term]:
    """Yield terms of nodes in a place where all claims find a volume: one there, one from everywhere, or one made."""
    taken: set[str] = set()
    conditions: list[Terms] = [place] if place else []
    for claim, volumes in zip(claims, fitting, strict=True):
        here = [v for v in volumes if v.name not in taken and v.node_affinity in (place, ())]
        storage_class = classes[claim.need.storage_class]
        if here:
            taken.add(min(here, key=lambda v: (v.offer.size, v.name)).name)
        elif storage_class.driver:
            conditions += _made_in(storage_class)
        else:
            return
    yield from _product(conditions)


def _product(conditions: Sequence[Terms]) -> Iterator[Term]:
    """Yield the terms that together say that one term of each condition holds."""
    if not conditions:
        yield ()
        return
    for first in conditions[0]:
        for rest in _product(conditions[1:]):
            yield (*first, *rest)


def _made_in(storage_class: StorageClass) -> list[Terms]:
    """Return the conditions of making a volume: none, or where it can be made."""
    if not storage_class.driver:
        return [((NEVER,),)]
    return [storage_class.allowed_topologies] if storage_class.allowed_topologies else []


def _fitting(claim: Claim, volumes: Sequence[Volume]) -> list[Volume]:
    """Return the volumes that the claim can take: those kept for it if there are any, else free ones."""
    usable = [v for v in volumes if not v.is_terminating and _suffices(claim, v)]
    return [v for v in usable if _is_kept(v, claim)] or [v for v in usable if not v.claim and _is_offered(v, claim)]


def _suffices(claim: Claim, volume: Volume) -> bool:
    need, offer = claim.need, volume.offer
    return (offer.mode, offer.attributes_class) == (need.mode, need.attributes_class) and offer.size >= need.size


def _is_kept(volume: Volume, claim: Claim) -> bool:
    return volume.claim == claim.key and volume.claim_uid in ("", claim.uid)


def _is_offered(volume: Volume, claim: Claim) -> bool:
    return (
        volume.is_available
        and claim.need.access_modes <= volume.offer.access_modes
        and (claim.selector is None or selects(claim.selector, volume.labels))
    )
