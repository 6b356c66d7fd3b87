"""A simulated cluster whose servers are those of the fake Hetzner API."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

import requests

from activities.ports.cluster import Cluster, Resource
from activities.ports.ports import Compute
from activities.ports.provider import Provider, Server, ServerState
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.provider import HetznerProvider
from simulator.hetzner.http import InProcess
from simulator.hetzner.nodes import HetznerNodes
from simulator.hetzner.project.server import ServerRecord
from simulator.hetzner.project.state import Durations
from simulator.hetzner.watched import WatchedHetzner
from simulator.world import CLUSTER_NAME, CLUSTER_UID, World, is_own

TOKEN: Final = "k" * 40 + "Token0123456789abcdefghi"
"""Of the project, as long as a real one."""
_STATES: Final = {"running": ServerState.RUNNING, "deleting": ServerState.DELETING, "off": ServerState.BROKEN}
_LATER: Final = timedelta(seconds=0.5)
"""After a Node's registration is due, it has happened."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long things take, and what else looks after Nodes."""

    durations: Durations
    join_seconds: float = 2.0
    controller_delay_seconds: float | None = None
    """From a Node's registration until the cloud-controller-manager sees it; None: there is none."""
    other_scheme: str = ""
    """Of the provider ids that Nodes register with, instead of their servers' own."""
    labels_are_lost: bool = False
    """Nodes come without the labels of their user data."""


class CountedCalls(InProcess):
    """The way of one worker to the fake API, which counts its calls."""

    def __init__(self, cloud: WatchedHetzner, now: datetime) -> None:
        super().__init__(cloud)
        self.began_at = now
        self.calls = 0

    def send(self, request: requests.PreparedRequest, *settings: Any, **options: Any) -> requests.Response:
        """Return the answer: `InProcess.send`."""
        self.calls += 1
        return super().send(request, *settings, **options)


class HetznerWorld(World):
    """The simulated cluster, whose servers are those of a Hetzner project.

    Args:
        now: the time, UTC.
        seed: decides the scheduler's ties.
        longest_binding: how long the scheduler may take from its choice to the binding.
        terms: how long the cloud takes.
    """

    node_classes: ClassVar[Resource] = HETZNER_NODE_CLASSES
    do_workers_tend: ClassVar[bool] = True

    def __init__(
        self, *, now: Callable[[], datetime], seed: int, terms: Terms, longest_binding: timedelta = timedelta()
    ) -> None:
        super().__init__(now=now, seed=seed, longest_binding=longest_binding)
        self.cloud = WatchedHetzner(now, wake=self.wake)
        self.cloud.durations = terms.durations
        self.cloud.add_token(TOKEN)
        self.cloud.told.append(lambda _before, _now: self.wake())
        self.lines: list[CountedCalls] = []
        """Of every worker that there was."""
        self._terms = terms
        self._nodes = HetznerNodes(
            self.cloud,
            self.cluster,
            now=now,
            join_seconds=terms.join_seconds,
            controller=terms.controller_delay_seconds is not None,
            controller_delay_seconds=terms.controller_delay_seconds or 0.0,
            other_scheme=terms.other_scheme,
            labels_are_lost=terms.labels_are_lost,
        )

    async def servers(self) -> list[Server]:
        """Return the servers of this cluster that exist: `World.servers`."""
        return [server_of(each) for each in self.cloud.servers_of() if is_own(each.labels)]

    async def follow_servers(self, note: Callable[[], None]) -> None:
        """Call `note` whenever servers have changed: `World.follow_servers`."""
        self.cloud.told.append(lambda _before, _now: note())
        await asyncio.Event().wait()

    async def _boot(self) -> bool:
        changed = await self._nodes.step()
        self._boot_ends_at = self._next_at()
        return changed

    def _next_at(self) -> datetime | None:
        """Return the next moment at which the cloud, a kubelet or the controller does something by itself."""
        due = [self.cloud.next_at()]
        waits = [timedelta(seconds=self._terms.join_seconds)]
        waits.append(waits[0] + timedelta(seconds=self._terms.controller_delay_seconds or 0.0) + _LATER)
        due += [each.running_since + wait for each in self.cloud.servers_of() if each.running_since for wait in waits]
        return min((moment for moment in due if moment is not None and moment > self._now()), default=None)

    def _providers(self, cluster: Cluster, now: Callable[[], datetime], call: Compute) -> Mapping[str, Provider]:
        line = CountedCalls(self.cloud, self._now())
        self.lines.append(line)
        provider = HetznerProvider(
            cluster,
            now=now,
            cluster_name=CLUSTER_NAME,
            cluster_uid=CLUSTER_UID,
            compute=call,
            transport=line,
            elapsed=lambda: asyncio.get_running_loop().time(),
        )
        return {self.node_classes.kind: provider}


def server_of(record: ServerRecord) -> Server:
    """Return the server as the port tells it."""
    return Server(
        name=record.name,
        provider_id=f"hcloud://{record.id}",
        state=_STATES.get(record.status, ServerState.CREATING),
        server_type=record.server_type,
        location=record.location,
        labels=dict(record.labels),
        created_at=record.created_at,
    )
