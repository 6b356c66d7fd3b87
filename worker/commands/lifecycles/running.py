"""The lifecycles that run in Temporal, for commands; each failure is reported in one line."""

import difflib
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from cyclopts import Parameter
from temporalio.api.common.v1 import WorkflowExecution as ExecutionId
from temporalio.api.enums.v1 import TaskQueueType, WorkflowExecutionStatus
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
    ListNamespacesRequest,
)
from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError, RPCStatusCode

from planner.model.round import planner_workflow_id
from worker.errors import CommandError
from worker.runtime.cluster_uid import planner_uid
from worker.settings import Settings, load, task_queue
from worker.temporal.client import connect
from worker.temporal.embedded import EmbeddedError, embedded_address
from worker.temporal.trouble import TemporalUnreachable, call_trouble
from workflows.messages import NODE, PLANNER, short

POLLED_WITHIN: Final = timedelta(seconds=90)
"""A worker that is up asks for tasks at least once a minute. Source: Temporal docs, long polls of a task queue."""
CALL_LIMIT: Final = timedelta(seconds=4)
_ALIKE: Final = 3
"""Names shown for one that does not exist."""
_READABLE: Final = "'Running', 'Completed', 'Failed', 'Canceled', 'Terminated', 'ContinuedAsNew', 'TimedOut'"
"""Of the states of a workflow, those that this SDK can read from a list: all but paused."""
_SYSTEM: Final = "temporal-system"
"""Temporal's own namespace."""


class WorkflowState(StrEnum):
    """How a workflow stands; each but the first two is closed."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    TERMINATED = "terminated"
    CONTINUED_AS_NEW = "continued as new"
    TIMED_OUT = "timed out"
    MISSING = "missing"
    """Temporal knows none of that id: lost, or older than what it remembers."""


ENDED_EARLY: Final = frozenset({WorkflowState.FAILED, WorkflowState.TERMINATED, WorkflowState.TIMED_OUT})
"""Not by the lifecycle itself: its work may not be done."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Which cluster is meant and where its Temporal is; each can also be given as environment variable GROWTH_…."""

    cluster: str | None = None
    """name of the cluster in workflow ids, as its worker has it."""
    temporal_address: str | None = None
    """host:port of the Temporal server; without it, the one in the data folder."""
    temporal_namespace: str | None = None
    """namespace in Temporal."""
    data_dir: Path | None = None
    """data folder of the worker whose embedded Temporal server is meant."""


class UnderWay:
    """What runs of one cluster.

    Args:
        client: of the Temporal server.
        address: of that server, for messages.
        cluster: name of the cluster.
    """

    def __init__(self, client: Client, address: str, cluster: str) -> None:
        self.client: Final = client
        self.cluster: Final = cluster
        self._address = address

    async def all(self, kind: str) -> list[WorkflowExecution]:
        """Return the running lifecycles of a kind.

        Raises:
            CommandError: they cannot be listed, or nothing runs of this cluster.
        """
        executions = await self._running(f"TaskQueue = '{task_queue(self.cluster)}' AND WorkflowType = '{kind}'")
        if not executions:
            await self._check_cluster()
        return executions

    async def everything(self) -> list[WorkflowExecution]:
        """Return all that runs of the cluster, its planner included; nothing is no error.

        Raises:
            CommandError: it cannot be listed.
        """
        return await self._running(f"TaskQueue = '{task_queue(self.cluster)}'")

    async def find(self, kind: str, name: str, *, otherwise: str = "") -> WorkflowExecution:
        """Return the running lifecycle of the object of that name.

        Args:
            kind: type of its workflow.
            name: of the object.
            otherwise: what else a person may do, told when none has a similar name.

        Raises:
            CommandError: there is none.
        """
        executions = await self.all(kind)
        for execution in executions:
            if name_of(execution) == name:
                return execution
        alike = difflib.get_close_matches(name, [name_of(execution) for execution in executions], n=_ALIKE)
        hint = f": did you mean {' or '.join(alike)}?" if alike else f"; `list` tells what is{otherwise}"
        raise CommandError(f"{name}: no {kind} of that name is under way in cluster {self.cluster}{hint}")

    async def has_worker(self) -> bool:
        """Return whether a worker has asked for work of this cluster lately.

        Raises:
            CommandError: the server does not tell.
        """
        request = DescribeTaskQueueRequest(
            namespace=self.client.namespace,
            task_queue=TaskQueue(name=task_queue(self.cluster)),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
        try:
            description = await self.client.workflow_service.describe_task_queue(request, timeout=CALL_LIMIT)
        except RPCError as error:
            raise self.failure(error) from error
        since = datetime.now(UTC) - POLLED_WITHIN
        return any(poller.last_access_time.ToDatetime(UTC) >= since for poller in description.pollers)

    async def planner_uid(self) -> str:
        """Return the uid of the cluster whose planner ran here last under this name; empty if nobody tells.

        Raises:
            CommandError: the server does not tell.
        """
        try:
            return await planner_uid(self.client, self.cluster)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return ""
            raise self.failure(error) from error

    async def state_of(self, workflow_id: str) -> WorkflowState:
        """Return the state of the workflow of that id, of its last run if there were several.

        The server is asked for this one, as its lists lag behind.

        Raises:
            CommandError: the server does not tell.
        """
        description = await self._described(workflow_id)
        if description is None:
            return WorkflowState.MISSING
        name = WorkflowExecutionStatus.Name(description.workflow_execution_info.status)
        return WorkflowState[name.removeprefix("WORKFLOW_EXECUTION_STATUS_")]

    async def trouble_of(self, workflow_id: str) -> str:
        """Return the failing activities of the workflow of that id with their errors, empty if none fails.

        Raises:
            CommandError: the server does not tell.
        """
        description = await self._described(workflow_id)
        failing = [
            activity
            for activity in (() if description is None else description.pending_activities)
            if activity.last_failure.message
        ]
        return "; ".join(
            short(f"{activity.activity_type.name}: {activity.last_failure.message}") for activity in failing
        )

    async def last_of(self, kind: str, name: str) -> WorkflowState:
        """Return the state of the last workflow of an object of that name, as far as Temporal remembers.

        Raises:
            CommandError: they cannot be listed.
        """
        query = f"TaskQueue = '{task_queue(self.cluster)}' AND WorkflowType = '{kind}' AND {NODE.name} = '{name}'"
        executions = await self._listed(f"{query} AND ExecutionStatus IN ({_READABLE})")
        last = max(executions, key=lambda execution: execution.start_time, default=None)
        return WorkflowState.MISSING if last is None or last.status is None else WorkflowState[last.status.name]

    def failure(self, error: RPCError) -> CommandError:
        """Return the error of a command whose call failed."""
        return CommandError(call_trouble(error, self._address))

    async def _described(self, workflow_id: str) -> DescribeWorkflowExecutionResponse | None:
        """Return the server's description of the last run of a workflow, None if it knows none."""
        request = DescribeWorkflowExecutionRequest(
            namespace=self.client.namespace, execution=ExecutionId(workflow_id=workflow_id)
        )
        try:
            return await self.client.workflow_service.describe_workflow_execution(request, timeout=CALL_LIMIT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise self.failure(error) from error

    async def _running(self, query: str) -> list[WorkflowExecution]:
        # The status filter also keeps out paused runs, which this SDK cannot read.
        return await self._listed(f"{query} AND ExecutionStatus = 'Running'")

    async def _listed(self, query: str) -> list[WorkflowExecution]:
        pages = self.client.list_workflows(query, rpc_timeout=CALL_LIMIT)
        try:
            return [execution async for execution in pages]
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise CommandError(await self._no_namespace()) from error
            raise self.failure(error) from error

    async def _no_namespace(self) -> str:
        problem = f"Temporal at {self._address} has no namespace {self.client.namespace}: name another with "
        problem += "--temporal-namespace (GROWTH_TEMPORAL_NAMESPACE)"
        try:
            listed = await self.client.workflow_service.list_namespaces(ListNamespacesRequest(), timeout=CALL_LIMIT)
        except RPCError:
            # Not everyone may list them.
            return problem
        names = sorted(namespace.namespace_info.name for namespace in listed.namespaces)
        return f"{problem}; it has {', '.join(name for name in names if name != _SYSTEM)}"

    async def _check_cluster(self) -> None:
        """Tell of a cluster without a planner: a list of nothing would hide that another one is meant."""
        planners = {execution.id for execution in await self._running(f"WorkflowType = '{PLANNER}'")}
        if planner_workflow_id(self.cluster) in planners:
            return
        clusters = sorted(planner.partition(":")[2] for planner in planners)
        where = f"namespace {self.client.namespace} of Temporal at {self._address}"
        if clusters:
            raise CommandError(
                f"no cluster {self.cluster} is planned in {where}: name one with --cluster (GROWTH_CLUSTER); there are "
                f"{', '.join(clusters)}"
            )
        raise CommandError(f"no cluster is planned in {where}: is `growth run` up, and is this its namespace?")


async def under_way(where: Whereabouts | None) -> UnderWay:
    """Connect to Temporal where the options say, else the settings, else the embedded server of the data folder.

    Raises:
        CommandError: no Temporal server answers.
    """
    given = {} if where is None else {name: getattr(where, name) for name in where.__slots__}
    settings = load(**{name: value for name, value in given.items() if value is not None})
    address, hint = temporal_address(settings)
    try:
        client = await connect(settings, address, attempts=1)
    except TemporalUnreachable as error:
        raise CommandError(f"Temporal at {address} cannot be used: {error}{hint}") from error
    return UnderWay(client, address, settings.cluster)


def temporal_address(settings: Settings) -> tuple[str, str]:
    """Return where Temporal is: as set; else the embedded server of the data folder, if one runs there.

    The second part of the answer says what to do if it does not answer.

    Raises:
        CommandError: the settings want an embedded server, and none runs.
    """
    if "temporal_address" in settings.model_fields_set and not settings.embedded_temporal:
        return settings.temporal_address, "; --temporal-address (GROWTH_TEMPORAL_ADDRESS) names another"
    folder = os.fspath(settings.data_dir.absolute())
    try:
        address = embedded_address(settings.data_dir)
    except EmbeddedError as error:
        if settings.embedded_temporal:
            raise CommandError(str(error)) from error
        return settings.temporal_address, (
            f", and no embedded one runs on the data folder {folder}: start `growth run`, or name its Temporal server "
            "with --temporal-address, or its data folder with --data-dir"
        )
    return address, f": the worker of the data folder {folder} was killed; start it again"


def name_of(workflow: WorkflowExecution) -> str:
    """Return the name of the object whose lifecycle it is."""
    return workflow.id.split(":")[2]
