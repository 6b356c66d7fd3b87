"""A project: what it holds, what it may hold, and how many calls it may make."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar

from simulator.hetzner.project.limits import ProjectLimits
from simulator.hetzner.project.resources import Firewall, Image, Network, PlacementGroup, SSHKey
from simulator.hetzner.project.server import FakeServer, ServerAction

CALLS: Final = 3600
"""Size of the bucket of calls. Source: Hetzner Cloud API, "Rate Limiting": 3600 an hour, refilled one a second."""
GROUPS: Final = 50
"""Placement groups of a project. Source: Hetzner docs, "Placement groups"."""


class Bucket:
    """The calls that a project may make."""

    def __init__(self, now: datetime, size: int = CALLS, per_second: float = 1.0) -> None:
        self._size = size
        self._per_second = per_second
        self._calls = float(size)
        self._at = now

    def take(self, now: datetime) -> bool:
        """Take one call and return whether there was one."""
        self._refill(now)
        if self._calls < 1:
            return False
        self._calls -= 1
        return True

    def headers(self, now: datetime) -> dict[str, str]:
        """Return the rate limit headers of an answer; the reset is the unix time of the full bucket."""
        self._refill(now)
        full = now.timestamp() + (self._size - self._calls) / self._per_second
        return {
            "RateLimit-Limit": str(self._size),
            "RateLimit-Remaining": str(int(self._calls)),
            "RateLimit-Reset": str(int(full)),
        }

    def _refill(self, now: datetime) -> None:
        gained = (now - self._at).total_seconds() * self._per_second
        self._calls = min(float(self._size), self._calls + max(0.0, gained))
        self._at = max(self._at, now)


class _Named(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str | None: ...


T = TypeVar("T", bound=_Named)


def find(resources: Iterable[T], wanted: object) -> T | None:
    """Return the first one of this name or id, or None."""
    return next((resource for resource in resources if is_called(resource, wanted)), None)


def is_called(resource: _Named, wanted: object) -> bool:
    """Return whether the thing has this name or id; snapshots have no name."""
    return wanted is not None and wanted in (resource.id, str(resource.id), resource.name)


@dataclass(slots=True, eq=False)
class FakeProject:
    """A project."""

    name: str
    bucket: Bucket
    limits: ProjectLimits = field(default_factory=ProjectLimits)
    """Servers that are being deleted count as well."""
    is_locked: bool = False
    """Hetzner has locked it: nothing may be changed."""
    servers: dict[int, FakeServer] = field(default_factory=dict)
    actions: dict[int, ServerAction] = field(default_factory=dict)
    groups: dict[int, PlacementGroup] = field(default_factory=dict)
    images: dict[int, Image] = field(default_factory=dict)
    networks: dict[int, Network] = field(default_factory=dict)
    firewalls: dict[int, Firewall] = field(default_factory=dict)
    ssh_keys: dict[int, SSHKey] = field(default_factory=dict)

    def server_named(self, name: str) -> FakeServer | None:
        """Return the server of this name, or None."""
        return next((server for server in self.servers.values() if server.name == name), None)

    def drop(self, server: FakeServer) -> None:
        """Let a server be gone."""
        self.servers.pop(server.id, None)
        for network in self.networks.values():
            network.members.pop(server.id, None)
        for group in self.groups.values():
            if server.id in group.servers:
                group.servers.remove(server.id)
