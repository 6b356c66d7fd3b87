"""A HetznerNodeClass that is looked up in the fake project by the real client, again and again."""

from pydantic import SecretStr

from activities.ports.ports import in_place
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.classes.catalogue import offerings
from activities.providers.hetzner.classes.check import look_up
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from simulator.apiserver.cluster import MemoryCluster
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import InProcess
from tests.activities.providers.hetzner.yard import START, TOKEN, hetzner_class

READ_ONLY = "r" * 64


class Desk:
    """Each look begins with the status of the one before."""

    def __init__(self, **spec):
        self.now = START
        self.cloud = FakeHetzner(lambda: self.now)
        self.cloud.add_token(TOKEN)
        self.cloud.add_token(READ_ONLY, "read_only")
        self.cluster = MemoryCluster(lambda: self.now)
        self.token = TOKEN
        self.change(**spec)

    def change(self, generation=1, **spec):
        body = hetzner_class(**spec)
        body["metadata"]["generation"] = generation
        status = {"status": self.node_class.status} if generation > 1 else {}
        self.node_class = read(HetznerNodeClass, body).model_copy(update=status)

    async def look(self):
        """Return the status; `calls` is how many calls that took."""
        client = HetznerClient(
            SecretStr(self.token),
            endpoint="https://api.hetzner.cloud/v1",
            budget=CallBudget(now=lambda: 0.0),
            compute=in_place,
            transport=InProcess(self.cloud),
        )
        before = len(self.cloud.requests)
        status = await look_up(client, self.cluster, self.node_class, now=self.now)
        self.calls = len(self.cloud.requests) - before
        self.node_class = self.node_class.model_copy(update={"status": status})
        client.close()
        return status

    def told(self, kind):
        found = next(each for each in self.node_class.status.conditions if each.type == kind)
        assert found.observed_generation == self.node_class.metadata.generation
        return found.status, found.reason, found.message

    def offers(self, server_type=None):
        return [one for one in offerings(self.node_class, self.now) if server_type in (None, one.server_type)]
