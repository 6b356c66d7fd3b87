"""What Growth has learnt about a node class, whatever its kind."""

from typing import Annotated

from pydantic import Field

from api.meta import Conditions, Timestamp
from api.model import Payload
from api.quantity import Quantity

Amounts = Annotated[dict[str, Quantity], Field(max_length=32)]


class UnavailableOffering(Payload):
    """An offering that had no capacity and is left out for a while."""

    server_type: str
    """Server type of the offering."""
    location: str
    """Location of the offering."""
    failures: int
    """Misses in a row; the wait is twice as long after each."""
    last_failure_at: Timestamp
    """When the last miss was; further ones in the same wait are not counted."""
    until: Timestamp
    """Plans leave the offering out until then."""


class BuyingPause(Payload):
    """The account may not have more: nothing of the class is bought for a while."""

    message: str = Field(max_length=1024)
    """What the provider said, a sentence for people."""
    failures: int
    """Refusals in a row; the pause is twice as long after each."""
    last_failure_at: Timestamp
    """When the last refusal was; further ones in the same pause are not counted."""
    until: Timestamp
    """Nothing is bought until then; after that, one machine is tried first."""


class LearnedAllocatable(Payload):
    """What Nodes of a server type and image turned out to have for pods: the least that was seen."""

    server_type: str
    """Server type of the Nodes."""
    image: str
    """Image of the Nodes: another one may leave another amount."""
    allocatable: Amounts
    """The least of each resource that a Node had, as quantities."""
    last_seen_at: Timestamp
    """When a Node last had less than was known."""


class NodeClassStatus(Payload):
    """What Growth has learnt about the class."""

    unavailable: tuple[UnavailableOffering, ...] = ()
    """Offerings that had no capacity, each while its misses are remembered."""
    pause: BuyingPause | None = None
    """Since the account may not have more: until when nothing is bought."""
    learned: Annotated[tuple[LearnedAllocatable, ...], Field(max_length=200)] = ()
    """What Nodes turned out to have for pods."""
    conditions: Conditions = ()
    """Conditions of the class."""
