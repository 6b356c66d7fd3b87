"""What a project may have, and how Hetzner says that it may not have more.

Source: Hetzner Cloud API, "Errors", resource_limit_exceeded with details.limits; messages as users have met them
(hetzneronline/community-content#933). Names in details, and words of limits of cores and types, are made up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from simulator.hetzner.project.price_list import ListedServerType
from simulator.hetzner.project.server import FakeServer
from simulator.hetzner.reply import ApiRefusal, over_limit

NamedIn = Literal["message", "details", "both"]
"""Where a limit is named."""
SERVERS: Final = "servers"
CORES: Final = "cores"
DEDICATED_CORES: Final = "dedicated cores"
PRIMARY_IPS: Final = "primary IPs"
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    SERVERS: ("server limit exceeded", "server_limit"),
    CORES: ("core limit exceeded", "core_limit"),
    DEDICATED_CORES: ("dedicated core limit exceeded", "dedicated_core_limit"),
    PRIMARY_IPS: ("Primary IP limit exceeded", "primary_ip_limit"),
}
"""Message, and name in the details."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A server that is asked for."""

    server_type: str
    has_ipv4: bool


@dataclass(slots=True)
class ProjectLimits:
    """The limits of a project; what is not named here is not limited."""

    most: dict[str, int] = field(default_factory=dict)
    """By what is limited: one of the words above, or a server type."""
    named_in: NamedIn = "both"

    def check(self, servers: Iterable[FakeServer], wanted: Wanted, types: Mapping[str, ListedServerType]) -> None:
        """Do nothing if the project may have one more.

        Raises:
            ApiRefusal: it may not.
        """
        existing = list(servers)
        for limit, most in self.most.items():
            used = sum(_uses(limit, each, types[each.server_type]) for each in existing)
            more = _uses(limit, wanted, types[wanted.server_type])
            if more and used + more > most:
                raise self._refusal(limit)

    def _refusal(self, limit: str) -> ApiRefusal:
        message, name = _WORDS.get(limit, (f"server type {limit} limit exceeded", f"{limit}_limit"))
        refusal = over_limit("resource limit exceeded" if self.named_in == "details" else message, name)
        if self.named_in == "message":
            refusal.details = {}
        return refusal


def _uses(limit: str, server: FakeServer | Wanted, machine: ListedServerType) -> int:
    match limit:
        case "servers":
            return 1
        case "cores":
            return machine.cores
        case "dedicated cores":
            return machine.cores if machine.is_dedicated else 0
        case "primary IPs":
            return int(server.has_ipv4)
        case _:
            return int(server.server_type == limit)
