"""What priorities cost more than price alone, as the status of a pool tells it."""

from api.meta import Timestamp
from api.model import Payload
from api.quantity import Price


class ChoiceStatus(Payload):
    """Of the last round that bought for the pool, over all pools that it bought for together."""

    costs_per_hour: Price
    """By how much priorities made its machines dearer per hour than price alone would have."""
    currency: str
    """Currency of that."""
    at: Timestamp
    """When the round was."""
