"""Sends the messages that changes in the watch cache ask for: nudges to the planner, wakes to lifecycles.

Which change asks for which message is `planner.lifecycle.wakes`' to say. Messages go in bursts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports.cluster import Object, Resource, WatchEvent
from planner.lifecycle.kinds import ObjectId
from planner.lifecycle.known_objects import KnownObjects, ObjectChange, Subject
from planner.lifecycle.wakes import (
    CALM_SECONDS,
    ORPHAN_SECONDS,
    QUICK_SECONDS,
    Message,
    Nudge,
    Pace,
    messages,
    orphan_nudge,
)
from planner.model.round import planner_workflow_id
from workflows.messages import NUDGE, WAKE

log = structlog.stdlib.get_logger(__name__)

LONGEST_SECONDS: Final = 2.0
"""What goes on and on is sent at this rate."""
REASONS_TOLD: Final = 3
CALM_LONGEST_SECONDS: Final = 10.0
"""Where pods end on and on, the planner hears of them at this rate."""


@dataclass(slots=True)
class _Burst:
    first: float
    last: float
    reasons: list[str] = field(default_factory=list)
    count: int = 0


class Bursts:
    """Collects reasons by receiver and sends each receiver one message per burst."""

    def __init__(
        self,
        send: Callable[[str, str], Awaitable[None]],
        *,
        quiet: float = QUICK_SECONDS,
        longest: float = LONGEST_SECONDS,
    ) -> None:
        """Take `send(receiver, reason)`, which must not raise, and the two times in seconds."""
        self._send = send
        self._quiet = quiet
        self._longest = longest
        self._open: dict[str, _Burst] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, receiver: str, reason: str) -> None:
        """Count one change for `receiver`."""
        now = asyncio.get_running_loop().time()
        burst = self._open.get(receiver)
        if burst is None:
            burst = self._open[receiver] = _Burst(now, now)
            task = asyncio.create_task(self._flush(receiver, burst))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        burst.last = now
        burst.count += 1
        if reason not in burst.reasons and len(burst.reasons) < REASONS_TOLD:
            burst.reasons.append(reason)

    async def close(self) -> None:
        """Drop what has not been sent."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._open.clear()

    async def _flush(self, receiver: str, burst: _Burst) -> None:
        now = asyncio.get_running_loop().time
        left = self._quiet
        while left > 0:
            await asyncio.sleep(left)
            left = min(burst.last + self._quiet, burst.first + self._longest) - now()
        # Before the message goes: a change that comes while it is sent begins the next burst.
        del self._open[receiver]
        more = burst.count - len(burst.reasons)
        await self._send(receiver, ", ".join(burst.reasons) + (f" and {more} more" if more else ""))


class Watches:
    """Listens to the cache.

    Args:
        client: of the Temporal server.
        cluster_name: part of the ids of workflows.
        class_kinds: kinds of node classes there are.
    """

    def __init__(self, client: Client, cluster_name: str, class_kinds: Iterable[str]) -> None:
        self.client = client
        self._name = cluster_name
        self._planner = planner_workflow_id(cluster_name)
        self._known = KnownObjects(frozenset(class_kinds))
        self._bursts = {
            Pace.QUICK: Bursts(self._send),
            Pace.CALM: Bursts(self._send, quiet=CALM_SECONDS, longest=CALM_LONGEST_SECONDS),
        }
        self._orphans: dict[Subject, asyncio.TimerHandle] = {}

    def note(self, resource: Resource, event: WatchEvent, before: Object | None) -> None:
        """Take one change that the cache saw, as a subscriber of it."""
        change = ObjectChange(resource.kind, event.object, before, is_gone=event.type == "DELETED")
        for message in messages(change, self._known):
            self._add(message)
        known, self._known = self._known, self._known.after(change)
        for subject in self._known.orphans - known.orphans:
            timer = asyncio.get_running_loop().call_later(ORPHAN_SECONDS, self._look_at_orphan, subject)
            self._orphans[subject] = timer

    def nudge(self, reason: str) -> None:
        """Ask the planner for a round."""
        self._add(Nudge(reason))

    async def close(self) -> None:
        """Send nothing more."""
        for timer in self._orphans.values():
            timer.cancel()
        for bursts in self._bursts.values():
            await bursts.close()

    def _look_at_orphan(self, subject: Subject) -> None:
        del self._orphans[subject]
        if message := orphan_nudge(subject, self._known):
            self._add(message)

    def _add(self, message: Message) -> None:
        if isinstance(message, Nudge):
            self._bursts[message.pace].add(self._planner, message.reason)
        else:
            self._bursts[Pace.QUICK].add(self._workflow_of(message.subject), message.reason)

    def _workflow_of(self, subject: Subject) -> str:
        kind = self._known.lifecycles[subject.kind]
        return kind.workflow_id(self._name, ObjectId(name=subject.name, uid=subject.uid))

    async def _send(self, workflow_id: str, reason: str) -> None:
        handle = self.client.get_workflow_handle(workflow_id)
        try:
            await handle.signal(NUDGE if workflow_id == self._planner else WAKE, reason)
        except RPCError as error:
            # A workflow that ended, or has not begun, needs no message; for the rest timers do it.
            if error.status is not RPCStatusCode.NOT_FOUND:
                log.warning("message not sent", workflow_id=workflow_id, reason=reason, error=error.message)
