"""That no pod waits for a machine whose room others have taken: the next round gives it another place."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES, PODS, Object, Resource
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness, is_daemon, phase_of
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.pod_request import amounts, occupied, occupies

_ROUND_SECONDS: Final = 30.0
"""Rounds come each ten seconds while anything is open; one may fail, and another begin before."""
_Workers = frozenset[tuple[int, datetime | None]]


class KeptSeats:
    """Measures how long pods keep a seat on a machine without room for it.

    Args:
        cluster: the API server.
        witness: what happened; it must be told of a write before these.
        workers: who is alive, and since which outage they can reach the API server.
        is_judged: whether no call is lost and no watch stands still.
    """

    def __init__(
        self, cluster: MemoryCluster, witness: Witness, workers: Callable[[], _Workers], *, is_judged: bool
    ) -> None:
        self._cluster = cluster
        self._witness = witness
        self._workers = workers
        self._is_judged = is_judged
        self._since: dict[str, tuple[float, _Workers]] = {}
        """Since when a machine is too full for its seats, and who was alive then."""
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource == PODS and change.now["spec"].get("nodeName"):
            self._look(change.now["spec"]["nodeName"])
        elif resource in (NODE_REQUESTS, NODES):
            self._look(change.now["metadata"]["name"])
        elif resource == NODE_POOLS and (change.before is None or change.before["spec"] != change.now["spec"]):
            # An edit makes all wait, such as an end of reserving.
            self._since.clear()

    def look(self) -> None:
        """Look at every machine that is too full, as time alone makes a violation."""
        for name in list(self._since):
            self._look(name)

    def _look(self, name: str) -> None:
        moment = self._witness.seconds(), self._workers()
        if not moment[1] or not self._is_too_full(name):
            self._since.pop(name, None)
            return
        if name not in self._since:
            self._witness.counts["machines too full for their seats"] += 1
        since, workers = self._since.setdefault(name, moment)
        if workers != moment[1]:
            self._since[name] = moment
        elif self._is_judged and moment[0] - since > _ROUND_SECONDS:
            self.violations.append(f"{name} has had no room for its seats for {moment[0] - since:.0f} s")
            self._since.pop(name)

    def _is_too_full(self, name: str) -> bool:
        """Return whether pods without a seat took so much that those with one no longer fit."""
        request, node = self._witness.requests.get(name), self._witness.nodes.get(name)
        if request is None or node is None or not _is_kept(request, node):
            return False
        seats = {seat["uid"] for seat in request["spec"].get("reservedFor") or ()}
        pods = [pod for pod in self._cluster.peek(PODS) if occupies(pod)]
        residents = [pod for pod in pods if pod["spec"].get("nodeName") == name]
        takers = [pod for pod in residents if pod["metadata"]["uid"] not in seats and not is_daemon(pod)]
        waiting = [pod for pod in pods if pod["metadata"]["uid"] in seats and _waits(pod)]
        if not (takers and waiting):
            return False
        room = amounts(node["status"].get("allocatable"))
        planned = [pod for pod in residents if pod not in takers]
        return not _fit([*residents, *waiting], room) and _fit([*planned, *waiting], room)


def _is_kept(request: Object, node: Object) -> bool:
    status = request.get("status", {})
    phase = phase_of(request)
    is_ready = condition_status(node, "Ready") == "True" and not node["spec"].get("unschedulable")
    return (
        (phase == "Provisioning" or (phase == "Ready" and is_ready))
        and "releasedAt" not in status
        and "deletionTimestamp" not in request["metadata"]
        and bool(node.get("status", {}).get("allocatable"))
    )


def _fit(pods: Iterable[Object], room: dict[str, int]) -> bool:
    return all(amount <= room.get(name, 0) for name, amount in occupied(pods).items())


def _waits(pod: Object) -> bool:
    return not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
