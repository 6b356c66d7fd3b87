"""Minimums: machines that a pool keeps even without load. Those that a minimum lacks are bought ahead of pods."""

from collections import Counter
from collections.abc import Iterable, Mapping

from planner.packing.assemble import buyable
from planner.supply.limits import Limits
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.machines import Machine


def missing_by_type(
    fleet: Iterable[Machine], pool_kinds: Mapping[str, PoolKinds], limits: Limits
) -> list[tuple[MachineKind, int]]:
    """Return the machines that minimums of single server types require, with numbers, and take them from `limits`.

    Machines under removal do not count. The cheapest location is taken, the next one where a limit is met.
    """
    number_by_type = Counter((machine.pool, machine.server_type) for machine in fleet if machine.stays)
    wanted: list[tuple[MachineKind, int]] = []
    cheapest_first = sorted(buyable(pool_kinds), key=cheapness)
    for name, kinds_of_pool in pool_kinds.items():
        minimums = {each.name: each.min for each in kinds_of_pool.pool.spec.server_types if each.name and each.min}
        for server_type, number_kept in minimums.items():
            missing = number_kept - number_by_type[name, server_type]
            for kind in cheapest_first:
                same = kind.offering.server_type.lower() == server_type
                if missing > 0 and same and kind.pool.metadata.name == name:
                    number = min(missing, limits.left(kind, missing))
                    if number:
                        wanted.append((kind, number))
                        limits.take(kind, number)
                        missing -= number
    return wanted


def kept_by_pools(
    fleet: Iterable[Machine],
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
    minimum: Iterable[tuple[MachineKind, int]],
) -> list[tuple[MachineKind, int]]:
    """Return what the pools' own minimums lack beside `minimum`: the kind that each pool chooses, with the number."""
    more: Counter[str] = Counter()
    for kind, number in minimum:
        more[kind.pool.metadata.name] += number
    cheapest_first = sorted(buyable(pool_kinds), key=cheapness)
    lacking: list[tuple[MachineKind, int]] = []
    for name, missing in _missing_by_pool(fleet, pool_kinds, more).items():
        kind = next((one for one in cheapest_first if one.pool.metadata.name == name), None)
        if kind is not None and missing > 0 and (number := limits.left(kind, missing)) > 0:
            lacking.append((kind, min(number, missing)))
    return lacking


def missing_in_pool(
    fleet: Iterable[Machine], pool_kinds: Mapping[str, PoolKinds], limits: Limits, more: Mapping[str, int]
) -> list[MachineKind]:
    """Return the machines that the pools' own minimums still lack, and take them from `limits`.

    `more` is the number of machines per pool that this plan buys, or keeps by ending their cool-off.
    """
    cheapest_first = sorted(buyable(pool_kinds), key=cheapness)
    wanted: list[MachineKind] = []
    for name, lacking in _missing_by_pool(fleet, pool_kinds, more).items():
        missing = lacking
        for kind in cheapest_first:
            while missing > 0 and kind.pool.metadata.name == name and limits.left(kind, 1) > 0:
                wanted.append(kind)
                limits.take(kind)
                missing -= 1
    return wanted


def _missing_by_pool(
    fleet: Iterable[Machine], pool_kinds: Mapping[str, PoolKinds], more: Mapping[str, int]
) -> dict[str, int]:
    """Return how many machines each pool lacks of its own minimum, beside `more`; below 0 where it has others."""
    number_by_pool = Counter(machine.pool for machine in fleet if machine.stays)
    return {
        name: kinds_of_pool.pool.spec.limits.min - number_by_pool[name] - more.get(name, 0)
        for name, kinds_of_pool in pool_kinds.items()
    }


def cheapness(kind: MachineKind) -> tuple[object, ...]:
    """Return a sort key: the highest tier first, then the cheapest kind, of equally cheap ones the higher priority."""
    offering, (of_pool, of_type) = kind.offering, kind.tier
    return -of_pool, -of_type, offering.price_per_hour, -kind.priority, offering.server_type, offering.location
