"""How often a life looks while nobody tells it of a change."""

from datetime import timedelta
from typing import Final

LOOKS_A_SECOND: Final = 4
"""Of all lives of a kind together. Each look is ten events of a history and a call to the provider, and what matters
for pods, a Node that changes or a pod that is bound, comes by a message."""


def shared(every: timedelta, others: int) -> timedelta:
    """Return how long after a look the next comes when so many `others` look as well: `every`, or longer for many."""
    return max(every, timedelta(seconds=(others + 1) / LOOKS_A_SECOND))
