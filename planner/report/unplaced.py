"""Why pods of a class have no place: the nearest miss of each kind, with a code that stays stable.

Codes: NoPool, PoolNotFound (which pool); ClassNotFound, ClassInvalid, PoolDeleting,
PoolBlocked, BuyingPaused (the pool buys nothing); NoCompatibleOffering (labels or taints), TooLarge (room),
OfferingUnavailable (sold out), LimitReached (max), NoRoom; VolumeUnbound, VolumeElsewhere (volumes),
HostPortTaken; NotJudged, BackOff (not planned for). From `planner.packing.domains`: SpreadUnsatisfiable,
AntiAffinity, AffinityUnsatisfiable, WaitsForPods.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from api.keys import LABEL_REGION, LABEL_ZONE
from planner.lifecycle.request import BUYING_PAUSED
from planner.model.plan import Reason
from planner.objects.amounts import shown
from planner.objects.kinds import Pod, Requirement
from planner.objects.predicates import FIELD_NAME, NEVER, NEW_HOST, selects, untolerated, wants_node, whole_number
from planner.packing.assemble import Ask, fits_offer
from planner.packing.place_fit import reaches_volumes
from planner.scheduling.attachments import amount_of, asked
from planner.scheduling.conflicts import ports_meet
from planner.supply.limits import LimitKey, Limits
from planner.supply.offers import Offer, PoolOffers
from planner.supply.refused_types import with_refusals

_NOWHERE: Final = (
    "no node can have a volume of the pod: none fits its claim and its storage class makes none, "
    "or it may be used nowhere by its own terms"
)
_TOLD: Final = 3
"""Offerings named in one message; the rest is counted."""


def untried(key: LimitKey) -> str:
    """Return nothing: nobody tried what raising a limit would bring."""
    del key
    return ""


def why_unplaced(
    ask: Ask, offers: Mapping[str, PoolOffers], limits: Limits, raised: Callable[[LimitKey], str] = untried
) -> tuple[Reason, ...]:
    """Return why no machine can be bought for pods of this class, at least one reason.

    `raised` ends the sentence about a limit with what raising it would bring.
    """
    pod = ask.pod_class.example
    reasons = [obstacle for name in ask.pools if (obstacle := offers[name].obstacle) is not None]
    candidates = [offer for name in ask.pools if offers[name].obstacle is None for offer in offers[name].offers]
    if not candidates:
        reasons.extend(_no_types(offers[name]) for name in ask.pools if offers[name].obstacle is None)
        return tuple(reasons)
    fitting_labels = [offer for offer in candidates if _mismatch(pod, offer) is None]
    if not fitting_labels:
        return (*reasons, _incompatible(pod, candidates))
    near_volumes = [offer for offer in fitting_labels if reaches_volumes(pod, offer.labels)]
    if not near_volumes:
        return (*reasons, _elsewhere(pod, fitting_labels))
    portless = [offer for offer in near_volumes if not ports_meet(pod, offer.daemons)]
    if not portless:
        return (*reasons, _port_taken(pod, near_volumes[0]))
    fitting_labels = portless
    large_enough = [offer for offer in fitting_labels if not _shortage(pod, offer)]
    if not large_enough:
        return (*reasons, _too_large(pod, fitting_labels))
    found = [*reasons, *_unavailable(large_enough), *_limits(large_enough, limits, raised)]
    if found:
        return tuple(found)
    # Room is left and nothing stands in the way, so the packer could not share what was there.
    return (Reason("NoRoom", f"pool {' or '.join(ask.pools)} has no room left for this pod beside the others"),)


def held_up(
    ask: Ask, offers: Mapping[str, PoolOffers], limits: Limits, is_open: Callable[[Offer], bool]
) -> tuple[Reason, ...]:
    """Return why no machine can be bought on which rules about other pods would let one more pod of this class.

    Nothing, where only such rules stand in the way. `is_open` tells what they say of a machine of an offer.
    """
    obstacles = [obstacle for name in ask.pools if (obstacle := offers[name].obstacle) is not None]
    candidates = [offer for name in ask.pools if offers[name].obstacle is None for offer in offers[name].offers]
    wanted = [offer for offer in candidates if fits_offer(ask, offer) and is_open(offer)]
    return (*obstacles, *_unavailable(wanted), *_limits(wanted, limits, untried))


def _no_types(found: PoolOffers) -> Reason:
    names = ", ".join(found.unknown_types[:_TOLD])
    pool = found.pool
    message = f"{pool.spec.template.class_ref} has none of the server types of pool {pool.metadata.name}: {names}"
    return Reason("NoCompatibleOffering", with_refusals(message, found.refusals))


def _mismatch(pod: Pod, offer: Offer) -> str | None:
    """Return what label or taint keeps the pod off this offer, or None."""
    taint = untolerated(pod.tolerations, offer.taints)
    if taint is not None:
        return f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated"
    if wants_node(pod, offer.labels):
        return None
    missed = next((r for r in pod.node_selector if not wants_label(r, offer)), None)
    if missed is not None:
        return _missed(missed, offer)
    terms = [[r for r in term if not wants_label(r, offer)] for term in pod.node_affinity]
    return _missed(min(terms, key=len)[0], offer)


def wants_label(requirement: Requirement, offer: Offer) -> bool:
    """Return whether the offer's labels meet one requirement."""
    return wants_node(Pod("", "", "", {}, node_selector=(requirement,)), offer.labels)


def _missed(requirement: Requirement, offer: Offer) -> str:
    """Return what is wrong with a requirement that the offer does not meet."""
    key, operator, values = requirement.key, requirement.operator, ", ".join(requirement.values)
    if not key:
        return "a node affinity term without expressions selects no node"
    if operator in ("Gt", "Lt") and whole_number(values) is None:
        return f"{operator} of {key} in the pod's node affinity needs a whole number, got {values}"
    if operator == "In" and offer.labels.get(key) == NEW_HOST:
        node = f"{'named' if key == FIELD_NAME else f'with {key}'} {' or '.join(requirement.values)}"
        return f"the pod asks for the node {node}, which is not a machine that can be bought"
    asked_for = f"{key} {operator} {values}".rstrip()
    return f"the pod asks for {asked_for}, but {offer.offering.server_type} has {offer.labels.get(key, 'none')}"


def _incompatible(pod: Pod, offers: Sequence[Offer]) -> Reason:
    causes: dict[str, Offer] = {}
    for offer in offers:
        causes.setdefault(_mismatch(pod, offer) or "", offer)
    message, nearest = next(iter(causes.items()))
    pools = " or ".join(sorted({offer.pool.metadata.name for offer in offers}))
    return Reason(
        "NoCompatibleOffering", f"no server type of pool {pools} suits: {message}", nearest.offering.server_type
    )


def _elsewhere(pod: Pod, offers: Sequence[Offer]) -> Reason:
    for terms in pod.volume_terms:
        if not any(selects(term, offer.labels) for term in terms for offer in offers):
            wanted = " or ".join(" and ".join(_asks(r) for r in term) for term in terms if NEVER not in term)
            if not wanted:
                return Reason("VolumeElsewhere", _NOWHERE)
            unknown = _unknown(terms, offers)
            return Reason("VolumeElsewhere", f"a volume of the pod can only be used where {wanted}{unknown}")
    return Reason("VolumeElsewhere", "no machine can use all volumes of the pod at once")


def _unknown(terms: Sequence[Sequence[Requirement]], offers: Sequence[Offer]) -> str:
    """Return what is not known of a label that no offering states, as a CSI driver sets it when a Node is there."""
    for key in dict.fromkeys(r.key for term in terms for r in term if r.key):
        places = sorted({offer.offering.location for offer in offers if key not in offer.labels})
        if places and key not in (LABEL_REGION, LABEL_ZONE):
            told = ", ".join(places[:_TOLD]) + (f" and {len(places) - _TOLD} more" if len(places) > _TOLD else "")
            return f"; which {key} machines in {told} have is not known from any Node"
    return ""


def _asks(requirement: Requirement) -> str:
    if requirement.key == FIELD_NAME:
        return f"the node is {', '.join(requirement.values)}"
    return " ".join((requirement.key, requirement.operator, ", ".join(requirement.values))).rstrip()


def _port_taken(pod: Pod, offer: Offer) -> Reason:
    taken = next(daemon for daemon in offer.daemons if ports_meet(pod, (daemon,)))
    ports = ", ".join(f"{port.port}/{port.protocol}" for port in pod.host_ports)
    return Reason("HostPortTaken", f"a host port of the pod ({ports}) is taken by DaemonSet pods such as {taken.key}")


def _shortage(pod: Pod, offer: Offer) -> dict[str, int]:
    """Return by how much the offer is too small, by resource."""
    return {
        name: amount - amount_of(offer.usable, name)
        for name, amount in asked(pod).items()
        if amount > amount_of(offer.usable, name)
    }


def _too_large(pod: Pod, offers: Sequence[Offer]) -> Reason:
    def distance(missing: Mapping[str, int], server_type: str) -> tuple[int, float, str]:
        return len(missing), max(short / asked(pod)[name] for name, short in missing.items()), server_type

    # Types that lack the same are one miss, and one that lacks more of everything is none that a person asks about.
    by_type = {offer.offering.server_type: _shortage(pod, offer) for offer in offers}
    nearest: list[tuple[str, Mapping[str, int]]] = []
    for server_type, missing in sorted(by_type.items(), key=lambda one: distance(one[1], one[0])):
        if not any(all(missing.get(n, 0) >= less for n, less in closer.items()) for _, closer in nearest):
            nearest.append((server_type, missing))
    del nearest[_TOLD:]
    short_of = sorted({name for _, missing in nearest for name in missing})
    wanted = ", ".join(f"{name} {shown(name, asked(pod)[name])}" for name in short_of)
    told = [
        f"{server_type}: {', '.join(f'{name} short by {shown(name, n)}' for name, n in sorted(missing.items()))}"
        for server_type, missing in nearest
    ]
    pools = " or ".join(sorted({offer.pool.metadata.name for offer in offers}))
    message = f"no machine of pool {pools} is large enough for {wanted}; {'; '.join(told)}"
    return Reason("TooLarge", message, nearest[0][0])


def _unavailable(offers: Sequence[Offer]) -> Iterator[Reason]:
    blocked = [offer.obstacle for offer in offers if offer.obstacle is not None]
    yield from dict.fromkeys(blocked[:_TOLD])
    if len(blocked) > _TOLD:
        yield Reason("OfferingUnavailable", f"{len(blocked) - _TOLD} more offerings have no capacity")


def _limits(offers: Sequence[Offer], limits: Limits, raised: Callable[[LimitKey], str]) -> Iterator[Reason]:
    told: dict[LimitKey, Reason] = {}
    for offer in offers:
        if offer.obstacle is None:
            told.update({key: limit_reached(offer, key) for key in limits.exhausted(offer) if key not in told})
    for key, reason in list(told.items())[:_TOLD]:
        yield replace(reason, message=reason.message + raised(key))


def limit_reached(offer: Offer, key: LimitKey) -> Reason:
    """Return that a limit allows no more machines of this offer."""
    pool, server_type = offer.pool, offer.offering.server_type
    name = pool.metadata.name
    if key[0] == "pool":
        return Reason("LimitReached", f"pool {name} is at its max of {pool.spec.limits.max} machines")
    if key[0] == "type":
        most = next((t.max for t in pool.spec.server_types if t.name == server_type.lower()), None)
        return Reason(
            "LimitReached", f"pool {name} is at its max of {most} machines of type {server_type}", server_type
        )
    if key[1:] == (str(offer.class_ref),):
        return Reason(BUYING_PAUSED, f"{offer.class_ref} was refused more machines: one is tried first")
    message = f"{server_type} in {offer.offering.location} had no capacity: one machine is tried first"
    return Reason("OfferingUnavailable", message, server_type)
