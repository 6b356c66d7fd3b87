"""Servers of the fake project and the actions that change them over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from simulator.hetzner.faults import Fault

_MAC: Final = "86:00:00"
"""First half of the hardware addresses of private networks."""


@dataclass(slots=True, eq=False)
class ServerAction:
    """Something that happens to a server over time."""

    id: int
    command: str
    server: int
    started: datetime
    seconds: float
    resources: tuple[tuple[str, int], ...] = ()
    """Types and ids of what it is about besides the server."""
    began: datetime | None = None
    """When it came to its turn."""
    finished: datetime | None = None
    error: tuple[str, str] | None = None
    """Code and message."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, be it that it waits for its turn."""
        return self.finished is None

    def to_json(self, now: datetime) -> dict[str, Any]:
        """Return it as the API shows it."""
        status = "running" if self.is_running else "error" if self.error else "success"
        return {
            "id": self.id,
            "command": self.command,
            "status": status,
            "progress": 100 if not self.is_running else self._percent(now),
            "started": self.started.isoformat(),
            "finished": None if self.finished is None else self.finished.isoformat(),
            "resources": [
                {"id": self.server, "type": "server"},
                *({"id": id_, "type": type_} for type_, id_ in self.resources),
            ],
            "error": None if self.error is None else {"code": self.error[0], "message": self.error[1], "details": {}},
        }

    def _percent(self, now: datetime) -> int:
        if self.began is None or self.seconds <= 0:
            return 0
        return min(99, int((now - self.began).total_seconds() / self.seconds * 100))


@dataclass(slots=True, eq=False)
class FakeServer:
    """A server."""

    id: int
    name: str
    server_type: str
    location: str
    image: int
    labels: dict[str, str]
    user_data: str
    created: datetime
    price_per_hour: Decimal | None
    has_ipv4: bool
    has_ipv6: bool
    firewalls: tuple[int, ...]
    ssh_keys: tuple[int, ...]
    placement_group: int | None
    status: str = "initializing"
    networks: dict[int, str] = field(default_factory=dict)
    """Addresses by the ids of networks."""
    is_protected: bool = False
    running_since: datetime | None = None
    hidden_until: datetime | None = None
    """Lists do not show it before."""
    stuck: Fault | None = None
    """Its deletion has ended, but it stays while this fault is there."""
    actions: list[ServerAction] = field(default_factory=list)

    @property
    def is_locked(self) -> bool:
        """Whether an action of it runs."""
        return any(action.is_running for action in self.actions)

    def to_json(
        self,
        *,
        server_type: dict[str, Any],
        location: dict[str, Any],
        image: dict[str, Any] | None,
        group: dict[str, Any] | None,
    ) -> dict[str, Any]:
        """Return it as the API shows it; without a datacenter, which it shows no more since 2026-07-01."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "created": self.created.isoformat(),
            "public_net": self._public_json(),
            "private_net": [
                {"network": network, "ip": address, "alias_ips": [], "mac_address": f"{_MAC}:{_hex(self.id, network)}"}
                for network, address in self.networks.items()
            ],
            "server_type": server_type,
            "location": location,
            "image": image,
            "iso": None,
            "rescue_enabled": False,
            "locked": self.is_locked,
            "backup_window": None,
            "outgoing_traffic": 0,
            "ingoing_traffic": 0,
            "included_traffic": 21990232555520,
            "protection": {"delete": self.is_protected, "rebuild": self.is_protected},
            "labels": dict(self.labels),
            "volumes": [],
            "load_balancers": [],
            "primary_disk_size": server_type["disk"],
            "placement_group": group,
        }

    def _public_json(self) -> dict[str, Any]:
        high, low = divmod(self.id % 65536, 256)
        # Ranges for documentation: RFC 2544 and RFC 3849.
        ipv4 = {"id": self.id * 2, "ip": f"198.18.{high}.{low}", "blocked": False, "dns_ptr": f"{self.name}.example"}
        ipv6 = {"id": self.id * 2 + 1, "ip": f"2001:db8:{self.id % 65536:x}::/64", "blocked": False, "dns_ptr": []}
        return {
            "ipv4": ipv4 if self.has_ipv4 else None,
            "ipv6": ipv6 if self.has_ipv6 else None,
            "floating_ips": [],
            "firewalls": [{"id": firewall, "status": "applied"} for firewall in self.firewalls],
        }


def _hex(server: int, network: int) -> str:
    return f"{server // 256 % 256:02x}:{server % 256:02x}:{network % 256:02x}"


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A server as tests look at it."""

    id: int
    name: str
    status: str
    server_type: str
    location: str
    image: int
    labels: Mapping[str, str]
    user_data: str
    networks: Mapping[int, str]
    """Addresses by the ids of networks."""
    firewalls: tuple[int, ...]
    ssh_keys: tuple[int, ...]
    placement_group: int | None
    has_ipv4: bool
    has_ipv6: bool
    price_per_hour: Decimal | None
    """Net, with its public IPv4 address, as it was at the creation; None when there was no price."""
    created_at: datetime
    running_since: datetime | None
    """None while it does not run."""
    is_protected: bool


def record_of(server: FakeServer) -> ServerRecord:
    """Return the server as it is now."""
    return ServerRecord(
        id=server.id,
        name=server.name,
        status=server.status,
        server_type=server.server_type,
        location=server.location,
        image=server.image,
        labels=dict(server.labels),
        user_data=server.user_data,
        networks=dict(server.networks),
        firewalls=server.firewalls,
        ssh_keys=server.ssh_keys,
        placement_group=server.placement_group,
        has_ipv4=server.has_ipv4,
        has_ipv6=server.has_ipv6,
        price_per_hour=server.price_per_hour,
        created_at=server.created,
        running_since=server.running_since,
        is_protected=server.is_protected,
    )
