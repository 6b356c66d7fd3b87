"""Savings in words and conditions: what a pool would save if it consolidated."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Reason
from planner.model.saving import Potential, a_month
from planner.supply.machines import Cost

SAVING_FORGONE: Final = "SavingForgone"
"""Condition that a pool does not consolidate and would save something by it."""
NEEDS: Final = "it needs scaleDown.mode: drain and scaleDown.consolidate"
_NOT_CONSOLIDATED: Final = "NotConsolidated"
_WORTH_SAYING_PERCENT: Final = 5
"""Of what the pool costs: as much as a step of consolidation must bring where its pool does not say."""
_PERCENT: Final = 100


def saving_forgone(pool: NodePool, costs: Iterable[Cost], potential: Potential | None) -> Reason | None:
    """Return what the pool would save, None if that is not worth saying.

    Args:
        pool: as it was read: what it says holds until the next look.
        costs: of its machines.
        potential: what the look of this round came to, None if there was none.
    """
    if pool.spec.scale_down.consolidates:
        return None
    if potential is None:
        said = next((each for each in pool.status.conditions if each.type == SAVING_FORGONE), None)
        return Reason(said.reason, said.message) if said is not None and said.status == "True" else None
    own = potential.pools.get(pool.metadata.name)
    price = sum((price for price, currency in costs if currency == potential.currency), Decimal(0))
    if own is None or own.saving_per_hour * _PERCENT < price * _WORTH_SAYING_PERCENT:
        return None
    share = f"{own.saving_per_hour / price * _PERCENT:.0f} % of its price" if price else "all of its price"
    machines = "1 machine" if own.machines == 1 else f"{own.machines} machines"
    pods = "1 pod" if own.moved == 1 else f"{own.moved} pods"
    saved = a_month(own.saving_per_hour, potential.currency)
    return Reason(
        _NOT_CONSOLIDATED,
        f"Consolidation would save {saved}, {share}: {machines} would go, {pods} would move; {NEEDS}",
    )


def looked(
    pool: NodePool, consolidation: ConsolidationStatus | None, potential: Potential | None, now: datetime
) -> ConsolidationStatus | None:
    """Return the status of consolidation with when it was last looked what it would save, in a pool that has none.

    Args:
        pool: as it was read.
        consolidation: what the round's policy reports, None if nothing.
        potential: what the look of this round came to, None if there was none.
        now: of the round.
    """
    before = pool.status.consolidation
    if pool.spec.scale_down.consolidate is not None and consolidation is None:
        consolidation = before
    if pool.spec.scale_down.consolidates:
        return consolidation
    looked_at = now if potential is not None else None if before is None else before.looked_at
    if looked_at is None:
        return consolidation
    return (consolidation or ConsolidationStatus()).model_copy(update={"looked_at": looked_at})
