"""What a refusal of Hetzner stops: all of a project, what uses some of its resources, a location, or a type.

Limits cannot be read, and are told apart by words alone: of the message, and of `details.limits`. What no word tells is
taken for the narrowest, until a second type is refused for the same: a wrong guess then costs one call, and not the
machines of everybody else. Source: Hetzner Cloud API, "Errors", resource_limit_exceeded.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from activities.ports.errors import Extent, InsufficientCapacity, QuotaExceeded
from activities.providers.hetzner.api.facts import ServerCreation, ServerFacts
from activities.providers.hetzner.api.refusals import SubnetFull
from activities.providers.hetzner.classes.catalogue import usable_locations
from activities.providers.hetzner.servers.networks import Attachment, attachments
from api.v1alpha1.hetzner_node_class import HetznerNodeClass

REFUSED_FOR_SECONDS: Final = 270.0
"""After a refusal for a project no call is made: a little less than the shortest pause of a class."""
_MOST: Final = 100
"""Refusals of a project that are remembered."""
_LONGEST_LIMIT: Final = 100
"""Characters of what is short."""
_WORD: Final = re.compile(r"[a-z0-9]+")
_NETWORK: Final = frozenset({"network", "networks", "subnet", "subnets", "attached", "attachment", "attachments"})
_ADDRESS: Final = frozenset({"ip", "ips", "ipv4", "ipv6", "address", "addresses"})
_CORES: Final = frozenset({"core", "cores", "cpu", "cpus", "vcpu", "vcpus"})
_WIDE: Final = frozenset({"server", "servers", "project", "projects", "account"})
"""Words of limits that any server counts towards."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which create calls a refusal speaks of: those that all of it fits."""

    limit: str = ""
    """What is short; empty is all of the project."""
    server_types: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    networks: frozenset[Attachment] = frozenset()
    """Networks that a server joins, each with the range of its address if that is chosen."""
    needs_ipv4: bool = False
    needs_ipv6: bool = False
    may_be_all_types: bool = False

    def covers(self, creation: ServerCreation) -> bool:
        """Return whether the same refusal is to be expected for this call."""
        return (
            (not self.server_types or creation.server_type in self.server_types)
            and (not self.locations or creation.location in self.locations)
            and all(_joins(creation, network) for network in self.networks)
            and (creation.enable_ipv4 or not self.needs_ipv4)
            and (creation.enable_ipv6 or not self.needs_ipv6)
        )

    def extent(self, node_class: HetznerNodeClass) -> Extent | None:
        """Return what it stops of a class whose call it covers; None is all: its servers have the same networks."""
        here = usable_locations(node_class.spec, node_class.status)
        locations = () if here <= set(self.locations) else self.locations
        if not self.server_types and not locations:
            return None
        return Extent(self.limit, self.server_types, locations, may_be_all_types=self.may_be_all_types)


@dataclass(frozen=True, slots=True)
class MetRefusal:
    """A refusal that this worker has met."""

    error: QuotaExceeded | InsufficientCapacity
    reach: Reach
    number: int
    """Of those of its project."""
    until: float
    """By a clock that nobody sets. A shortage stops only calls that wait, for the class remembers it."""
    noted_at: datetime

    def stops(self, creation: ServerCreation, node_class: HetznerNodeClass, *, elapsed: float, now: datetime) -> bool:
        """Return whether the call would be refused for the same; a pause of its class that is over says otherwise."""
        return elapsed < self.until and self.reach.covers(creation) and not _is_lifted(node_class, self.noted_at, now)

    def may_be_freed_by(self, server: ServerFacts) -> bool:
        """Return whether the server has used what is short."""
        reach = self.reach
        return (
            isinstance(self.error, QuotaExceeded)
            and self.error.frees
            and (not reach.server_types or server.server_type in reach.server_types)
            and (not reach.locations or server.location in reach.locations)
        )

    def told_to(self, node_class: HetznerNodeClass) -> QuotaExceeded | InsufficientCapacity:
        """Return it as the error of another call."""
        extent = self.reach.extent(node_class)
        match self.error:
            case QuotaExceeded() as error:
                return QuotaExceeded(str(error), limits=error.limits, extent=extent, frees=error.frees)
            case InsufficientCapacity() as error:
                is_wider = error.extent is not None
                return InsufficientCapacity(str(error), lasts=error.lasts, extent=extent if is_wider else None)


class Refusals:
    """What a project has refused lately, of which other calls need not be told again.

    Args:
        elapsed: seconds since some moment, by a clock that nobody sets.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._known: deque[MetRefusal] = deque(maxlen=_MOST)
        self.count = 0
        """How many there were."""

    def add(self, error: QuotaExceeded | InsufficientCapacity, reach: Reach, now: datetime) -> MetRefusal:
        """Take, and return, that calls of this reach are refused."""
        lasts = REFUSED_FOR_SECONDS if isinstance(error, QuotaExceeded) else 0.0
        self.count += 1
        refusal = MetRefusal(error, reach, self.count, self._elapsed() + lasts, now)
        self._known.append(refusal)
        return refusal

    def free(self, server: ServerFacts) -> None:
        """Take that a server is gone: what it may have made room for is asked for again."""
        others = [each for each in self._known if not each.may_be_freed_by(server)]
        self._known = deque(others, maxlen=_MOST)

    def of(
        self, creation: ServerCreation, node_class: HetznerNodeClass, now: datetime
    ) -> QuotaExceeded | InsufficientCapacity | None:
        """Return as what a call would be refused, if that is known."""
        elapsed = self._elapsed()
        stopping = (each for each in self._known if each.stops(creation, node_class, elapsed=elapsed, now=now))
        return next((each.told_to(node_class) for each in stopping), None)

    def since(
        self, count: int, creation: ServerCreation, node_class: HetznerNodeClass
    ) -> QuotaExceeded | InsufficientCapacity | None:
        """Return as what a call would be refused that has waited since there were so many, shortages included."""
        stopping = (each for each in self._known if each.number > count and each.reach.covers(creation))
        return next((each.told_to(node_class) for each in stopping), None)


def reach_of(
    error: QuotaExceeded | InsufficientCapacity,
    creation: ServerCreation,
    node_class: HetznerNodeClass,
) -> Reach:
    """Return what the refusal of a create call speaks of."""
    if isinstance(error, InsufficientCapacity):
        return _of_shortage(error, creation)
    if isinstance(error, SubnetFull):
        return of_full_network(joined(creation), creation.location, zones_of(node_class))
    return _of_limit(error.limits, creation, node_class)


def of_full_network(networks: frozenset[Attachment], location: str, zones: Mapping[str, str]) -> Reach:
    """Return what a subnet without a free address speaks of: the locations of its network zone."""
    zone = zones.get(location)
    here = tuple(name for name, each in zones.items() if each == zone) if zone else (location,)
    ids = ", ".join(str(network) for network, _ in sorted(networks, key=str))
    return Reach(f"network {ids} in {zone or location}", locations=here, networks=networks)


def zones_of(node_class: HetznerNodeClass) -> dict[str, str]:
    """Return the network zone of each location of the class's project."""
    return {place.name: place.network_zone for place in node_class.status.places}


def joined(creation: ServerCreation) -> frozenset[Attachment]:
    """Return the networks that the server joins, at its creation or afterwards."""
    later = frozenset(attachments(creation.labels))
    return later or frozenset((network, None) for network in creation.networks)


def _of_shortage(error: InsufficientCapacity, creation: ServerCreation) -> Reach:
    extent, server_type, location = error.extent, creation.server_type, creation.location
    if extent is None:
        return Reach(f"{server_type} in {location}", (server_type,), (location,))
    if extent.limit == "type":
        return Reach(f"type {server_type}", (server_type,))
    types = (server_type,) if extent.may_be_all_types else ()
    return Reach(f"location {location}", types, (location,), may_be_all_types=extent.may_be_all_types)


def _of_limit(words: str, creation: ServerCreation, node_class: HetznerNodeClass) -> Reach:
    """Return what a limit of the account speaks of, the narrowest that its words name."""
    types = {each.name: each for each in node_class.status.server_types}
    ordered = creation.server_type
    tokens = frozenset(_WORD.findall(words))
    if tokens & {"dedicated", "shared"}:
        kind = "dedicated" if "dedicated" in tokens else "shared"
        names = (name for name, each in types.items() if each.dedicated is (kind == "dedicated"))
        return Reach(f"{kind} cores", tuple(dict.fromkeys((ordered, *names))))
    line = _line(ordered)
    if tokens & {ordered, "type", "types"}:
        return Reach(f"type {ordered}", (ordered,))
    if line in tokens:
        return Reach(f"types {line}", tuple(dict.fromkeys((ordered, *(name for name in types if _line(name) == line)))))
    if tokens & _NETWORK and joined(creation):
        ids = ", ".join(str(network) for network, _ in sorted(joined(creation), key=str))
        return Reach(f"network {ids}", networks=frozenset((network, None) for network, _ in joined(creation)))
    if tokens & _ADDRESS:
        # A server with both has one primary IP of each, and those of version 4 are the ones that are counted.
        is_ipv6 = "ipv6" in tokens or not creation.enable_ipv4
        return Reach("IPv6 addresses" if is_ipv6 else "IPv4 addresses", needs_ipv4=not is_ipv6, needs_ipv6=is_ipv6)
    if creation.location in tokens:
        return Reach(f"servers in {creation.location}", locations=(creation.location,))
    if tokens & _CORES and ordered in types:
        # What has fewer cores may still fit.
        least = types[ordered].cores
        return Reach("cores", tuple(name for name, each in types.items() if each.cores >= least))
    if tokens & _WIDE or not tokens:
        return Reach()
    return Reach(" ".join(words.split())[:_LONGEST_LIMIT], (ordered,), may_be_all_types=True)


def _line(server_type: str) -> str:
    """Return the line of a server type, such as cax of cax11."""
    return server_type.rstrip("0123456789")


def _joins(creation: ServerCreation, wanted: Attachment) -> bool:
    network, ip_range = wanted
    return any(network == each and ip_range in {None, theirs} for each, theirs in joined(creation))


def _is_lifted(node_class: HetznerNodeClass, noted_at: datetime, now: datetime) -> bool:
    """Return whether a pause of the class that was in force after the refusal is over, as when a machine went."""
    status = node_class.status
    pauses = [*status.partial_pauses] if status.pause is None else [status.pause, *status.partial_pauses]
    return any(noted_at < pause.until <= now for pause in pauses)
