"""That no machine is emptied by a policy while something keeps it, as far as every round must know of that."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import DISRUPTION_BUDGETS, NODE_REQUESTS, NODES, PODS, Object, Resource
from api.duration import parse_duration
from api.keys import (
    ANNOTATION_CANCELLED_AT,
    ANNOTATION_DO_NOT_REMOVE,
    ANNOTATION_DRAIN_PAUSE,
    ANNOTATION_MOVE_FAILED,
    OTHERS_SCALE_DOWN_DISABLED,
)
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import Clocks, Facts, PoolSpecs
from simulator.campaign.judging.pod_departures import keeps_disk, must_stay
from simulator.campaign.judging.recorder import Witness, is_daemon, phase_of
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.fit import selects

_CANCEL_HOLDS: Final = timedelta(hours=1)
_WITHOUT_EVICTIONS: Final = ("OverMax", "Underused")
"""Reasons for which machines with pods go in mode wait, too: there no pod is asked to leave."""
_WORDS: Final = (ANNOTATION_DO_NOT_REMOVE, OTHERS_SCALE_DOWN_DISABLED)
_PAUSES: Final = (ANNOTATION_DRAIN_PAUSE, ANNOTATION_MOVE_FAILED)
_COMING: Final = ("Pending", "Provisioning")


class Safety:
    """Knows what keeps machines from being emptied.

    Args:
        cluster: the API server.
        witness: what happened.
        facts: since when.
        specs: of pools.
        clocks: the true time, and those of workers.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        witness: Witness,
        facts: Facts,
        specs: PoolSpecs,
        *,
        clocks: Clocks,
    ) -> None:
        self._cluster = cluster
        self._witness = witness
        self._facts = facts
        self._specs = specs
        self._clocks = clocks

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item, is_there = change.now, change.kind != "DELETED"
        name = item["metadata"]["name"]
        if resource == PODS:
            uid, node = item["metadata"]["uid"], item["spec"].get("nodeName")
            self._facts.note(("stays", uid), holds=is_there and must_stay(item))
            self._facts.note(("on", node, uid), holds=is_there and bool(node) and not is_daemon(item))
            is_ready = condition_status(item, "Ready") == "True" and "deletionTimestamp" not in item["metadata"]
            self._facts.note(("ready", uid), holds=is_there and is_ready)
        elif resource == NODES:
            annotations = item["metadata"].get("annotations") or {}
            for key in (*_WORDS, *_PAUSES, ANNOTATION_CANCELLED_AT):
                self._facts.note((key, name), holds=is_there and bool(annotations.get(key)))
            self._facts.note(("cordoned", name), holds=is_there and bool(item["spec"].get("unschedulable")))
        elif resource == DISRUPTION_BUDGETS:
            keeps_all = item["spec"].get("maxUnavailable") == 0
            self._facts.note(("budget", item["metadata"]["uid"]), holds=is_there and keeps_all)
        elif resource == NODE_REQUESTS:
            is_coming = phase_of(item) in _COMING and "deletionTimestamp" not in item["metadata"]
            has_seats = "releasedAt" not in item.get("status", {})
            self._facts.note(("coming", name), holds=is_there and is_coming and has_seats)

    def keepers(self, removal: Object) -> Iterator[str]:
        """Yield what keeps the machine of a removal that a policy has begun to move its pods."""
        name, pool = removal["spec"]["serverName"], removal["spec"]["pool"]
        pods = [pod for pod in self._cluster.peek(PODS) if self._facts.is_known(("on", name, pod["metadata"]["uid"]))]
        node = self._witness.nodes.get(name)
        if not pods or node is None:
            return
        specs = self._specs.recent(pool)
        modes = {spec["scaleDown"].get("mode", "empty") for spec in specs}
        if "wait" in modes and removal["spec"]["reason"] in _WITHOUT_EVICTIONS:
            return
        if specs and "drain" not in modes:
            yield f"its pool says {modes.pop()}"
        yield from self._of_node(name, node)
        keeps_disks = bool(specs) and all(spec["scaleDown"].get("emptyDir") == "keep" for spec in specs)
        for pod in pods:
            yield from self._of_pod(pod, keeps_disks=keeps_disks)
        for other, request in self._witness.requests.items():
            is_leaving = other in self._witness.removals
            if request["spec"]["pool"] == pool and self._facts.is_known(("coming", other)) and not is_leaving:
                yield f"{other} is on its way"

    def _of_node(self, name: str, node: Object) -> Iterator[str]:
        annotations = node["metadata"].get("annotations") or {}
        yield from (f"it is annotated {key}" for key in _WORDS if self._facts.is_known((key, name)))
        known = [key for key in (*_PAUSES, ANNOTATION_CANCELLED_AT) if self._facts.is_written((key, name))]
        if self._facts.is_known(("cordoned", name)):
            yield "it is cordoned"
        now = self._clocks.latest()
        if ANNOTATION_CANCELLED_AT in known:
            at = datetime.fromisoformat(annotations[ANNOTATION_CANCELLED_AT])
            if at <= self._clocks.now() and now < at + _CANCEL_HOLDS:
                yield f"a person cancelled its removal at {at:%H:%M:%S}"
        for key in (key for key in known if key in _PAUSES):
            until, _, length = annotations[key].partition(" ")
            began = datetime.fromisoformat(until) - parse_duration(length)
            if began <= self._clocks.now() and now < datetime.fromisoformat(until):
                yield f"it is annotated {key} until {until}"

    def _of_pod(self, pod: Object, *, keeps_disks: bool) -> Iterator[str]:
        metadata = pod["metadata"]
        name, uid = metadata["name"], metadata["uid"]
        if self._facts.is_known(("stays", uid)):
            yield f"pod {name} must stay"
        if keeps_disks and keeps_disk(pod):
            yield f"pod {name} writes to its disk"
        for budget in self._cluster.peek(DISRUPTION_BUDGETS):
            is_over = selects(budget["spec"].get("selector"), metadata.get("labels") or {})
            is_closed = self._facts.is_known(("budget", budget["metadata"]["uid"]))
            if is_over and is_closed and self._facts.is_known(("ready", uid)):
                yield f"budget {budget['metadata']['name']} lets pod {name} not go"
