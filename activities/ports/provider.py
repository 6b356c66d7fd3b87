"""The port to a cloud: offerings, create, get, list, delete, label, and what is due between calls.

What a provider brings beside it, such as the model of its node class, is its `ProviderKind`. One conformance
suite holds for all of them: `simulator.conformance.provider`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Protocol

from activities.ports.cluster import Object, Resource
from activities.ports.errors import GrowthError
from planner.objects.offering import Offering


class ServerState(StrEnum):
    """State of a server at the cloud."""

    CREATING = "creating"
    RUNNING = "running"
    BROKEN = "broken"
    """It exists and will not become useful."""
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class Server:
    """A server at the provider."""

    name: str
    """Unique per project; equals the request's name and the Node's name."""
    provider_id: str
    """As in the Node's spec.providerID."""
    state: ServerState
    server_type: str
    location: str
    labels: dict[str, str]
    """Carries at least cluster, pool, request and request-uid (`api.keys`)."""
    created_at: datetime
    is_progressing: bool = False
    """While creating: the cloud says that it works on it, so that a time-out would only begin the same work anew."""
    failure: GrowthError | None = None
    """Why a broken one is broken, as a refused create call would say it, if the cloud tells."""
    problem: str = ""
    """The cloud's message about a broken server."""


@dataclass(frozen=True, slots=True)
class ServerOrder:
    """The server to create."""

    name: str
    server_type: str
    location: str
    labels: dict[str, str]
    """Labels of the server at the provider."""
    node_labels: dict[str, str]
    """Labels its Node registers with."""
    node_taints: Sequence[dict[str, str]]
    """Taints its Node registers with: key, value, effect."""


class Provider(Protocol):
    """A cloud. Every call may raise the `ProviderError`s of `activities.ports.errors`."""

    node_classes: ClassVar[Resource]
    """The node classes it reads: kind and plural are those that pools and people name."""

    def offerings(self, node_class: Object) -> tuple[Offering, ...]:
        """Return every offering of the class, the sold-out ones too (with `available` False).

        Raises:
            InvalidConfiguration: the class cannot be read; names the field.
        """
        ...

    def image(self, node_class: Object, offering: Offering) -> str | None:
        """Return what, besides the server type, decides how much of a machine pods can have: its image.

        None where the class states that exactly, so that there is nothing to learn from Nodes.
        """
        ...

    def refusal(self, server_type: str) -> str | None:
        """Return why no class of this provider can ever offer the type, or None if nothing is known against it."""
        ...

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        """Create the server and return at once, usually in state creating.

        The name is the idempotency key: if a server of that name exists, it is returned as it is
        and nothing is created; the caller compares its request-uid label.

        Raises:
            InsufficientCapacity: certain that nothing was created.
            QuotaExceeded: certain that nothing was created.
            RateLimited: certain that nothing was created.
            InvalidConfiguration: certain that nothing was created.
            AuthenticationFailed: certain that nothing was created.
            UnknownOutcome: a server may exist.
        """
        ...

    async def get(self, name: str, class_name: str | None = None) -> Server:
        """Return the server of that name.

        Args:
            name: of the server.
            class_name: the node class that it was made by, where that is known: another class's account is not asked.

        Raises:
            NotFound: the provider says that it does not exist, in no account.
        """
        ...

    async def list(self, cluster: str) -> list[Server]:
        """Return the servers that carry this cluster's name as a label, also those of another cluster of that name."""
        ...

    async def delete(self, name: str, class_name: str | None = None) -> None:
        """Ask for deletion; a server that does not exist is success. Returns before it is gone."""
        ...

    async def label(self, name: str, labels: dict[str, str], class_name: str | None = None) -> None:
        """Add labels to a server.

        Raises:
            NotFound: it does not exist.
        """
        ...

    async def tend(self) -> float:
        """Do what is due between calls, and return in how many seconds it wants to be called again.

        Each worker calls it for ever, every half second to ten seconds. What was half done by another call or another
        worker is found by what there is, and finished.

        Raises:
            GrowthError: it could not be done. It is tried again soon, and nothing else is held up.
        """
        ...

    async def close(self) -> None:
        """Close connections; nothing is called after that."""
        ...
