"""How machines with dead Nodes must go: not before their time, few at once, and none while most Nodes are not Ready."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODES, PODS, Object, Resource
from api.duration import parse_duration
from api.keys import ANNOTATION_DO_NOT_REMOVE, LABEL_POOL, LABEL_REQUEST
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.pool_sizes import PoolSizes
from simulator.campaign.judging.recorder import Witness, labels_of, phase_of
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.kubelet import DEAD, kubelet_of
from simulator.scheduling.pod_request import occupies

REASON: Final = "Dead"
_CLOCKS_DIFFER: Final = timedelta(seconds=1)
_LONGEST_LEAP: Final = timedelta(seconds=18)
_EDIT_SECONDS: Final = 60.0
"""A round decides on what its caches knew: of Nodes and pools as they were within this."""
_LATE_SECONDS: Final = 25.0
"""Between a worker's look and its write, through a stalled watch and a write that waits for its answer."""
_PROMPT_SECONDS: Final = 2.0
"""The same where every call has its answer and no watch stands still."""
_SHARE_PERCENT: Final = 20


class Repairs:
    """Judges every removal of a machine as a dead one.

    Args:
        cluster: the API server.
        witness: what happened; it must be told of the write after these rules.
        tell: takes each violation.
        now: the true time.
        may_leap: whether the clock of a worker has jumped.
        is_prompt: whether no call is lost and no watch stands still.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        witness: Witness,
        *,
        tell: Callable[[str], None],
        now: Callable[[], datetime],
        may_leap: Callable[[], bool],
        is_prompt: bool,
    ) -> None:
        self._late = _PROMPT_SECONDS if is_prompt else _LATE_SECONDS
        self._cluster = cluster
        self._witness = witness
        self._tell = tell
        self._now = now
        self._may_leap = may_leap
        self._most_since: float | None = None
        """Since when most Nodes are not Ready."""
        self.sizes = PoolSizes(cluster, witness.seconds)
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource == NODES:
            self._note_nodes()
        elif resource == NODE_REMOVAL_REQUESTS and change.kind != "DELETED" and _is_repair(change.now):
            if change.before is None:
                self._ordered(change.now)
            elif phase_of(change.before) == "Pending" and phase_of(change.now) == "Deprovisioning":
                self._goes(change.now)

    def may_go_with(self, name: str, pods: set[str]) -> bool:
        """Return whether these pods, by uid, may go with the server: all were asked to end on a silent Node."""
        node = self._witness.nodes.get(name)
        if node is None or condition_status(node, "Ready") == "True":
            return False
        on_it = [pod for pod in self._cluster.peek(PODS) if pod["metadata"]["uid"] in pods]
        return all("deletionTimestamp" in pod["metadata"] for pod in on_it)

    def left(self) -> list[str]:
        """Return the machines that should have gone as dead ones when nothing keeps them."""
        pools = {pool["metadata"]["name"]: pool for pool in self._cluster.peek(NODE_POOLS)}
        stuck: dict[str, bool] = {}
        for pod in self._cluster.peek(PODS):
            node, owners = pod["spec"].get("nodeName"), pod["metadata"].get("ownerReferences") or ()
            if node and occupies(pod) and not any(owner["kind"] == "DaemonSet" for owner in owners):
                stuck[node] = stuck.get(node, True) and "deletionTimestamp" in pod["metadata"]
        return [
            f"the dead machine {name} is left"
            for name, node in sorted(self._witness.nodes.items())
            if kubelet_of(node) == DEAD
            and stuck.get(name)
            and labels_of(node).get(LABEL_REQUEST) == name
            and not (node["metadata"].get("annotations") or {}).get(ANNOTATION_DO_NOT_REMOVE)
            and "repair" in pools.get(labels_of(node).get(LABEL_POOL, ""), {}).get("spec", {}).get("scaleDown", {})
        ]

    def _note_nodes(self) -> None:
        nodes, now = self._cluster.peek(NODES), self._witness.seconds()
        unready = sum(condition_status(node, "Ready") != "True" for node in nodes)
        is_most = unready > 1 and 2 * unready > len(nodes)
        self._most_since = (now if self._most_since is None else self._most_since) if is_most else None
        self.sizes.note()

    def _ordered(self, removal: Object) -> None:
        """At most a fifth of the pool goes at once, or one."""
        pool, name = removal["spec"]["pool"], removal["metadata"]["name"]
        others = [
            each
            for each in self._witness.removals.values()
            if _is_repair(each)
            and each["spec"]["pool"] == pool
            and each["metadata"]["name"] != name
            and "cancel" not in each.get("status", {})
            and "deletionTimestamp" not in each["metadata"]
        ]
        size = self.sizes.most(pool, _EDIT_SECONDS)
        allowed = max(1, size * _SHARE_PERCENT // 100)
        self._witness.counts["removals of dead machines"] += 1
        if len(others) >= allowed:
            self._wrong(
                f"{name} shall go as dead beside {len(others)} others of pool {pool}, which has {size} machines"
            )

    def _goes(self, removal: Object) -> None:
        """At the point of no return the Node is as dead as the pool says, and the cluster is not what fails."""
        name = removal["spec"]["serverName"]
        node = self._witness.nodes.get(name)
        if node is None:
            return
        self._witness.counts["dead machines that went"] += 1
        now = self._witness.seconds()
        if self._most_since is not None and now - self._most_since > self._late:
            self._wrong(f"{name} goes as dead while most Nodes have not been Ready for {now - self._most_since:.0f} s")
        ready = next((c for c in node.get("status", {}).get("conditions", ()) if c["type"] == "Ready"), {})
        since = datetime.fromisoformat(ready["lastTransitionTime"]) if ready.get("lastTransitionTime") else self._now()
        unready = self._now() - since
        if ready.get("status") == "True":
            if unready > timedelta(seconds=self._late):
                self._wrong(f"{name} goes as dead, and its Node has been Ready for {unready.total_seconds():.0f} s")
            return
        slack = _LONGEST_LEAP if self._may_leap() else _CLOCKS_DIFFER
        after = self._after(removal["spec"]["pool"])
        if after is not None and unready + slack < after:
            self._wrong(f"{name} goes as dead {unready.total_seconds():.0f} s after its Node was last Ready")

    def _after(self, pool: str) -> timedelta | None:
        for each in self._cluster.peek(NODE_POOLS):
            if each["metadata"]["name"] == pool:
                text = each["spec"].get("scaleDown", {}).get("repair", {}).get("after")
                return None if text is None else parse_duration(text)
        return None

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)


def _is_repair(removal: Object) -> bool:
    return removal["spec"]["reason"] == REASON
