"""A cluster with everything that moves in it: workloads, scheduler, kubelets, and servers that boot.

It runs on any event loop: in virtual time for tests, on the wall clock for the demo.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from activities.objects.kind_activities import KindActivities
from activities.ports.cluster import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    LIMIT_RANGES,
    NODE_POOLS,
    NODES,
    PODS,
    SECRETS,
    Cluster,
    Object,
    Resource,
)
from activities.ports.ports import Compute, Ports, Reader, in_place
from activities.ports.provider import Provider, Server
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kinds import node_classes
from activities.providers.kwok.provider import KwokProvider
from activities.providers.templates import templates
from activities.registry import LIFECYCLES
from api.keys import LABEL_CLUSTER, LABEL_CLUSTER_UID
from simulator.apiserver.changes import follow
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.scheduling.disruption_controller import DisruptionController
from simulator.scheduling.kubelet import Kubelet
from simulator.scheduling.scheduler import PlugIn, Scheduler, no_plug_in
from simulator.scheduling.workloads import Daemons, Workloads

NAMESPACE: Final = "growth-system"
CLUSTER_NAME: Final = "simulated"
CLUSTER_UID: Final = "5f1a0000-0000-4000-8000-000000000001"
"""Of its namespace kube-system, on each of its servers."""
_MOVING: Final = (PODS, NODES, DAEMON_SETS, DISRUPTION_BUDGETS, CONFIG_MAPS, KWOK_NODE_CLASSES)
"""What controllers react to."""
_AT_ONCE: Final = timedelta()
_NOTICED_AFTER: Final = timedelta(seconds=10)
"""In which every worker has asked the API server for something: rounds are no further apart while anything is open."""
_REACTS_AFTER_SECONDS: Final = 0.02
"""Controllers see changes a little later and several at once, as through their watches."""
_PASSES: Final = 1000
"""Controllers that still change something after so many passes undo each other's work."""


class Restless(Exception):
    """Controllers undo each other's work without end."""


class World:
    """The simulated cluster, whose servers are KWOK's.

    Args:
        now: the time, UTC.
        seed: decides the scheduler's ties.
        longest_binding: how long the scheduler may take from its choice to the binding.
    """

    node_classes: ClassVar[Resource] = KWOK_NODE_CLASSES
    """The kind of node class that there is."""
    do_workers_tend: ClassVar[bool] = False
    """Whether servers boot by what workers do between calls; else by the world itself."""
    lifecycles: ClassVar[Sequence[KindActivities[Any]]] = LIFECYCLES
    """The kinds of objects with a lifecycle: those that need be defined are."""

    def __init__(self, *, now: Callable[[], datetime], seed: int, longest_binding: timedelta = _AT_ONCE) -> None:
        self._now = now
        self.cluster = MemoryCluster(now)
        required = [row.stored.resource for row in self.lifecycles if not row.stored.resource.is_optional]
        self.cluster.install_definitions(definition(resource) for resource in (NODE_POOLS, *node_classes(), *required))
        self.provider = KwokProvider(self.cluster, NAMESPACE, now)
        self.workloads = Workloads(self.cluster)
        self.daemons = Daemons(self.cluster)
        self._kubelet = Kubelet(self.cluster, now=now)
        self._disruption_controller = DisruptionController(self.cluster)
        self._scheduler = Scheduler(self.cluster, now=now, seed=seed, longest_binding=longest_binding)
        self._changed = asyncio.Event()
        self._scheduler_goes_on_at = now()
        self.stopped_since: datetime | None = None
        """Since when the scheduler stands still; None while it works."""
        self.is_api_away = False
        """Whether the API server answers nobody, neither workers nor controllers."""
        self._api_away_since = now()
        self.api_back_at: datetime | None = None
        """When it came back from its last outage."""
        self._pod_writes_from = now()
        """Until then, writes to pods are refused."""
        self._boot_ends_at: datetime | None = None

    async def apply(self, *objects: Object) -> None:
        """Create pools, classes, DaemonSets, LimitRanges, PodDisruptionBudgets and Secrets.

        Raises:
            KeyError: an object of another kind.
        """
        resources: dict[str, Resource] = {
            r.kind: r for r in (NODE_POOLS, *node_classes(), DAEMON_SETS, LIMIT_RANGES, DISRUPTION_BUDGETS, SECRETS)
        }
        for item in objects:
            await self.cluster.create(resources[item["kind"]], item, namespace=item["metadata"].get("namespace"))

    def ports(
        self,
        cluster: Cluster,
        reader: Reader,
        *,
        now: Callable[[], datetime] | None = None,
        call: Compute = in_place,
        watched_for: Callable[[], timedelta | None] = lambda: None,
    ) -> Ports:
        """Return the ports of this world, for activities.

        Args:
            cluster: a client's own connection.
            reader: its cache.
            now: its clock; without it, the true time.
            call: makes its calls to a provider that is no part of the cluster.
            watched_for: for how long the client and the API server have been there together.
        """
        return Ports(
            cluster=cluster,
            reader=reader,
            providers=self._providers(cluster, now or self._now, call),
            now=now or self._now,
            cluster_name=CLUSTER_NAME,
            cluster_uid=CLUSTER_UID,
            namespace=NAMESPACE,
            templates=templates(),
            elapsed=lambda: asyncio.get_running_loop().time(),
            compute=in_place,
            watched_for=watched_for,
        )

    async def servers(self) -> list[Server]:
        """Return the servers of this cluster that exist."""
        return [one for one in await self.provider.list(CLUSTER_NAME) if is_own(one.labels)]

    async def follow_servers(self, note: Callable[[], None]) -> None:
        """Call `note` whenever servers have changed, until cancelled."""
        await follow(self.cluster, CONFIG_MAPS, lambda _: note())

    def wake(self) -> None:
        """Let the controllers look now: something outside the cluster changed, such as a workload's replicas."""
        self._changed.set()

    def stop_scheduler(self, *, is_stopped: bool) -> None:
        """Let the scheduler stand still, or go on: as another leader, that has chosen no node for any pod."""
        self._scheduler.fail_bindings()
        self.stopped_since = self._now() if is_stopped else None
        self._scheduler_goes_on_at = self._now()
        self.wake()

    def stop_api_server(self, *, is_stopped: bool) -> None:
        """Let the API server answer nobody, or come back."""
        if self.is_api_away and not is_stopped:
            self.api_back_at = self._now()
        elif is_stopped and not self.is_api_away:
            self._api_away_since = self._now()
            self._scheduler.fail_bindings()
        self.is_api_away = is_stopped
        self.wake()

    @property
    def back_from_long_outage_at(self) -> datetime | None:
        """When the API server came back, if it was away for so long that every worker has noticed."""
        back = self.api_back_at
        return back if back is not None and back - self._api_away_since >= _NOTICED_AFTER else None

    def plug_into_scheduler(self, plug_in: PlugIn | None = no_plug_in) -> None:
        """Let the scheduler refuse more than its own filters do; without an argument no more; None stops it."""
        self._scheduler.plug_in = plug_in
        self.wake()

    @property
    def binds_pods_since(self) -> datetime | None:
        """Since when a scheduler is at work and may bind pods; None while it does not."""
        if self.stopped_since is not None or self.is_api_away or self.refuses_pod_writes:
            return None
        since = max(self._scheduler_goes_on_at, self._pod_writes_from)
        return since if self.api_back_at is None else max(since, self.api_back_at)

    @property
    def refuses_pod_writes(self) -> bool:
        """Whether writes to pods are refused now, as by a webhook that does not answer."""
        return self._now() < self._pod_writes_from

    def refuse_pod_writes(self, seconds: float) -> None:
        """Let nobody but kubelets write to pods for so long: none is made, bound, changed or deleted."""
        self._pod_writes_from = self._now() + timedelta(seconds=seconds)
        self._scheduler.fail_bindings()
        self.wake()

    async def step(self) -> bool:
        """Let each controller look once and return whether one of them changed anything."""
        if self.is_api_away:
            return False
        if self.refuses_pod_writes:
            return any([await self._boot(), await self._kubelet.step()])
        changes = [
            await self._boot(),
            await self.workloads.step(),
            await self.daemons.step(),
            await self._kubelet.step(),
            self.stopped_since is None and await self._scheduler.step(),
            await self._disruption_controller.step(),
        ]
        return any(changes)

    async def settle(self) -> None:
        """Step until nothing changes.

        Raises:
            Restless: it never comes to rest.
        """
        for _ in range(_PASSES):
            if not await self.step():
                return
        raise Restless(f"controllers still change things after {_PASSES} passes")

    async def run(self) -> None:
        """Keep the world moving until cancelled."""
        self.cluster.observe(self._note)
        while True:
            self._changed.clear()
            await self.settle()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rests_for()):
                    await self._changed.wait()
            await asyncio.sleep(_REACTS_AFTER_SECONDS)

    async def _boot(self) -> bool:
        """Let servers boot and join, and return whether that changed anything that others did not notice."""
        self._boot_ends_at = await self.provider.boot()
        return False

    def _providers(self, cluster: Cluster, _now: Callable[[], datetime], _call: Compute) -> Mapping[str, Provider]:
        provider = KwokProvider(cluster, NAMESPACE, self._now)
        return {self.node_classes.kind: provider}

    def _note(self, resource: Resource, _change: Change) -> None:
        if resource in _MOVING:
            self.wake()

    def _rests_for(self) -> float | None:
        """Return the seconds until the next boot or binding ends, which no change to an object tells."""
        next_binding_at = self._pod_writes_from if self.refuses_pod_writes else self._scheduler.next_binding_at()
        ends = [at for at in (self._boot_ends_at, next_binding_at) if at is not None]
        return max(0.0, (min(ends) - self._now()).total_seconds()) if ends else None


def definition(resource: Resource) -> Object:
    """Return the definition of a kind without its schema: objects are checked by our models, and copies stay small."""
    return {
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {"group": resource.group, "names": {"plural": resource.plural, "kind": resource.kind}},
    }


def is_own(labels: Mapping[str, str]) -> bool:
    """Return whether a server with these labels is this cluster's, and not of another one of its name."""
    return (labels.get(LABEL_CLUSTER), labels.get(LABEL_CLUSTER_UID)) == (CLUSTER_NAME, CLUSTER_UID)
