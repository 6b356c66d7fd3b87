"""The provider's side of a history, as people and rules know it, whatever provider it is."""

from abc import ABC, abstractmethod
from collections import Counter

from simulator.apiserver.store import Observer


class Side(ABC):
    """A provider whose servers people can see and delete, and what is known of what went wrong with it."""

    most_per_request = 1
    """Servers that a request may ever have had, those apart that `late` counts."""

    is_reliable = True
    """Whether workers reach the API server at all times: what they have learnt is noted there."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """How often workers called about servers, by verb."""
        self.class_calls: Counter[str] = Counter()
        """How often they called about what a node class names, by verb."""
        self.met: Counter[str] = Counter()
        """How often a call met a trouble."""
        self.lost: set[str] = set()
        """Servers that went without a worker's call: behind our back, or by an effect that was lost."""
        self.foreign: set[str] = set()
        """Servers of another cluster at this provider."""
        self.foreign_nodes: set[str] = set()
        """Nodes of machines that no provider here knows."""
        self.late: Counter[str] = Counter()
        """Create calls that take effect when they were given up long ago, by the server's name."""

    @abstractmethod
    def observe(self, observer: Observer) -> None:
        """Call `observer` within every change of servers that are no objects of the cluster."""

    def wrong(self) -> list[str]:
        """Return the workers' forbidden calls to the provider."""
        return []

    @abstractmethod
    async def plant(self, name: str) -> None:
        """Let another cluster have a server of this name, if it is free."""

    @abstractmethod
    async def lose(self, name: str) -> None:
        """Let a server vanish, as if somebody had deleted it at the provider; its Node is silent from then on."""

    @abstractmethod
    def calm(self) -> None:
        """End all troubles."""
