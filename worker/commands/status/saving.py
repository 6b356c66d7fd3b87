"""What the status says of savings: what this round saves, and what pools would that do not consolidate."""

from collections.abc import Iterator
from decimal import Decimal

from planner.consolidation.forgone import NEEDS
from planner.consolidation.potential import potential
from planner.model.saving import a_month
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.tables import count, names


def savings(view: ClusterView) -> Iterator[str]:
    """Yield a sentence on what consolidation saves now, and one on what it could."""
    going = [removal for removal in view.plan.removals if removal.saving_per_hour is not None]
    # Each removal of a step tells the saving of all of it.
    by_step = {removal.step or removal.node: removal.saving_per_hour or Decimal(0) for removal in going}
    if going:
        saved = a_month(sum(by_step.values(), Decimal(0)), view.plan.currency)
        yield f"The next round begins to save {saved}: {names([removal.node for removal in going])}."
    could = view.plan.potential or potential(view.known)
    if could.saving_per_hour:
        yield (
            f"Consolidation would save {a_month(could.saving_per_hour, could.currency)}: "
            f"{count(could.machines, 'machine')} of {names(sorted(could.pools))} would go, "
            f"{count(could.moved, 'pod')} would move; {NEEDS}."
        )
