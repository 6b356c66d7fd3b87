"""Limits of pools: what each still allows while a round plans, in machines, cores, memory and money."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from api.v1alpha1.node_class_status import PartialPause
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_request import RequestPhase
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.machines import Machine
from planner.supply.sums.pool_sums import PoolSum, SumStanding, amounts_of, sums_limited, sums_of
from planner.supply.type_facts import facts_of
from planner.supply.unavailable import stops

LimitKey = tuple[str, ...]
"""What a limit is on: a pool, what its machines come to, a type or another entry of its `serverTypes`, or what is only
probed: an offering, a class or a part of one."""
PACE: Final = "pace"
"""First word of the key of a limit on how fast a pool buys; the last one is the limit's name."""
BATCH: Final = "batchMax"
IN_FLIGHT: Final = "maxInFlight"
HALF_OPEN: Final = "halfOpen"
_OF_PART: Final = 3
"""Words of the key of a part of a class that is only probed: the first one, the class, and what is short."""


class LimitRow(NamedTuple):
    """A limit that machines of a kind count towards."""

    key: LimitKey
    amount: int
    """What one machine takes of it, at least 1: 1 where machines are counted."""
    left: int
    """What it leaves for machines."""


class Limits:
    """What each limit leaves for machines; counts down while machines are planned.

    Args:
        left: what is left of each limit, below 0 where machines that are there have more.
        sums: the limits of pools in cores, memory and money, beside those that count machines.
    """

    def __init__(self, left: Mapping[LimitKey, int], sums: Mapping[LimitKey, PoolSum] | None = None) -> None:
        self._sums = {} if sums is None else sums
        both = {**left, **{key: each.left for key, each in self._sums.items()}}
        self._left = {key: max(0, number) for key, number in both.items()}
        self._over = {key: -number for key, number in both.items() if number < 0}

    def rows(self, kind: MachineKind) -> list[LimitRow]:
        """Return the limits that this kind counts towards, with what a machine takes of each and what is left."""
        of_pool = (_pool_key(kind), _entry_key(kind.pool, kind.entry))
        keys = (*of_pool, *_pace_keys(kind.pool), offering_key(kind), _class_key(kind), *_part_keys(kind))
        counted = [LimitRow(key, 1, self._left[key]) for key in keys if key in self._left]
        if not self._sums:
            return counted
        amounts = amounts_of(facts_of(kind.offering))
        sums = ((sum_key(kind.pool, name), amount) for name, amount in amounts.items() if amount)
        return counted + [LimitRow(key, amount, self._left[key]) for key, amount in sums if key in self._sums]

    def left(self, kind: MachineKind, wanted: int) -> int:
        """Return the number of machines of this kind that limits allow, of the `wanted` ones."""
        return min((row.left // row.amount for row in self.rows(kind)), default=wanted)

    def take(self, kind: MachineKind, number: int = 1) -> None:
        """Count so many machines of this kind."""
        for row in self.rows(kind):
            self._left[row.key] -= number * row.amount

    def saved(self) -> Mapping[LimitKey, int]:
        """Return what is left now, for `restore`."""
        return dict(self._left)

    def restore(self, saved: Mapping[LimitKey, int]) -> None:
        """Forget what was taken since then."""
        self._left = dict(saved)

    def raise_for_one(self, kind: MachineKind, key: LimitKey) -> int:
        """Return the least amount to raise an exhausted limit by for one machine more: a max may have been lowered."""
        return self._over.get(key, 0) + sum(row.amount - row.left for row in self.rows(kind) if row.key == key)

    def exhausted(self, kind: MachineKind) -> tuple[LimitKey, ...]:
        """Return the limits that allow no more of this kind."""
        return tuple(row.key for row in self.rows(kind) if row.left < row.amount)

    def standing(self, key: LimitKey) -> SumStanding | None:
        """Return how a limit in cores, memory or money stands, what was taken since included; None of any other."""
        of = self._sums.get(key)
        return (
            None if of is None else SumStanding(of, of.most - self._left[key] + self._over.get(key, 0), self._left[key])
        )


def limits_left(machines: Iterable[Machine], pool_kinds: Mapping[str, PoolKinds]) -> Limits:
    """Return what each limit still allows.

    A max counts distinct server names until the provider says that the server is gone; so do cores, memory and money.
    """
    counted = [machine for machine in machines if machine.counts]
    by_pool = Counter(machine.pool for machine in counted)
    by_entry = Counter(
        (machine.pool, pool_kinds[machine.pool].allowed.holder(machine.server_type))
        for machine in counted
        if machine.pool in pool_kinds
    )
    asked_for = [m for m in counted if m.request is not None and m.request.status.phase is RequestPhase.PENDING]
    probing: Counter[LimitKey] = Counter(
        ("probe", str(machine.class_ref), machine.server_type, machine.location) for machine in asked_for
    )
    probing.update(("probe", str(machine.class_ref)) for machine in asked_for)
    left: dict[LimitKey, int] = {}
    sums = dict[LimitKey, PoolSum]()
    for name, kinds_of_pool in pool_kinds.items():
        most = kinds_of_pool.pool.spec.limits.max
        if most is not None:
            left["pool", name] = most - by_pool[name]
        for position, entry in enumerate(kinds_of_pool.pool.spec.server_types):
            if entry.max is not None:
                left[_entry_key(kinds_of_pool.pool, position)] = entry.max - by_entry[name, position]
        left |= _pace(kinds_of_pool)
        left |= {offering_key(kind): 1 - probing[offering_key(kind)] for kind in kinds_of_pool.kinds if kind.is_probe}
        left |= {
            _class_key(kind): 1 - probing[_class_key(kind)] for kind in kinds_of_pool.kinds if kind.is_probe_of_class
        }
        left |= {
            key: 1 - sum(_is_of_part(machine, kind.class_ref, pause) for machine in asked_for)
            for kind in kinds_of_pool.kinds
            for key, pause in zip(_part_keys(kind), kind.probed_parts, strict=True)
        }
        if sums_limited(kinds_of_pool.pool):
            own = [machine for machine in counted if machine.pool == name]
            of_pool = sums_of(kinds_of_pool.allowed, own, [kind.offering for kind in kinds_of_pool.kinds])
            sums |= {sum_key(kinds_of_pool.pool, each.name): each for each in of_pool}
    return Limits(left, sums)


def is_pace(key: LimitKey) -> bool:
    """Return whether the limit is on how fast a pool buys, not on what it has."""
    return key[0] == PACE


def _pace_keys(pool: NodePool) -> tuple[LimitKey, ...]:
    wish, name = pool.spec.scale_up, pool.metadata.name
    has = {BATCH: wish.batch_max, IN_FLIGHT: wish.max_in_flight, HALF_OPEN: wish.breaker}
    return tuple((PACE, name, word) for word, value in has.items() if value)


def _pace(kinds_of_pool: PoolKinds) -> dict[LimitKey, int]:
    """Return what may be bought in this round, by the limits on how fast the pool buys."""
    wish, gates, name = kinds_of_pool.pool.spec.scale_up, kinds_of_pool.gates, kinds_of_pool.pool.metadata.name
    left: dict[LimitKey, int] = {}
    if wish.batch_max:
        left[PACE, name, BATCH] = wish.batch_max
    if wish.max_in_flight:
        left[PACE, name, IN_FLIGHT] = wish.max_in_flight - gates.in_flight
    if gates.is_half_open:
        left[PACE, name, HALF_OPEN] = 1 - gates.in_flight
    return left


def sum_key(pool: NodePool, name: str) -> LimitKey:
    """Return the key of a pool's limit in cores, memory or money, by the name of its field."""
    return "sum", pool.metadata.name, name


def offering_key(kind: MachineKind) -> LimitKey:
    """Return the key of this offering, the same in every pool."""
    return "probe", str(kind.class_ref), kind.offering.server_type.lower(), kind.offering.location


def _class_key(kind: MachineKind) -> LimitKey:
    return "probe", str(kind.class_ref)


def part_of(key: LimitKey) -> str | None:
    """Return what of a class is only probed, if the key is of a part of one."""
    return key[2] if key[0] == "probe" and len(key) == _OF_PART else None


def _part_keys(kind: MachineKind) -> tuple[LimitKey, ...]:
    return tuple(("probe", str(kind.class_ref), pause.limit) for pause in kind.probed_parts)


def _is_of_part(machine: Machine, class_ref: ClassRef, pause: PartialPause) -> bool:
    return machine.class_ref == class_ref and stops(pause, machine.server_type, machine.location)


def _pool_key(kind: MachineKind) -> LimitKey:
    return "pool", kind.pool.metadata.name


def _entry_key(pool: NodePool, position: int) -> LimitKey:
    name = pool.spec.server_types[position].name
    return ("entry", pool.metadata.name, str(position)) if name is None else ("type", pool.metadata.name, name)
