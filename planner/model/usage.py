"""How much of their machines Nodes were seen to use, as metrics.k8s.io tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class UsageSample:
    """What a Node used at a time, by all that runs on it."""

    at: datetime
    cpu: int
    """In thousandths of a core."""
    memory: int
    """In bytes."""


@dataclass(frozen=True, slots=True)
class ObservedUsage:
    """The samples that a round has."""

    samples: Mapping[str, Sequence[UsageSample]] = field(default_factory=dict)
    """By name of the Node, the oldest first, each time once."""
    problem: str = ""
    """Why there are none, or no new ones: the rest of a sentence about usage. Empty while it is read."""
