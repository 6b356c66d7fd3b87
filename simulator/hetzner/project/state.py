"""All that the fake knows and what happens later, and the switches by which tests change it."""

import heapq
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

from simulator.hetzner.faults import Faults
from simulator.hetzner.project.catalogue import FakeCatalogue
from simulator.hetzner.project.limits import SERVERS, NamedIn
from simulator.hetzner.project.price_list import ListedLocation, ListedServerType
from simulator.hetzner.project.project import Bucket, FakeProject, find
from simulator.hetzner.project.resources import Firewall, Image, Network, SSHKey
from simulator.hetzner.project.server import FakeServer, ServerRecord, record_of

DEFAULT: Final = "default"
"""Name of the project that is meant when none is named."""
Access = Literal["read_write", "read_only"]
_SYSTEM_IMAGES: Final = ("debian-12", "debian-13", "ubuntu-24.04")
_ARCHITECTURES: Final = ("x86", "arm")


@dataclass(slots=True)
class Durations:
    """How long actions take."""

    create_seconds: float = 30.0
    start_seconds: float = 2.0
    stop_seconds: float = 2.0
    attach_seconds: float = 2.0
    delete_seconds: float = 5.0
    protect_seconds: float = 0.0


class Timeline:
    """Effects that are due, carried out when the time is asked for.

    Args:
        clock: the time, UTC.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._due: list[tuple[datetime, int, Callable[[], object]]] = []
        self._count = 0
        self.now = clock()
        """The moment that the effect under way happens at; after `advance`, the time."""

    def at(self, due: datetime, effect: Callable[[], object]) -> None:
        """Let `effect` happen at `due`; of several at once, in the order of these calls."""
        self._count += 1
        heapq.heappush(self._due, (due, self._count, effect))

    def advance(self) -> None:
        """Let everything happen that is due by now."""
        until = self._clock()
        while self._due and self._due[0][0] <= until:
            due, _, effect = heapq.heappop(self._due)
            self.now = max(self.now, due)
            effect()
        self.now = max(self.now, until)


class State:
    """The model's state. Each switch is atomic; those about one project take its name.

    Args:
        now: the time, UTC.
        seed: first part of all ids, so that two clouds can be told apart.
    """

    def __init__(self, now: Callable[[], datetime], *, seed: int = 0) -> None:
        self.lock: AbstractContextManager[object] = threading.RLock()
        self.timeline = Timeline(now)
        self.catalogue = FakeCatalogue()
        self.faults = Faults()
        self.durations = Durations()
        self.projects: dict[str, FakeProject] = {}
        self._seed = seed
        self._ids = 0
        self._tokens: dict[str, tuple[str, Access]] = {}
        self.project(DEFAULT)

    def next_id(self) -> int:
        """Return an id that nothing has yet."""
        self._ids += 1
        return self._seed * 1_000_000 + 1000 + self._ids

    def project(self, name: str = DEFAULT) -> FakeProject:
        """Return the project; it is made when it is first named, with the system images."""
        with self.lock:
            known = self.projects.get(name)
            if known is None:
                known = self.projects[name] = FakeProject(name, Bucket(self.timeline.now))
                for image in _SYSTEM_IMAGES:
                    for architecture in _ARCHITECTURES:
                        self.add_image(image, architecture=architecture, project=name)
            return known

    def add_token(self, token: str, access: Access = "read_write", *, project: str = DEFAULT) -> None:
        """Let a token be valid for a project, or change what it may do."""
        with self.lock:
            self.project(project)
            self._tokens[token] = (project, access)

    def remove_token(self, token: str) -> None:
        """Let a token be invalid."""
        with self.lock:
            self._tokens.pop(token, None)

    def access(self, token: str) -> tuple[FakeProject, Access] | None:
        """Return project and access of a token, or None if it is invalid."""
        opened = self._tokens.get(token)
        return None if opened is None else (self.project(opened[0]), opened[1])

    def set_rate_limit(self, calls: int, *, per_second: float = 1.0, project: str = DEFAULT) -> None:
        """Give the project a full bucket of another size."""
        with self.lock:
            self.timeline.advance()
            self.project(project).bucket = Bucket(self.timeline.now, calls, per_second)

    def set_server_limit(self, servers: int | None, *, project: str = DEFAULT) -> None:
        """Limit the servers of the project; None lifts the limit."""
        self.set_limit(SERVERS, servers, project=project)

    def set_limit(self, limit: str, most: int | None, *, named_in: NamedIn = "both", project: str = DEFAULT) -> None:
        """Limit something of the project; None lifts the limit.

        Args:
            limit: a word of `limits`, or a server type.
            most: of it.
            named_in: where its refusals name it.
            project: whose limit it is.
        """
        with self.lock:
            limits = self.project(project).limits
            limits.named_in = named_in
            if most is None:
                limits.most.pop(limit, None)
            else:
                limits.most[limit] = most

    def lock_project(self, *, is_locked: bool, project: str = DEFAULT) -> None:
        """Let nothing in the project be changed, as after a report of abuse, or undo that."""
        with self.lock:
            self.project(project).is_locked = is_locked

    def close_location(self, location: str, *, is_closed: bool = True) -> None:
        """Let a location take no new server of any type, or undo that; what is published stays."""
        with self.lock:
            self.catalogue.close(location, is_closed=is_closed)

    def fill_network(self, id_: int, room: int | None, *, by_action: bool = False, project: str = DEFAULT) -> None:
        """Let a network have so many servers; None is as many as Hetzner's networks may have.

        Args:
            id_: of the network.
            room: servers.
            by_action: whether a creation is accepted, and its action says so later.
            project: where the network is.
        """
        with self.lock:
            network = self.project(project).networks[id_]
            network.room, network.tells_late = room, by_action

    def set_price(self, server_type: str, location: str, hourly: Decimal | str, monthly: Decimal | str) -> None:
        """Change the net price of new servers; those that exist keep theirs."""
        with self.lock:
            self.catalogue.set_price(server_type, location, Decimal(hourly), Decimal(monthly))

    def remove_price(self, server_type: str, location: str) -> None:
        """Publish no price of the type in the location any more."""
        with self.lock:
            self.catalogue.remove_price(server_type, location)

    def sell_out(self, server_type: str, location: str | None = None) -> None:
        """Let creations fail for lack of capacity, in all locations if none is given; the published flag stays."""
        with self.lock:
            self.catalogue.set_sold_out(server_type, location, is_sold_out=True)

    def restock(self, server_type: str, location: str | None = None) -> None:
        """Undo `sell_out`."""
        with self.lock:
            self.catalogue.set_sold_out(server_type, location, is_sold_out=False)

    def publish_available(self, server_type: str, location: str, is_available: bool) -> None:  # noqa: FBT001 - the flag is the news
        """Change the published flag, whatever creations answer."""
        with self.lock:
            self.catalogue.publish_available(server_type, location, is_available=is_available)

    def withdraw(self, server_type: str, location: str | None, at: datetime) -> None:
        """Let the offer of the type end at a moment, in all locations if none is given."""
        with self.lock:
            self.catalogue.withdraw(server_type, location, at)

    def add_image(
        self,
        name: str | None = None,
        *,
        architecture: str = "x86",
        description: str = "",
        labels: Mapping[str, str] | None = None,
        created: datetime | None = None,
        status: str = "available",
        disk_gb: float = 5.0,
        project: str = DEFAULT,
    ) -> int:
        """Add an image, a snapshot if it has no name, and return its id."""
        with self.lock:
            image = Image(
                id=self.next_id(),
                name=name,
                description=description or name or "snapshot",
                type="snapshot" if name is None else "system",
                architecture=architecture,
                labels=dict(labels or {}),
                created=created or self.timeline.now,
                status=status,
                disk_gb=disk_gb,
            )
            self.project(project).images[image.id] = image
            return image.id

    def add_network(
        self,
        name: str,
        *,
        ip_range: str = "10.0.0.0/16",
        subnets: Sequence[tuple[str, str]] = (("10.0.1.0/24", "eu-central"),),
        vswitches: Sequence[tuple[str, str]] = (),
        project: str = DEFAULT,
    ) -> int:
        """Add a network with subnets, each a range and its network zone, and return its id."""
        with self.lock:
            network = Network(self.next_id(), name, ip_range, tuple(subnets), self.timeline.now)
            network.vswitches = tuple(vswitches)
            self.project(project).networks[network.id] = network
            return network.id

    def add_firewall(self, name: str, *, project: str = DEFAULT) -> int:
        """Add a firewall and return its id."""
        with self.lock:
            firewall = Firewall(self.next_id(), name, self.timeline.now)
            self.project(project).firewalls[firewall.id] = firewall
            return firewall.id

    def add_ssh_key(self, name: str, *, project: str = DEFAULT) -> int:
        """Add an SSH key and return its id."""
        with self.lock:
            key = SSHKey(self.next_id(), name, self.timeline.now)
            self.project(project).ssh_keys[key.id] = key
            return key.id

    def remove(self, id_: int, *, project: str = DEFAULT) -> None:
        """Take an image, network, firewall or SSH key away.

        Raises:
            KeyError: there is none of this id.
        """
        with self.lock:
            home = self.project(project)
            for resources in (home.images, home.networks, home.firewalls, home.ssh_keys):
                if resources.pop(id_, None) is not None:
                    return
        raise KeyError(id_)

    def protect(self, name: str, *, project: str = DEFAULT) -> None:
        """Set a server's delete protection, as a person does."""
        with self.lock:
            self._server(name, project).is_protected = True

    def vanish(self, name: str, *, project: str = DEFAULT) -> None:
        """Let a server be gone at once, as when a person has deleted it."""
        with self.lock:
            self.project(project).drop(self._server(name, project))

    def servers_of(self, project: str = DEFAULT) -> list[ServerRecord]:
        """Return the project's servers as they are now, hidden ones too, in the order of their creation."""
        with self.lock:
            self.catch_up()
            return [record_of(server) for server in self.project(project).servers.values()]

    def machine(self, server_type: str) -> ListedServerType:
        """Return a server type.

        Raises:
            KeyError: there is none.
        """
        return self.catalogue.machine(server_type)

    def place(self, location: str) -> ListedLocation:
        """Return a location.

        Raises:
            KeyError: there is none.
        """
        return self.catalogue.place(location)

    def catch_up(self) -> None:
        """Let happen what is due, and let servers go whose deletion is stuck no more."""
        self.timeline.advance()
        for project in self.projects.values():
            for server in list(project.servers.values()):
                if server.stuck is not None and server.stuck not in self.faults:
                    project.drop(server)

    def _server(self, name: str, project: str) -> FakeServer:
        self.catch_up()
        server = find(self.project(project).servers.values(), name)
        if server is None:
            raise KeyError(name)
        return server
