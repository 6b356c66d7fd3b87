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
    is_of_account: bool | None = None
    """False where a machine that goes does not end it: it is not about how much the account may have."""


class PartialPause(Payload):
    """A limit, or a closed location, that stops a part of what the class offers; the rest is bought."""

    limit: str = Field(max_length=128)
    """What is short, such as "dedicated cores" or "location fsn1"."""
    server_types: Annotated[tuple[str, ...], Field(max_length=200)] = ()
    """Server types that it stops. Without any, all."""
    locations: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    """Locations in which it stops them. Without any, everywhere."""
    is_of_account: bool = True
    """Whether the account may not have more, so that a machine that goes may end it; else the provider has no more."""
    message: str = Field(max_length=1024)
    """What the provider said, a sentence for people."""
    failures: int
    """Refusals in a row; the pause is twice as long after each."""
    last_failure_at: Timestamp
    """When the last refusal was; further ones in the same pause are not counted."""
    until: Timestamp
    """Nothing that it stops is bought until then; after that, one machine of it is tried first."""


class FailedPurchases(Payload):
    """Servers in a row that were created and never became machines."""

    in_a_row: int
    """How many there were since a machine of the class last came."""
    server_types: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    """Their server types."""
    last_failure_at: Timestamp
    """When the last one failed."""


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
    partial_pauses: Annotated[tuple[PartialPause, ...], Field(max_length=50)] = ()
    """Limits and closed locations that stop a part of the class, each while it is remembered."""
    failed_purchases: FailedPurchases | None = None
    """Servers in a row that never became machines; after three, nothing is bought for a while."""
    learned: Annotated[tuple[LearnedAllocatable, ...], Field(max_length=200)] = ()
    """What Nodes turned out to have for pods."""
    conditions: Conditions = ()
    """Conditions of the class."""
