"""The tally of a run: the bill by the second and by begun hours, pods moved, purchases, and how long pods waited."""

from dataclasses import dataclass, field
from typing import Final

from simulator.peers.fleet import HOUR, FleetMachine, PeerFleet

SETTLED: Final = 900
"""Seconds from the beginning, in which everybody buys for everything."""


@dataclass(slots=True)
class ChurnTally:
    """What came of an autoscaler's decisions."""

    fleet: PeerFleet
    cost: float = 0.0
    """Of all machines by the second, until now."""
    begun_hours: float = 0.0
    """Of machines that are gone, each begun hour in full."""
    waiting_seconds: float = 0.0
    """Of all pods together, once all that the beginning wants is there."""
    waits: list[int] = field(default_factory=list)
    """Seconds from each pod's creation to its binding."""
    purchases: int = 0
    refused: int = 0
    """Purchases of what was sold out."""
    removals: int = 0
    moved: int = 0
    """Pods that were evicted for the autoscaler."""
    at: int = 0

    def advance(self, now: int, waiting: int) -> None:
        """Count the time since the last call: nothing changed in it."""
        seconds = now - self.at
        self.cost += self.fleet.price(self.fleet.machines.values()) * seconds / HOUR
        if self.at >= SETTLED:
            self.waiting_seconds += waiting * seconds
        self.at = now

    def remove(self, machine: FleetMachine, now: int) -> None:
        """Count a machine that goes, with its begun hours."""
        self.removals += 1
        self.begun_hours += self.billed(machine, now)

    def billed(self, machine: FleetMachine, now: int) -> float:
        """Return what a machine costs until a time by begun hours."""
        return self.fleet.offerings[machine.offering].price * max(1, -(-(now - machine.bought) // HOUR))

    @property
    def cost_by_hours(self) -> float:
        """What all machines cost until now by begun hours."""
        return self.begun_hours + sum(self.billed(machine, self.at) for machine in self.fleet.machines.values())

    @property
    def wait_p95(self) -> int:
        """The 95th percentile of waits."""
        return sorted(self.waits)[int(0.95 * len(self.waits))] if self.waits else 0
