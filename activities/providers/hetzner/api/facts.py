"""Facts from the Hetzner Cloud API, as small as Growth needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

DEFAULT_ENDPOINT: Final = "https://api.hetzner.cloud/v1"
"""Where the API is."""
Architecture = Literal["amd64", "arm64"]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server of the project."""

    id: int
    name: str
    status: str
    """As the API says it: running, initializing, starting, stopping, off, deleting, migrating, rebuilding, unknown."""
    server_type: str
    location: str
    labels: Mapping[str, str]
    created_at: datetime
    networks: tuple[int, ...] = ()
    """Ids of the private networks it is attached to."""
    placement_group: int | None = None
    is_protected: bool = False
    """A person has set its delete protection."""


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """Something that the API does over time."""

    id: int
    command: str
    """Such as create_server, start_server, attach_to_network, delete_server."""
    status: Literal["running", "success", "error"]
    progress: int
    """Percent."""
    error_code: str = ""
    error_message: str = ""


@dataclass(frozen=True, slots=True)
class ServerCreation:
    """The contents of a create call."""

    name: str
    server_type: str
    location: str
    image: int
    labels: Mapping[str, str]
    user_data: str = field(repr=False)
    """Holds the cluster's join token."""
    ssh_keys: tuple[int, ...] = ()
    networks: tuple[int, ...] = ()
    firewalls: tuple[int, ...] = ()
    placement_group: int | None = None
    enable_ipv4: bool = True
    enable_ipv6: bool = True
    start: bool = True


@dataclass(frozen=True, slots=True)
class CreatedServer:
    """The answer to a create call."""

    server: ServerFacts
    actions: tuple[ActionFacts, ...]
    """The creation and what follows it."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A placement group."""

    id: int
    name: str
    labels: Mapping[str, str]
    servers: tuple[int, ...]
    """Ids of its members, those that are being deleted included."""


@dataclass(frozen=True, slots=True)
class TypePlaceFacts:
    """A server type in a location."""

    location: str
    price_per_hour: Decimal | None
    """Net; None when the API tells none."""
    price_per_month: Decimal | None
    available: bool
    unavailable_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """A server type."""

    name: str
    cores: int
    memory_bytes: int
    disk_bytes: int
    architecture: Architecture
    dedicated: bool
    places: tuple[TypePlaceFacts, ...]


@dataclass(frozen=True, slots=True)
class LocationFacts:
    """A location."""

    name: str
    network_zone: str


@dataclass(frozen=True, slots=True)
class PriceFacts:
    """Prices that do not depend on the server type."""

    currency: str
    ipv4: Mapping[str, tuple[Decimal, Decimal]]
    """Net price of a public IPv4 address by location, per hour and per month."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image."""

    id: int
    name: str
    """Name, or the description of a snapshot."""
    architecture: Architecture
    created_at: datetime
    is_available: bool
    disk_bytes: int = 0
    """Smallest disk that it fits on."""


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """A private network."""

    id: int
    name: str
    subnets: tuple[tuple[str, str], ...]
    """IP range and network zone of each subnet."""


@dataclass(frozen=True, slots=True)
class NamedFacts:
    """Something of which only id and name matter: a firewall, an SSH key."""

    id: int
    name: str
