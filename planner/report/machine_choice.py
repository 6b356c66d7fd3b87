"""Reasons for the type of a machine: shares that its pods use, the runner-up, and a cheaper one with its obstacle.

Other machines are asked whether they hold exactly the pods that the plan puts on this one, together
and in the domains that it gave them; that the rest of the plan might be made otherwise is not asked.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import floor
from typing import Final

from api.quantity import format_price
from planner.model.plan import Alternative, Because, Reason
from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly, fits_kind
from planner.packing.assign import NewMachine
from planner.report.unplaced import limit_reached
from planner.scheduling.attachments import attachable, is_enough
from planner.supply.limits import Limits
from planner.supply.machine_kind import MachineKind, PoolKinds

_FIRST: Final = ("cpu", "memory", "ephemeral-storage")
"""The order in which resources are named; others follow by name."""
_TOLD: Final = ("cpu", "memory")
"""Resources of which a sentence always names the share."""
LOWER_PRIORITY: Final = "LowerPriority"
"""Code of what keeps a cheaper machine from being bought where priorities choose."""
_OBSTACLE_CHARACTERS: Final = 120
"""A failed request may tell a long story, and the sentence goes into events."""


class MachineChoices:
    """Machines with the same pods cost one look, however many they are.

    Args:
        assembly: the problem that was packed.
        pool_kinds: all that pools could buy.
        limits: as they are left after the plan.
    """

    def __init__(self, assembly: Assembly, pool_kinds: Mapping[str, PoolKinds], limits: Limits) -> None:
        self._assembly = assembly
        self._limits = limits
        self._known: dict[object, Because] = {}
        problem = assembly.problem
        priced = [(b, kind) for b in range(len(problem.bins)) if (kind := assembly.priced(b)) is not None]
        self._priced = sorted(priced, key=lambda one: problem.bins[one[0]].price)
        self._blocked = sorted(_blocked(pool_kinds), key=lambda one: one[0].offering.price_per_hour)
        """Offers that cannot be bought for one reason that is no limit, with the reason, the cheapest first."""
        self._fits: dict[tuple[int, int], bool] = {}

    def because(self, bought: NewMachine) -> Because:
        """Return the reasons for the type of this machine."""
        key = (bought.node.bin, frozenset(bought.node.counts.items()))
        if key not in self._known:
            self._known[key] = self._explain(bought)
        return self._known[key]

    def explanation(self, bought: NewMachine) -> tuple[str, Because]:
        """Return the reasons for the type of this machine, as a sentence and as data."""
        because = self.because(bought)
        return sentence(bought, because, is_minimum=bought.kind.is_minimum), because

    def _explain(self, bought: NewMachine) -> Because:
        used = _used([placed_pod.pod for placed_pod in bought.pods])
        shares = _shares(used, bought.kind)
        binding = max(shares, key=lambda name: shares[name], default=None)
        if bought.kind.is_minimum:
            return Because(shares, binding)
        return Because(shares, binding, self._runner_up(bought), self._cheaper(bought, used))

    def _runner_up(self, bought: NewMachine) -> Alternative | None:
        chosen = bought.kind
        twins: list[Alternative] = []
        others: list[Alternative] = []
        turn: int | None = None
        for b, kind, obstacles in sorted(self._holding(bought), key=lambda one: self._turn(one[0])):
            if others and (self._turn(b) != turn or kind.offering.price_per_hour > others[0].price_per_hour):
                break
            if not obstacles:
                # Another place of the same type at the same price says nothing about the type.
                (twins if _is_twin(kind, chosen) else others).append(_alternative(kind))
                turn = self._turn(b)
        return min(others or twins, key=lambda one: _nearness(one, chosen), default=None)

    def _turn(self, b: int) -> int:
        return self._assembly.problem.bins[b].turn

    def _cheaper(self, bought: NewMachine, used: Mapping[str, int]) -> Alternative | None:
        chosen = bought.kind
        alternatives: list[Alternative] = []
        for b, kind, reached in self._holding(bought):
            if kind.offering.price_per_hour >= chosen.offering.price_per_hour:
                break
            is_lower = self._turn(b) > self._turn(bought.node.bin)
            obstacles = [*reached, *([_lower_priority(kind, chosen)] if is_lower else [])]
            if len(obstacles) == 1:
                alternatives.append(_alternative(kind, obstacles[0]))
        for position, (kind, reason) in enumerate(self._blocked):
            if kind.offering.price_per_hour >= chosen.offering.price_per_hour:
                break
            if not self._limits_reached(kind, chosen) and self._would_hold(bought, position, used):
                alternatives.append(_alternative(kind, reason))
        return min(alternatives, key=lambda one: _nearness(one, chosen), default=None)

    def _holding(self, bought: NewMachine) -> Iterator[tuple[int, MachineKind, list[Reason]]]:
        """Yield the other kinds that hold these pods, with bin and the limits in their way, the cheapest first."""
        problem = self._assembly.problem
        allowed = frozenset.intersection(*(problem.groups[k].bins for k in bought.node.counts))
        load = _load(self._assembly, bought.node.counts)
        for b, kind in self._priced:
            capacity = problem.bins[b].capacity
            if b != bought.node.bin and b in allowed and all(capacity[r] >= amount for r, amount in load):
                yield b, kind, self._limits_reached(kind, bought.kind)

    def _limits_reached(self, kind: MachineKind, chosen: MachineKind) -> list[Reason]:
        """Return the limits that forbid to buy `kind` in the place of `chosen`, which counts towards its own."""
        own = {row.key: row.amount for row in self._limits.rows(chosen)}
        return [
            limit_reached(kind, row.key, self._limits)
            for row in self._limits.rows(kind)
            if row.left + own.get(row.key, 0) < row.amount
        ]

    def _would_hold(self, bought: NewMachine, position: int, used: Mapping[str, int]) -> bool:
        """Return whether a kind that is not in the problem would hold these pods."""
        kind, _ = self._blocked[position]
        if not is_enough(kind.usable, used):
            return False
        shares = self._assembly.split.shares
        groups = {i for k in bought.node.counts for i, _ in shares[k].pods}
        if any(shares[k].cell is not None for k in bought.node.counts) and _is_elsewhere(
            kind, bought.kind, [group.example for group in self._assembly.given.groups]
        ):
            return False
        return all(self._fits_kind(i, position) for i in groups)

    def _fits_kind(self, i: int, position: int) -> bool:
        if (i, position) not in self._fits:
            self._fits[i, position] = fits_kind(self._assembly.given.groups[i], self._blocked[position][0])
        return self._fits[i, position]


def sentence(bought: NewMachine, because: Because, *, is_minimum: bool) -> str:
    """Return one short sentence: the pods that a machine is bought for, its used shares, and its alternatives."""
    chosen = bought.kind
    names = [*_TOLD, *([because.binding] if because.binding not in (None, *_TOLD) else [])]
    shares = ", ".join(f"{name} {percent(because.shares[name])} %" for name in names if name in because.shares)
    pool = chosen.pool.metadata.name
    headroom = [placed_pod.pod for placed_pod in bought.pods if placed_pod.pod.is_headroom]
    number = len(bought.pods) - len(headroom)
    held = [_counted(number)] * bool(number) + [_headroom(headroom)] * bool(headroom)
    parts = [f"For {' and '.join(held)} of pool {pool}: {shares}"]
    if is_minimum:
        return "; ".join((*parts, f"the minimum of pool {pool} asks for it"))
    if because.cheaper is not None:
        parts.append(missed(because.cheaper, chosen.offering.price_per_hour))
    other = because.runner_up
    pronoun = "it" if len(bought.pods) == 1 else "them"
    parts.append(
        f"nothing else that can be bought holds {pronoun}"
        if other is None
        else f"next: {named(other, chosen.offering.location, pool)}"
    )
    return "; ".join(parts)


def _headroom(pods: Sequence[Pod]) -> str:
    buffers = ", ".join(dict.fromkeys(f"{pod.owner.kind} {pod.owner.name}" for pod in pods if pod.owner is not None))
    return f"headroom of {_counted(len(pods))}{f' ({buffers})' if buffers else ''}"


def _counted(pods: int) -> str:
    return "1 pod" if pods == 1 else f"{pods} pods"


def missed(cheaper: Alternative, price: Decimal) -> str:
    """Return a sentence part: how much cheaper than this price a machine would be, and the obstacle to buying it."""
    place = f"{cheaper.server_type} in {cheaper.location}"
    obstacle = "" if cheaper.obstacle is None else cheaper.obstacle.message.removeprefix(f"{place} ")
    return f"{place} would be {format_price(price - cheaper.price_per_hour)} cheaper, but {_cut(obstacle)}"


def percent(share: float) -> int:
    """Return a share in whole percent, rounded down: 100 % means that nothing is left."""
    return floor(round(100 * share, 6))


def named(other: Alternative, location: str, pool: str) -> str:
    """Return another machine and its price, with its place only where they are not in this location and pool."""
    where = "" if other.location == location else f" in {other.location}"
    whose = "" if other.pool == pool else f" of pool {other.pool}"
    return f"{other.server_type}{where}{whose} for {format_price(other.price_per_hour)}"


def _used(pods: Sequence[Pod]) -> dict[str, int]:
    """Return the amounts that the pods take together, by resource; a volume that several of them use counts once."""
    used = Counter[str]()
    for pod in pods:
        used.update(pod.requests)
    drivers = {driver for pod in pods for driver, _ in pod.attachments}
    return {**used, **{name: -left for name, left in attachable(dict.fromkeys(drivers, 0), pods).items()}}


def _shares(used: Mapping[str, int], kind: MachineKind) -> dict[str, float]:
    """Return the used shares, in the order in which resources are named."""
    names = [*(name for name in _FIRST if name in used), *sorted(used.keys() - set(_FIRST))]
    return {name: used[name] / kind.usable[name] for name in names if used[name] and kind.usable.get(name, 0) > 0}


def _load(assembly: Assembly, counts: Mapping[int, int]) -> list[tuple[int, int]]:
    demands = [(assembly.problem.groups[k].demand, number) for k, number in counts.items()]
    totals = (sum(demand[r] * number for demand, number in demands) for r in range(len(demands[0][0])))
    return [(r, total) for r, total in enumerate(totals) if total]


def _blocked(pool_kinds: Mapping[str, PoolKinds]) -> Iterator[tuple[MachineKind, Reason]]:
    for kinds_of_pool in pool_kinds.values():
        for kind in kinds_of_pool.kinds:
            match [reason for reason in (kinds_of_pool.obstacle, kind.obstacle) if reason is not None]:
                case [reason]:
                    yield kind, reason
                case _:
                    pass


def _lower_priority(kind: MachineKind, chosen: MachineKind) -> Reason:
    """Return why a cheaper kind is passed over: its pool's priority is lower, or its type's."""
    pool, other = kind.pool.metadata.name, chosen.pool.metadata.name
    (of_pool, of_type), (chosen_pool, chosen_type) = kind.tier, chosen.tier
    whose, own, higher = (
        (f"pool {pool}", of_pool, chosen_pool) if of_pool != chosen_pool else ("its type", of_type, chosen_type)
    )
    of_other = f"pool {other}" if of_pool != chosen_pool else chosen.offering.server_type
    return Reason(LOWER_PRIORITY, f"{whose} has priority {own}, and {of_other} {higher}")


def _is_twin(kind: MachineKind, chosen: MachineKind) -> bool:
    offering, chosen_offering = kind.offering, chosen.offering
    return (offering.server_type, offering.price_per_hour) == (
        chosen_offering.server_type,
        chosen_offering.price_per_hour,
    )


def _is_elsewhere(kind: MachineKind, chosen: MachineKind, pods: Sequence[Pod]) -> bool:
    """Return whether the two may be in different domains of what these pods ask of others."""
    keys = {one.topology_key for pod in pods for one in (*pod.spread, *pod.pod_affinity, *pod.pod_anti_affinity)}
    same_place = kind.offering.location == chosen.offering.location
    return not same_place or any(kind.labels.get(key) != chosen.labels.get(key) for key in keys)


def _alternative(kind: MachineKind, obstacle: Reason | None = None) -> Alternative:
    offering = kind.offering
    return Alternative(
        offering.server_type, offering.location, kind.pool.metadata.name, offering.price_per_hour, obstacle
    )


def _nearness(other: Alternative, chosen: MachineKind) -> tuple[object, ...]:
    """Return an order: the cheapest first, of those the one that is most like the chosen one."""
    return (
        other.price_per_hour,
        other.location != chosen.offering.location,
        other.pool != chosen.pool.metadata.name,
        other.server_type,
        other.location,
        other.pool,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _OBSTACLE_CHARACTERS else f"{text[: _OBSTACLE_CHARACTERS - 1]}…"
