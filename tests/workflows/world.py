"""A scripted outside for lifecycle workflows: what their activities see and do, kept in memory.

It knows only as much of the real activities as the workflows can tell: each effect changes what is
seen next. Its clock is the server's, which in these tests runs ahead of the wall's.
"""

from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Self

from temporalio import activity, workflow
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.worker import Worker

from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalObservation, RequestObservation
from planner.lifecycle.step import EffectInput
from planner.model.round import planner_workflow_id
from worker.temporal.sandbox import WORKFLOWS, workflow_runner
from workflows.messages import SEARCH_ATTRIBUTES

QUEUE = "growth-test"


class Script:
    """Effects by name; each takes the input and returns what is seen afterwards."""

    def __init__(
        self, seen: RequestObservation | RemovalObservation, effects: type[RequestEffect] | type[RemovalEffect]
    ) -> None:
        self.seen = seen
        self.calls: list[str] = []
        self.acts: list[EffectInput] = []
        self._effects = effects
        self._does: dict[str, Callable[[EffectInput], None]] = {}

    def on(self, effect: str, do: Callable[[EffectInput], None]) -> None:
        """Let `effect` do this: change `seen`, or raise."""
        self._does[effect] = do

    def does(self, effect: str) -> Callable[[EffectInput], None]:
        """Return what `effect` does so far."""
        return self._does[effect]

    def see(self, **changes: Any) -> None:
        """Change what is seen."""
        self.seen = self.seen.model_copy(update=changes)

    def status(self, **changes: Any) -> None:
        """Change the status that is seen."""
        self.see(status=self.seen.status.model_copy(update=changes))

    @property
    def deeds(self) -> list[str]:
        """The effects that ran, looks left out."""
        return [name for name in self.calls if not name.startswith("look_")]

    def activities(self) -> list[Callable[..., Any]]:
        """Return one activity per effect."""
        return [self._activity(effect) for effect in self._effects]

    def _activity(self, effect: str) -> Callable[..., Any]:
        @activity.defn(name=effect)
        async def run(asked: EffectInput) -> Any:
            self.calls.append(str(effect))
            if asked.act is not None:
                self.acts.append(asked)
            if (do := self._does.get(effect)) is not None:
                do(asked)
            return self.seen

        run.__annotations__["return"] = type(self.seen)
        return run


def clock() -> datetime:
    """Return the server's time as an activity knows it."""
    return activity.info().current_attempt_scheduled_time.astimezone(UTC)


async def register(client: Client) -> None:
    """Register the search attributes: without them each task that sets one fails."""
    keys: Sequence[SearchAttributeKey] = SEARCH_ATTRIBUTES
    request = AddSearchAttributesRequest(namespace=client.namespace)
    for key in keys:
        request.search_attributes[key.name] = key.indexed_value_type.value
    await client.operator_service.add_search_attributes(request)


@asynccontextmanager
async def running(client: Client, activities: Sequence[Callable[..., Any]], **options: Any):
    """Run a worker with all workflows and these activities."""
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=WORKFLOWS,
        activities=activities,
        workflow_runner=options.pop("workflow_runner", None) or workflow_runner(),
        max_cached_workflows=options.pop("max_cached_workflows", 100),
        **options,
    ) as worker:
        yield worker


class PlannerEar:
    """A planner that only listens to nudges."""

    def __init__(self, client: Client, cluster: str) -> None:
        self._client = client
        self._id = planner_workflow_id(cluster)
        self._worker: Worker | None = None

    async def __aenter__(self) -> Self:
        self._worker = Worker(self._client, task_queue="ear", workflows=[Listening], workflow_runner=workflow_runner())
        await self._worker.__aenter__()
        await self._client.start_workflow("Listening", id=self._id, task_queue="ear")
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._worker is not None
        await self._worker.__aexit__(None, None, None)

    async def heard(self) -> list[str]:
        """Return the reasons so far."""
        return await self._client.get_workflow_handle(self._id).query("heard", result_type=list[str])


@workflow.defn(sandboxed=False)
class Listening:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.signal
    def nudge(self, reason: str) -> None:
        self.reasons.append(reason)

    @workflow.query
    def heard(self) -> list[str]:
        return self.reasons
