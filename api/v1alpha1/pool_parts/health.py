"""Health of a pool: while too many of its newest Nodes are not Ready, it neither grows nor shrinks by itself."""

from typing import Annotated

from pydantic import Field

from api.duration import PositiveDuration
from api.model import Model


class PoolHealth(Model):
    """When the pool freezes: it buys nothing then, and no removal begins by itself."""

    grace: PositiveDuration
    """The age from which on a Node is judged."""
    newest_percent: Annotated[int, Field(strict=True, ge=1, le=100)]
    """The share of its Nodes that is judged, in percent, rounded up: the newest of those."""
    max_unhealthy_percent: Annotated[int, Field(strict=True, ge=0, le=99)] = 0
    """The share of these that may be not Ready, in percent, rounded down, before the pool freezes."""
