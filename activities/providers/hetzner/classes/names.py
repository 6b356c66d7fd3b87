"""Images, networks, firewalls and SSH keys that a HetznerNodeClass names, found in its project by few calls.

Each list is read once and picked from, whatever the class names of it: a call for each name would be many.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, get_args

from activities.providers.hetzner.api.facts import (
    Architecture,
    ImageFacts,
    LocationFacts,
    NamedFacts,
    NetworkFacts,
    PriceFacts,
    TypeFacts,
)
from api.v1alpha1.hetzner_node_class import HetznerImage, HetznerNetwork, HetznerNodeClassSpec
from api.v1alpha1.hetzner_node_class_status import ResolvedImage, ResolvedNames, ResolvedNetwork

ARCHITECTURES: Final[tuple[Architecture, ...]] = get_args(Architecture)


class ProjectReader(Protocol):
    """The calls by which a project is read for its classes. Each may raise the errors of `activities.ports.errors`."""

    async def server_types(self) -> list[TypeFacts]:
        """Return all server types."""
        ...

    async def locations(self) -> list[LocationFacts]:
        """Return all locations."""
        ...

    async def prices(self) -> PriceFacts:
        """Return the currency, and the prices of addresses."""
        ...

    async def check_writable(self) -> None:
        """Return if the token may write.

        Raises:
            AuthenticationFailed: it may not.
        """
        ...

    async def images(
        self, *, name: str | None = None, selector: str | None = None, architecture: Architecture
    ) -> list[ImageFacts]:
        """Return the images of a name or of a label selector."""
        ...

    async def image(self, image_id: int) -> ImageFacts | None:
        """Return the image of an id, or None if there is none."""
        ...

    async def networks(self) -> list[NetworkFacts]:
        """Return all networks."""
        ...

    async def firewalls(self) -> list[NamedFacts]:
        """Return all firewalls."""
        ...

    async def ssh_keys(self) -> list[NamedFacts]:
        """Return all SSH keys."""
        ...


@dataclass(frozen=True, slots=True)
class FoundNames:
    """The resolved names, and a sentence for each fault, which names the field and its value."""

    resolved: ResolvedNames
    missing_images: tuple[str, ...] = ()
    """Images that exist for none of the architectures that they are given for."""
    partial_images: tuple[str, ...] = ()
    """Images that exist for one architecture only."""
    missing_networks: tuple[str, ...] = ()
    missing_firewalls: tuple[str, ...] = ()
    missing_ssh_keys: tuple[str, ...] = ()


async def find_names(client: ProjectReader, spec: HetznerNodeClassSpec) -> FoundNames:
    """Return ids and facts of all that the class names in its project, and a sentence for each that is missing.

    Raises:
        ProviderError: the project does not answer.
    """
    images, missing_images, partial_images = await _images(client, spec)
    networks: list[ResolvedNetwork] = []
    missing_networks: list[str] = []
    known = await client.networks() if spec.networks else []
    for place, wanted in enumerate(spec.networks):
        network = _network(f"spec.networks[{place}]", wanted, known)
        if isinstance(network, str):
            missing_networks.append(network)
        else:
            networks.append(network)
    firewalls, missing_firewalls = _pick(spec.firewalls, await client.firewalls() if spec.firewalls else [])
    keys, missing_keys = _pick(spec.ssh_keys, await client.ssh_keys() if spec.ssh_keys else [])
    return FoundNames(
        ResolvedNames(images=images, networks=tuple(networks), firewalls=firewalls, ssh_keys=keys),
        missing_images=missing_images,
        partial_images=partial_images,
        missing_networks=tuple(missing_networks),
        missing_firewalls=tuple(f"spec.firewalls: the project has no firewall {name}" for name in missing_firewalls),
        missing_ssh_keys=tuple(
            f"spec.sshKeys: the project has no SSH key {name}: servers are made without it" for name in missing_keys
        ),
    )


async def _images(
    client: ProjectReader, spec: HetznerNodeClassSpec
) -> tuple[tuple[ResolvedImage, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the images, and what is wrong with those of none and of one architecture."""
    resolved: list[ResolvedImage] = []
    missing: list[str] = []
    partial: list[str] = []
    for field, wanted, architectures in _wanted_images(spec):
        newest = await _newest(client, wanted, architectures)
        resolved.extend(
            ResolvedImage(architecture=each.architecture, id=each.id, name=each.name, disk_bytes=each.disk_bytes)
            for each in newest
            if each.is_available
        )
        usable = {each.architecture for each in newest if each.is_available}
        lacking = [each for each in architectures if each not in usable]
        if not lacking:
            continue
        fault = _image_fault(field, wanted, lacking, is_there=bool(newest) and not usable)
        (partial if usable else missing).append(fault)
    return tuple(sorted(resolved, key=lambda each: each.architecture)), tuple(missing), tuple(partial)


def _wanted_images(spec: HetznerNodeClassSpec) -> Iterator[tuple[str, HetznerImage, tuple[Architecture, ...]]]:
    """Yield each image with its field and the architectures that it is given for."""
    of_each = spec.image_by_architecture
    single: dict[Architecture, HetznerImage | None] = {"amd64": of_each.amd64, "arm64": of_each.arm64}
    shared: tuple[Architecture, ...] = tuple(each for each in ARCHITECTURES if single[each] is None)
    if shared:
        yield "spec.image", spec.image, shared
    for architecture in ARCHITECTURES:
        image = single[architecture]
        if image is not None:
            yield f"spec.imageByArchitecture.{architecture}", image, (architecture,)


async def _newest(
    client: ProjectReader, wanted: HetznerImage, architectures: Sequence[Architecture]
) -> list[ImageFacts]:
    """Return the newest image of each architecture, one that can be used before all others."""
    if wanted.id is not None:
        image = await client.image(wanted.id)
        candidates = [] if image is None else [image]
    else:
        candidates = [
            each
            for architecture in architectures
            for each in await client.images(name=wanted.name, selector=wanted.selector, architecture=architecture)
        ]
    of_each = ([each for each in candidates if each.architecture == architecture] for architecture in architectures)
    return [max(images, key=lambda each: (each.is_available, each.created_at, each.id)) for images in of_each if images]


def _image_fault(field: str, wanted: HetznerImage, lacking: Sequence[str], *, is_there: bool) -> str:
    way, value = next((way, value) for way, value in wanted.to_json().items() if value is not None)
    where = " and ".join(lacking)
    if is_there:
        return f"{field}.{way}: {value} is not finished yet for {where}"
    absence = "no snapshot that matches" if way == "selector" else f"no image of this {way}"
    return f"{field}.{way}: {value}: the project has {absence} for {where}"


def _network(field: str, wanted: HetznerNetwork, known: Iterable[NetworkFacts]) -> ResolvedNetwork | str:
    """Return the network, or what is wrong with it."""
    network = _find(wanted.name, known)
    if network is None:
        return f"{field}.name: the project has no network {wanted.name}"
    if not network.subnets:
        return f"{field}.name: network {wanted.name} has no subnet, so no server can join it: add one"
    zones = [zone for ip_range, zone in network.subnets if wanted.subnet_ip_range in {None, ip_range}]
    if not zones:
        has = ", ".join(ip_range for ip_range, _ in network.subnets if ip_range)
        return f"{field}.subnetIPRange: network {wanted.name} has no subnet {wanted.subnet_ip_range}, only {has}"
    reached = tuple(dict.fromkeys(zones))
    return ResolvedNetwork(id=network.id, zone=reached[0], zones=reached, subnetIPRange=wanted.subnet_ip_range)


def _pick(names: Iterable[str], known: Sequence[NamedFacts]) -> tuple[tuple[int, ...], list[str]]:
    """Return the ids of those that exist, and the names of those that do not."""
    by_name = {name: _find(name, known) for name in names}
    ids = tuple(dict.fromkeys(each.id for each in by_name.values() if each is not None))
    return ids, [name for name, each in by_name.items() if each is None]


_Fact = TypeVar("_Fact", NetworkFacts, NamedFacts)


def _find(name: str, known: Iterable[_Fact]) -> _Fact | None:
    """Return the entry with this id, or else this name, as Hetzner's own tools read it."""
    by_id = {str(each.id): each for each in known}
    return by_id.get(name) or next((each for each in by_id.values() if each.name == name), None)
