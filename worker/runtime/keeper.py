"""Keeps what must always be there: namespace, search attributes, the planner, and a workflow for every object.

It repairs what was lost with Temporal's data, by a person's terminate, or between a write and a
start; it ends a workflow that can make no step any more, for its object tells where to go on; and it
has garbage swept: what is left of machines that no object stands for.
"""

import asyncio
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import structlog
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from activities.garbage.sweep import Healer
from activities.objects.events import Recorder
from activities.objects.kinds import STORED_KINDS, StoredKind
from activities.objects.start_notes import listed_prices
from activities.ports.cluster import NAMESPACES, Object, Resource
from activities.ports.errors import AlreadyExists, GrowthError, NotFound, Rejected, Unreachable
from activities.ports.ports import Ports
from planner.lifecycle.garbage import Guards
from planner.lifecycle.kinds import LifecycleKind, ObjectId
from planner.model.round import StartNote, planner_workflow_id
from worker.log_once import LogOnce
from worker.runtime.cluster_uid import CLUSTER_UID_MEMO, check_planner, check_servers, planner_uid
from worker.runtime.failing_workflows import FailingWorkflows
from worker.runtime.lifecycle_start import start_lifecycle
from worker.settings import task_queue
from worker.temporal.namespace import NotPreparedError, ensure_namespace, ensure_search_attributes
from worker.temporal.trouble import call_trouble
from workflows.messages import CLUSTER, PLANNER, WAKE, PlannerState
from workflows.planner_details import ABOUT

log = structlog.stdlib.get_logger(__name__)

PERIOD: Final = timedelta(seconds=30)
"""An object without a workflow is noticed within this."""
PREPARE_AGAIN: Final = timedelta(seconds=0.5)
"""A Temporal server knows a new namespace everywhere after some seconds; a worker that starts before fails for good."""
CALL_LIMIT: Final = timedelta(seconds=20)
"""A pass goes on without a server that hangs."""
PART_LIMIT: Final = timedelta(seconds=60)
"""A part makes one call after the other; a slow provider must not keep objects from their workflows."""
WOKEN_AT_ONCE: Final = 100
"""Workflows without an object that one pass wakes: each looks and ends, and the rest is woken by the next pass."""


class Keeper:
    """Runs in every worker: each of its deeds is safe to do twice at the same time."""

    def __init__(
        self,
        client: Client,
        ports: Ports,
        *,
        owns_server: bool = False,
        period: timedelta = PERIOD,
        guards: Guards | None = None,
        kinds: Sequence[StoredKind[Any]] = STORED_KINDS,
    ) -> None:
        self.client = client
        self._ports = ports
        self._name = ports.cluster_name
        self._queue = task_queue(ports.cluster_name)
        self._owns_server = owns_server
        self._period = period
        self._failing = FailingWorkflows(self._queue)
        self._ended: frozenset[str] = frozenset()
        self._kinds = kinds
        self._healer = Healer(ports, Recorder(ports), guards)

    async def run(self) -> None:
        """Make a pass every period, for ever. What fails in a part is tried again in the next; the others go on."""
        parts = {
            "namespaces, search attributes and planner were not looked for": self.ensure,
            "workflows whose tasks keep failing were not looked for": self.end_failing,
            "objects without a workflow were not looked for": self.sweep,
            "garbage was not looked for": self.heal,
        }
        warnings = {trouble: LogOnce(log) for trouble in parts}
        while True:
            for trouble, part in parts.items():
                try:
                    async with asyncio.timeout(PART_LIMIT.total_seconds()):
                        await part()
                    warnings[trouble].over()
                except (RPCError, GrowthError, NotPreparedError, TimeoutError) as error:
                    warnings[trouble].warn(trouble, error=_reason_of(error))
            await asyncio.sleep(self._period.total_seconds())

    async def prepare(self, waiting_for: Callable[[str], None] = lambda _reason: None) -> None:
        """Return when everything is there that a worker cannot start without; tries for ever.

        Args:
            waiting_for: is told why the last try failed.

        Raises:
            CommandError: another cluster plans or buys under this one's name.
        """
        if self._ports.cluster_uid:
            # Before anything is started under a name that may be another cluster's.
            await check_servers(self._ports)
        warnings = LogOnce(log)
        while True:
            try:
                if await self.ensure():
                    return
            except (RPCError, GrowthError, NotPreparedError, TimeoutError) as error:
                reason = _reason_of(error)
                if isinstance(error, RPCError):
                    reason = call_trouble(error, self.client.service_client.config.target_host)
                waiting_for(reason)
                warnings.warn(f"cannot prepare yet: {reason}")
            await asyncio.sleep(PREPARE_AGAIN.total_seconds())

    async def ensure(self) -> bool:
        """Make sure of both namespaces, of search attributes and of the planner; return whether all are there.

        Raises:
            CommandError: the planner is another cluster's.
        """
        await self._ensure_own_namespace()
        created = await ensure_namespace(self.client, keep_retention=self._owns_server)
        try:
            await ensure_search_attributes(self.client)
            await self._start_planner()
        except RPCError as error:
            if not created and error.status is not RPCStatusCode.NOT_FOUND:
                raise
            # The parts of a Temporal server learn of a new namespace within some seconds.
            log.info("Temporal does not know its new namespace everywhere yet", namespace=self.client.namespace)
            return False
        return True

    async def end_failing(self) -> None:
        """End the workflows whose tasks keep failing; the planner is started again at once, the others by a sweep."""
        ended = await self._failing.end(self.client)
        self._ended = frozenset(ended)
        if planner_workflow_id(self._name) in ended:
            await self._start_planner()

    async def sweep(self) -> None:
        """Give a workflow to each object that has none.

        A workflow whose object is gone is woken: it looks, sees that and ends.
        """
        # The list of running workflows lags behind.
        ended, self._ended = self._ended, frozenset()
        # Objects first: one whose workflow ends between the two reads gets a workflow that sees it gone and ends.
        listed = [(stored, await self._objects(stored)) for stored in self._kinds]
        running = {id_: kind for id_, kind in (await self._running()).items() if id_ not in ended}
        prices = None
        for stored, cached in listed:
            items = cached
            if cached and self._without_workflow(stored, cached, running):
                # A cache may be behind; what it lacks, in turn, is asked for before a workflow is woken.
                items = await self._live_objects(stored)
            if items is None:
                continue
            for subject, item in self._without_workflow(stored, items, running):
                if prices is None:
                    prices = await listed_prices(self._ports)
                await self._start(stored.lifecycle, subject, stored.start_note(item, prices))
            ids = {stored.lifecycle.workflow_id(self._name, _subject(item)) for item in items}
            unlisted = [each for each, of in running.items() if of == stored.lifecycle.workflow and each not in ids]
            await self._wake(stored.resource, unlisted)

    def _without_workflow(
        self, stored: StoredKind[Any], items: Sequence[Object], running: Container[str]
    ) -> list[tuple[ObjectId, Object]]:
        """Return the objects, and what names them, that need a workflow and have none."""
        kind = stored.lifecycle
        subjects = ((_subject(item), item) for item in items if kind.needs_workflow(item))
        return [(one, item) for one, item in subjects if kind.workflow_id(self._name, one) not in running]

    async def heal(self) -> None:
        """Sweep for garbage; what cannot be looked at now is swept the next time.

        Raises:
            GrowthError: it could not be looked for.
        """
        await self._healer.heal()

    async def _ensure_own_namespace(self) -> None:
        """Create the Kubernetes namespace of the fence and of KWOK's server records if it is missing."""
        cluster, name = self._ports.cluster, self._ports.namespace
        # A cache that is behind has it for a moment too long: the next pass makes it.
        with suppress(NotFound, Unreachable):
            await self._ports.reader.get(NAMESPACES, name)
            return
        try:
            await cluster.get(NAMESPACES, name)
        except NotFound:
            body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": name}}
            with suppress(AlreadyExists):
                await cluster.create(NAMESPACES, body)
            log.info("created the namespace of Growth's own objects", namespace=name)
        except Rejected:
            # The chart's role need not let the worker read namespaces: then the chart has made it.
            log.debug("may not look for the namespace", namespace=name)

    async def _start_planner(self) -> None:
        """Start the planner, unless it runs; one that an earlier version started is begun anew, as this cluster's.

        Raises:
            CommandError: the one that runs is another cluster's.
        """
        # Every worker's keeper asks for it: one starts it, and the others get the one that runs.
        await self._start_planner_unless(WorkflowIDConflictPolicy.USE_EXISTING)
        if not (uid := self._ports.cluster_uid):
            return
        planned_for = await planner_uid(self.client, self._name)
        check_planner(self._ports.identity, planned_for, self.client.namespace)
        if planned_for != uid:
            log.info("the planner of an earlier version is begun anew, so that it tells its cluster's uid", uid=uid)
            await self._start_planner_unless(WorkflowIDConflictPolicy.TERMINATE_EXISTING)

    async def _start_planner_unless(self, conflict: WorkflowIDConflictPolicy) -> None:
        uid = self._ports.cluster_uid
        await self.client.start_workflow(
            PLANNER,
            PlannerState(),
            id=planner_workflow_id(self._name),
            task_queue=self._queue,
            id_conflict_policy=conflict,
            memo={CLUSTER_UID_MEMO: uid} if uid else None,
            static_summary=f"Plans the machines of cluster {self._name}",
            static_details=ABOUT,
            search_attributes=TypedSearchAttributes([SearchAttributePair(CLUSTER, self._name)]),
        )

    async def _objects(self, stored: StoredKind[Any]) -> list[Object] | None:
        """Return the objects of a kind as the cache has them, or None if the API server does not know the kind."""
        with suppress(NotFound, Unreachable):
            return (await self._ports.reader.list(stored.resource)).items
        return await self._live_objects(stored)

    async def _live_objects(self, stored: StoredKind[Any]) -> list[Object] | None:
        """Return the objects of a kind, or None if the API server does not know the kind."""
        resource = stored.resource
        try:
            listed = await asyncio.wait_for(self._ports.cluster.list(resource), CALL_LIMIT.total_seconds())
        except NotFound:
            if not resource.is_optional:
                log.warning("the API server does not know the kind: apply the CRDs (`growth crds`)", kind=resource.kind)
            return None
        return listed.items

    async def _running(self) -> dict[str, str]:
        """Return the kinds of all running lifecycles by their ids."""
        # The status filter also keeps out paused runs, which this SDK cannot read.
        types = ", ".join(f"'{stored.lifecycle.workflow}'" for stored in self._kinds)
        query = f"TaskQueue = '{self._queue}' AND WorkflowType IN ({types}) AND ExecutionStatus = 'Running'"
        return {one.id: one.workflow_type async for one in self.client.list_workflows(query)}

    async def _wake(self, resource: Resource, unlisted: list[str]) -> None:
        """Wake the workflows, of those whose object was not listed, whose object does not exist."""
        for workflow_id in unlisted[:WOKEN_AT_ONCE]:
            if await self._has_object(resource, workflow_id):
                continue
            try:
                await self.client.get_workflow_handle(workflow_id).signal(WAKE, "its object does not exist")
            except RPCError as error:
                # The list of running workflows lags behind.
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
            else:
                log.warning("woke a workflow whose object does not exist, so that it ends", workflow_id=workflow_id)

    async def _has_object(self, resource: Resource, workflow_id: str) -> bool:
        """Return whether the object exists that the id names: it may have been made after the list."""
        name, uid = workflow_id.split(":")[2:]
        try:
            return (await self._ports.cluster.get(resource, name))["metadata"]["uid"] == uid
        except NotFound:
            return False

    async def _start(self, kind: LifecycleKind[Any], subject: ObjectId, note: StartNote) -> None:
        # The list of running workflows lags behind: it may have been started meanwhile.
        if await start_lifecycle(self.client, kind, self._name, subject, note):
            log.info(
                "started the workflow that an object was missing", workflow_id=kind.workflow_id(self._name, subject)
            )


def _subject(item: Object) -> ObjectId:
    return ObjectId(name=item["metadata"]["name"], uid=item["metadata"]["uid"])


def _reason_of(error: Exception) -> str:
    return str(error) or type(error).__name__
