"""A cluster in memory with a worker on a real Temporal server, which may die and is started again."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError, ServiceClient

from activities.kube.cache import Cache
from activities.kube.json_patch import set_field
from activities.ports.cluster import (
    CONFIG_MAPS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Object,
    PatchOp,
    Resource,
    WatchEvent,
)
from activities.ports.errors import Conflict, NotFound
from activities.ports.ports import Ports
from activities.ports.presence import Presence
from activities.ports.provider import Server
from activities.providers.kwok.provider import KwokProvider
from api.keys import LABEL_KWOK_SERVER, LABEL_REQUEST_UID
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from simulator.apiserver.changes import follow
from simulator.scheduling.pod_request import occupies
from simulator.view import View
from simulator.world import NAMESPACE, World
from tests.chaos.pace import KEEPER_PERIOD
from tests.chaos.points import Point, Tap
from tests.chaos.taps import PURE, Around, Tapped, TappedTemporal, once
from worker.ports import utc_now, watched
from worker.runtime.wiring import at_work
from worker.settings import task_queue
from worker.temporal.client import DATA_CONVERTER
from workflows.messages import PLANNER

LOOK_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 90.0
"""For one thing to be seen: many stages share two cores."""
NAMESPACE_OF_TEMPORAL: Final = "growth"


class NeverSeen(AssertionError):
    """A story waited in vain; the message holds what was seen instead."""


class Stage:
    """What a story acts on.

    Args:
        service: connection to the Temporal server.
        name: of the cluster: no other stage on this server has it.
        meet: is told of every point, and says where the worker dies.
        around: how activities are run.
        provider: puts faults around the cloud for workers.
        cluster: puts faults around the API server for workers.
    """

    def __init__(
        self,
        service: ServiceClient,
        name: str,
        *,
        meet: Callable[[Point], bool] = lambda _: False,
        around: Around = once,
        provider: Callable[[Any], Any] = lambda real: real,
        cluster: Callable[[Any], Any] = lambda real: real,
    ) -> None:
        self._service = service
        self._meet = meet
        self._around = around
        self._dead: set[asyncio.Task[None]] = set()
        self._may_live = asyncio.Event()
        self._may_live.set()
        self.name = name
        self.world = self._make_world()
        self.cluster = cluster(self.world.cluster)
        """The API server as workers see it."""
        self.provider = provider(self.world.provider)
        """The cloud as workers see it, if all of them share one client."""
        self.client = self._connected(service)
        self.lives = 0
        self.created: Counter[str] = Counter()
        """Servers that ever existed, by the uid of the request that they were made for."""
        self.named: Counter[str] = Counter()
        """The same by name."""
        self.excused: Collection[str] = ()
        """Ids of runs whose failure is what the story is about."""
        self.tap: Tap | None = None
        self._second: Tap | None = None

    @asynccontextmanager
    async def playing(self, *objects: Object) -> AsyncIterator[None]:
        """Keep world and worker going for the block; a dead worker is followed by the next."""
        await self.world.apply(*objects)
        tasks = [
            asyncio.create_task(self.world.run(), name="world"),
            asyncio.create_task(self._keep_ledger(), name="ledger"),
            asyncio.create_task(self._supervise(), name="supervisor"),
        ]
        body = asyncio.current_task()
        broken: list[BaseException] = []

        def watch(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None and body is not None:
                broken.append(error)
                body.cancel()

        for task in tasks:
            task.add_done_callback(watch)
        try:
            yield
        except asyncio.CancelledError:
            if broken:
                raise broken[0] from None
            raise
        finally:
            for task in tasks:
                task.remove_done_callback(watch)
            for tap in (self.tap, self._second):
                if tap is not None:
                    tap.kill()
            for task in (*tasks, *self._dead):
                task.cancel()
            await asyncio.wait([*tasks, *self._dead])
            await self._end_workflows()

    def kill(self) -> None:
        """Kill the worker as it is now."""
        assert self.tap is not None
        self.tap.kill()

    @contextmanager
    def without_worker(self) -> Iterator[None]:
        """Kill the worker, and let none follow it within the block."""
        self._may_live.clear()
        self.kill()
        try:
            yield
        finally:
            self._may_live.set()

    def join(self) -> None:
        """Let a second worker work beside the first."""
        self._second = Tap(self._meet)
        self._bury(asyncio.create_task(self._live(self._second)))

    def leave(self) -> None:
        """Kill the second worker."""
        assert self._second is not None
        self._second.kill()
        for life in self._dead:
            life.cancel()

    def _bury(self, life: asyncio.Task[None]) -> None:
        self._dead.add(life)
        life.add_done_callback(self._dead.discard)

    async def _supervise(self) -> None:
        while True:
            await self._may_live.wait()
            self.lives += 1
            tap = self.tap = Tap(self._meet)
            life = asyncio.create_task(self._live(tap))
            try:
                death = asyncio.create_task(tap.died.wait())
                await asyncio.wait((life, death), return_when=asyncio.FIRST_COMPLETED)
                death.cancel()
                if life.done() and not tap.is_dead:
                    life.result()
            finally:
                # A process that was killed is gone at once; what is left of this one has no effect any more.
                life.cancel()
                self._bury(life)

    async def _live(self, tap: Tap) -> None:
        cluster = Tapped(self.cluster, tap, PODS.plural)
        cache = Cache(cluster, watched())
        presence = Presence(time.monotonic)
        ports = Ports(
            cluster=cluster,
            reader=cache,
            providers=self._providers(cluster, tap),
            now=utc_now,
            cluster_name=self.name,
            namespace=NAMESPACE,
            watched_for=presence.lasts,
        )
        # A connection of its own, as another process has: two workers of one task queue cannot share one.
        service = await ServiceClient.connect(self._service.config)
        client = self._connected(service, TappedTemporal(tap, self._around))
        async with at_work(client, ports, cache, keeper_period=KEEPER_PERIOD):
            await asyncio.Event().wait()

    def _make_world(self) -> World:
        return World(now=utc_now, seed=1)

    def _providers(self, _cluster: Any, tap: Tap) -> dict[str, Any]:
        """Return the providers of one incarnation."""
        # What a worker tends is the boots of the world, which no worker's death keeps from ending.
        return {KwokProvider.node_classes.kind: Tapped(self.provider, tap, "server", pure=(*PURE, "tend"))}

    async def _servers(self) -> list[Server]:
        return await self.world.provider.list(self.name)

    async def _keep_ledger(self) -> None:
        """Count servers as they come, until cancelled."""
        await follow(self.world.cluster, CONFIG_MAPS, self._note)

    def _connected(self, service: ServiceClient, *interceptors: Any) -> Client:
        return Client(
            service,
            namespace=NAMESPACE_OF_TEMPORAL,
            data_converter=DATA_CONVERTER,
            interceptors=interceptors,
        )

    def _note(self, event: WatchEvent) -> None:
        labels = event.object["metadata"].get("labels") or {}
        if event.type == "ADDED" and LABEL_KWOK_SERVER in labels:
            self._came(event.object["metadata"]["name"], labels)

    def _came(self, name: str, labels: Mapping[str, str]) -> None:
        self.created[labels.get(LABEL_REQUEST_UID, "")] += 1
        self.named[name] += 1

    async def _end_workflows(self) -> None:
        """End what would otherwise keep the server busy for the other stages."""
        async for one in self.running():
            with suppress(RPCError):
                await self.client.get_workflow_handle(one.id, run_id=one.run_id).terminate("the stage is over")

    def running(self) -> AsyncIterator[WorkflowExecution]:
        """Yield the running workflows, the planner too."""
        return self._with("Running")

    async def workflows(self) -> set[str]:
        """Return the ids of running lifecycles."""
        return {one.id async for one in self.running() if one.workflow_type != PLANNER}

    async def ended(self, *statuses: str) -> list[str]:
        """Return the id of the workflow of each run that ended so, such as Failed or Terminated."""
        return [one.id async for one in self._with(*statuses)]

    async def failed(self) -> list[str]:
        """Return the ids of workflows that failed and must not have."""
        return [one.id async for one in self._with("Failed", "TimedOut") if one.run_id not in self.excused]

    def _with(self, *statuses: str) -> AsyncIterator[WorkflowExecution]:
        quoted = ", ".join(f"'{one}'" for one in statuses)
        return self.client.list_workflows(f"TaskQueue = '{task_queue(self.name)}' AND ExecutionStatus IN ({quoted})")

    async def look(self) -> View:
        """Return what there is now."""
        cluster = self.world.cluster
        pods = (await cluster.list(PODS)).items
        return View(
            pods={f"{p['metadata']['namespace']}/{p['metadata']['name']}": p for p in pods if occupies(p)},
            nodes=_by_name((await cluster.list(NODES)).items),
            lifecycles={
                REQUEST.name: _by_name(await self._all(NODE_REQUESTS)),
                REMOVAL.name: _by_name(await self._all(NODE_REMOVAL_REQUESTS)),
            },
            servers={s.name: s for s in await self._servers()},
        )

    async def _all(self, resource: Resource) -> list[Object]:
        try:
            return (await self.world.cluster.list(resource)).items
        except NotFound:
            return []

    async def until(self, holds: Callable[[View], Any], what: str, *, within: float = PATIENCE_SECONDS) -> View:
        """Wait until something can be seen and return all that is seen then.

        Raises:
            NeverSeen: it was not seen in time.
        """
        deadline = asyncio.get_running_loop().time() + within
        while True:
            view = await self.look()
            if holds(view):
                return view
            if asyncio.get_running_loop().time() >= deadline:
                raise NeverSeen(f"{self.name}: not seen within {within:.0f} s: {what}; {told(view)}")
            await asyncio.sleep(LOOK_SECONDS)

    @contextmanager
    def without_scheduler(self) -> Iterator[None]:
        """Let no pod be bound for the block."""
        scheduler = self.world._scheduler
        step, scheduler.step = scheduler.step, _nothing
        try:
            yield
        finally:
            scheduler.step = step
            self.world.wake()

    def scale(self, name: str, replicas: int) -> None:
        """Change how many pods of a workload are wanted."""
        self.world.workloads.scale(name, replicas)
        self.world.wake()

    async def write(
        self, resource: Resource, name: str, path: tuple[str, ...], value: Any, *, namespace: str | None = None
    ) -> bool:
        """Set a field as a person does, or as a function of the object says; return whether the object was there."""
        while True:
            try:
                found = await self.world.cluster.get(resource, name, namespace=namespace)
                wanted = value(found) if callable(value) else value
                operations: list[PatchOp] = set_field(found, path, wanted)
                await self.world.cluster.patch(resource, name, operations, namespace=namespace)
            except NotFound:
                return False
            except Conflict:
                continue
            return True

    def ids(self, view: View) -> set[str]:
        """Return the ids of the workflows that the objects should have."""

        def subject(item: Object) -> ObjectId:
            return ObjectId(name=item["metadata"]["name"], uid=item["metadata"]["uid"])

        return {REQUEST.workflow_id(self.name, subject(one)) for one in view.requests.values()} | {
            REMOVAL.workflow_id(self.name, subject(one)) for one in view.removals.values()
        }


async def _nothing() -> bool:
    return False


def told(view: View) -> str:
    """Return a view in a line."""
    taints = {
        name: [f"{one['key']}={one.get('value', '')}" for one in node["spec"].get("taints") or ()]
        for name, node in view.nodes.items()
    }
    return f"pods {view.placement()}; servers {sorted(view.servers)}; nodes {taints}; objects {view.phases()}"


def _by_name(items: list[Object]) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in items}
