"""In a pool that chooses by priority, no machine is bought whose pods all fit on a type of a higher priority.

Judged where nothing else can have decided: the higher type was not refused lately, the class has not changed, the pool
wants nothing beside pods, and once the round has written all that it buys, the limits of the pool still leave room for
as many machines of the higher type as these pods need.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, PODS, Object, Resource
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import LABEL_POOL, LABEL_STEP
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import PoolSpecs
from simulator.campaign.judging.invariants import EDIT_SECONDS
from simulator.campaign.judging.recorder import Witness, labels_of, phase_of
from simulator.scheduling.pod_request import Amounts, amounts, pod_request

_OF_AGENTS: Final = {"cpu": 450}
"""The most that the pods of a tenant's DaemonSet take of a machine."""
_PACES: Final = ("batchMax", "maxInFlight", "breaker", "estimators")
_SUMS: Final = ("cpu", "memory", "pricePerHour", "perNamespace")
_NO_BOUND: Final = 10**9
_TO_A_WRITE: Final = 60.0
"""Judged at the first write after the end of a round, which may be a while."""
_MISSES: Final = ("Unmet", "Failed", "Deprovisioning")


@dataclass(frozen=True, slots=True)
class _Suspicion:
    """A machine that should have been others of a higher priority, unless limits have no room for them."""

    pool: str
    higher: str
    machines: int
    """So many of the higher type hold its pods."""
    most: int
    most_of_type: int
    due: float
    violation: str


class Tiers:
    """Judges each request when it is made.

    Args:
        cluster: the API server.
        witness: knows which machines there are, before it takes the write.
        window: how many seconds old what a round knows may be, and how long it may write.
        may_leap: whether a worker's clock is wrong, so that it forgets refusals early or late.
        tell: takes a sentence for each violation.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        witness: Witness,
        *,
        window: float,
        may_leap: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        self._cluster, self._witness, self._may_leap, self._tell = cluster, witness, may_leap, tell
        self._specs = PoolSpecs(witness.seconds, EDIT_SECONDS)
        self._window = window
        self._sizes: dict[tuple[str, str], deque[tuple[float, int]]] = {}
        """How many machines each pool had from when on, of each type and of all (under no name)."""
        self._suspicions: list[_Suspicion] = []
        self._refused_at: dict[str, float] = {}
        self._class_changed_at: float | None = None
        self._has_leapt = False
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Judge one write."""
        self._specs.note(resource, change)
        if not any(_chooses(spec) for pool in self._witness.bounds for spec in self._specs.recent(pool)):
            return
        self._has_leapt = self._has_leapt or self._may_leap()
        self._judge()
        if resource == KWOK_NODE_CLASSES:
            self._note_class(change)
        elif resource == NODE_REQUESTS:
            self._count(change.now["spec"]["pool"], change.now if change.before is None else None)
            if change.kind != "DELETED" and change.before is None:
                self._bought(change.now)
            elif phase_of(change.now) in _MISSES:
                self._refused_at[change.now["spec"]["serverType"]] = self._witness.seconds()

    def _note_class(self, change: Change) -> None:
        before = change.before or {}
        if change.before is not None and before.get("spec") != change.now["spec"]:
            self._class_changed_at = self._witness.seconds()
        for item in (before, change.now):
            status = item.get("status", {})
            for entry in status.get("unavailable") or ():
                self._refused_at[entry["serverType"]] = self._witness.seconds()
            if status.get("pause") or status.get("partialPauses"):
                self._class_changed_at = self._witness.seconds()

    def _bought(self, request: Object) -> None:
        pool, bought = request["spec"]["pool"], request["spec"]["serverType"]
        seats = {seat["uid"] for seat in request["spec"].get("reservedFor") or ()}
        specs = self._specs.recent(pool)
        pods = [pod for pod in self._cluster.peek(PODS) if pod["metadata"]["uid"] in seats]
        if len(pods) < len(seats) or not pods or not all(map(_is_plain, pods)) or LABEL_STEP in labels_of(request):
            return
        if self._has_leapt or self._is_lately(self._class_changed_at) or not all(map(_is_for_pods, specs)):
            return
        if any(each.get("status", {}).get("refusedPlacements") for each in self._cluster.peek(NODE_POOLS)):
            return
        for each in self._types():
            higher, number = each["name"], _machines_for([pod_request(pod) for pod in pods], each)
            if number and all(_before(spec, higher, bought) for spec in specs) and self._can_be_had(each):
                self._suspicions.append(
                    _Suspicion(
                        pool,
                        higher,
                        number,
                        min(spec["limits"].get("max", _NO_BOUND) for spec in specs),
                        min(_most_of(spec, higher) for spec in specs),
                        self._witness.seconds() + self._window,
                        f"{request['metadata']['name']} is a {bought}, and {number} {higher} of a higher priority "
                        f"hold its {len(pods)} pods",
                    )
                )

    def _judge(self) -> None:
        """Judge what was bought a while ago: no round of then writes any more."""
        now = self._witness.seconds()
        due = [each for each in self._suspicions if each.due < now]
        self._suspicions = [each for each in self._suspicions if each.due >= now]
        for each in due:
            self._witness.counts["machines of a lower priority judged"] += 1
            # In place of the one that was bought.
            total = self._peak(each.pool, "") - 1 + each.machines
            if total <= each.most and self._peak(each.pool, each.higher) + each.machines <= each.most_of_type:
                self.violations.append(each.violation)
                self._tell(each.violation)

    def _can_be_had(self, server_type: Object) -> bool:
        """Return whether nothing is known that keeps machines of the type from being bought."""
        name = server_type["name"]
        is_sold = all("stock" not in place and place.get("available", True) for place in server_type["locations"])
        misses = any(request["spec"]["serverType"] == name for request in self._missed())
        return is_sold and not misses and not self._is_lately(self._refused_at.get(name)) and not self._is_named(name)

    def _missed(self) -> Iterator[Object]:
        return (request for request in self._witness.requests.values() if phase_of(request) in _MISSES)

    def _is_named(self, server_type: str) -> bool:
        """Return whether the class remembers that a type could not be had, or buys nothing."""
        for item in self._cluster.peek(KWOK_NODE_CLASSES):
            status = item.get("status", {})
            if status.get("pause") or status.get("partialPauses"):
                return True
            if any(entry["serverType"] == server_type for entry in status.get("unavailable") or ()):
                return True
        return False

    def _is_lately(self, seconds: float | None) -> bool:
        return seconds is not None and self._witness.seconds() - seconds <= EDIT_SECONDS

    def _types(self) -> list[Object]:
        return [each for item in self._cluster.peek(KWOK_NODE_CLASSES) for each in item["spec"]["serverTypes"]]

    def _count(self, pool: str, new: Object | None) -> None:
        types = [kind for _, kind in self._witness.machines_of(pool)]
        if new is not None:
            types.append(new["spec"]["serverType"])
        for name in ("", *{each["name"] for each in self._types()}):
            known = self._sizes.setdefault((pool, name), deque(maxlen=500))
            number = types.count(name) if name else len(types)
            if not known or known[-1][1] != number:
                known.append((self._witness.seconds(), number))

    def _peak(self, pool: str, server_type: str) -> int:
        """Return the most that there were from what a round knew that writes no more, until now."""
        known = self._sizes.get((pool, server_type), deque[tuple[float, int]]())
        since = self._witness.seconds() - 2 * self._window - _TO_A_WRITE
        recent = (n for i, (_, n) in enumerate(known) if i + 1 == len(known) or known[i + 1][0] >= since)
        return max(recent, default=0)


def _chooses(spec: Object) -> bool:
    return spec["scaleUp"].get("choose") == "priority"


def _is_for_pods(spec: Object) -> bool:
    """Return whether the pool buys types for pods alone, and bounds the number of machines alone, at all times."""
    limits, least = spec.get("limits") or {}, any(each.get("min") for each in spec["serverTypes"])
    has_other_bounds = any(name in limits for name in _SUMS) or any(name in spec["scaleUp"] for name in _PACES)
    return not (least or spec.get("headroom") or spec.get("schedule") or has_other_bounds)


def _before(spec: Object, higher: str, bought: str) -> bool:
    priorities = {each["name"]: each.get("priority", 0) for each in spec["serverTypes"]}
    return _chooses(spec) and priorities.get(higher, -1) > priorities.get(bought, _NO_BOUND)


def _most_of(spec: Object, server_type: str) -> int:
    return min((each.get("max", _NO_BOUND) for each in spec["serverTypes"] if each["name"] == server_type), default=0)


def _is_plain(pod: Object) -> bool:
    """Return whether nothing but its size, and the pool that it selects, says where the pod may be."""
    spec: dict[str, Any] = pod["spec"]
    keys = ("affinity", "topologySpreadConstraints", "hostNetwork")
    volumes = all("emptyDir" in volume for volume in spec.get("volumes") or ())
    selects = set(spec.get("nodeSelector") or {}) - {LABEL_POOL}
    return volumes and not selects and not any(spec.get(key) for key in keys)


def _machines_for(requests: list[Amounts], server_type: Object) -> int:
    """Return how many machines of the type hold the pods, first fit; 0 if one of them fits on none."""
    capacity = amounts(server_type["capacity"])
    machines: list[Amounts] = []
    for request in requests:
        for free in [*machines, {key: n - _OF_AGENTS.get(key, 0) for key, n in capacity.items()}]:
            if all(n <= free.get(key, 0) for key, n in request.items()):
                free.update({key: free[key] - n for key, n in request.items()})
                machines += [] if any(free is machine for machine in machines) else [free]
                break
        else:
            return 0
    return len(machines)
