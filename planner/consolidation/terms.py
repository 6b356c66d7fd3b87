"""The terms of consolidation: what its pools ask of a step, and what moving a pod costs.

A step of machines of several pools keeps the strictest terms of them.
What a move brings lasts until the load changes. Nobody knows when that is, but what has been as it is for long mostly
stays so for as long again. So a share of what a pod costs falls with the time in which nothing has changed: where pods
come and go all day fewer moves are worth it than on machines that have been quiet for a day.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import USUAL_MOVE_PRICE, Consolidation
from api.v1alpha1.node_removal_request import REPLACED_BY_AT_MOST
from planner.objects.kinds import Pod

CONSOLIDATED: Final = "Consolidation"
"""Why a machine goes whose pods are moved to fewer or cheaper ones."""
_SETTLED: Final = timedelta(hours=2)
"""For so long a share is whole; then half of it is left each time a machine has been quiet for twice as long."""
_MOST_HALVINGS: Final = 7
"""So that some of it is always left: moves that bring nothing are never worth it."""
_WHOLE: Final = 100


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
        if saving <= 0 or saving * _WHOLE < price * self.min_saving_percent or saving < self.min_saving_per_hour:
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


def cost_of_moves(pods: Iterable[Pod], settings: Consolidation, average: Decimal, quiet: timedelta) -> Decimal:
    """Return what moving the pods of a machine costs, as saving per hour that it must bring.

    Args:
        pods: that move.
        settings: of the machine's pool.
        average: what a pod costs per hour, over all machines that are looked at.
        quiet: how long the machine has had these pods.
    """
    said = settings.move_price or USUAL_MOVE_PRICE
    of_one = average * Decimal(said[:-1]) / _WHOLE * _left_of(quiet) if said.endswith("%") else Decimal(said)
    return of_one * sum(weight(pod) for pod in pods)


def _left_of(quiet: timedelta) -> Decimal:
    """Return what is left of a share after so long. It changes seldom, as each change asks for a new look."""
    halvings = int(quiet / _SETTLED).bit_length() - 1
    return Decimal(1) / 2 ** max(0, min(halvings, _MOST_HALVINGS))


def weight(pod: Pod) -> int:
    """Return how many ordinary pods the move of this one counts as: one more for each digit of priority and cost."""
    return 1 + _digits(pod.priority) + _digits(pod.deletion_cost)


def _digits(number: int) -> int:
    return len(str(number)) if number > 0 else 0
