"""Status of a HetznerNodeClass: the catalogue of its project with prices, and the objects that the class names."""

from typing import Annotated, Literal

from pydantic import Field

from api.meta import Timestamp
from api.model import Payload
from api.quantity import Price, Quantity
from api.v1alpha1.node_class_status import NodeClassStatus


class CatalogueLocation(Payload):
    """A server type in a location. Prices are net and without a public IPv4 address."""

    name: str
    """Name of the location, such as fsn1."""
    price_per_hour: Price | None = None
    """Price per hour that has begun. Without it, Hetzner tells none, and nothing is bought here."""
    price_per_month: Price | None = None
    """Most that a calendar month costs."""
    available: bool = True
    """Whether Hetzner says that it can be had. That is a hint: one server is tried all the same."""
    unavailable_after: Timestamp | None = None
    """After this moment it can be had no more."""


class CatalogueServerType(Payload):
    """A server type of the project."""

    name: str
    """Name of the type, such as cx22."""
    cores: int
    """Processor cores."""
    memory: Quantity
    """Memory as advertised."""
    disk: Quantity
    """Disk as advertised."""
    architecture: Literal["amd64", "arm64"]
    """Architecture of the processor."""
    dedicated: bool = False
    """Whether the cores are for this server alone."""
    locations: Annotated[tuple[CatalogueLocation, ...], Field(max_length=50)] = ()
    """Where it is offered."""


class CatalogueIPv4(Payload):
    """Price of a public IPv4 address in a location, net."""

    location: str
    """Name of the location."""
    price_per_hour: Price
    """Price per hour that has begun."""
    price_per_month: Price
    """Most that a calendar month costs."""


class ResolvedImage(Payload):
    """The image that servers of an architecture get."""

    architecture: Literal["amd64", "arm64"]
    """Architecture of the servers."""
    id: int
    """Id of the image."""
    name: str = ""
    """Name or description of the image."""
    disk_bytes: int = 0
    """Smallest disk that it fits on, in bytes."""


class ResolvedNetwork(Payload):
    """A network that servers join."""

    id: int
    """Id of the network."""
    zone: str
    """Its network zone, such as eu-central; of several, the first."""
    zones: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    """The network zones in which it has a subnet for servers. Without any, `zone` alone."""
    subnet_ip_range: str | None = Field(default=None, alias="subnetIPRange")
    """The subnet that addresses come from."""


class ResolvedNames(Payload):
    """What the class names, as the project knows it."""

    images: Annotated[tuple[ResolvedImage, ...], Field(max_length=2)] = ()
    """Images by architecture."""
    networks: Annotated[tuple[ResolvedNetwork, ...], Field(max_length=3)] = ()
    """Networks, in the order of the class."""
    firewalls: Annotated[tuple[int, ...], Field(max_length=5)] = ()
    """Ids of firewalls."""
    ssh_keys: Annotated[tuple[int, ...], Field(max_length=50)] = ()
    """Ids of SSH keys."""


class CataloguePlace(Payload):
    """A location of the project."""

    name: str
    """Name of the location, such as fsn1."""
    network_zone: str
    """Its network zone, such as eu-central."""


class HetznerNodeClassStatus(NodeClassStatus):
    """What Growth has read of the project, besides what it has learnt."""

    currency: str | None = None
    """Currency of all prices."""
    server_types: Annotated[tuple[CatalogueServerType, ...], Field(max_length=200)] = ()
    """The server types of the project, with prices."""
    ipv4: Annotated[tuple[CatalogueIPv4, ...], Field(max_length=50, alias="ipv4")] = ()
    """Prices of public IPv4 addresses."""
    places: Annotated[tuple[CataloguePlace, ...], Field(max_length=50)] = ()
    """The locations of the project."""
    read_at: Timestamp | None = None
    """When all this was last read."""
    resolved: ResolvedNames | None = None
    """What the class names, as the project knows it. Without it, it has not been looked up yet."""
