"""What a round tells of each pool: counts, price, how full its nodes are, and three conditions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from api.meta import Condition, set_condition
from api.v1alpha1.node_pool import NodePoolStatus, PoolCounts
from planner.model.plan import PlannedRemoval, PlannedRequest, PoolReport, Snapshot
from planner.supply.limits import Limits
from planner.supply.machine_kind import PoolKinds, with_refusals
from planner.supply.machines import Machine, machine_price, price_list
from planner.supply.places import Place, Rank


def pool_reports(
    snapshot: Snapshot,
    machines: Mapping[str, Machine],
    places: Iterable[Place],
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
    *,
    requests: Sequence[PlannedRequest],
    removals: Sequence[PlannedRemoval],
) -> tuple[PoolReport, ...]:
    """Return one report per pool; counts are as they were seen, the delta is what the plan adds."""
    open_nodes = {place.machine.name for place in places if place.rank is Rank.NODE}
    bought = Counter(request.pool for request in requests)
    removed = Counter(removal.pool for removal in removals)
    prices = price_list(snapshot)
    reports: list[PoolReport] = []
    for name, found in pool_kinds.items():
        own = [machine for machine in machines.values() if machine.pool == name and machine.counts]
        ref = found.pool.spec.template.class_ref
        costs = [cost for machine in own if (cost := machine_price(machine, ref, prices))]
        counts = PoolCounts(
            ready=sum(machine.name in open_nodes for machine in own),
            in_flight=sum(machine.is_in_flight(snapshot.now) for machine in own),
            removing=sum(machine.is_leaving for machine in own),
            total=len(own),
        )
        status = NodePoolStatus(
            observed_generation=found.pool.metadata.generation,
            nodes=counts,
            price_per_hour=sum((price for price, _ in costs), Decimal(0)),
            currency=min({currency for _, currency in costs} | _currencies(found), default=None),
            conditions=_conditions(found, limits, snapshot.now),
        )
        reports.append(
            PoolReport(
                name=name,
                status=status,
                delta=bought[name] - removed[name],
                utilisation=_utilisation([m for m in own if m.name in open_nodes]),
            )
        )
    return tuple(reports)


def _currencies(found: PoolKinds) -> set[str]:
    return {kind.offering.currency for kind in found.kinds}


def _utilisation(machines: Sequence[Machine]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for name in ("cpu", "memory"):
        there = sum(machine.node.allocatable.get(name, 0) for machine in machines if machine.node is not None)
        bound = (pod for machine in machines for pod in machine.residents if pod.node_name)
        asked = sum(pod.requests.get(name, 0) for pod in bound)
        if there:
            shares[name] = asked / there
    return shares


def _conditions(found: PoolKinds, limits: Limits, now: datetime) -> tuple[Condition, ...]:
    pool = found.pool
    generation = pool.metadata.generation
    ready, reason, message = _readiness(found)
    conditions = set_condition(
        pool.status.conditions, "Ready", status=ready, reason=reason, message=message, now=now, generation=generation
    )
    full = bool(found.kinds) and all(limits.exhausted(kind) for kind in found.kinds)
    conditions = set_condition(
        conditions,
        "AtMax",
        status=full,
        reason="LimitReached" if full else "BelowMax",
        message="No further machine is allowed" if full else "",
        now=now,
        generation=generation,
    )
    blocker = found.blocked_by
    return set_condition(
        conditions,
        "Blocked",
        status=blocker is not None,
        reason="NotBlocked" if blocker is None else blocker.status.reason or "Failed",
        message="" if found.obstacle is None or blocker is None else found.obstacle.message,
        now=now,
        generation=generation,
    )


def _readiness(found: PoolKinds) -> tuple[bool, str, str]:
    if found.obstacle is not None and found.blocked_by is None:
        return False, found.obstacle.code, found.obstacle.message
    unknown = ", ".join(found.unknown_types)
    if not found.kinds:
        message = f"{found.pool.spec.template.class_ref} has none of these server types: {unknown}"
        return False, "UnknownServerType", with_refusals(message, found.refusals)
    if unknown:
        message = f"{found.pool.spec.template.class_ref} does not have {unknown}"
        return True, "UnknownServerType", with_refusals(message, found.refusals)
    return True, "Usable", ""
