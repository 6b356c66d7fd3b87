"""The provider's side of a history, as people and rules know it, whatever provider it is."""

from abc import ABC, abstractmethod
from collections import Counter
from typing import Final

from api.keys import LABEL_CLUSTER, LABEL_CLUSTER_UID, LABEL_POOL, LABEL_REQUEST, LABEL_REQUEST_UID
from simulator.apiserver.store import Observer
from simulator.world import CLUSTER_NAME

_THEIR_UID: Final = "0b0b0000-0000-4000-8000-00000000000b"
"""Uid of another cluster."""


THEIRS: Final = "theirs"
"""Begins the names of their servers, but of those that take a name of ours."""


def labels_of_others(name: str, number: int) -> dict[str, str]:
    """Return the labels of the server of another cluster: of another name, or of this name with another uid or none.

    Args:
        name: of the server.
        number: how many servers others have already.
    """
    marks: tuple[dict[str, str], ...] = (
        {LABEL_CLUSTER: CLUSTER_NAME, LABEL_CLUSTER_UID: _THEIR_UID},
        # As an earlier version makes them.
        {LABEL_CLUSTER: CLUSTER_NAME},
    )
    if not name.startswith(THEIRS):
        marks = ({LABEL_CLUSTER: "others"}, *marks)
    own = {LABEL_POOL: "default", LABEL_REQUEST: name, LABEL_REQUEST_UID: f"{name}-of-others"}
    return marks[number % len(marks)] | own


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
