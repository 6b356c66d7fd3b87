"""That no pod is bought for again while the machine that it has a seat on is on its way: slow is not lost.

Judged by what the cloud and the world know themselves, not by what Growth saw.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import CONFIG_MAPS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS, Object, Resource
from planner.lifecycle.json_predicates import is_ready
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness, is_daemon, phase_of

_AWAY_GRACE: Final = timedelta(seconds=20)
"""So long after an outage no wait can be over: the shortest that is tried takes 30 s."""
_LATE: Final = ("ReleaseTimeout", "NotTried", "StartupTimeout")
_TIMEOUTS: Final = ("JoinTimeout", "ProvisioningTimeout")


class BoughtAgain:
    """Watches purchases.

    Args:
        cluster: the API server.
        witness: what happened.
        now: the true time.
        stopped: since when the scheduler stands still, None when it works.
        back: since when the API server is back from its last outage, None without one that workers have noticed.
        may_leap: whether a worker's clock is wrong.
        behind: how long a worker may still see a pod where it is no more.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        witness: Witness,
        *,
        now: Callable[[], datetime],
        stopped: Callable[[], datetime | None],
        back: Callable[[], datetime | None],
        may_leap: Callable[[], bool],
        behind: timedelta,
    ) -> None:
        self._cluster = cluster
        self._witness = witness
        self._now = now
        self._stopped = stopped
        self._back = back
        self._seats: dict[str, str] = {}
        """By uid of the pod, the request on which it was first seated, as long as that one counts."""
        self._may_leap = may_leap
        self._behind = behind
        self._taken_at: dict[str, datetime] = {}
        """When a pod that was not planned onto a machine was there last, or left it, by machine."""
        self._has_leapt = False
        """Once a clock was wrong, so may be every time that is written on an object."""
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource == PODS:
            self._note_taker(change)
        if resource != NODE_REQUESTS:
            return
        request = change.now
        name = request["metadata"]["name"]
        if change.before is None:
            for seat in request["spec"].get("reservedFor") or ():
                other = str(self._seats.get(seat["uid"], name))
                # A watch that is late may still show pods that have a place by now, or are gone.
                if other != name and self._waits(seat["uid"]) and (why := self._why_coming(other)):
                    self.violations.append(f"{name} was bought for {seat['name']}, whose machine {other} {why}")
        seats = {seat["uid"]: seat for seat in request["spec"].get("reservedFor") or ()}
        for seat in (change.before or {}).get("spec", {}).get("reservedFor") or ():
            if seat["uid"] not in seats:
                self._note_loss(name, seat)
        self._seats |= dict.fromkeys(seats, name)
        self._has_leapt = self._has_leapt or self._may_leap()
        before = (change.before or {}).get("status", {})
        status = request.get("status", {})
        is_released = "releasedAt" in status and "releasedAt" not in before
        # Where its pods are gone, nothing is lost.
        is_lost = is_released and status.get("reason") in _LATE and any(map(self._waits, seats))
        if is_lost and (why := self._why_coming(name)):
            self.violations.append(f"{name} lost its reservation ({status['reason']}), and {why}")
        back, reason = self._back(), request.get("status", {}).get("reason", "")
        is_given_up = phase_of(request) == "Deprovisioning" != phase_of(change.before or request)
        if is_given_up and reason in _TIMEOUTS and back is not None and self._now() < back + _AWAY_GRACE:
            seconds = (self._now() - back).total_seconds()
            self.violations.append(f"{name} was given up {seconds:.0f} s after the API server came back: {reason}")

    def _why_coming(self, name: str) -> str:
        """Return why the machine may still take the pod; an empty text if somebody or something ended that."""
        request = self._witness.requests.get(name)
        if request is None or name not in self._witness.nodes or "deletionTimestamp" in request["metadata"]:
            return ""
        status = request.get("status", {})
        deadline = status.get("joinDeadline")
        # One whose Node was Ready at once has none: its start is shorter than any time to join here.
        is_over = deadline is not None and self._now() >= datetime.fromisoformat(deadline)
        is_leaving = any(one["spec"]["serverName"] == name for one in self._cluster.peek(NODE_REMOVAL_REQUESTS))
        if (
            is_over
            or is_leaving
            or self._has_takers(name)
            or self._has_leapt
            or phase_of(request) not in ("Provisioning", "Ready")
            # It was Ready, lacked something later, and was opened for all as its pods could not be let onto it.
            or (deadline is None and "releasedAt" in status and status.get("reason") not in _LATE)
        ):
            return ""
        if self._starts(name):
            return f"still starts, until {deadline}"
        stopped, ready_at = self._stopped(), status.get("readyAt")
        if phase_of(request) == "Ready" and not is_ready(self._witness.nodes[name]):
            # It had started, and its kubelet has died since.
            return ""
        if stopped is not None and ready_at is not None and stopped <= datetime.fromisoformat(ready_at):
            return "has not been tried by the scheduler, which stands still"
        return ""

    def _note_loss(self, name: str, seat: Mapping[str, str]) -> None:
        """Take in that a pod loses its seat on a machine: another one has it, or it needs none any more."""
        for other, request in self._witness.requests.items():
            if other != name and any(one["uid"] == seat["uid"] for one in request["spec"].get("reservedFor") or ()):
                self._seats[seat["uid"]] = other
                return
        if not self._waits(seat["uid"]):
            # Whatever becomes of that, it was on its way.
            self._seats.pop(seat["uid"], None)

    def _waits(self, uid: str) -> bool:
        return any(
            pod["metadata"]["uid"] == uid
            and not pod["spec"].get("nodeName")
            and not pod["status"].get("nominatedNodeName")
            for pod in self._cluster.peek(PODS)
        )

    def _has_takers(self, name: str) -> bool:
        """Return whether pods took room on the machine that were not planned onto it: they tolerate all, or may."""
        taken_at = self._taken_at.get(name)
        if taken_at is not None and self._now() <= taken_at + self._behind:
            # One that is gone by now may still be there for a worker.
            return True
        return any(
            pod["spec"].get("nodeName") == name and self._is_taker(pod, name) for pod in self._cluster.peek(PODS)
        )

    def _note_taker(self, change: Change) -> None:
        name = change.now["spec"].get("nodeName", "")
        if name in self._witness.requests and self._is_taker(change.now, name):
            self._taken_at[name] = self._now()

    def _is_taker(self, pod: Object, name: str) -> bool:
        seats = {seat["uid"] for seat in self._witness.requests[name]["spec"].get("reservedFor") or ()}
        return not is_daemon(pod) and pod["metadata"]["uid"] not in seats

    def _starts(self, name: str) -> bool:
        return any(
            item["metadata"]["name"] == name and _data(item).get("startup") for item in self._cluster.peek(CONFIG_MAPS)
        )


def _data(config_map: Object) -> dict[str, str]:
    return config_map.get("data") or {}
