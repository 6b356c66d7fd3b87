"""What a person has put into a project: images, networks, firewalls, SSH keys; and placement groups."""

import hashlib
import ipaddress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

_UNUSABLE: Final = 2
"""Addresses at the start of a subnet: the subnet itself and its gateway."""


@dataclass(slots=True, eq=False)
class Image:
    """An image."""

    id: int
    name: str | None
    """None for a snapshot."""
    description: str
    type: str
    architecture: str
    """x86 or arm."""
    labels: dict[str, str]
    created: datetime
    status: str
    disk_gb: float

    def to_json(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        return {
            "id": self.id,
            "type": self.type,
            "status": self.status,
            "name": self.name,
            "description": self.description,
            "image_size": None if self.type == "system" else 2.3,
            "disk_size": self.disk_gb,
            "created": self.created.isoformat(),
            "created_from": None,
            "bound_to": None,
            "os_flavor": (self.name or "unknown").partition("-")[0],
            "os_version": (self.name or "").partition("-")[2] or None,
            "rapid_deploy": self.type == "system",
            "protection": {"delete": False},
            "deprecated": None,
            "deprecation": None,
            "deleted": None,
            "labels": dict(self.labels),
            "architecture": self.architecture,
        }


@dataclass(slots=True, eq=False)
class Network:
    """A private network."""

    id: int
    name: str
    ip_range: str
    subnets: tuple[tuple[str, str], ...]
    """Ranges and their network zones."""
    created: datetime
    members: dict[int, str] = field(default_factory=dict)
    """Addresses by the ids of servers."""
    room: int | None = None
    """Servers that it has addresses for, if its subnets do not tell."""
    tells_late: bool = False
    """That it is full, an action tells and not the call."""
    vswitches: tuple[tuple[str, str], ...] = ()
    """Ranges and zones of subnets of vSwitches, which servers of the cloud cannot join."""

    def zones(self) -> set[str]:
        """Return the network zones of its subnets."""
        return {zone for _, zone in self.subnets}

    def free_address(self, zone: str, ip_range: str | None) -> str | None:
        """Return an address that nobody has, in a subnet of the zone; None when all are taken."""
        taken = set(self.members.values())
        if self.room is not None and len(taken) >= self.room:
            return None
        for subnet, place in self.subnets:
            if place != zone or ip_range not in (None, subnet):
                continue
            range_ = ipaddress.ip_network(subnet)
            for number in range(_UNUSABLE, range_.num_addresses - 1):
                address = str(range_[number])
                if address not in taken:
                    return address
        return None

    def to_json(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "ip_range": self.ip_range,
            "subnets": [
                {
                    "type": kind,
                    "ip_range": subnet,
                    "network_zone": zone,
                    "gateway": str(ipaddress.ip_network(self.ip_range)[1]),
                    "vswitch_id": None,
                }
                for kind, subnets in (("vswitch", self.vswitches), ("cloud", self.subnets))
                for subnet, zone in subnets
            ],
            "routes": [],
            "servers": list(self.members),
            "load_balancers": [],
            "expose_routes_to_vswitch": False,
            "protection": {"delete": False},
            "labels": {},
            "created": self.created.isoformat(),
        }


@dataclass(slots=True, eq=False)
class Firewall:
    """A firewall."""

    id: int
    name: str
    created: datetime

    def to_json(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "labels": {},
            "created": self.created.isoformat(),
            "rules": [],
            "applied_to": [],
        }


@dataclass(slots=True, eq=False)
class SSHKey:
    """An SSH key."""

    id: int
    name: str
    created: datetime

    def to_json(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        digest = hashlib.sha256(self.name.encode()).hexdigest()[:32]
        return {
            "id": self.id,
            "name": self.name,
            "fingerprint": ":".join(digest[start : start + 2] for start in range(0, len(digest), 2)),
            "public_key": f"ssh-ed25519 {digest} {self.name}",
            "labels": {},
            "created": self.created.isoformat(),
        }


@dataclass(slots=True, eq=False)
class PlacementGroup:
    """A placement group; its members stand on different hosts."""

    id: int
    name: str
    labels: dict[str, str]
    created: datetime
    servers: list[int] = field(default_factory=list)
    """Ids of its members, those that are being deleted included."""

    def to_json(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "labels": dict(self.labels),
            "created": self.created.isoformat(),
            "servers": list(self.servers),
            "type": "spread",
        }
