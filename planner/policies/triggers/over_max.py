"""Over max: a pool of which a limit was lowered below what is there gives up machines, the dearest for their use first.

Of a limit in cores, memory or money, as many go at once as are too many whichever they are, and then more.

None is bought in their place while the pool is above its max: pods move to room that is there, or to other pools.
A machine that is coming counts as well, and is given up by its own lifecycle if no pod needs it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from api.v1alpha1.node_pool import NodePool
from planner.policies.pace.rates import next_batch_at
from planner.policies.port import Advice, PolicyView, Quota
from planner.policies.triggers.worn_out import DueMachine, Wear, advice, open_pools, own_machines
from planner.policies.utilisation.removal_order import removal_rank
from planner.policies.utilisation.shares import used_share
from planner.report.pool_report import OVER_MAX
from planner.supply.allowed_types import AllowedTypes
from planner.supply.machines import Machine, machine_price
from planner.supply.sums.pool_sums import above_limit, amount_of_machine, sums_of

_WEAR: Final = Wear(OVER_MAX, OVER_MAX, "Machines above a limit of the pool, or the max of a type in it", renews=False)


@dataclass(frozen=True, slots=True)
class OverMax:
    """Proposes machines of pools that have too many: as many as are too many, of all that may go."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines in the order in which they are tried, and a report for each such pool."""
        staying: defaultdict[str, list[Machine]] = defaultdict(list)
        for machine in view.machines:
            if machine.counts and not machine.is_leaving:
                staying[machine.pool].append(machine)
        names = [pool.metadata.name for pool in open_pools(view)]
        over = [o for name in names if (o := _excess(view.allowed[name], staying[name])).number > 0]
        by_pool = own_machines(view) if over else {}
        due = (entry for each in over for entry in _due(each, by_pool.get(each.name, []), view))
        made = advice(view, _WEAR, due, {each.name: each.number for each in over})
        later = (at for each in over if (at := next_batch_at(each.allowed.pool, view)) > view.now)
        return replace(made, wake_at=min(later, default=None))


@dataclass(frozen=True, slots=True)
class _Excess:
    """By how much a pool is above its max."""

    allowed: AllowedTypes
    by_entry: Mapping[int, int]
    """By position of the entry."""
    further: int
    """Beside those, of any other type."""
    why: str
    """By which limit of the pool, as a sentence."""

    @property
    def name(self) -> str:
        return self.allowed.pool.metadata.name

    @property
    def number(self) -> int:
        return sum(self.by_entry.values()) + self.further


def _excess(allowed: AllowedTypes, machines: Sequence[Machine]) -> _Excess:
    spec, name = allowed.pool.spec, allowed.pool.metadata.name
    by_type = Counter(machine.server_type for machine in machines)
    numbers: Counter[int | None] = Counter()
    for server_type, number in by_type.items():
        numbers[allowed.holder(server_type)] += number
    by_entry = {
        position: numbers[position] - entry.max
        for position, entry in enumerate(spec.server_types)
        if entry.max is not None and numbers[position] > entry.max
    }
    most = spec.limits.max
    further = 0 if most is None else numbers.total() - most
    source = "limits.max" if spec.schedule is None else "its max in force"
    why = f"Pool {name} has more machines than {source}, {most}"
    for each in sums_of(allowed, machines, ()):
        largest = max((amount_of_machine(machine, each.name, allowed) or 0 for machine in machines), default=0)
        # Fewer would do only if there were larger ones.
        number = -(-(each.used - each.most) // max(1, largest))
        if number > further:
            further, why = number, f"Pool {name} has {above_limit(each)}"
    further = max(0, further - sum(by_entry.values()))
    return _Excess(allowed, by_entry, further, why)


def _at_once(excess: _Excess, view: PolicyView) -> tuple[Mapping[int, int], int]:
    """Return how many go at once, by position of the entry and beside those: at most at the fast rate of the pool."""
    pool = excess.allowed.pool
    group = pool.spec.scale_down.group
    if group is None:
        return excess.by_entry, excess.further
    left = group.fast if next_batch_at(pool, view) <= view.now else 0
    by_entry: dict[int, int] = {}
    for position, number in excess.by_entry.items():
        by_entry[position] = min(number, left)
        left -= by_entry[position]
    return by_entry, min(excess.further, left)


def _due(
    excess: _Excess, machines: Iterable[Machine], view: PolicyView
) -> Iterator[tuple[NodePool, DueMachine, Quota | None]]:
    pool, name = excess.allowed.pool, excess.name
    by_entry, further = _at_once(excess, view)
    for machine in sorted(machines, key=lambda machine: _order(machine, pool, view)):
        position = excess.allowed.holder(machine.server_type)
        if position is not None and position in excess.by_entry:
            entry = excess.allowed.entry(position)
            quota = Quota(f"{OVER_MAX}/{name}/{entry.name or position}", by_entry[position])
            of_type = f"of type {entry.name} than that type's" if entry.name else f"of {entry} than that entry's"
            why = f"Pool {name} has more machines {of_type} max"
        elif excess.further:
            quota, why = Quota(f"{OVER_MAX}/{name}", further), excess.why
        else:
            continue
        yield pool, DueMachine(machine, view.now, why), quota


def _order(machine: Machine, pool: NodePool, view: PolicyView) -> tuple[object, ...]:
    """Return a sort key: unused ones, then the dearest for the share of it that its pods ask for.

    Where the pool says in which order machines go, that holds.
    """
    if pool.spec.scale_down.order is not None:
        return (*removal_rank(pool, machine, view.prices), machine.name)
    cost = machine_price(machine, pool.spec.template.class_ref, view.prices)
    price = Fraction(0) if cost is None else Fraction(cost[0])
    used = used_share(machine)
    return (1, -price / used, machine.name) if used else (0, -price, machine.name)
