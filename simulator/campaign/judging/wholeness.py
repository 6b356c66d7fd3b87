"""How a machine must leave: without data that is there alone, off load balancers, and with its volumes detached."""

from collections.abc import Callable
from typing import Final

from activities.ports.cluster import (
    NODE_REMOVAL_REQUESTS,
    NODES,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    Object,
    Resource,
)
from api.keys import LABEL_EXCLUDED, LABEL_REQUEST_UID
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness, labels_of, phase_of

_DETACH_WITHIN_SECONDS: Final = 300.0
_LET_GO_SECONDS: Final = 10.0
_LABEL_SECONDS: Final = 60.0
"""A Node that cannot be labelled keeps its server no longer."""
_LONGEST_LEAP_SECONDS: Final = 20.0
"""Between the clock of a worker that has jumped ahead and that of one which has jumped back."""
_LATE_SECONDS: Final = 15.0
"""Between a worker's look and its delete call, when a write waits for its answer."""

_WRITTEN_LATE_SECONDS: Final = 6.0
"""A write whose answer is lost may take effect so long after the time that it says."""


class Wholeness:
    """Judges the point of no return and the first delete call of each removal.

    Args:
        witness: what happened.
        tell: takes each violation.
        may_leap: whether the clock of a worker has jumped.
    """

    def __init__(self, witness: Witness, *, tell: Callable[[str], None], may_leap: Callable[[], bool]) -> None:
        self._witness = witness
        self._tell = tell
        self._may_leap = may_leap
        self._attached: dict[str, tuple[str, float]] = {}
        """Node and time of each attachment, by name."""
        self._local: dict[str, tuple[str, float]] = {}
        """Node and time of each volume whose data is there alone, by name."""
        self._committed: dict[str, float] = {}
        """When a removal passed its point of no return, by uid."""
        self._joined: dict[str, float] = {}
        self._excluded: dict[str, float] = {}
        """Since when load balancers leave a Node out."""
        self._leapt: set[str] = set()
        """Nodes of those that were excluded while a clock had jumped: the worker may be dead when it counts."""
        self.has_clocks = True
        """Whether workers know the time about: one that is an hour ahead takes every wait for over."""
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write; judge a delete call."""
        name, seconds, is_gone = change.now["metadata"]["name"], self._witness.seconds(), change.kind == "DELETED"
        if resource == VOLUME_ATTACHMENTS:
            if is_gone:
                self._attached.pop(name, None)
            else:
                self._attached.setdefault(name, (change.now["spec"]["nodeName"], seconds))
        elif resource == PERSISTENT_VOLUMES:
            if is_gone:
                self._local.pop(name, None)
            else:
                self._local.setdefault(name, (_host(change.now), seconds))
        elif resource == NODES:
            self._note_node(name, change.now, seconds, is_gone=is_gone)
        elif resource == NODE_REMOVAL_REQUESTS and not is_gone:
            self._note_removal(change, seconds)

    def _note_node(self, name: str, node: Object, seconds: float, *, is_gone: bool) -> None:
        if is_gone:
            self._joined.pop(name, None)
        else:
            self._joined.setdefault(name, seconds)
        if is_gone or LABEL_EXCLUDED not in labels_of(node):
            self._excluded.pop(name, None)
            self._leapt.discard(name)
        elif name not in self._excluded:
            self._excluded[name] = seconds
            if self._may_leap():
                self._leapt.add(name)

    def _note_removal(self, change: Change, seconds: float) -> None:
        before, removal = change.before, change.now
        uid, status = removal["metadata"]["uid"], removal.get("status", {})
        if phase_of(removal) == "Deprovisioning" and (before is None or phase_of(before) != "Deprovisioning"):
            # A parked removal that is tried again has passed it long ago.
            if uid not in self._committed:
                self._passes(removal, seconds)
            self._committed.setdefault(uid, seconds)
        calls_before = 0 if before is None else before.get("status", {}).get("removalAttempts", 0)
        if calls_before == 0 and status.get("removalAttempts", 0) == 1 and uid in self._committed:
            self._server_goes(removal, seconds)

    def _passes(self, removal: Object, seconds: float) -> None:
        spec = removal["spec"]
        # A request whose machine was never ready moves a removal that exists along, and data goes where a server went.
        is_exempt = removal["status"].get("reason") == "HandOver" and not spec.get("immediate")
        if is_exempt or spec.get("reason") == "ServerGone":
            return
        for volume, (node, since) in self._local.items():
            if node == spec["serverName"] and seconds - since > _LATE_SECONDS:
                self._wrong(f"machine {node} is given up with the data of {volume}, bound {seconds - since:.0f} s ago")

    def _server_goes(self, removal: Object, seconds: float) -> None:
        name, uid = removal["spec"]["serverName"], removal["metadata"]["uid"]
        node = self._witness.nodes.get(name)
        known = labels_of(removal).get(LABEL_REQUEST_UID)
        is_its = node is not None and known is not None and labels_of(node).get(LABEL_REQUEST_UID) == known
        if not is_its or seconds - self._joined.get(name, seconds) <= _LATE_SECONDS:
            return
        if not self.has_clocks:
            return
        leap = _LONGEST_LEAP_SECONDS if name in self._leapt or self._may_leap() else 1.0
        waited = seconds - self._committed[uid]
        left = [
            volume for volume, (on, since) in self._attached.items() if on == name and seconds - since > _LATE_SECONDS
        ]
        if left and waited < _DETACH_WITHIN_SECONDS - max(leap, _WRITTEN_LATE_SECONDS):
            self._wrong(f"server {name} goes {waited:.0f} s after its point of no return with {left[0]} attached")
        excluded = seconds - self._excluded.get(name, seconds)
        if excluded < _LET_GO_SECONDS - leap and waited < _LABEL_SECONDS - leap:
            self._wrong(f"server {name} goes {excluded:.0f} s after load balancers were told to leave it out")
        self._witness.counts["machines that left whole"] += 1

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)


def _host(volume: Object) -> str:
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    return expression["values"][0]
