"""Consolidation: pods are moved so that fewer or cheaper machines carry them."""

from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from api.duration import PositiveDuration
from api.meta import Timestamp
from api.model import Model, Payload
from api.quantity import Price
from api.rules import Check, Text

MOST_PERCENT: Final = 99
SavingPercent = Annotated[
    int,
    Field(strict=True),
    Check(
        lambda percent: 0 <= percent <= MOST_PERCENT,
        f"self >= 0 && self <= {MOST_PERCENT}",
        f"must be 0 to {MOST_PERCENT}: what carries the pods instead always costs something",
    ),
]


_MOVE_PRICE: Final = Text(
    pattern="^([0-9]{1,9}([.][0-9]{1,9})?|[0-9]{1,4}%)$",
    longest=19,
    form='a price per hour in quotes, such as "0.0106", or a share of what an average pod costs, such as "70%"',
)
MovePrice = Annotated[str, _MOVE_PRICE]
"""What moving a pod costs as a saving per hour: an amount, or a share of what an average pod costs, as its text."""
USUAL_MOVE_PRICE: Final = "70%"
"""Of a pool that says none."""


class Consolidation(Model):
    """When pods are moved so that machines can go, or make way for cheaper ones; only with mode drain."""

    after: PositiveDuration = timedelta(minutes=15)
    """How long no pod may have come to a machine or left it until its pods are moved."""
    min_saving_percent: SavingPercent = 5
    """Least saving of a step, in percent of what the machines that go cost; 0 to 99."""
    min_saving_per_hour: Price | None = None
    """Least saving of a step per hour, in the currency of its machines. Without it, any."""
    max_moved_pods: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 100
    """Most pods that one step moves."""
    move_price: MovePrice | None = None
    """Saving per hour for each pod that moves, or a share of a pod's cost, which falls with time. Without it, 70%."""


class ConsolidationStatus(Payload):
    """What consolidation came to in the last round that looked."""

    saving_per_hour: Price | None = None
    """What the steps that it has come to save per hour, over all pools that consolidate."""
    currency: str | None = None
    """Currency of that saving."""
    rested_at: Annotated[str | None, Field(max_length=16)] = None
    """Hash of the machines and pods that nothing could be saved with: until it changes, nobody looks again."""
    looked_at: Timestamp | None = None
    """When it was last looked at what the pool would save if it consolidated, in a pool that does not."""
