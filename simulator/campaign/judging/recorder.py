"""What happened, write by write: the state that the rules judge by, kept without asking the code that they judge."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Final

from activities.objects.kinds import STORED_KINDS
from activities.ports.cluster import (
    CONFIG_MAPS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Object,
    Resource,
)
from api.keys import LABEL_ABANDONED, LABEL_KWOK_SERVER, LABEL_POOL, LABEL_REQUEST_UID
from simulator.apiserver.history import Change
from simulator.scheduling.pod_request import occupies
from simulator.world import is_own

SERVERS: Final = Resource("", "", "Server", "servers", namespaced=False)
"""Stands for records of servers that are no objects of the cluster, in the form of those that are."""
ON_TRIAL: Final = "plug-in: machines on trial"
"""What is counted of machines that were bought for pods that a plug-in refuses."""
BY_HAND: Final = "ByHand"
"""Reason of the removals that people order here."""
Bounds = tuple[int, dict[str, int]]
"""Most machines of a pool, and of each of its types."""

_NO_BOUND: Final = 10**9
_WORDS: Final = {row.resource: row.lifecycle.word for row in STORED_KINDS}
"""Of every kind with a lifecycle, the word for one of its objects."""
_PASSED: Final = ("Deprovisioning", "CouldNotRemove")
"""Phases of a removal that is past its point of no return."""


class Witness:
    """Sees every write to the cluster in its order.

    Args:
        seconds: the true time.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.seconds = seconds
        self.servers: dict[str, Object] = {}
        """Records of servers by name, also those of other clusters."""
        self.nodes: dict[str, Object] = {}
        self.lifecycles: dict[Resource, dict[str, Object]] = {resource: {} for resource in _WORDS}
        """Objects with a lifecycle by name, of each kind."""
        self.requests = self.lifecycles[NODE_REQUESTS]
        self.removals = self.lifecycles[NODE_REMOVAL_REQUESTS]
        self.bounds: defaultdict[str, deque[tuple[float, Bounds]]] = defaultdict(deque)
        """By pool, what it allowed and since when."""
        self.condemned: dict[str, set[str]] = defaultdict(set)
        """By name of a server, the uids of requests whose server's deletion is on record; empty text is any."""
        self.given_up: set[str] = set()
        """Requests that were deleted before their Node was Ready: their machines go with whatever is on them."""
        self.bereft: set[str] = set()
        """Machines whose Node somebody else deleted, or whose removal a person skipped."""
        self.taken_back: set[str] = set()
        """Requests whose machine came at the last moment, when its pods had perhaps got another place, or whose
        machine a person wants to go before its pods are on it: they get another place."""
        self.pool_of_pod: dict[str, str] = {}
        """The pool that a pod asks for, by namespace and name, also of those that are gone."""
        self.created: Counter[str] = Counter()
        """Servers that came to be, by uid of their request."""
        self.counts: Counter[str] = Counter()
        """How often what happened."""
        self._pods: defaultdict[str, set[str]] = defaultdict(set)

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item, is_gone = change.now, change.kind == "DELETED"
        name = item["metadata"]["name"]
        if resource == PODS:
            self._note_pod(change)
        elif is_record(resource, item):
            if change.before is None and not is_gone:
                self.created[labels_of(item).get(LABEL_REQUEST_UID, "")] += 1
                self.counts["servers bought"] += is_ours(item)
            _put(self.servers, name, item, is_gone=is_gone)
        elif resource == NODES:
            _put(self.nodes, name, item, is_gone=is_gone)
        elif resource in self.lifecycles:
            self._note_lifecycle(resource, name, change, is_gone=is_gone)
        elif resource == NODE_POOLS and not is_gone:
            self._note_pool(name, item)

    def pods_on(self, node: str) -> set[str]:
        """Return the uids of pods that are on a Node that exists and have not finished, but for those of DaemonSets."""
        return self._pods[node] if node in self.nodes else set()

    def machines_of(self, pool: str) -> Iterator[tuple[str, str]]:
        """Yield name and type of each machine of the pool that is there, may be there or is coming.

        A server that somebody has made an orphan is none, until the sweep finds it.
        """
        types: dict[str, str] = {}
        for name, record in self.servers.items():
            if is_ours(record) and self.is_minded(name) and labels_of(record).get(LABEL_POOL) == pool:
                types[name] = record["data"]["serverType"]
        for request in self.requests.values():
            if request["spec"]["pool"] == pool and phase_of(request) not in ("Unmet", "Failed"):
                types.setdefault(request["metadata"]["name"], request["spec"]["serverType"])
        yield from types.items()

    def is_minded(self, name: str) -> bool:
        """Return whether anything in the cluster is about the server of this name."""
        return name in self.nodes or name in self.requests or name in self.removals

    def most(self, pool: str, window_seconds: float) -> Bounds:
        """Return the highest bounds that the pool has had within the last `window_seconds`."""
        known = self.bounds[pool]
        since = self.seconds() - window_seconds
        recent = [bounds for i, (_, bounds) in enumerate(known) if i + 1 == len(known) or known[i + 1][0] >= since]
        names = {name for _, types in recent for name in types}
        return (
            max((most for most, _ in recent), default=0),
            {name: max(types.get(name, 0) for _, types in recent) for name in names},
        )

    def _note_pod(self, change: Change) -> None:
        pod = change.now
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if change.before is None:
            self.counts["agents created" if is_daemon(pod) else "pods created"] += 1
            metadata = pod["metadata"]
            self.pool_of_pod[f"{metadata['namespace']}/{metadata['name']}"] = pool_asked_for(pod)
        if node and not is_daemon(pod):
            if change.kind == "DELETED" or not occupies(pod):
                self._pods[node].discard(uid)
            else:
                self._pods[node].add(uid)

    def _note_lifecycle(self, resource: Resource, name: str, change: Change, *, is_gone: bool) -> None:
        item = change.now
        if resource == NODE_REQUESTS:
            self._note_request(name, change)
        elif resource == NODE_REMOVAL_REQUESTS:
            if change.before is None and name in self.requests and item["spec"]["reason"] == BY_HAND:
                self.taken_back.add(name)
            if phase_of(item) in _PASSED:
                self.condemned[item["spec"]["serverName"]].add(labels_of(item).get(LABEL_REQUEST_UID, ""))
        _put(self.lifecycles[resource], name, item, is_gone=is_gone)
        before = "" if change.before is None else phase_of(change.before)
        if phase_of(item) != before:
            self.counts[f"{_WORDS[resource]} {phase_of(item)}"] += 1

    def _note_request(self, name: str, change: Change) -> None:
        item, before = change.now, change.before
        is_going = "deletionTimestamp" in item["metadata"]
        is_news = before is not None and "deletionTimestamp" not in before["metadata"]
        if is_going and is_news and phase_of(item) != "Ready":
            self.given_up.add(name)
        if before is not None and phase_of(before) == "Deprovisioning" and phase_of(item) == "Provisioning":
            self.taken_back.add(name)

    def _note_pool(self, name: str, pool: Object) -> None:
        spec = pool["spec"]
        limits = spec.get("limits") or {}
        # In some hours a schedule may allow more.
        windows = [window["max"] for window in spec.get("schedule") or () if "max" in window]
        bounds = (
            max([limits.get("max", _NO_BOUND), *windows]),
            {t["name"]: t.get("max", _NO_BOUND) for t in spec["serverTypes"]},
        )
        if not self.bounds[name] or self.bounds[name][-1][1] != bounds:
            self.bounds[name].append((self.seconds(), bounds))


def is_record(resource: Resource, item: Object) -> bool:
    """Return whether the object is the record of a server."""
    return resource == SERVERS or (resource == CONFIG_MAPS and LABEL_KWOK_SERVER in labels_of(item))


def phase_of(item: Object) -> str:
    """Return the phase of a request or removal."""
    return item.get("status", {}).get("phase", "Pending")


def labels_of(item: Object) -> dict[str, str]:
    """Return the labels of an object."""
    return item["metadata"].get("labels") or {}


def pool_asked_for(pod: Object) -> str:
    """Return the pool of a pod of the workloads: the one that it selects, else the first."""
    return (pod["spec"].get("nodeSelector") or {}).get(LABEL_POOL, "default")


def is_daemon(pod: Object) -> bool:
    """Return whether the pod is of a DaemonSet."""
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())


def tolerates_everything(pod: Object) -> bool:
    """Return whether no taint by which a machine takes no new pods keeps this one off."""
    return any(
        toleration.get("operator") == "Exists"
        and not toleration.get("key")
        and toleration.get("effect") in (None, "", "NoSchedule")
        for toleration in pod["spec"].get("tolerations") or ()
    )


def is_ours(record: Object) -> bool:
    """Return whether a server carries this cluster's labels and no person has taken it over."""
    labels = labels_of(record)
    return is_own(labels) and LABEL_ABANDONED not in labels


def _put(known: dict[str, Object], name: str, item: Object, *, is_gone: bool) -> None:
    if is_gone:
        known.pop(name, None)
    else:
        known[name] = item
