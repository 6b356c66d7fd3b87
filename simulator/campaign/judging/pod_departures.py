"""How pods must leave a machine that is drained, judged in the very moment in which a worker lets one end."""

from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Literal

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, PODS, Object, Resource
from api.duration import parse_duration
from api.keys import ANNOTATION_DO_NOT_REMOVE, ANNOTATION_SAFE_TO_EVICT, TAINT_SCALE_DOWN
from api.v1alpha1.removal_budget import EVICTING_REASONS
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness, phase_of

_TIMES: Final = ("hardGrace", "terminationGracePeriod")
_TIME_TO_END: Final = timedelta(seconds=30)
"""Of a pod that says nothing of it, as none does here."""
_Graces = tuple[timedelta | None, timedelta | None]
_CLOCKS_DIFFER: Final = timedelta(seconds=1)
_LONGEST_LEAP: Final = timedelta(seconds=18)
_EDIT_SECONDS: Final = 45.0
"""A worker may go by what its pool said before an edit."""
_ANSWERED_SECONDS: Final = 1.0
"""Between a worker's look at the pods of a node and the effect of an eviction, when every call has its answer."""
_LATE_SECONDS: Final = 15.0
"""The same when a write waits 4 s for its answer, and the eviction takes effect 5 s after it."""


class Leaving:
    """Judges evictions and deletions of pods by workers.

    Args:
        cluster: the API server.
        witness: what happened.
        tell: takes each violation.
        now: the true time.
        may_leap: whether the clock of a worker has jumped.
        has_losses: whether calls may take effect late.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        witness: Witness,
        *,
        tell: Callable[[str], None],
        now: Callable[[], datetime],
        may_leap: Callable[[], bool],
        has_losses: bool,
    ) -> None:
        self._cluster = cluster
        self._witness = witness
        self._tell = tell
        self._now = now
        self._may_leap = may_leap
        self._window = _LATE_SECONDS if has_losses else _ANSWERED_SECONDS
        self._staying: dict[str, float] = {}
        """Since when a pod must stay on its node, by uid."""
        self._cancelled: dict[str, float] = {}
        """Since when it is on record that a removal is taken back, by uid."""
        self._ended: dict[str, float] = {}
        """When the last removal of a server ended."""
        self._graces: dict[str, deque[tuple[float, _Graces]]] = {}
        """By pool, its times for a person's drain and for that of a round, and since when."""
        self._waiting: set[str] = set()
        """Pools that have had mode wait."""
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item, uid = change.now, change.now["metadata"]["uid"]
        is_gone = change.kind == "DELETED"
        if resource == PODS:
            if not is_gone and must_stay(item):
                self._staying.setdefault(uid, self._witness.seconds())
            else:
                self._staying.pop(uid, None)
        elif resource == NODE_POOLS:
            self._note_pool(item, is_gone=is_gone)
        elif resource == NODE_REMOVAL_REQUESTS:
            if "cancel" in item.get("status", {}) or "deletionTimestamp" in item["metadata"]:
                self._cancelled.setdefault(uid, self._witness.seconds())
            if is_gone:
                self._removal_ended(item)

    def judge(self, verb: Literal["evict", "delete"], namespace: str, name: str) -> None:
        """Judge what a worker does to a pod right now."""
        pods = {(pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in self._cluster.peek(PODS)}
        pod = pods.get((namespace, name))
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        node, now = pod["spec"].get("nodeName", ""), self._witness.seconds()
        removal = self._witness.removals.get(node)
        if removal is None:
            if now - self._ended.get(node, -self._window) >= self._window:
                self._wrong(f"pod {name} shall leave {node or 'no node'}, which has no removal")
            return
        uid = removal["metadata"]["uid"]
        if now - self._cancelled.get(uid, now) > self._window:
            self._wrong(f"pod {name} shall leave {node}, whose removal was cancelled")
        if phase_of(removal) != "Draining":
            self._wrong(f"pod {name} shall leave {node}, whose removal is {phase_of(removal)}")
        self._witness.counts[f"pods asked to leave: {verb}"] += 1
        if self.may_be_forced(removal):
            return
        if verb == "delete":
            self._wrong(f"pod {name} on {node} is deleted before its time is over, whatever its budgets say")
        for other in pods.values():
            since = self._staying.get(other["metadata"]["uid"], now)
            if other["spec"].get("nodeName") == node and now - since > self._window:
                self._wrong(
                    f"pod {name} shall leave {node} before its time is over, and {other['metadata']['name']} must stay"
                )

    def may_be_forced(self, removal: Object) -> bool:
        """Return whether the time for pods may be over by any worker's clock, as the pool is or was a moment ago."""
        status = removal.get("status", {})
        began = [at for at in (status.get("drainStartedAt"), self._waits_since(removal)) if at is not None]
        if not began:
            return False
        now = self._now() + (_LONGEST_LEAP if self._may_leap() else _CLOCKS_DIFFER)
        known = self._graces.get(removal["spec"]["pool"], deque())
        since = self._witness.seconds() - _EDIT_SECONDS
        recent = [grace for i, (_, grace) in enumerate(known) if i + 1 == len(known) or known[i + 1][0] >= since]
        is_of_round = removal["spec"]["reason"] in EVICTING_REASONS and removal["spec"]["pool"] not in self._waiting
        times = [forced if is_of_round else hard for hard, forced in recent]
        earliest = min(map(datetime.fromisoformat, began))
        return any(time is not None and now >= earliest + time for time in times)

    def _waits_since(self, removal: Object) -> str | None:
        """Return when the Node was closed if its pool has waited for pods: whoever began that, it counts from there."""
        is_waiting = removal["spec"]["pool"] in self._waiting
        since: str | None = removal.get("status", {}).get("taintedAt")
        return since if is_waiting else None

    def _note_pool(self, pool: Object, *, is_gone: bool) -> None:
        down = {} if is_gone else pool["spec"].get("scaleDown", {})
        if down.get("mode") == "wait":
            self._waiting.add(pool["metadata"]["name"])
        hard, forced = (parse_duration(down[key]) if key in down else None for key in _TIMES)
        # By the end of that time each pod has ended: it is deleted as long before as it has time to end.
        grace = hard, None if forced is None else forced - _TIME_TO_END
        known = self._graces.setdefault(pool["metadata"]["name"], deque())
        if not known or known[-1][1] != grace:
            known.append((self._witness.seconds(), grace))

    def _removal_ended(self, removal: Object) -> None:
        """A machine that stays is given back to the scheduler before its removal ends."""
        name = removal["spec"]["serverName"]
        self._ended[name] = self._witness.seconds()
        taints = self._witness.nodes.get(name, {}).get("spec", {}).get("taints") or ()
        is_closed = any(taint["key"] == TAINT_SCALE_DOWN for taint in taints)
        if phase_of(removal) == "Draining" and is_closed:
            self._wrong(f"removal {removal['metadata']['name']} was taken back, and {name} keeps its taint")

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)


def keeps_disk(pod: Object) -> bool:
    """Return whether the pod writes to its Node's disk, and nobody says that it may leave all the same."""
    annotations = pod["metadata"].get("annotations") or {}
    has_disk = any("emptyDir" in volume for volume in pod["spec"].get("volumes") or ())
    return has_disk and annotations.get(ANNOTATION_SAFE_TO_EVICT) != "true"


def must_stay(pod: Object) -> bool:
    """Return whether the pod is on a node and must stay there: a person said so, or nobody would start it again."""
    metadata = pod["metadata"]
    if not pod["spec"].get("nodeName") or "deletionTimestamp" in metadata:
        return False
    is_bare = not any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
    return is_bare or bool((metadata.get("annotations") or {}).get(ANNOTATION_DO_NOT_REMOVE))
