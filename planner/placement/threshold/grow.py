"""Growth by thresholds: what a round takes back, buys and keeps so that pools are not used above their threshold.

After all pods that wait have their places: so what is bought for them counts, and the larger of the two estimates wins.
First, machines that wait to go come back, the newest first, also where nothing may be bought. Then the cheapest
machines that the pool may buy cover what is missing, those of a higher priority before all others. Equality never
grows.
Source: Escalator, "Scale up" and "Calculations": for one type this is max_r ceil(n (100 req - T C) / (T C)).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.model.plan import RemovalCancel
from planner.model.pool_figures import Use
from planner.packing.assemble import buyable
from planner.packing.assign import Assignment
from planner.placement.known_state import KnownState
from planner.placement.threshold.cover import Offer, cheapest_cover, largest_cover
from planner.placement.threshold.use import Amounts, GrowthUse, GrowthUses, added, waiting_for_later
from planner.policies.admission import Refused
from planner.policies.emptiness import FOUND_EMPTY, is_empty
from planner.policies.minimum import cheapness
from planner.policies.utilisation.shares import JUDGED
from planner.supply.limits import Limits
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.machines import Machine, machine_price, price_list
from planner.supply.pod_group import PodGroup
from planner.supply.sums.price_units import price_units

TAKEN_BACK: frozenset[str] = frozenset({FOUND_EMPTY, "Underused"})
"""Reasons of removals that a threshold ends: of machines that went for want of pods, and would do as well as others."""


@dataclass(frozen=True, slots=True)
class ThresholdGrowth:
    """What thresholds ask for beside the places of pods."""

    bought: tuple[tuple[MachineKind, str], ...] = ()
    """Each machine with the reason, a sentence."""
    cancels: tuple[RemovalCancel, ...] = ()
    held: frozenset[str] = frozenset()
    """Machines without pods that stay, as without them the pool would be used above its threshold."""
    uses: Mapping[str, Use] = field(default_factory=dict)
    """What each of these pools has and what is requested of it, before anything is bought for its threshold."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The pods that wait, as the round leaves them."""

    groups: Sequence[PodGroup]
    """Those that it planned for."""
    assignment: Assignment
    refused: Sequence[Refused] = ()
    headroom: Collection[str] = ()
    """Machines that stay for headroom, also those that come back for it."""


@dataclass(slots=True)
class _Made:
    bought: list[tuple[MachineKind, str]] = field(default_factory=list)
    cancels: list[RemovalCancel] = field(default_factory=list)
    held: set[str] = field(default_factory=set)


def grow(known: KnownState, waiting: Waiting, bought: Iterable[MachineKind]) -> ThresholdGrowth:
    """Return what the thresholds of pools ask for; what is bought is taken from the limits.

    `bought` are the machines that this round buys for pods and minimums.
    """
    uses = GrowthUses(known)
    assignment = waiting.assignment
    uses.count_machines({*assignment.used, *assignment.held, *waiting.headroom})
    uses.count_placed(waiting.groups, assignment)
    left = {i: pods for i, pods in assignment.left.items() if i < len(waiting.groups)}
    uses.count_waiting(replace(waiting.groups[i], pods=pods) for i, pods in left.items())
    uses.count_waiting(waiting_for_later(waiting.refused))
    for kind in bought:
        if (use := uses.by_pool.get(kind.pool.metadata.name)) is not None:
            use.capacity = added(use.capacity, _amounts(kind))
    counted = {name: use.counted for name, use in uses.by_pool.items()}
    made = _Made()
    for name, use in uses.by_pool.items():
        _grow_pool(known, known.pool_kinds[name], use, uses, made)
    return ThresholdGrowth(tuple(made.bought), tuple(made.cancels), frozenset(made.held), counted)


def _grow_pool(known: KnownState, kinds_of_pool: PoolKinds, use: GrowthUse, uses: GrowthUses, made: _Made) -> None:
    threshold = kinds_of_pool.pool.spec.scale_up.threshold or 0
    excess = use.excess(threshold)
    if all(amount <= 0 for amount in excess):
        made.held |= _needed_idle(known, use, uses, threshold)
        return
    why = _sentence(kinds_of_pool, use, threshold)
    for machine in _going(known, kinds_of_pool, use):
        has, asked = uses.capacity(machine), uses.requests(machine)
        helps = any(n > 0 and threshold * c > 100 * a for n, c, a in zip(excess, has, asked, strict=True))
        if helps and machine.removal is not None:
            made.cancels.append(RemovalCancel(removal=machine.removal.metadata.name, why=why))
            uses.add(use, machine)
            excess = use.excess(threshold)
        if all(amount <= 0 for amount in excess):
            break
    made.held |= {machine.name for machine in use.machines if is_empty(machine.residents)}
    if any(amount > 0 for amount in excess):
        made.bought += [(kind, why) for kind in _cover(kinds_of_pool, excess, threshold, known.limits)]


def _going(known: KnownState, kinds_of_pool: PoolKinds, use: GrowthUse) -> list[Machine]:
    """Return the machines that wait to go and may come back, the newest first, of equals by name."""
    counted = {machine.name for machine in use.machines}
    name = kinds_of_pool.pool.metadata.name
    going = [
        machine
        for machine in known.machines.values()
        if machine.pool == name and machine.name not in counted and _may_come_back(machine)
    ]
    return sorted(going, key=lambda machine: (-_born(machine), machine.name))


def _may_come_back(machine: Machine) -> bool:
    removal, node = machine.removal, machine.node
    return (
        removal is not None
        and node is not None
        and node.takes_pods
        and node.remove_now is None
        and machine.is_cooling_off
        and removal.status.phase is RemovalPhase.PENDING
        and removal.spec.reason in TAKEN_BACK
    )


def _born(machine: Machine) -> float:
    node = machine.node
    return 0.0 if node is None or node.created_at is None else node.created_at.timestamp()


def _cover(kinds_of_pool: PoolKinds, excess: Amounts, threshold: int, limits: Limits) -> Iterator[MachineKind]:
    """Yield the cheapest machines that cover the excess, tier after tier, and take them from the limits."""
    kinds = sorted(buyable({kinds_of_pool.pool.metadata.name: kinds_of_pool}), key=cheapness)
    for tier in dict.fromkeys(kind.tier for kind in kinds):
        of_tier = [kind for kind in kinds if kind.tier == tier]
        keys = list(dict.fromkeys(row.key for kind in of_tier for row in limits.rows(kind)))
        left = {row.key: row.left for kind in of_tier for row in limits.rows(kind)}
        offers = [
            Offer(
                price_units(kind.offering.price_per_hour),
                tuple(threshold * amount for amount in _amounts(kind)),
                {keys.index(row.key): row.amount for row in limits.rows(kind)},
            )
            for kind in of_tier
        ]
        room = [left[key] for key in keys]
        counts = cheapest_cover(excess, offers, room) or largest_cover(excess, offers, room)
        for kind, number in zip(of_tier, counts, strict=True):
            limits.take(kind, number)
            excess = tuple(n - number * threshold * has for n, has in zip(excess, _amounts(kind), strict=True))
            yield from [kind] * number
        if all(amount <= 0 for amount in excess):
            return


def _needed_idle(known: KnownState, use: GrowthUse, uses: GrowthUses, threshold: int) -> set[str]:
    """Return the machines without pods that must stay: without them, the others would be used above the threshold.

    Those that would go first are let go first: requests, then Nodes that are not Ready, then the dearest.
    """
    prices = price_list(known.snapshot)

    def order(machine: Machine) -> tuple[object, ...]:
        cost, node = machine_price(machine, machine.class_ref, prices), machine.node
        price = Decimal(0) if cost is None else cost[0]
        return node is not None, node is not None and node.is_ready, -price, machine.name

    idle = [machine for machine in use.machines if is_empty(machine.residents)]
    capacity, needed = use.capacity, set[str]()
    for machine in sorted(idle, key=order):
        without = tuple(n - has for n, has in zip(capacity, uses.capacity(machine), strict=True))
        if all(100 * asked <= threshold * has for asked, has in zip(use.requests, without, strict=True)):
            capacity = without
        else:
            needed.add(machine.name)
    return needed


def _sentence(kinds_of_pool: PoolKinds, use: GrowthUse, threshold: int) -> str:
    shares = [
        f"{resource} {100 * asked // has} %" if has else f"{resource}, of which it has none"
        for resource, asked, has in zip(JUDGED, use.requests, use.capacity, strict=True)
        if 100 * asked > threshold * has
    ]
    pool = f"pool {kinds_of_pool.pool.metadata.name}"
    return f"The threshold of {pool} asks for it: of {' and '.join(shares)} is requested, above {threshold} %"


def _amounts(kind: MachineKind) -> Amounts:
    return tuple(kind.offering.allocatable.get(name, 0) for name in JUDGED)
