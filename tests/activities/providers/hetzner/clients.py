"""A client on the fake API, without a network, and time that a test moves."""

from datetime import UTC, datetime, timedelta

from pydantic import SecretStr

from activities.ports.ports import in_place
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import ServerCreation
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import InProcess

TOKEN = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
READ_ONLY = "read-only-" + TOKEN[10:]


class World:
    """A cloud, its clock, and a client."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 1, tzinfo=UTC)
        self.cloud = FakeHetzner(lambda: self.now)
        self.cloud.add_token(TOKEN)
        self.cloud.add_token(READ_ONLY, "read_only")
        self.image = next(
            image.id
            for image in self.cloud.project().images.values()
            if image.name == "debian-12" and image.architecture == "x86"
        )
        self.client = self.client_of(TOKEN)

    def client_of(self, token: str, *, budget: CallBudget | None = None, compute=in_place) -> HetznerClient:
        return HetznerClient(
            SecretStr(token),
            endpoint="https://api.example/v1",
            budget=budget or CallBudget(burst=500),
            compute=compute,
            transport=InProcess(self.cloud),
        )

    def creation(self, name="a-1", **changed) -> ServerCreation:
        given = {
            "name": name,
            "server_type": "cx23",
            "location": "fsn1",
            "image": self.image,
            "labels": {"growth.dev/cluster": "prod"},
            "user_data": "#cloud-config\n",
        }
        return ServerCreation(**given | changed)

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    async def made(self, name="a-1", **changed) -> int:
        """Return the id of a server that has booted."""
        created = await self.client.create_server(self.creation(name, **changed))
        self.passes(60)
        return created.server.id

    def labels(self, name: str) -> dict[str, str]:
        return next(dict(server.labels) for server in self.cloud.servers_of() if server.name == name)

    def count(self) -> int:
        return self.cloud.count()
