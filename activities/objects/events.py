"""Kubernetes Events on the objects that people read: rare enough to be read, and never an error of the work.

One per (object, reason, machine) per five minutes; a round tells at most fifty and sums the rest up on a
pool. An event that cannot be written is logged. Source: docs/design.md#events; Kubernetes API reference,
events.k8s.io/v1.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

from activities.objects.kinds import STORED_KINDS, Stored
from activities.objects.record import Record
from activities.ports.cluster import (
    DAEMON_SETS,
    EVENTS,
    NAMESPACES,
    NODE_POOLS,
    NODES,
    PODS,
    Object,
    Resource,
)
from activities.ports.errors import AlreadyExists, GrowthError
from activities.ports.ports import Ports
from api.keys import API_VERSION, LABEL_CLUSTER
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import PlannedEvent

CONTROLLER: Final = "growth.dev/growth"
QUIET_FOR: Final = timedelta(minutes=5)
"""An event that comes again within this says nothing new."""
ROUND_BUDGET: Final = 50
"""An event is a write to etcd: a burst of pods must not become a burst of writes."""
SUMMED: Final = "MoreEvents"
"""Reason of the event that sums up what went beyond a round's budget."""
_REMEMBERED: Final = 10_000
"""(object, reason, machine) kept at most, each for `QUIET_FOR`; beyond that, at worst one event is written twice."""
_AT_ONCE: Final = 8
"""Concurrent calls: a full budget must not delay a round by fifty round trips."""
_NOTE_BYTES: Final = 1024
_NAME_CHARACTERS: Final = 230
"""An Event's name has at most 253, a dot and the hash included."""
NAMESPACE_OF_CLUSTER_SCOPED: Final = "default"
"""The API server refuses any other for an object without a namespace."""

_API_VERSIONS: Final = {
    resource.kind: resource.api_version for resource in (PODS, NODES, NAMESPACES, DAEMON_SETS, NODE_POOLS)
}
_ACTIONS: Final = {
    PODS.kind: "Place",
    NODES.kind: "Remove",
    **{stored.resource.kind: stored.action for stored in STORED_KINDS},
}
"""Action of Events on an object of the kind; the default is Plan."""

_Key = tuple[str, str, str]
"""Object, reason and machine."""

log = logging.getLogger(__name__)


class Recorder:
    """Writes events, each at most once per `QUIET_FOR`."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._written_at: OrderedDict[_Key, datetime] = OrderedDict()

    async def tell(self, event: PlannedEvent, *, always: bool = False) -> None:
        """Write the event, unless the same one was written within `QUIET_FOR`. Never raises: a failure is logged.

        Args:
            event: what to tell.
            always: write it also within `QUIET_FOR`: it answers a person, who may decide again within minutes.
        """
        if always or self._is_news(event):
            await self._write(event)

    async def tell_round(self, events: Sequence[PlannedEvent], pools: Sequence[NodePool]) -> None:
        """Write what is news among `events`, at most `ROUND_BUDGET`; the rest as one event on a pool.

        An event that was only summed up is written by a later round if it still holds. Never raises.
        """
        news: dict[_Key, PlannedEvent] = {}
        for event in events:
            if self._is_news(event):
                news.setdefault(_key(event), event)
        chosen = list(news.values())
        if len(chosen) > ROUND_BUDGET:
            rest = chosen[ROUND_BUDGET - 1 :]
            chosen = [*chosen[: ROUND_BUDGET - 1], *_summed(rest, pools)]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def write(event: PlannedEvent) -> None:
            async with gate:
                await self.tell(event)

        await asyncio.gather(*(write(event) for event in chosen))

    def _is_news(self, event: PlannedEvent) -> bool:
        written_at = self._written_at.get(_key(event))
        return written_at is None or self._ports.now() - written_at >= QUIET_FOR

    async def _write(self, event: PlannedEvent) -> None:
        key = _key(event)
        now = self._ports.now()
        # Remembered before the call, or a concurrent telling would not see this one.
        self._written_at[key] = now
        self._written_at.move_to_end(key)
        while len(self._written_at) > _REMEMBERED or now - next(iter(self._written_at.values())) >= QUIET_FOR:
            self._written_at.popitem(last=False)
        body = _body(event, now, self._ports.cluster_name)
        try:
            await self._ports.cluster.create(EVENTS, body, namespace=body["metadata"]["namespace"])
        except AlreadyExists:
            log.debug("event %s on %s %s exists already", event.reason, event.kind, event.name)
        except GrowthError as error:
            self._written_at.pop(key, None)
            log.warning("event %s on %s %s was not written: %s", event.reason, event.kind, event.name, error)
        except Exception:
            self._written_at.pop(key, None)
            log.exception("event %s on %s %s was not written", event.reason, event.kind, event.name)


def _key(event: PlannedEvent) -> _Key:
    return event.uid or f"{event.kind}/{event.namespace or ''}/{event.name}", event.reason, event.machine


def _body(event: PlannedEvent, now: datetime, cluster_name: str) -> Object:
    namespace = event.namespace or NAMESPACE_OF_CLUSTER_SCOPED
    regarding = {
        "apiVersion": _API_VERSIONS.get(event.kind, API_VERSION),
        "kind": event.kind,
        "name": event.name,
        "namespace": event.namespace,
        "uid": event.uid,
    }
    digest = sha256(f"{_key(event)} {now.isoformat()}".encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{event.name[:_NAME_CHARACTERS].rstrip('.-')}.{digest}",
            "namespace": namespace,
            # Where the events of several clusters are kept together, this is what they are selected by.
            "labels": {LABEL_CLUSTER: cluster_name},
        },
        "eventTime": now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "reportingController": CONTROLLER,
        "reportingInstance": f"growth-{cluster_name}"[:128],
        "action": _ACTIONS.get(event.kind, "Plan"),
        "reason": event.reason[:128],
        "type": "Warning" if event.warning else "Normal",
        "regarding": {key: value for key, value in regarding.items() if value},
        "note": _shortened(event.message),
    }


def _shortened(text: str) -> str:
    # The API server counts bytes, not characters.
    raw = text.encode()
    if len(raw) <= _NOTE_BYTES:
        return text
    return raw[: _NOTE_BYTES - 3].decode(errors="ignore") + "..."


def _summed(rest: Sequence[PlannedEvent], pools: Sequence[NodePool]) -> list[PlannedEvent]:
    counts = Counter((event.reason, event.kind) for event in rest)
    parts = ", ".join(f"{count} x {reason} on {kind}" for (reason, kind), count in counts.most_common(10))
    message = f"{len(rest)} more events in this round: {parts}"
    if not pools:
        log.warning("%s", message)
        return []
    # Most of a burst is about pods that select no pool, and those belong to this one.
    pool = next((pool for pool in pools if pool.takes_unselected_pods), pools[0])
    return [
        PlannedEvent(
            kind=NODE_POOLS.kind,
            name=pool.metadata.name,
            namespace=None,
            uid=pool.metadata.uid,
            reason=SUMMED,
            message=message,
            warning=any(event.warning for event in rest),
        )
    ]


async def tell(
    recorder: Recorder,
    record: Record[Stored],
    reason: str,
    message: str,
    *,
    warning: bool = False,
    always: bool = False,
) -> None:
    """Tell a Kubernetes Event on the record's object; `always` as in `Recorder.tell`. Never raises."""
    await tell_on(recorder, record.resource, record.object, reason, message, warning=warning, always=always)


async def tell_on(
    recorder: Recorder,
    resource: Resource,
    subject: Object,
    reason: str,
    message: str,
    *,
    warning: bool = False,
    always: bool = False,
) -> None:
    """Tell a Kubernetes Event on any object; `always` as in `Recorder.tell`. Never raises."""
    metadata = subject["metadata"]
    await recorder.tell(
        PlannedEvent(
            kind=resource.kind,
            name=metadata["name"],
            namespace=metadata.get("namespace"),
            uid=metadata["uid"],
            reason=reason,
            message=message,
            warning=warning,
        ),
        always=always,
    )
