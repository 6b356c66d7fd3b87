"""How hard to look: counted in work, so that the same problem gets the same plan on any machine."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Effort:
    """Budgets of one solution."""

    starts: int
    """Constructions, each with another taste; fewer where there are many groups."""
    placing: int
    """Work of finding a place for more pods where not all have one, in looks at a group."""
    turns: int
    """Turns of column generation."""
    improving: int
    """Work of improving a plan, in looks at a group."""
    improving_a_machine: int
    """The same for each machine of the plan: a small plan is soon as good as it gets."""
    whole: float
    """Work of solving the whole problem at once, where there are few pods, in OR-tools' deterministic seconds."""
    proof: int
    """Turns of proving the bound exactly, where there are few groups; 0: not at all."""
    joint: float = 0.0
    """As `whole`, for a problem with rules between pods of different machines."""
    moves: float = 0.0
    """The same where such a problem is too large to be decided as one, and a few machines at a time are."""
    domains: float = 0.0
    """Of such a problem, work of telling which machines would do if pods could be cut, in the same seconds."""
    seating: float = 0.0
    """Work of placing its pods on such machines, each time, in the same seconds."""
    stock: float = 0.0
    """Work of telling which machines would do if pods could be cut, each time, in the same seconds; 0: not at all."""
    stocking: int = 0
    """Work of placing all pods on such machines, each time, in looks at a group."""


ROUND: Final = Effort(
    starts=12,
    placing=20_000_000,
    turns=8,
    improving=40_000_000,
    improving_a_machine=1_000_000,
    whole=0.2,
    proof=2,
    joint=0.5,
    moves=0.6,
    domains=0.5,
    seating=0.3,
    stock=0.1,
    stocking=16_000_000,
)
"""Of one round: some two seconds on two cores for 10,000 pods of 500 shapes."""
