"""What must never happen, judged within the very write that would do it."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS, Object, Resource
from api.keys import LABEL_REQUEST_UID
from simulator.apiserver.history import Change
from simulator.campaign.judging.provider_side import Side
from simulator.campaign.judging.recorder import Witness, is_ours, is_record, labels_of, phase_of, tolerates_everything

_OWN_GARBAGE: Final = ("StaleReservation", "StaleScaleDown", "StaleStartup", "OrphanNode")
_POD: Final = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")
"""A pod in the reason of a cancel, as namespace/name."""
_CLOCKS_DIFFER: Final = timedelta(seconds=1)
EDIT_SECONDS: Final = 45.0
"""A round may decide on what its pool said before an edit: as old as its cache, and as long as it may run."""


class Rules:
    """Judges every write to the cluster.

    Args:
        witness: what has happened; it must be told of the write after these rules.
        cloud: knows which servers went without a worker's call.
        tell: takes each violation.
        now: the true time.
        may_leap: whether the clock of a worker has jumped.
        may_go_with: whether pods, by uid, may count as gone with the server of this name.
    """

    def __init__(
        self,
        witness: Witness,
        cloud: Side,
        *,
        tell: Callable[[str], None],
        now: Callable[[], datetime],
        may_leap: Callable[[], bool],
        may_go_with: Callable[[str, set[str]], bool] = lambda _name, _pods: False,
    ) -> None:
        self._now = now
        self._may_go_with = may_go_with
        self._may_leap = may_leap
        self._witness = witness
        self._cloud = cloud
        self._tell = tell
        self._unheld: set[str] = set()
        """Uids of pods that came to a machine after its point of no return, from which no taint holds them off."""
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Judge one write."""
        if is_record(resource, change.now):
            self._server(change)
        elif resource == PODS and change.kind == "MODIFIED":
            self._pod_changed(change.before, change.now)
        elif resource == NODE_REQUESTS:
            if change.kind == "DELETED":
                self._request_ended(change.now)
                return
            if change.before is None:
                self._bought(change.now)
            if change.before is None or phase_of(change.before) != "Deprovisioning":
                self._seats(change.now)
        elif resource == NODE_REMOVAL_REQUESTS:
            if change.kind == "DELETED":
                self._removal_ended(change.now)
            elif change.before is not None:
                self._removal_changed(change.before, change.now)

    def garbage(self, log: Sequence[str]) -> list[str]:
        """Return the sweeps' log lines about garbage that Growth alone can have made."""
        return [line for line in log if any(f" sweep: {kind}" in line for kind in _OWN_GARBAGE)]

    def _pod_changed(self, before: Object | None, pod: Object) -> None:
        """A machine goes only when no pod is on its way to it any more."""
        node = pod["spec"].get("nodeName")
        if not node or before is None or before["spec"].get("nodeName"):
            return
        is_going = node in self._witness.removals or node not in self._witness.servers
        is_excused = node in self._witness.given_up or node in self._witness.bereft or node in self._cloud.lost
        if not self._witness.condemned.get(node):
            return
        if tolerates_everything(pod):
            self._unheld.add(pod["metadata"]["uid"])
        elif is_going and not is_excused:
            self._wrong(f"pod {pod['metadata']['name']} came to {node}, whose server was already to be deleted")

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)

    def _server(self, change: Change) -> None:
        record, name = change.now, change.now["metadata"]["name"]
        uid = labels_of(record).get(LABEL_REQUEST_UID, "")
        if change.before is None:
            self._came(record, name, uid)
        elif _is_deleted(change) and name not in self._cloud.lost:
            self._went(record, name, uid)

    def _came(self, record: Object, name: str, uid: str) -> None:
        if not is_ours(record):
            return
        twins = [
            n for n, r in self._witness.servers.items() if labels_of(r).get(LABEL_REQUEST_UID) == uid and n != name
        ]
        if twins:
            self._wrong(f"servers {name} and {twins[0]} are of one request")
        request = self._witness.requests.get(name)
        is_known = name in self._witness.removals or (request is not None and request["metadata"]["uid"] == uid)
        # An order that the cloud carried out late, after a person had deleted request and server: a sweep finds it.
        is_belated = bool(self._cloud.late[name] and self._witness.created[uid])
        if not is_known and not is_belated:
            self._wrong(f"server {name} came and nobody knows of it")
        if (
            self._witness.created[uid] >= self._cloud.most_per_request + self._cloud.late[name]
            and name not in self._cloud.lost
        ):
            self._wrong(f"server {name} was made {self._witness.created[uid] + 1} times")

    def _went(self, record: Object, name: str, uid: str) -> None:
        if not is_ours(record):
            self._wrong(f"server {name} is another's and was deleted")
            return
        if not self._witness.condemned[name] & {uid, ""}:
            self._wrong(f"server {name} was deleted before the point of no return was on record")
        pods = self._witness.pods_on(name) - self._unheld
        if pods and name not in self._witness.given_up and not self._may_go_with(name, pods):
            self._wrong(f"server {name} was deleted with {len(pods)} pods on it")

    def _bought(self, request: Object) -> None:
        pool, server_type = request["spec"]["pool"], request["spec"]["serverType"]
        machines = list(self._witness.machines_of(pool))
        most, most_of = self._witness.most(pool, EDIT_SECONDS)
        if len(machines) >= most:
            self._wrong(f"pool {pool} has {len(machines)} machines of at most {most}, and asks for one more")
        alike = sum(1 for _, kind in machines if kind == server_type)
        if alike >= most_of.get(server_type, 0):
            self._wrong(
                f"pool {pool} has {alike} {server_type} of at most {most_of.get(server_type, 0)}, and asks for one more"
            )

    def _seats(self, request: Object) -> None:
        """No pod is kept two places, or the second one was bought for nobody."""
        name, held = request["metadata"]["name"], _held(request)
        seats = [seat["uid"] for seat in request["spec"].get("reservedFor") or ()]
        if len(seats) > len(set(seats)):
            self._wrong(f"{len(seats) - len(set(seats))} seats on {name} are of pods that have one there already")
        for other_name, other in self._witness.requests.items():
            # Of a machine that was taken back, the next round sees which place each of its pods has by then.
            if other_name != name and not self._witness.taken_back & {name, other_name}:
                twice = held & _held(other)
                if twice:
                    self._wrong(f"{len(twice)} pods have seats on {other_name} and {name}")

    def _request_ended(self, request: Object) -> None:
        """Somebody has to know of a request's server when its record ends: a removal, or the Node as plain capacity."""
        name, uid = request["metadata"]["name"], request["metadata"]["uid"]
        record = self._witness.servers.get(name)
        if record is None or labels_of(record).get(LABEL_REQUEST_UID) != uid or not is_ours(record):
            return
        if name in self._witness.removals:
            return
        if name not in self._witness.nodes:
            if name in self._witness.bereft:
                return
            self._wrong(f"request {name} ended and nobody knows of its server")
        elif phase_of(request) != "Ready":
            self._wrong(f"request {name} ended in phase {phase_of(request)} and its server stays")

    def _removal_changed(self, before: Object, now: Object) -> None:
        """Cancel and point of no return exclude each other: whichever is on record first."""
        self._taken_back(before, now)
        passes = phase_of(before) in ("Pending", "Draining") and phase_of(now) == "Deprovisioning"
        goes_on = phase_of(before) == "Pending" and phase_of(now) in ("Draining", "Deprovisioning")
        is_wanted_back = "cancel" in before.get("status", {}) or "deletionTimestamp" in before["metadata"]
        name, ends_at = before["metadata"]["name"], before.get("status", {}).get("scaleDownAt")
        # One whose pods move waits for the machines that take them, and no longer.
        is_move = bool(before["spec"].get("replacedBy") or before["spec"].get("moves"))
        has_time = name in self._witness.nodes and name not in self._witness.requests and not is_move
        is_chosen = has_time and not self._may_leap()
        if goes_on and ends_at and is_chosen and self._now() < datetime.fromisoformat(ends_at) - _CLOCKS_DIFFER:
            self._wrong(f"removal {name} is {phase_of(now)} before its cool-off has ended")
        if passes and is_wanted_back and not before["spec"].get("immediate"):
            self._wrong(f"removal {before['metadata']['name']} was cancelled and passes its point of no return")

    def _taken_back(self, before: Object, now: Object) -> None:
        """A round takes a machine back for pods of its own pool: the demand of another one does not keep it."""
        cancel = now.get("status", {}).get("cancel")
        if cancel is None or "cancel" in before.get("status", {}) or cancel["by"] != "Planner":
            return
        pool = now["spec"]["pool"]
        others = [pod for pod in _POD.findall(cancel["reason"]) if self._witness.pool_of_pod.get(pod, pool) != pool]
        if others:
            self._wrong(f"{now['metadata']['name']} of pool {pool} is taken back for {others[0]} of another pool")

    def _removal_ended(self, removal: Object) -> None:
        """A removal past its point of no return ends with its server gone, unless a person decides otherwise."""
        name, spec = removal["metadata"]["name"], removal["spec"]
        record = self._witness.servers.get(spec["serverName"])
        if record is None or phase_of(removal) != "Deprovisioning" or not is_ours(record):
            return
        known, uid = labels_of(removal).get(LABEL_REQUEST_UID), labels_of(record).get(LABEL_REQUEST_UID, "")
        # A create call that took effect late made it again; its request, which knows of the call, is there.
        if self._cloud.late[name] and self._witness.created[uid] > 1 and name in self._witness.requests:
            return
        if known in (None, uid):
            self._wrong(f"removal {name} ended and its server still exists")


def _is_deleted(change: Change) -> bool:
    """Return whether the server is deleted by this very change: a provider may take a while until it is gone."""
    before = "" if change.before is None else change.before["data"].get("status")
    if before == "deleting":
        return False
    return change.kind == "DELETED" or change.now["data"].get("status") == "deleting"


def _held(request: Object) -> set[str]:
    """Return the uids of pods for which a machine is coming or kept by this request."""
    status = request.get("status", {})
    is_live = phase_of(request) in ("Pending", "Provisioning", "Ready") and "releasedAt" not in status
    if not is_live or "deletionTimestamp" in request["metadata"]:
        return set()
    return {seat["uid"] for seat in request["spec"].get("reservedFor") or ()}
