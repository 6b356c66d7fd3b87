"""Turns what the watch cache sees into messages: nudges for the planner, wake-ups for lifecycles.

Only transitions are told, in bursts. A message that is lost costs time and nothing else: everybody
also looks on a timer.
"""

import asyncio
from typing import Any, Final

import structlog
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports.cluster import (
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    Object,
    Resource,
    WatchEvent,
)
from activities.providers.kinds import node_classes
from api.keys import ANNOTATION_DECISION, ANNOTATION_DO_NOT_REMOVE
from planner.model.round import ObjectId, planner_workflow_id, removal_workflow_id, request_workflow_id
from worker.runtime.arrivals import Arrivals
from worker.runtime.burst import Bursts
from workflows.messages import NUDGE, WAKE

log = structlog.stdlib.get_logger(__name__)

CALM_QUIET_SECONDS: Final = 1.0
CALM_LONGEST_SECONDS: Final = 10.0
"""Of pods that end the planner is told more slowly: in a busy cluster some always do, and no pod waits for it."""
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_OFFERED: Final = ("serverTypes", "ipv4", "places", "currency", "resolved", "learned")
"""Parts of a class's status that offerings are made of. Those on misses are written by whoever plans on then."""
ORPHAN_SECONDS: Final = 2.0
"""A request or removal that has no workflow after this was not made by a round that just starts one."""


class Watches:
    """Listens to the cache; the objects of the lifecycles are the only thing it remembers."""

    def __init__(self, client: Client, cluster_name: str) -> None:
        self._client = client
        self._name = cluster_name
        self._planner = planner_workflow_id(cluster_name)
        self._bursts = Bursts(self._send)
        self._calm = Bursts(self._send, quiet=CALM_QUIET_SECONDS, longest=CALM_LONGEST_SECONDS)
        self._requests: dict[str, ObjectId] = {}
        self._removals: dict[str, ObjectId] = {}
        self._arrivals = Arrivals()
        self._orphans: dict[str, asyncio.TimerHandle] = {}
        self._classes = frozenset(node_classes())

    def note(self, resource: Resource, event: WatchEvent, before: Object | None) -> None:
        """Take one change that the cache saw, as a subscriber of it."""
        after = None if event.type == "DELETED" else event.object
        if resource == PODS:
            self._pod(before, after)
        elif resource == NODES:
            self._node(event.object["metadata"]["name"], before, after)
        elif resource == PERSISTENT_VOLUME_CLAIMS:
            # Its pod says nothing new by that: it was unschedulable before.
            if before is not None and not _is_bound(before) and after is not None and _is_bound(after):
                self.nudge("claim bound")
        elif resource == NODE_POOLS:
            if after is None or before is None or _generation(before) != _generation(after):
                self.nudge(f"{resource.kind} edited")
        elif resource in self._classes:
            self._class(resource.kind, before, after)
        elif resource == NODE_REQUESTS:
            if after is None:
                self._arrivals.forget(event.object["metadata"]["name"])
            else:
                self._arrivals.expect(after)
            self._lifecycle(self._requests, event.object, before, after)
        elif resource == NODE_REMOVAL_REQUESTS:
            self._lifecycle(self._removals, event.object, before, after)

    def nudge(self, reason: str) -> None:
        """Ask the planner for a round."""
        self._bursts.add(self._planner, reason)

    async def close(self) -> None:
        """Tell nothing more."""
        for timer in self._orphans.values():
            timer.cancel()
        await self._bursts.close()
        await self._calm.close()

    def _pod(self, before: Object | None, after: Object | None) -> None:
        if before is not None and not _has_ended(before) and (after is None or _has_ended(after)):
            self._calm.add(self._planner, "pod ended")
        if before is not None:
            self._pod_of_removal(before, after)
        if after is None:
            return
        if _is_unschedulable(after):
            if before is None or not _is_unschedulable(before):
                self.nudge("pod unschedulable")
            elif _nominated_node(before) and not _nominated_node(after):
                self.nudge("nomination ended")
        node = _node_of(after)
        was_bound = before is not None and bool(_node_of(before))
        if not was_bound and self._arrivals.is_last(after, node):
            self._wake(request_workflow_id(self._name, self._requests[node]), "planned pods bound")

    def _pod_of_removal(self, before: Object, after: Object | None) -> None:
        """Wake the removal of a pod's node when the pod keeps it no more, or its people wish something else."""
        node = _node_of(before)
        if node not in self._removals:
            return
        ends = not _has_ended(before) and (after is None or _has_ended(after))
        if ends or (after is not None and _kept(before) != _kept(after)):
            self._wake(removal_workflow_id(self._name, self._removals[node]), "pod ended, kept or freed")

    def _node(self, name: str, before: Object | None, after: Object | None) -> None:
        if after is None:
            self.nudge("node gone")
            self._wake_both(name, "node gone")
            return
        changed = before is not None and (_supply(before), _standing(before)) != (_supply(after), _standing(after))
        if changed:
            self.nudge("node changed")
        if before is None or changed:
            self._wake_both(name, "node changed")

    def _class(self, kind: str, before: Object | None, after: Object | None) -> None:
        if after is None or before is None or _generation(before) != _generation(after):
            self.nudge(f"{kind} edited")
        elif _offer(before) != _offer(after):
            self.nudge(f"{kind} offers something else")

    def _wake_both(self, name: str, reason: str) -> None:
        """Wake the request and the removal of a Node: they bear its name."""
        if name in self._requests:
            self._wake(request_workflow_id(self._name, self._requests[name]), reason)
        if name in self._removals:
            self._wake(removal_workflow_id(self._name, self._removals[name]), reason)

    def _lifecycle(self, known: dict[str, ObjectId], item: Object, before: Object | None, after: Object | None) -> None:
        subject = ObjectId(name=item["metadata"]["name"], uid=item["metadata"]["uid"])
        if after is None:
            known.pop(subject.name, None)
            self._settle(subject)
            return
        known[subject.name] = subject
        make_id = request_workflow_id if known is self._requests else removal_workflow_id
        workflow_id = make_id(self._name, subject)
        if before is None:
            # A worker that was away may have missed what these are about.
            if _is_going(after) or _is_cancelled(after) or _is_decided(after):
                self._wake(workflow_id, "object going, cancelled or decided on")
        elif _wish(before) != _wish(after):
            self._wake(workflow_id, "object changed")
        if after.get("status", {}).get("workflowId"):
            self._settle(subject)
        elif subject.uid not in self._orphans:
            # A person made it, or a round was cut off: the next round returns it and its workflow is started.
            self._orphans[subject.uid] = asyncio.get_running_loop().call_later(
                ORPHAN_SECONDS, self.nudge, f"{subject.name} has no workflow"
            )

    def _settle(self, subject: ObjectId) -> None:
        timer = self._orphans.pop(subject.uid, None)
        if timer is not None:
            timer.cancel()

    def _wake(self, workflow_id: str, reason: str) -> None:
        self._bursts.add(workflow_id, reason)

    async def _send(self, workflow_id: str, reason: str) -> None:
        handle = self._client.get_workflow_handle(workflow_id)
        try:
            await handle.signal(NUDGE if workflow_id == self._planner else WAKE, reason)
        except RPCError as error:
            # A workflow that ended, or has not begun, needs no message; for the rest timers do it.
            if error.status is not RPCStatusCode.NOT_FOUND:
                log.warning("message not sent", workflow_id=workflow_id, reason=reason, error=error.message)


def _is_unschedulable(pod: Object) -> bool:
    """Whether the scheduler has said that the pod fits nowhere."""
    waits = any(
        one.get("type") == "PodScheduled" and one.get("status") == "False" and one.get("reason") == "Unschedulable"
        for one in _conditions(pod)
    )
    return waits and not _node_of(pod) and not _is_going(pod)


def _has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _node_of(pod: Object) -> str:
    return pod.get("spec", {}).get("nodeName") or ""


def _nominated_node(pod: Object) -> str:
    return pod.get("status", {}).get("nominatedNodeName") or ""


def _is_bound(claim: Object) -> bool:
    """Whether the scheduler takes the claim for bound."""
    return _BIND_COMPLETED in (claim["metadata"].get("annotations") or {})


def _supply(node: Object) -> tuple[bool, bool]:
    """Return what makes a Node room for pods or not: Ready, cordoned."""
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in _conditions(node))
    return ready, bool(node.get("spec", {}).get("unschedulable"))


def _standing(node: Object) -> tuple[bool, str]:
    """Return what else a lifecycle asks of its Node: that it goes, that a person keeps it."""
    return _is_going(node), _kept(node)


def _kept(item: Object) -> str:
    """Return why a person wants this Node or pod to stay; empty if nobody does."""
    return (item["metadata"].get("annotations") or {}).get(ANNOTATION_DO_NOT_REMOVE, "")


def _wish(item: Object) -> tuple[bool, bool, int, dict[str, str]]:
    """Return what others change on an object of a lifecycle; the rest of its status is the lifecycle's own."""
    return (
        _is_going(item),
        _is_cancelled(item),
        _generation(item),
        item["metadata"].get("annotations") or {},
    )


def _offer(node_class: Object) -> tuple[Any, ...]:
    """Return what else than its spec decides on what a class offers: when it was read is no part of that."""
    status = node_class.get("status", {})
    ready = [
        (one.get("status"), one.get("reason"), one.get("observedGeneration"))
        for one in _conditions(node_class)
        if one.get("type") == "Ready"
    ]
    return ready, [status.get(part) for part in _OFFERED]


def _is_going(item: Object) -> bool:
    return "deletionTimestamp" in item["metadata"]


def _is_cancelled(item: Object) -> bool:
    return bool(item.get("status", {}).get("cancel"))


def _is_decided(item: Object) -> bool:
    return ANNOTATION_DECISION in (item["metadata"].get("annotations") or {})


def _generation(item: Object) -> int:
    return item["metadata"].get("generation", 0)


def _conditions(item: Object) -> list[dict[str, Any]]:
    return item.get("status", {}).get("conditions") or []
