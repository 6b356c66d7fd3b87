"""Writes the histories that `test_replay.py` replays: `python -m tests.replay.record`.

Record again only when a workflow is meant to behave differently and no old one runs any more. What
was recorded by an older version stays until then: it stands for workflows that are under way.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.clocks.deadlines import LATE
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import NodeSeen, RemovalTimings, RequestTimings, ServerSeen
from planner.lifecycle.step import EffectInput
from planner.model.plan import PlanResult
from planner.model.round import RoundInput, RoundResult, planner_workflow_id
from tests.workflows.scripts import (
    NAME,
    attached,
    booting,
    crowded,
    forced,
    given_up,
    guarded,
    leaving,
    machine,
    replaced,
    stubborn,
)
from tests.workflows.world import QUEUE, Script, clock, register, running
from workflows.messages import Asked, PlannerState

HISTORIES = Path(__file__).with_name("histories")
SUBJECT = ObjectId(name=NAME, uid="u-1")
Course = Callable[[WorkflowEnvironment, WorkflowHandle], Awaitable[Any]]


async def to_the_end(_env: WorkflowEnvironment, handle: WorkflowHandle) -> None:
    await handle.result()


async def cancelled(env: WorkflowEnvironment, handle: WorkflowHandle) -> None:
    await env.sleep(20)
    await handle.cancel()
    await handle.result()


async def cancelled_by_update(env: WorkflowEnvironment, handle: WorkflowHandle) -> None:
    await env.sleep(20)
    await handle.execute_update("cancel", Asked(by="Ann"))
    await handle.result()


async def blocked_and_cancelled(env: WorkflowEnvironment, handle: WorkflowHandle) -> None:
    await env.sleep(100)
    await handle.execute_update("cancel", Asked(by="Ann"))
    await handle.result()


async def retried_when_parked(env: WorkflowEnvironment, handle: WorkflowHandle) -> None:
    await env.sleep(60)
    await handle.signal("cancel", Asked(by="Bob"))
    await handle.signal("wake", "node changed")
    await handle.execute_update("retry", Asked(by="Ann"))
    await handle.result()


async def planned(env: WorkflowEnvironment, handle: WorkflowHandle) -> None:
    await env.sleep(20)
    await handle.signal("nudge", "pod unschedulable")
    await env.sleep(75)


def slow() -> Script:
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(seconds=20)))
    return script


def tried_late() -> Script:
    """A machine whose Node lacks something at first, and whose pod is not bound at the scheduler's first try."""
    script = machine()

    def register(_: object) -> None:
        script.status(registered_at=clock(), node_name=NAME)
        script.see(node=NodeSeen(name=NAME, ready=True, reserved=True, missing="a device"))

    def ready(asked: EffectInput) -> None:
        script.status(phase=RequestPhase.READY, ready_at=clock(), release_by=asked.act and asked.act.until)
        script.see(awaited=1, tried=False)

    def tried(asked: EffectInput) -> None:
        script.status(tried_at=clock(), release_by=asked.act and asked.act.until)

    def look(_: object) -> None:
        if script.seen.node is not None and script.seen.node.missing:
            script.see(node=script.seen.node.model_copy(update={"missing": ""}))
        elif script.seen.status.phase is RequestPhase.READY and script.seen.tried is False:
            script.see(tried=True)

    script.on(RequestEffect.REGISTER_NODE, register)
    script.on(RequestEffect.MARK_READY, ready)
    script.on(RequestEffect.MARK_TRIED, tried)
    script.on(RequestEffect.LOOK, look)
    return script


def told_late() -> Script:
    """A server that is late, and on which its provider works until it runs."""
    script = slow()

    def create(asked: EffectInput) -> None:
        until = asked.act and asked.act.until
        script.status(phase=RequestPhase.PROVISIONING, create_attempt_at=clock(), provisioning_deadline=until)
        script.see(server=ServerSeen.CREATING, server_progresses=True, named_deadline=until)

    def tell(asked: EffectInput) -> None:
        assert asked.act is not None
        script.status(reason=asked.act.reason, message=asked.act.message)

    def look(_: object) -> None:
        if script.seen.status.reason == LATE and script.seen.node is None:
            script.see(server=ServerSeen.RUNNING, node=NodeSeen(name=NAME, ready=True, unregistered=True))

    script.on(RequestEffect.CREATE_SERVER, create)
    script.on(RequestEffect.TELL_DELAY, tell)
    script.on(RequestEffect.LOOK, look)
    return script


def sold_out() -> Script:
    script = machine()

    def create(_: object) -> None:
        script.status(
            phase=RequestPhase.UNMET, reason="InsufficientCapacity", expires_at=clock() + timedelta(minutes=2)
        )

    script.on(RequestEffect.CREATE_SERVER, create)
    return script


def stubborn_once() -> Script:
    script = stubborn()
    script.see(timings=RemovalTimings(soft_grace=timedelta(seconds=10), max_attempts=2, retry=timedelta(seconds=10)))

    def resume(_: object) -> None:
        script.status(phase=RemovalPhase.DEPROVISIONING, removal_attempts=0, retry_at=None)
        script.see(server=ServerSeen.DELETING)

    def delete(_: object) -> None:
        deletes = script.seen.server is ServerSeen.DELETING
        script.status(removal_attempts=script.seen.status.removal_attempts + 1, remove_attempted_at=clock())
        script.see(server=ServerSeen.ABSENT if deletes else ServerSeen.RUNNING)

    script.on(RemovalEffect.RESUME, resume)
    script.on(RemovalEffect.DELETE_SERVER, delete)
    return script


def forced_soon() -> Script:
    return forced(timedelta(minutes=5), told_before=timedelta(minutes=3))


def given_up_soon() -> Script:
    return given_up(timedelta(minutes=5))


def refused_once() -> Script:
    script = sold_out()
    refusals = iter([True])

    def finish(_: object) -> None:
        if next(refusals, None):
            raise ApplicationError("noderequests is forbidden", type="Rejected")
        script.see(exists=False)

    script.on(RequestEffect.FINISH, finish)
    return script


@activity.defn(name="plan_round")
async def plan_round(asked: RoundInput) -> RoundResult:
    """Answer with starts, a failure, a partial round, and quiet."""
    if asked.round == 2:
        raise ApplicationError("no answer", type="Unreachable")
    return RoundResult(
        result=PlanResult.NO_DEMANDS,
        summary=f"round {asked.round}",
        requests=(ObjectId(name="a", uid="1"),) if asked.round <= 3 else (),
        removals=(ObjectId(name="b", uid="2"),) if asked.round == 1 else (),
        is_open=asked.round < 5,
        is_partial=asked.round == 3,
    )


LIVES: dict[str, tuple[str, Callable[[], Script], Course]] = {
    "request-comes": ("NodeRequest", machine, to_the_end),
    "request-unmet": ("NodeRequest", sold_out, to_the_end),
    "request-refused": ("NodeRequest", refused_once, to_the_end),
    "request-timed-out": ("NodeRequest", slow, to_the_end),
    "request-late": ("NodeRequest", told_late, to_the_end),
    "request-starts-slowly": ("NodeRequest", tried_late, to_the_end),
    "request-cancelled": ("NodeRequest", booting, cancelled),
    "removal-goes": ("NodeRemoval", leaving, to_the_end),
    "removal-cancelled": ("NodeRemoval", leaving, cancelled),
    "removal-cancelled-by-update": ("NodeRemoval", leaving, cancelled_by_update),
    "removal-drained": ("NodeRemoval", crowded, to_the_end),
    "removal-replaced": ("NodeRemoval", replaced, to_the_end),
    "removal-not-replaced": ("NodeRemoval", replaced, cancelled_by_update),
    "removal-forced": ("NodeRemoval", forced_soon, to_the_end),
    "removal-given-up": ("NodeRemoval", given_up_soon, to_the_end),
    "removal-blocked-and-cancelled": ("NodeRemoval", guarded, blocked_and_cancelled),
    "removal-leaves-whole": ("NodeRemoval", attached, to_the_end),
    "removal-parked-and-retried": ("NodeRemoval", stubborn_once, retried_when_parked),
}


def path_of(name: str) -> Path:
    """Return where the history of a life is."""
    return HISTORIES / f"{name}.json"


async def record() -> None:
    """Live all lives and write their histories."""
    for name, (kind, script, course) in LIVES.items():
        make_id = REQUEST.workflow_id if kind == "NodeRequest" else REMOVAL.workflow_id
        history = await _lived(kind, SUBJECT, make_id("test", SUBJECT), script().activities(), course)
        await asyncio.to_thread(path_of(name).write_text, history)
    history = await _lived("Planner", PlannerState(), planner_workflow_id("test"), [plan_round], planned)
    await asyncio.to_thread(path_of("planner").write_text, history)


async def _lived(
    kind: str, argument: Any, workflow_id: str, activities: list[Callable[..., Any]], course: Course
) -> str:
    """Live one life and return its history."""
    beside = Path(sys.executable).with_name("temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=str(beside) if beside.exists() else shutil.which("temporal-test-server"),
    ) as env:
        await register(env.client)
        async with running(env.client, activities):
            handle = await env.client.start_workflow(kind, argument, id=workflow_id, task_queue=QUEUE)
            await course(env, handle)
            history = (await handle.fetch_history()).to_json_dict()
    return text_of(history)


def text_of(history: Mapping[str, Any]) -> str:
    """Return a history as it is stored, an event a line."""
    lines = [json.dumps(_anonymous(event), separators=(",", ":"), sort_keys=True) for event in history["events"]]
    return '{"events":[\n' + ",\n".join(lines) + "\n]}\n"


def _anonymous(part: Any) -> Any:
    """Return a part of a history without what only tells of the machine that recorded it: its name and its paths."""
    if isinstance(part, dict):
        kept = {key: value for key, value in part.items() if key != "stackTrace"}
        return {key: "worker" if key == "identity" else _anonymous(value) for key, value in kept.items()}
    return [_anonymous(one) for one in part] if isinstance(part, list) else part


if __name__ == "__main__":
    asyncio.run(record())
