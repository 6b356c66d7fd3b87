"""Machines that a pool keeps even without load: what is missing of a minimum is bought ahead of pods."""

from collections import Counter
from collections.abc import Iterable, Mapping

from planner.packing.assemble import buyable
from planner.supply.limits import Limits
from planner.supply.machines import Machine
from planner.supply.offers import Offer, PoolOffers


def missing_by_type(
    fleet: Iterable[Machine], offers: Mapping[str, PoolOffers], limits: Limits
) -> list[tuple[Offer, int]]:
    """Return what the minimums of single server types ask for, with numbers, and take it from `limits`.

    Machines under removal do not count. The cheapest location is taken, the next one where a limit is met.
    """
    there = Counter((machine.pool, machine.server_type) for machine in fleet if machine.stays)
    wanted: list[tuple[Offer, int]] = []
    cheapest_first = sorted(buyable(offers), key=cheapness)
    for name, found in offers.items():
        for server_type in found.pool.spec.server_types:
            missing = server_type.min - there[name, server_type.name]
            for offer in cheapest_first:
                same = offer.offering.server_type.lower() == server_type.name
                if missing > 0 and same and offer.pool.metadata.name == name:
                    number = min(missing, limits.left(offer, missing))
                    if number:
                        wanted.append((offer, number))
                        limits.take(offer, number)
                        missing -= number
    return wanted


def still_missing(ahead: Iterable[Offer], paid: Iterable[Offer]) -> list[Offer]:
    """Return what of `ahead` is needed beside `paid`: a machine that pods need counts towards the min of its type."""
    met = Counter(_kind(offer) for offer in paid)
    wanted: list[Offer] = []
    for offer in ahead:
        if met[_kind(offer)] > 0:
            met[_kind(offer)] -= 1
        else:
            wanted.append(offer)
    return wanted


def missing_in_pool(
    fleet: Iterable[Machine], offers: Mapping[str, PoolOffers], limits: Limits, more: Mapping[str, int]
) -> list[Offer]:
    """Return what is still missing of the pools' own minimums, and take it from `limits`.

    `more` is how many machines per pool this plan buys, or keeps by ending their cool-off.
    """
    there = Counter(machine.pool for machine in fleet if machine.stays)
    cheapest_first = sorted(buyable(offers), key=cheapness)
    wanted: list[Offer] = []
    for name, found in offers.items():
        missing = found.pool.spec.limits.min - there[name] - more.get(name, 0)
        for offer in cheapest_first:
            while missing > 0 and offer.pool.metadata.name == name and limits.left(offer, 1) > 0:
                wanted.append(offer)
                limits.take(offer)
                missing -= 1
    return wanted


def cheapness(offer: Offer) -> tuple[object, ...]:
    """Return a sort key: the cheapest offer first, of equally cheap ones that of the higher priority."""
    offering = offer.offering
    return offering.price_per_hour, -offer.priority, offering.server_type, offering.location


def _kind(offer: Offer) -> tuple[str, str]:
    return offer.pool.metadata.name, offer.offering.server_type.lower()
