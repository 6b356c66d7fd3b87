"""What consolidation would save in pools that do not consolidate: shown, and never acted on."""

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import Consolidation
from planner.consolidation.fleet import fleet_if
from planner.consolidation.policy import of_currency
from planner.consolidation.search import Search
from planner.displacement.displace import Displacer
from planner.packing.fallback.pack import pack
from planner.placement.known_state import KnownState
from planner.policies.port import PolicyView

_UNBOUNDED: Final = Consolidation(max_moved_pods=100_000)
"""The settings of a pool that says no more than that it consolidates, for all that one look comes to."""
_ALL: Final = 1


@dataclass(frozen=True, slots=True)
class Potential:
    """What could be saved at least."""

    saving_per_hour: Decimal = Decimal(0)
    currency: str = ""
    machines: int = 0
    """That would go."""
    moved: int = 0
    """Pods that would move."""
    pools: Counter[str] = field(default_factory=Counter)
    """Machines that would go by pool."""


def potential_of(known: KnownState, view: PolicyView) -> Potential:
    """Return what the pools that do not consolidate could save if they did, by one look at all of their machines."""
    fleet = fleet_if(view, _UNBOUNDED)
    if not fleet.members:
        return Potential()
    displacer = Displacer(known, [member.machine.name for member in fleet.members], closed=fleet.idle)
    steps = Search(displacer, fleet, of_currency(known.pool_kinds, fleet.currency), pack, share=_ALL).best().steps
    return Potential(
        saving_per_hour=sum((step.saving_per_hour for step in steps), Decimal(0)),
        currency=fleet.currency,
        machines=sum(len(step.members) for step in steps),
        moved=sum(step.moved for step in steps),
        pools=Counter(member.machine.pool for step in steps for member in step.members),
    )
