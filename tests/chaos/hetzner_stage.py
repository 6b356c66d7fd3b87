"""The stage with Hetzner's servers: each incarnation of the worker has a provider of its own, without any memory."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from activities.ports.cluster import Object
from activities.ports.provider import Server
from activities.providers.hetzner import provider as provider_module
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.provider import HetznerProvider
from activities.providers.hetzner.servers import actions as pending
from activities.providers.hetzner.servers import listing as servers
from activities.providers.hetzner.servers import projects
from api.keys import LABEL_CLUSTER
from simulator.campaign.hetzner.setup import class_objects
from simulator.catalogue import node_pool
from simulator.hetzner.http import InProcess
from simulator.hetzner.project.server import ServerRecord
from simulator.hetzner.project.state import Durations
from simulator.hetzner.world import HetznerWorld, Terms, server_of
from simulator.world import World
from tests.chaos.points import Tap
from tests.chaos.stage import Stage
from tests.chaos.stories import Story, comes_and_goes, is_called_off
from tests.chaos.taps import Tapped, passed, read
from worker.ports import utc_now
from worker.runtime import wiring

NETWORK: Final = "inside"
SUBNET: Final = "10.0.1.0/24"
TERMS: Final = Terms(
    Durations(create_seconds=0.5, start_seconds=0.1, attach_seconds=0.1, delete_seconds=0.3), join_seconds=0.1
)
_QUICK: Final = (
    (servers, "LISTED_FOR_SECONDS", 1.0),
    (servers, "FRESH_FOR_SECONDS", 12.0),
    (pending, "POLL_SECONDS", 0.4),
    (provider_module, "POLL_SECONDS", 0.4),
    (provider_module, "_REST_SECONDS", 1.0),
    (projects, "CallBudget", partial(CallBudget, burst=600, per_second=9.0)),
    (wiring, "SHORTEST_TEND_PERIOD", 0.1),
    (wiring, "LONGEST_TEND_PERIOD", 1.0),
)
"""As `tests.chaos.pace`: about ten times as fast."""


@contextmanager
def quick_provider() -> Iterator[None]:
    """Make the provider as quick for the block as Growth is under `quick_pace`."""
    before = [(home, name, getattr(home, name)) for home, name, _ in _QUICK]
    for home, name, value in _QUICK:
        setattr(home, name, value)
    try:
        yield
    finally:
        for home, name, value in before:
            setattr(home, name, value)


@dataclass(frozen=True)
class HetznerStory(Story):
    """A story on Hetzner's servers: each is made stopped, attached to a subnet in a placement group, then started."""

    def objects(self) -> list[Object]:
        """Return Secret, class and pool."""
        spec = {
            "locations": ["fsn1"],
            "networks": [{"name": NETWORK, "subnetIPRange": SUBNET}],
            "placement": {"strategy": "spread"},
        }
        pool = node_pool(
            "default",
            [{"name": "cx23"}, {"name": "cax11"}],
            template={"classRef": {"kind": "HetznerNodeClass", "name": "default"}},
            limits={"min": self.least, "max": self.most},
            scaleUp={"recordTTL": self.record_ttl, "provisioningTimeout": "20s", "joinTimeout": "20s"},
            scaleDown={
                "idleAfter": self.idle_after,
                "softGrace": self.soft_grace,
                "removal": {"maxAttempts": 4, "retry": "2s", "parkedRetry": "10m"},
            },
        )
        return [*class_objects(spec), pool]


HETZNER_STORIES: Final = (
    HetznerStory("comes and goes, Hetzner", comes_and_goes, servers=0),
    HetznerStory("is called off, Hetzner", is_called_off, servers=0),
)


class HetznerStage(Stage):
    """A `Stage` whose servers are those of the fake Hetzner API."""

    world: HetznerWorld

    def _make_world(self) -> World:
        world = HetznerWorld(now=utc_now, seed=1, terms=TERMS)
        world.cloud.add_network(NETWORK, subnets=((SUBNET, "eu-central"),))
        world.cloud.told.append(self._tell)
        return world

    def _providers(self, cluster: Any, tap: Tap) -> dict[str, Any]:
        provider = HetznerProvider(
            cluster,
            now=utc_now,
            cluster_name=self.name,
            compute=partial(_tapped_call, tap),
            transport=InProcess(self.world.cloud),
        )
        return {provider.node_classes.kind: Tapped(provider, tap, "server")}

    async def _servers(self) -> list[Server]:
        return [
            server_of(each) for each in self.world.cloud.servers_of() if each.labels.get(LABEL_CLUSTER) == self.name
        ]

    async def _keep_ledger(self) -> None:
        await asyncio.Event().wait()

    def _tell(self, before: ServerRecord | None, now: ServerRecord | None) -> None:
        if before is None and now is not None:
            self._came(now.name, now.labels)


async def _tapped_call(tap: Tap, work: Callable[[], Any], /) -> Any:
    """Make a call to the API as an effect of the incarnation, or a read."""
    method, path = getattr(work, "args", ("", ""))[:2]

    async def made() -> Any:
        return work()

    if method == "GET":
        return await read(tap, made)
    # Ids differ from run to run; what is done to which kind of thing does not.
    words = [word for word in path.split("/") if word and not word.isdecimal()]
    return await passed(tap, f"{method.lower()} {' '.join(words)}", made)
