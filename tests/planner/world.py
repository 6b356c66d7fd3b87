"""What a cluster looks like when a plan is carried out: every machine, who runs there and who is to land there."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.planner.reading import OWN_TAINTS, Json, tolerates, wants
from tests.planner.selecting import Namespaces


@dataclass
class Spot:
    """A machine that is there, coming or bought."""

    name: str
    labels: dict[str, str]
    taints: list[Json]
    residents: list[Json] = field(default_factory=list)
    """Bound to it, terminating ones too."""
    newcomers: list[Json] = field(default_factory=list)
    """Planned onto it."""
    is_cordoned: bool = False
    is_there: bool = False
    """It has a Node."""

    def is_wanted_by(self, pod: Json) -> bool:
        return wants(pod["spec"], self.labels, self.name)

    def is_tolerated_by(self, pod: Json) -> bool:
        cordon = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}] if self.is_cordoned else []
        lasting = [t for t in self.taints if t["key"] not in OWN_TAINTS]
        return all(tolerates(pod["spec"], t) for t in (*lasting, *cordon))


@dataclass(frozen=True)
class World:
    """All machines, and the labels of namespaces."""

    spots: tuple[Spot, ...]
    namespaces: Namespaces
    attach_limits: Mapping[str, Mapping[str, int]]
    """By node, then by CSI driver."""

    def newcomers(self) -> list[tuple[Spot, Json]]:
        return [(spot, pod) for spot in self.spots for pod in spot.newcomers]
