"""The drain of a removal's Node, before its point of no return: blockers are written as events, pods are evicted.

The number of rounds is written on the object before a round asks, so that a kill never shortens a pause.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from activities.objects.events import Recorder, tell, tell_on
from activities.objects.record import Record, conditions_with, write_status, write_step
from activities.ports.cluster import NODES, PODS, Object
from activities.ports.ports import Ports
from activities.removals.evictions import EvictionRefused, ask_to_leave, delete_pods
from activities.removals.look import RemovalObjects
from api.meta import Condition, read_moment
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from planner.lifecycle.clocks.deadlines import LATE
from planner.lifecycle.clocks.drain_limits import hard_deadline
from planner.lifecycle.departure.waiting import WAITS_FOR_PODS
from planner.lifecycle.drain import (
    COME_BACK,
    DAEMONS,
    FORCING,
    LAST_GRACE,
    NAMED,
    Refusal,
    force_at,
    grace_left,
    in_turn,
)
from planner.lifecycle.json_predicates import is_terminating, key_of
from planner.lifecycle.leaving import HAS_LOCAL_DATA
from planner.lifecycle.step import Act, shortened

_EVENTS_AT_ONCE: Final = 8
"""Concurrent calls: the pods of a node must not become a burst of writes."""


async def begin_drain(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write that the drain begins now.

    Raises:
        Conflict: the removal has changed since it was read, perhaps by a cancel: look again.
    """
    now = ports.now()
    await write_step(
        ports.cluster,
        observed.record,
        act,
        now=now,
        phase=RemovalPhase.DRAINING,
        drain_started_at=now,
        conditions=_not_drained(observed.record, act.reason, act.message, ports),
    )
    await tell(recorder, observed.record, act.reason, act.message)
    if observed.node is not None:
        await tell_on(recorder, NODES, observed.node, act.reason, act.message)


async def tell_blockers(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write the blockers of the drain, the data, pods or delay that keeps the machine, and one event for each kind.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    if act.reason == WAITS_FOR_PODS:
        await _tell_wait(ports, recorder, observed, act)
        return
    conditions = _not_drained(observed.record, act.reason, act.message, ports)
    record = await write_step(ports.cluster, observed.record, act, now=ports.now(), conditions=conditions)
    if act.reason in (HAS_LOCAL_DATA, Refusal.BUDGET, LATE):
        await tell(recorder, record, act.reason, act.message, warning=True)
        if observed.node is not None:
            await tell_on(recorder, NODES, observed.node, act.reason, act.message, warning=True)
        return
    forced_from, forced_by = hard_deadline(observed.seen), observed.seen.drain.deadline
    then = "" if forced_from is None else f". At {forced_from:%H:%M:%S} UTC they are deleted all the same"
    if forced_by is not None:
        then = f". By {forced_by:%H:%M:%S} UTC they have been deleted all the same"
    blocked = [one for one in observed.occupants if one.blocker is not None]
    for kind, pods in groupby(
        sorted(blocked, key=lambda one: (str(one.blocker), one.key)), key=lambda one: one.blocker
    ):
        named = ", ".join(f"{one.key} {one.why}" for one in list(pods)[:NAMED])
        await tell(recorder, record, str(kind), f"{named}{then}", warning=True)
    if observed.node is not None:
        await tell_on(recorder, NODES, observed.node, act.reason, act.message, warning=True)


async def _tell_wait(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Write that pods which end by themselves are waited for: nothing is wrong, and none of them is asked anything."""
    record, now = observed.record, ports.now()
    conditions = conditions_with(record, "Empty", status=False, reason=act.reason, message=act.message, now=now)
    record = await write_step(ports.cluster, record, act, now=now, conditions=conditions)
    await tell(recorder, record, act.reason, act.message)
    if observed.node is not None:
        await tell_on(recorder, NODES, observed.node, act.reason, act.message)


async def evict_pods(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Evict the pods whose turn it is, and write which evictions were refused.

    Raises:
        Conflict: the removal has changed since it was read.
        Unreachable: a pod's eviction has no answer; the next round asks again.
        Forbidden: the credentials lack the right to evict, or to delete, pods.
    """
    if act.reason == DAEMONS:
        await _evict_daemons(ports, recorder, observed, act)
        return
    status, graces = observed.record.model.status, {}
    if act.reason == LAST_GRACE:
        leaving, graces = _due(observed, ports)
    else:
        leaving = _in_turn(observed)
    message = _names(act, leaving)
    is_forced = act.reason in FORCING
    # A budget may refuse for days: its rounds add no event, or nothing else would be left of the list.
    is_repeat = status.reason in set(Refusal) and not is_forced
    # Counted before the calls: the pause until the next round is then kept also by whoever goes on after a kill.
    record = await write_status(
        ports.cluster,
        observed.record,
        now=ports.now(),
        event=None if is_repeat else act.reason,
        because=message,
        evict_attempts=status.evict_attempts + 1,
        evict_attempted_at=ports.now(),
    )
    await tell(recorder, record, act.reason, message, warning=is_forced)
    if is_forced:
        refused = await delete_pods(ports.cluster, leaving, graces)
    else:
        refused = await ask_to_leave(ports.cluster, leaving)
    # Who has come back comes back again: without a pause that grows it would be restarted every few seconds.
    first_asked = sum(not _came_since(pod, status.drain_started_at) for pod in leaving)
    if refused:
        attempts = 1 if len(refused) < first_asked else record.model.status.evict_attempts
        await _tell_refused(ports, recorder, observed.node, record, refused, attempts=attempts)
        return
    are_back = bool(leaving) and not is_forced and not first_asked
    text = shortened(f"{act.message}; {COME_BACK}") if are_back else act.message
    await write_status(
        ports.cluster,
        record,
        now=ports.now(),
        event=None,
        because=message,
        reason=act.reason,
        message=text,
        evict_attempts=record.model.status.evict_attempts if are_back else 0,
        conditions=_not_drained(record, act.reason, text, ports),
    )


async def _evict_daemons(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Ask the DaemonSets' pods to leave, once: who may not ends with the machine.

    Raises:
        Conflict: the removal has changed since it was read.
        Unreachable: a pod's eviction has no answer; the next attempt asks again.
        Forbidden: the credentials lack the right to evict pods.
    """
    refused = await ask_to_leave(ports.cluster, [pod for pod in observed.daemons if not is_terminating(pod)])
    stay = f"; {len(refused)} may not, and end with the machine: {refused[0].why}" if refused else ""
    message = shortened(f"{_names(act, observed.daemons)}{stay}")
    # Afterwards: a kill in between asks those again that have not gone, and loses nobody.
    now = ports.now()
    await write_status(ports.cluster, observed.record, now=now, event=act.reason, because=message, daemons_asked_at=now)
    await tell(recorder, observed.record, act.reason, message)


async def tell_deadline(ports: Ports, recorder: Recorder, observed: RemovalObjects, act: Act) -> None:
    """Tell the pods on the Node, the Node and the removal until when nothing is forced, then write that they know.

    Raises:
        Conflict: the removal has changed since it was read.
    """
    gate = asyncio.Semaphore(_EVENTS_AT_ONCE)

    async def tell_pod(pod: Object) -> None:
        async with gate:
            await tell_on(recorder, PODS, pod, act.reason, f"{act.message}. Its node goes", warning=True)

    # First: a kill in between tells some of them once more.
    await asyncio.gather(*(tell_pod(pod) for pod in observed.pods))
    if observed.node is not None:
        await tell_on(recorder, NODES, observed.node, act.reason, act.message, warning=True)
    await tell(recorder, observed.record, act.reason, act.message, warning=True)
    await write_status(
        ports.cluster, observed.record, now=ports.now(), event=act.reason, because=act.message, forced_at=act.until
    )


async def _tell_refused(
    ports: Ports,
    recorder: Recorder,
    node: Object | None,
    record: Record[NodeRemovalRequest],
    refused: Sequence[EvictionRefused],
    *,
    attempts: int,
) -> None:
    status = record.model.status
    reason = min((one.reason for one in refused), key=list(Refusal).index)
    answers = list(dict.fromkeys(one.why for one in refused))[:NAMED]
    rest = len(refused) - len(answers)
    message = shortened("; ".join(answers) + (f"; and {rest} more" if rest > 0 else ""))
    await write_status(
        ports.cluster,
        record,
        now=ports.now(),
        event=None if (status.reason, status.message) == (reason, message) else reason,
        because=message,
        reason=reason,
        message=message,
        evict_attempts=attempts,
        conditions=_not_drained(record, reason, message, ports),
    )
    await tell(recorder, record, reason, message, warning=True)
    if node is not None:
        await tell_on(recorder, NODES, node, reason, message, warning=True)


def _came_since(pod: Object, began: datetime | None) -> bool:
    created = read_moment(pod["metadata"].get("creationTimestamp", ""))
    return began is not None and created is not None and created > began


def _in_turn(observed: RemovalObjects) -> list[Object]:
    wanted = {one.key for one in in_turn(observed.occupants)}
    return [pod for pod in observed.pods if key_of(pod) in wanted]


def _due(observed: RemovalObjects, ports: Ports) -> tuple[list[Object], dict[str, timedelta]]:
    """Return the pods that must be deleted now to end in time, whoever's turn it is, and graces of some by uid."""
    now, deadline = ports.now(), observed.seen.drain.deadline
    due: list[Object] = []
    graces: dict[str, timedelta] = {}
    if deadline is None:
        return due, graces
    for pod, seen in zip(observed.pods, observed.occupants, strict=True):
        at = force_at(seen, deadline, now)
        if at is None or now < at:
            continue
        due.append(pod)
        grace = grace_left(seen, deadline, now)
        if grace is not None:
            graces[pod["metadata"]["uid"]] = grace
    return due, graces


def _names(act: Act, pods: Sequence[Object]) -> str:
    names = ", ".join(key_of(pod) for pod in pods[:NAMED])
    return f"{act.message}: {names}" + (f" and {len(pods) - NAMED} more" if len(pods) > NAMED else "")


def _not_drained(record: Record[NodeRemovalRequest], reason: str, message: str, ports: Ports) -> Sequence[Condition]:
    return conditions_with(record, "Drained", status=False, reason=reason, message=message, now=ports.now())
