"""Outsides for whole lives: what the activities of a request and of a removal see and do."""

from contextlib import asynccontextmanager
from datetime import timedelta

from api.v1alpha1.node_removal_request import CancelRecord, RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.drain import DAEMONS, LAST_GRACE
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import (
    DrainLimit,
    DrainSeen,
    NodeSeen,
    RemovalObservation,
    ReplacementSeen,
    RequestObservation,
    ServerSeen,
    VolumesSeen,
)
from tests.workflows.world import QUEUE, Script, clock, running

NAME = "default-1a2b"
"""Of the request, the removal, the server and the Node."""
REQUEST_ID, REMOVAL_ID = ObjectId(name=NAME, uid="u-1"), ObjectId(name=NAME, uid="u-2")
DRAWN = NodeSeen(name=NAME, ready=True, scale_down=True)
FREE = NodeSeen(name=NAME, ready=True)


async def start_request(env):
    """Start a request's workflow; return its handle."""
    workflow_id = REQUEST.workflow_id("test", REQUEST_ID)
    return await env.client.start_workflow("NodeRequest", REQUEST_ID, id=workflow_id, task_queue=QUEUE)


async def start_removal(env):
    """Start a removal's workflow; return its handle."""
    workflow_id = REMOVAL.workflow_id("test", REMOVAL_ID)
    return await env.client.start_workflow("NodeRemoval", REMOVAL_ID, id=workflow_id, task_queue=QUEUE)


@asynccontextmanager
async def running_request(env, script, *, seconds=0, **options):
    """Run a worker and a request's workflow, whose handle comes when it has lived for so long."""
    async with running(env.client, script.activities(), **options):
        handle = await start_request(env)
        if seconds:
            await env.sleep(seconds)
        yield handle


@asynccontextmanager
async def running_removal(env, script, *, seconds=0, **options):
    """Run a worker and a removal's workflow, whose handle comes when it has lived for so long."""
    async with running(env.client, script.activities(), **options):
        handle = await start_removal(env)
        if seconds:
            await env.sleep(seconds)
        yield handle


def machine() -> Script:
    """A provider that boots at once, and a Node that joins and turns Ready."""
    script = Script(RequestObservation(pool="default"), RequestEffect)

    def create(asked):
        script.status(
            phase=RequestPhase.PROVISIONING,
            create_attempt_at=clock(),
            attempts=1,
            provisioning_deadline=asked.act.until,
        )
        script.see(server=ServerSeen.RUNNING)

    def run(asked):
        script.status(running_at=clock(), join_deadline=asked.act.until)
        script.see(node=NodeSeen(name=NAME, ready=False, unregistered=True), seats=1, awaited=1)

    def register(_):
        script.status(registered_at=clock(), node_name=NAME)
        script.see(node=NodeSeen(name=NAME, ready=True, reserved=True), untolerated=1)

    def ready(asked):
        script.status(
            phase=RequestPhase.READY,
            ready_at=clock(),
            release_by=asked.act.until,
            expires_at=clock() + timedelta(minutes=10),
        )
        script.see(awaited=0, bound=1)

    def release(_):
        script.status(released_at=clock())
        script.see(node=NodeSeen(name=NAME, ready=True))

    script.on(RequestEffect.CREATE_SERVER, create)
    script.on(RequestEffect.MARK_RUNNING, run)
    script.on(RequestEffect.REGISTER_NODE, register)
    script.on(RequestEffect.TOLERATE_PODS, lambda _: script.see(untolerated=0))
    script.on(RequestEffect.MARK_READY, ready)
    script.on(RequestEffect.RELEASE_NODE, release)
    script.on(RequestEffect.GIVE_UP, lambda asked: script.status(phase="Deprovisioning", reason=asked.act.reason))
    script.on(RequestEffect.HAND_OVER, lambda _: script.see(exists=False))
    script.on(RequestEffect.FINISH, lambda _: script.see(exists=False))
    return script


def booting() -> Script:
    """A provider whose server never runs."""
    script = machine()

    def create(asked):
        script.status(
            phase=RequestPhase.PROVISIONING,
            create_attempt_at=clock(),
            provisioning_deadline=asked.act.until,
        )
        script.see(server=ServerSeen.CREATING)

    script.on(RequestEffect.CREATE_SERVER, create)
    return script


def leaving() -> Script:
    """An empty Node, and a provider that deletes at the first call."""
    script = Script(RemovalObservation(pool="default", node=FREE, server=ServerSeen.RUNNING), RemovalEffect)

    def taint(asked):
        script.status(tainted_at=clock(), scale_down_at=asked.act.until)
        script.see(node=DRAWN)

    def cancel(asked):
        script.status(cancel=CancelRecord(at=clock(), by=asked.act.by, reason=asked.act.message))

    def delete(_):
        script.status(removal_attempts=script.seen.status.removal_attempts + 1, remove_attempted_at=clock())
        script.see(server=ServerSeen.ABSENT)

    script.on(RemovalEffect.TAINT_NODE, taint)
    script.on(RemovalEffect.CANCEL, cancel)
    script.on(RemovalEffect.UNTAINT_NODE, lambda _: script.see(node=FREE))
    script.on(RemovalEffect.COMMIT, lambda _: script.status(phase=RemovalPhase.DEPROVISIONING))
    script.on(RemovalEffect.DELETE_SERVER, delete)
    script.on(RemovalEffect.DELETE_NODE, lambda _: script.see(node=None))
    script.on(RemovalEffect.FINISH, lambda _: script.see(exists=False))
    return script


def attached() -> Script:
    """A Node that load balancers know, with a volume attached that detaches once people know that it is awaited."""
    script = leaving()

    def commit(_):
        script.status(phase=RemovalPhase.DEPROVISIONING, detach_until=clock() + timedelta(minutes=5))
        script.see(node=DRAWN.model_copy(update={"balanced": True}), volumes=VolumesSeen(count=1, names=("pv-1",)))

    def leave(_):
        script.status(excluded_at=clock())
        script.see(node=DRAWN.model_copy(update={"excluded": True}))

    def tell(asked):
        script.status(reason=asked.act.reason, message=asked.act.message)
        script.see(volumes=VolumesSeen())

    script.on(RemovalEffect.COMMIT, commit)
    script.on(RemovalEffect.LEAVE_BALANCERS, leave)
    script.on(RemovalEffect.TELL_VOLUMES, tell)
    return script


def stubborn() -> Script:
    """A provider that takes delete calls and deletes nothing."""
    script = leaving()

    def delete(_):
        script.status(removal_attempts=script.seen.status.removal_attempts + 1, remove_attempted_at=clock())

    def park(asked):
        script.status(phase=RemovalPhase.COULD_NOT_REMOVE, reason="RemovalFailed", retry_at=asked.act.until)

    def resume(_):
        script.status(phase=RemovalPhase.DEPROVISIONING, removal_attempts=0, retry_at=None)

    script.on(RemovalEffect.DELETE_SERVER, delete)
    script.on(RemovalEffect.PARK, park)
    script.on(RemovalEffect.RESUME, resume)
    script.on(RemovalEffect.SKIP, lambda _: script.see(exists=False))
    script.on(RemovalEffect.ABANDON, lambda _: script.see(exists=False))
    return script


def crowded() -> Script:
    """A Node with two pods in a pool of mode drain; both leave when they are asked."""
    script = leaving()
    script.see(occupants=("shop/db", "shop/web"), occupant_count=2, may_drain=True)

    def begin(_):
        script.status(phase=RemovalPhase.DRAINING, reason="Draining", drain_started_at=clock())
        script.see(drain=DrainSeen(in_turn=2))

    def evict(_):
        script.status(reason="Evicting", evict_attempts=0, evict_attempted_at=clock())
        script.see(occupants=(), occupant_count=0, drain=DrainSeen())

    script.on(RemovalEffect.DRAIN, begin)
    script.on(RemovalEffect.EVICT, evict)
    return script


def replaced() -> Script:
    """The same, whose pods stay until the machine that replaces it is Ready, which it is at the fifth look."""
    script = crowded()
    looks = iter(range(4))
    coming = ReplacementSeen(names=("default-2b",), awaited=("default-2b (Provisioning)",), within=timedelta(minutes=9))
    script.see(replacement=coming)

    def look(_):
        if next(looks, None) is None:
            script.see(replacement=coming.model_copy(update={"awaited": (), "is_ready": True}))

    script.on(RemovalEffect.LOOK, look)
    return script


def guarded() -> Script:
    """A Node with pods that their budget never lets go."""
    script = crowded()

    def evict(_):
        attempts = script.seen.status.evict_attempts + 1
        blocked = {"reason": "BlockedByBudget", "message": "The disruption budget web needs 1 healthy pods"}
        script.status(evict_attempts=attempts, evict_attempted_at=clock(), **blocked)

    script.on(RemovalEffect.EVICT, evict)
    return script


def given_up(after: timedelta) -> Script:
    """The same in a drain that is given up so long after its beginning."""
    script = guarded()

    def begin(_):
        script.status(phase=RemovalPhase.DRAINING, reason="Draining", drain_started_at=clock())
        script.see(drain=DrainSeen(in_turn=2, limit=DrainLimit.GIVEN_UP, limit_at=clock() + after))

    script.on(RemovalEffect.DRAIN, begin)
    return script


def forced(after: timedelta, *, told_before: timedelta) -> Script:
    """The same in a drain whose pods are forced to end by then, a minute before; the pod of a DaemonSet goes last."""
    script = guarded()
    refused = script.does(RemovalEffect.EVICT)

    def begin(_):
        script.status(phase=RemovalPhase.DRAINING, reason="Draining", drain_started_at=clock())
        end = clock() + after
        tell_at = end - timedelta(minutes=1) - told_before
        script.see(drain=DrainSeen(in_turn=2, deadline=end, limit=DrainLimit.TELL, limit_at=tell_at))

    def tell(asked):
        script.status(forced_at=asked.act.until)
        last = asked.act.until - timedelta(minutes=1)
        script.see(drain=script.seen.drain.model_copy(update={"limit": DrainLimit.FORCE, "limit_at": last}))

    def evict(asked):
        if asked.act.reason == LAST_GRACE:
            script.status(reason=LAST_GRACE, evict_attempts=0, evict_attempted_at=clock())
            script.see(occupants=(), occupant_count=0, drain=DrainSeen(daemons=1))
        elif asked.act.reason == DAEMONS:
            script.status(reason=DAEMONS, daemons_asked_at=clock())
            script.see(drain=DrainSeen())
        else:
            refused(asked)

    script.on(RemovalEffect.DRAIN, begin)
    script.on(RemovalEffect.TELL_DEADLINE, tell)
    script.on(RemovalEffect.EVICT, evict)
    return script
