"""What Karpenter would remove of a fleet by its published rule: emptiness, then multi- and single-node consolidation.

Not its program. A command removes machines, or replaces them by one cheaper machine, never by several.
Source: Karpenter v1.14, pkg/controllers/disruption: emptiness.go, multinodeconsolidation.go (firstNConsolidationOption,
filterOutSameInstanceType), singlenodeconsolidation.go, consolidation.go (computeConsolidation, sortCandidates),
helpers.go (SimulateScheduling).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from simulator.peers.fleet import FleetMachine, FleetPod, PeerFleet
from simulator.peers.karpenter_fleet import Bounds, simulate

MOST_CANDIDATES: Final = 100
BUDGET: Final = 0.10
"""Of the machines, rounded up: the budget of a NodePool that names none."""


@dataclass(frozen=True, slots=True)
class Command:
    """Machines that go together."""

    machines: tuple[FleetMachine, ...]
    replacement: tuple[int, ...] = ()
    """Offerings of which one is bought first, the cheapest that can be had; none: they go without replacement."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """What a look at a fleet knows beside it."""

    fleet: PeerFleet
    waiting: Collection[FleetPod] = ()
    """Pods that are bound nowhere: they take room, too."""
    shielded: frozenset[str] = frozenset()
    """Machines on which a pod came or went within consolidateAfter, by name."""
    unavailable: Collection[int] = frozenset()
    """Offerings that are known to be sold out."""

    def command(self, candidates: Sequence[FleetMachine], *, going: int) -> Command | None:
        """Return what goes next, if anything does.

        Args:
            candidates: machines that may be disrupted now: by consolidateAfter, their pods and budgets of these.
            going: how many are being disrupted; they count against the budget.
        """
        allowed = -int(-len(self.fleet.machines) * BUDGET // 1) - going
        if allowed <= 0:
            return None
        empty = [machine for machine in candidates if not machine.pods]
        if empty:
            return Command(tuple(empty[:allowed]))
        order = sorted(candidates, key=lambda machine: (-self._saving_ratio(machine), machine.name))
        return self._several(order[: min(allowed, MOST_CANDIDATES)]) or self._single(order)

    def holds(self, command: Command) -> bool:
        """Return whether a command that was decided 15 s ago would be decided again."""
        if not any(machine.pods for machine in command.machines):
            return True
        again = self._consolidation(command.machines)
        return again is not None and (not again.replacement or bool(command.replacement))

    def _saving_ratio(self, machine: FleetMachine) -> float:
        return self.fleet.offerings[machine.offering].price / (1 + len(machine.pods))

    def _several(self, order: Sequence[FleetMachine]) -> Command | None:
        """Return the command for the longest prefix that binary search finds, of two machines at least."""
        least, most, best = 1, len(order) - 1, None
        while least <= most:
            middle = (least + most) // 2
            command = self._consolidation(order[: middle + 1])
            if command is not None and command.replacement:
                command = self._without_same_type(command)
            if command is None:
                most = middle - 1
            else:
                best, least = command, middle + 1
        return best

    def _single(self, order: Sequence[FleetMachine]) -> Command | None:
        commands = (self._consolidation([machine]) for machine in order)
        return next((command for command in commands if command is not None), None)

    def _consolidation(self, machines: Sequence[FleetMachine]) -> Command | None:
        fleet = self.fleet
        price = fleet.price(machines)
        names = frozenset(machine.name for machine in machines)
        moved = [pod for machine in machines for pod in machine.pods.values()]
        result = simulate(
            fleet,
            [*moved, *self.waiting, *leaving_pods(fleet)],
            without=names,
            shielded=self.shielded,
            coming=False,
            unavailable=self.unavailable,
            bounds=Bounds(1, price),
        )
        if result.is_over:
            return None
        if not result.claims:
            return Command(tuple(machines))
        cheaper = tuple(b for b in result.claims[0].bins if fleet.offerings[b].price < price)
        return Command(tuple(machines), cheaper) if cheaper else None

    def _without_same_type(self, command: Command) -> Command | None:
        """Return the command with types that are cheaper than the cheapest machine of the same type, if there is one.

        Else m machines would be replaced by one of them, which is no better than removing m - 1.
        """
        offerings = self.fleet.offerings
        present = {offerings[machine.offering].name for machine in command.machines}
        same = [offerings[b].price for b in command.replacement if offerings[b].name in present]
        below = min(same, default=inf)
        cheaper = tuple(b for b in command.replacement if offerings[b].price < below)
        return Command(command.machines, cheaper) if cheaper else None


def leaving_pods(fleet: PeerFleet) -> list[FleetPod]:
    """Return the pods of machines that are going: they need room elsewhere."""
    return [pod for machine in fleet.machines.values() if machine.is_closed for pod in machine.pods.values()]
