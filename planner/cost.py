"""What a plan costs, and how little it could cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from planner.assemble import Assembly, price_of, price_units
from planner.bound import lower_bound
from planner.model import PlannedRequest
from planner.offers import Offer
from planner.packing import Packing


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
    minimum: Sequence[tuple[Offer, int]],
    top_up: Sequence[Offer],
) -> Cost:
    """Return the cost of `requests`.

    Minimums of server types have to be bought whatever else is, each from its cheapest offer, so
    their cost stands beside the bound for the pods that are not on them. Of a pool's own minimum
    the bound counts only what the plan buys for it alone, and that only where no pod could have
    made a machine needed; else a plan for the pods might meet it by the way.
    """
    total = sum((request.price_per_hour for request in requests), Decimal(0))
    forced = sum(price_units(offer.offering.price_per_hour) * number for offer, number in minimum)
    placed = [group.count - packing.unplaced.get(i, 0) for i, group in enumerate(assembly.problem.groups)]
    bound = forced + max(packing.proven, lower_bound(assembly.problem, placed))
    if not assembly.problem.groups:
        bound += sum(price_units(offer.offering.price_per_hour) for offer in top_up)
    return Cost(total, price_of(bound))
