"""The terms of consolidation: what its pools ask of a step, and what moving a pod costs.

A step of machines of several pools keeps the strictest terms of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import Consolidation
from api.v1alpha1.node_removal_request import REPLACED_BY_AT_MOST
from planner.objects.kinds import Pod

CONSOLIDATED: Final = "Consolidation"
"""Why a machine goes whose pods are moved to fewer or cheaper ones."""
_SHARE_OF_MACHINE: Final = Decimal("0.002")
"""Of the price of the machine that it leaves, what a moved pod costs where the pool does not say."""
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class StepTerms:
    """What a step must bring."""

    min_saving_percent: int
    min_saving_per_hour: Decimal
    max_moved_pods: int

    def refuses(self, saving: Decimal, price: Decimal, moved: int, bought: int) -> str:
        """Return why a step is not worth it or too large, empty if it is neither.

        Args:
            saving: per hour.
            price: of the machines that go.
            moved: pods.
            bought: machines.
        """
        if saving <= 0 or saving * _PERCENT < price * self.min_saving_percent or saving < self.min_saving_per_hour:
            return "saves too little"
        if moved > self.max_moved_pods:
            return "moves too many pods"
        return "buys too many machines" if bought > REPLACED_BY_AT_MOST else ""


def strictest(settings: Iterable[Consolidation]) -> StepTerms:
    """Return the terms that satisfy all of these settings, of which there is at least one."""
    each = tuple(settings)
    return StepTerms(
        min_saving_percent=max(one.min_saving_percent for one in each),
        min_saving_per_hour=max(one.min_saving_per_hour or Decimal(0) for one in each),
        max_moved_pods=min(one.max_moved_pods for one in each),
    )


def cost_of_moves(pods: Iterable[Pod], price: Decimal, settings: Consolidation) -> Decimal:
    """Return what moving the pods of a machine costs, as saving per hour that it must bring."""
    of_one = price * _SHARE_OF_MACHINE if settings.move_price is None else settings.move_price
    return of_one * sum(weight(pod) for pod in pods)


def weight(pod: Pod) -> int:
    """Return how many ordinary pods the move of this one counts as: one more for each digit of priority and cost."""
    return 1 + _digits(pod.priority) + _digits(pod.deletion_cost)


def _digits(number: int) -> int:
    return len(str(number)) if number > 0 else 0
