"""What comes of displacing the pods of machines: where each goes, what is bought for them, and what that costs."""

from dataclasses import dataclass, replace
from decimal import Decimal

from planner.model.plan import Move, PlannedRequest, Reason
from planner.objects.kinds import Pod
from planner.placement.settle import Settlement, Supply


@dataclass(frozen=True, slots=True)
class Displacement:
    """Where the pods of some machines go if these go: each has a place, and all rules hold."""

    machines: frozenset[str]
    """Those that go, by name."""
    pods: tuple[Pod, ...]
    """Those that move, as they are now."""
    moves: tuple[Move, ...]
    """Onto Nodes that are there."""
    settled: Settlement
    supply: Supply

    @property
    def cost_per_hour(self) -> Decimal:
        """What is bought costs, machines that minimums ask for then among it."""
        return sum((kind.offering.price_per_hour for kind in self.settled.bought), Decimal(0))

    @property
    def currencies(self) -> frozenset[str]:
        """Of what is bought."""
        return frozenset(kind.offering.currency for kind in self.settled.bought)

    @property
    def bought(self) -> int:
        """Machines that are bought."""
        return len(self.settled.bought)

    def requests(self, first: int = 0) -> tuple[PlannedRequest, ...]:
        """Return the machines to buy, with a seat for each pod that moves there; ordinals begin at `first`."""
        made = self.settled.requests(self.supply)
        return tuple(replace(request, ordinal=first + request.ordinal) for request in made)

    def moves_by_machine(self) -> dict[str, list[Move]]:
        """Return where the pods of each machine go, those for new machines left out."""
        homes = {pod.key: pod.lands_on for pod in self.pods}
        by_machine: dict[str, list[Move]] = {name: [] for name in sorted(self.machines)}
        for move in self.moves:
            by_machine[homes[move.pod]].append(move)
        return by_machine


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why machines cannot go: one of their pods has no other place."""

    machine: str
    pod: str
    """namespace/name; empty where it is the machine itself."""
    reasons: tuple[Reason, ...]
