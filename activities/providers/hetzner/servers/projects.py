"""The Hetzner projects that node classes point to: one for each token, whatever the number of classes.

A token is read from its Secret and is in this process's memory only.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic import SecretStr
from requests.adapters import BaseAdapter

from activities.ports.cluster import SECRETS, Cluster, secret_value
from activities.ports.errors import AuthenticationFailed, Forbidden, InvalidConfiguration, NotFound
from activities.ports.identity import ClusterIdentity
from activities.ports.ports import Compute
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import ServerCreation
from activities.providers.hetzner.classes.rights import missing_right
from activities.providers.hetzner.servers.actions import OpenActions
from activities.providers.hetzner.servers.limits import Refusals
from activities.providers.hetzner.servers.listing import ServerList
from activities.providers.hetzner.servers.placement_groups import SpreadGroups
from api.model import UnreadableError, read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass

_READ_FOR_SECONDS: Final = 30.0
"""How long a class and its token are believed: each look at a server would read both anew."""
_MOST: Final = 50
"""Projects and classes that are remembered: a token that was changed leaves one behind."""


@dataclass(slots=True)
class Project:
    """A Hetzner project, and what this worker knows of it."""

    client: HetznerClient
    servers: ServerList
    actions: OpenActions
    groups: SpreadGroups
    refusals: Refusals
    attached: dict[int, frozenset[int]] = field(default_factory=dict)
    """Networks that half-made servers were attached to by this worker, by server."""
    zones: dict[str, str] = field(default_factory=dict)
    """Network zones by location, as far as a class has told them."""
    made: dict[int, tuple[ServerCreation, HetznerNodeClass]] = field(default_factory=dict)
    """By server: the create call of which this worker awaits the actions, without its user data, and its class."""
    unsure: set[str] = field(default_factory=set)
    """Names that a call of unknown outcome was made for: they are looked up before the next one."""


class Projects:
    """Finds the project of a node class.

    Args:
        cluster: where classes and Secrets are.
        identity: of the cluster whose servers are looked at.
        endpoint: of the API.
        compute: runs a blocking call.
        transport: of HTTP; None is the network.
        elapsed: seconds since some moment.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        identity: ClusterIdentity,
        endpoint: str,
        compute: Compute,
        transport: BaseAdapter | None = None,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._identity = identity
        self._endpoint = endpoint
        self._compute = compute
        self._transport = transport
        self._elapsed = elapsed
        self._projects: dict[str, Project] = {}
        """By hash of the token."""
        self._classes: dict[str, tuple[str, float]] = {}
        """Hash of the token, and when it was read, by class."""

    @property
    def known(self) -> tuple[Project, ...]:
        """Those that were used."""
        return tuple(self._projects.values())

    async def of(self, node_class: HetznerNodeClass) -> Project:
        """Return the project of a class as it was read; its token is read anew after half a minute.

        Raises:
            InvalidConfiguration: there is no such token.
            Unreachable: the API server does not answer.
        """
        name = node_class.metadata.name
        known = self._known(name)
        return known if known is not None else await self._read(node_class)

    async def client(self, node_class: HetznerNodeClass, *, is_fresh: bool) -> HetznerClient:
        """Return the client of a class, its token read anew if that is asked for or it was read half a minute ago.

        Raises:
            InvalidConfiguration: there is no such token.
            Unreachable: the API server does not answer.
        """
        return (await (self._read(node_class) if is_fresh else self.of(node_class))).client

    async def of_class(self, name: str) -> Project:
        """Return the project of the class of that name; of one that is gone, the project it had.

        Raises:
            InvalidConfiguration: there is no class or token, and none is remembered.
            Unreachable: the API server does not answer.
        """
        known = self._known(name)
        if known is not None:
            return known
        try:
            item = await self._cluster.get(HETZNER_NODE_CLASSES, name)
            return await self._read(read(HetznerNodeClass, item))
        except (NotFound, UnreadableError, InvalidConfiguration, AuthenticationFailed) as error:
            remembered = self._classes.get(name)
            if remembered is not None and remembered[0] in self._projects:
                return self._projects[remembered[0]]
            if isinstance(error, InvalidConfiguration | AuthenticationFailed):
                raise
            raise InvalidConfiguration(
                f"HetznerNodeClass {name} does not exist or cannot be read, and with it the token of its project: "
                "create it again, so that its servers can be looked at and deleted"
            ) from error

    async def all(self) -> list[Project]:
        """Return the projects of all classes.

        Raises:
            InvalidConfiguration: the token of one cannot be read, so that there may be servers nobody sees.
            Unreachable: the API server does not answer.
        """
        items = (await self._cluster.list(HETZNER_NODE_CLASSES)).items
        projects = [await self.of_class(item["metadata"]["name"]) for item in items]
        return list({id(one): one for one in projects}.values())

    def doubt(self, project: Project) -> None:
        """Have the token of a project read anew before its next use: Hetzner refused it."""
        for name, (key, _) in list(self._classes.items()):
            if self._projects.get(key) is project:
                self._classes[name] = (key, float("-inf"))

    async def close(self) -> None:
        """Close all connections."""
        for project in self._projects.values():
            project.client.close()

    def _known(self, name: str) -> Project | None:
        key, read_at = self._classes.get(name, ("", float("-inf")))
        return self._projects.get(key) if self._elapsed() - read_at < _READ_FOR_SECONDS else None

    async def _read(self, node_class: HetznerNodeClass) -> Project:
        token = await self._token(node_class)
        key = hashlib.sha256(token.get_secret_value().encode()).hexdigest()
        if key not in self._projects:
            self._projects[key] = self._new(token)
        self._classes.pop(node_class.metadata.name, None)
        self._classes[node_class.metadata.name] = (key, self._elapsed())
        self._forget()
        return self._projects[key]

    async def _token(self, node_class: HetznerNodeClass) -> SecretStr:
        ref = node_class.spec.token_secret_ref
        field = f"HetznerNodeClass {node_class.metadata.name}: spec.tokenSecretRef"
        where = f"{field}: Secret {ref}"
        try:
            secret = await self._cluster.get(SECRETS, ref.name, namespace=ref.namespace)
        except NotFound:
            raise InvalidConfiguration(f"{where} does not exist: create it with the project's API token") from None
        except Forbidden as error:
            raise InvalidConfiguration(f"{field}: {missing_right(error, SECRETS, ref.namespace, ref.name)}") from error
        token = secret_value(secret, ref.key)
        if token is None or not token.strip():
            raise InvalidConfiguration(f"{where} has no such key, or it is empty")
        if not token.strip().isascii() or not token.strip().isalnum():
            raise AuthenticationFailed(f"{where} is no API token: a token has letters and digits only")
        return SecretStr(token.strip())

    def _new(self, token: SecretStr) -> Project:
        client = HetznerClient(
            token,
            endpoint=self._endpoint,
            budget=CallBudget(now=self._elapsed),
            compute=self._compute,
            transport=self._transport,
        )
        servers = ServerList(client, self._identity, self._elapsed)
        return Project(
            client,
            servers,
            OpenActions(client, self._elapsed),
            SpreadGroups(client, self._identity, self._elapsed, lambda: {server.id for server in servers.known}),
            Refusals(self._elapsed),
        )

    def _forget(self) -> None:
        while len(self._classes) > _MOST:
            del self._classes[next(iter(self._classes))]
        in_use = {key for key, _ in self._classes.values()}
        for key in [key for key in self._projects if key not in in_use]:
            self._projects.pop(key).client.close()
