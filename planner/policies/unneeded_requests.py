"""Requests that nobody needs any more: without a server and without pods, they are taken back."""

from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal

from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import RequestPhase
from planner.supply.machine_price import PriceList, price_today
from planner.supply.machines import Machine
from planner.supply.seats import Seating


def unneeded_requests(
    fleet: Mapping[str, Machine],
    pools: Mapping[str, NodePool],
    seating: Seating,
    used: Collection[str],
    prices: PriceList,
) -> tuple[str, ...]:
    """Return the names of requests to delete, the dearest first where a minimum keeps some.

    Only those that a round made: a person's request, which no pool owns, is a wish of its own.
    """
    there = Counter(key for machine in fleet.values() if machine.stays for key in _keys(machine))

    def price(machine: Machine) -> Decimal:
        cost = price_today(machine, None, prices)
        return Decimal(0) if cost is None else cost[0]

    cancelled: list[str] = []
    for machine in sorted(fleet.values(), key=lambda m: (-price(m), m.name)):
        pool = pools.get(machine.pool)
        if pool is None or machine.name in used or seating.seats.get(machine.name) or not _is_untouched(machine):
            continue
        least = {(machine.pool,): pool.spec.limits.min} | {
            (machine.pool, t.name): t.min for t in pool.spec.server_types if t.name == machine.server_type
        }
        if all(there[key] > number for key, number in least.items()):
            there.subtract(_keys(machine))
            cancelled.append(machine.name)
    return tuple(sorted(cancelled))


def _is_untouched(machine: Machine) -> bool:
    """Return whether its request is a round's own and no server was asked for."""
    request = machine.request
    return (
        request is not None
        and machine.removal is None
        and request.status.phase is RequestPhase.PENDING
        and request.status.create_attempt_at is None
        and request.metadata.deletion_timestamp is None
        and any(owner.kind == "NodePool" for owner in request.metadata.owner_references)
    )


def _keys(machine: Machine) -> list[tuple[str, ...]]:
    return [(machine.pool,), (machine.pool, machine.server_type)]
