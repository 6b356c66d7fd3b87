"""The safety check of machines that go as too little is used: by what remains of their pool, and by its purchases."""

from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked
from planner.policies.safety.purchases import PurchaseInFlight
from planner.policies.utilisation.remaining import RemainingUse
from planner.supply.machines import Machine


class SparedMachines:
    """Keeps machines that the rest of their pool could not do without.

    Args:
        remaining: counts what goes in the round.
        purchases: keep the machines of pools that grow.
    """

    def __init__(self, remaining: RemainingUse, purchases: PurchaseInFlight) -> None:
        self._remaining = remaining
        self._purchases = purchases

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine, None if it may go as too little is used."""
        return self._purchases.blocks(candidate) or self._remaining.refuses(candidate.pool, candidate.machine)

    def spend(self, machine: Machine) -> None:
        """Count a machine that goes, for whatever reason."""
        self._remaining.spend(machine)
