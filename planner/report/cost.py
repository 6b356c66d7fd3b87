"""What a plan costs, and how little it could cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from planner.model.plan import PlannedRequest
from planner.packing.assemble import Assembly, buyable, price_of, price_units
from planner.packing.greedy.bound import lower_bound
from planner.packing.problem import Packing, PackingProblem
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.places import Place


@dataclass(frozen=True, slots=True)
class Cost:
    """Per hour."""

    total: Decimal
    """Of all machines that are bought."""
    lower_bound: Decimal
    """No plan that places the same pods and keeps the same minimums costs less."""

    @property
    def is_optimal(self) -> bool:
        """Whether the two are equal."""
        return self.total == self.lower_bound


def cost_of(
    requests: Sequence[PlannedRequest],
    assembly: Assembly,
    packing: Packing,
    minimum: Sequence[tuple[MachineKind, int]],
    top_up: Sequence[MachineKind],
    *,
    pool_kinds: Mapping[str, PoolKinds],
) -> Cost:
    """Return the cost of `requests`.

    Minimums of server types have to be bought whatever else is. Where each can come from one kind
    only, its cost stands beside the bound for the pods that are not on it. Else a machine that pods
    need in another location may meet it by the way, and the larger of the two bounds holds. Of a
    pool's own minimum the bound counts only what the plan buys for it alone, and that only where no
    pod could have made a machine needed. Where groups were split over domains, the bound is that of the
    pods before they were: another split might have cost less.
    """
    total = sum((request.price_per_hour for request in requests), Decimal(0))
    forced = sum(price_units(kind.offering.price_per_hour) * number for kind, number in minimum)
    placed = assembly.placed(packing.unplaced)
    if _have_one_offer_each(minimum, pool_kinds):
        bound = forced + lower_bound(assembly.relaxed, placed, packing.proven)
    else:
        bound = max(forced, lower_bound(_with_priced_minimum(assembly), placed))
    if not assembly.given.groups:
        bound += sum(price_units(kind.offering.price_per_hour) for kind in top_up)
    return Cost(total, price_of(bound))


def _have_one_offer_each(minimum: Sequence[tuple[MachineKind, int]], pool_kinds: Mapping[str, PoolKinds]) -> bool:
    types = {(kind.pool.metadata.name, kind.offering.server_type.lower()) for kind, _ in minimum}
    there = Counter((kind.pool.metadata.name, kind.offering.server_type.lower()) for kind in buyable(pool_kinds))
    return all(there[type_] == 1 for type_ in types)


def _with_priced_minimum(assembly: Assembly) -> PackingProblem:
    """Return the problem with the machines of minimums at their price instead of free."""
    bins = tuple(
        replace(one, price=price_units(kind.offering.price_per_hour))
        if not isinstance(kind, Place) and kind.is_minimum
        else one
        for one, kind in zip(assembly.relaxed.bins, assembly.given.kinds, strict=True)
    )
    return replace(assembly.relaxed, bins=bins)
