"""A problem that Growth and the rules of its peers are given alike, and what one of them buys for it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from planner.packing.assemble import price_of
from planner.packing.problem import Packing, PackingProblem


@dataclass(frozen=True, slots=True)
class PeerProblem:
    """Pods that wait and machines that can be bought for them; no machine is there yet."""

    packing: PackingProblem
    """Its groups are classes of pods, its bins offerings, each with a price per hour; nothing is free."""
    offerings: tuple[str, ...]
    """Name of each bin: server type and location."""
    resources: tuple[str, ...]
    """Name of each resource, in the order of demands and capacities."""
    currency: str = ""

    @property
    def pods(self) -> int:
        """How many pods wait."""
        return sum(group.count for group in self.packing.groups)

    def demand(self, group: int, resource: str) -> int:
        """Return what one pod of a group asks of a resource, 0 of one that no pod asks for."""
        return self._amount(self.packing.groups[group].demand, resource)

    def capacity(self, offering: int, resource: str) -> int:
        """Return what a machine has of a resource, 0 of one that no pod asks for."""
        return self._amount(self.packing.bins[offering].capacity, resource)

    def _amount(self, amounts: tuple[int, ...], resource: str) -> int:
        return amounts[self.resources.index(resource)] if resource in self.resources else 0


@dataclass(frozen=True, slots=True)
class Purchase:
    """What is bought for a problem."""

    problem: PeerProblem
    packing: Packing
    """Every machine with what is on it, and the pods without a place."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Machines by name of their offering, in the order of the problem's offerings."""
        found = Counter(node.bin for node in self.packing.nodes)
        return {self.problem.offerings[b]: found[b] for b in sorted(found)}

    @property
    def machines(self) -> int:
        """How many machines are bought."""
        return len(self.packing.nodes)

    @property
    def cost(self) -> int:
        """What all of them cost per hour, in billionths of the problem's currency."""
        return self.problem.packing.cost(self.packing.nodes)

    @property
    def cost_per_hour(self) -> Decimal:
        """What all of them cost, in the problem's currency."""
        return price_of(self.cost)

    @property
    def placed(self) -> int:
        """How many pods have a place."""
        return self.problem.pods - self.unplaced

    @property
    def unplaced(self) -> int:
        """How many pods have none."""
        return sum(self.packing.unplaced.values())
