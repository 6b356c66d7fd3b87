"""Learns what planner and scheduler see differently, so that no machine is bought again and again for the same pods.

A reservation that ended although the scheduler had tried: its type is not bought for that class of pods. A pod that
waits although there is room: the Nodes with room do not count for its class. Each for a time that doubles, and only
for the class and namespace in which it was seen; a pod of it that is bound there ends it.
Source: docs/design.md#refused-placements.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from api.v1alpha1.node_request import NodeRequest, RequestPhase
from api.v1alpha1.refused_placement import MOST_NODES, MOST_PLACEMENTS, RefusedPlacement
from planner.lifecycle.clocks.future_times import is_to_come
from planner.model.plan import PlannedEvent, Snapshot
from planner.objects.counted_pods import is_demand
from planner.objects.kinds import Node, Pod
from planner.packing.place_fit import PlaceFit
from planner.policies.scheduling_attempts import Attempts
from planner.supply.lost_places import PLACEMENT_REFUSED, PoolEntries, sentence
from planner.supply.machines import Machine
from planner.supply.places import Place, Rank
from planner.supply.pod_group import GroupKeys, PodGroup

FIRST_WAIT: Final = timedelta(minutes=10)
LONGEST_WAIT: Final = timedelta(hours=6)
"""A scheduler's reasons change when people change something: within a working day it is tried again."""
REMEMBERED_FOR: Final = timedelta(hours=1)
"""What happens that long after the last wait has nothing to do with it: the doubling begins anew."""
ROOM_SEEN_FOR: Final = timedelta(minutes=2)
"""A scheduler that may bind a pod does so within its back-off of 10 s."""
WITHOUT_A_SIGN: Final = timedelta(minutes=10)
"""Where nothing tells that the scheduler is at work; it tries each pod again within 5 min."""
_NOT_TRIED: Final = "NotTried"
"""Reason of a reservation that ended although no scheduler had tried its pods."""
_AT_ONCE: Final = 10
"""Classes about which a round concludes something: more would take its time."""
_EntryKey = tuple[str, str, str, str | None]
"""Pool, namespace, class, and server type or None for Nodes."""


@dataclass(frozen=True, slots=True)
class RoomSeen:
    """A waiting pod for which the plan has room on a Node that is there."""

    group: PodGroup
    pod: Pod
    place: Place


@dataclass(slots=True)
class RefusedPlacements:
    """The memory of all pools while a round learns."""

    snapshot: Snapshot
    machines: Mapping[str, Machine]
    keys: GroupKeys
    events: list[PlannedEvent] = field(default_factory=list)
    """What was concluded, for the pod with which it was seen."""
    _entries: dict[_EntryKey, RefusedPlacement] = field(default_factory=dict)
    _attempts: Attempts = field(init=False)
    _generations: dict[str, int | None] = field(init=False)

    def __post_init__(self) -> None:
        self._generations = {pool.metadata.name: pool.metadata.generation for pool in self.snapshot.pools}
        nodes = {node.name for node in self.snapshot.nodes}
        for pool in self.snapshot.pools:
            for entry in pool.status.refused_placements:
                if not _is_over(entry, self.snapshot.now):
                    about = (pool.metadata.name, entry.namespace, entry.pod_class, entry.server_type)
                    self._entries[about] = _as_it_is_now(entry, nodes, pool.metadata.generation, self.snapshot.now)
        self._attempts = Attempts(self.snapshot)

    @property
    def by_pool(self) -> PoolEntries:
        """What each pool should remember, as much as its status has room for; pools without anything are left out."""
        entries_of: dict[str, list[RefusedPlacement]] = {}
        for (pool, *_), entry in sorted(self._entries.items(), key=lambda item: tuple(map(str, item[0]))):
            entries_of.setdefault(pool, []).append(entry)
        return {pool: _bounded(entries) for pool, entries in entries_of.items()}

    @property
    def wake_at(self) -> datetime | None:
        """When time alone changes something."""
        now = self.snapshot.now
        moments = [entry.until for entry in self._entries.values() if entry.until is not None]
        seen = [entry.room_seen_at for entry in self._entries.values() if entry.room_seen_at is not None]
        moments += [moment + wait for moment in seen for wait in (ROOM_SEEN_FOR, WITHOUT_A_SIGN)]
        return min((moment for moment in moments if moment > now), default=None)

    def learn_of_reservations(self) -> None:
        """Learn of pods that were bound after all, and of reservations that ended without their pods."""
        self._forget_what_was_bound()
        pods: dict[str, Pod] | None = None
        for request in self.snapshot.requests:
            if _has_ended_late(request):
                pods = pods or {pod.uid: pod for pod in self.snapshot.pods}
                self._learn_of(request, pods)

    def learn_of_room(self, seen: Iterable[RoomSeen], places: Sequence[Place]) -> None:
        """Learn of pods that wait although the plan of this round has room for them."""
        by_class: dict[_EntryKey, list[RoomSeen]] = {}
        for room in seen:
            by_class.setdefault((room.group.pools[0], room.pod.namespace, room.group.key, None), []).append(room)
        for about, entry in list(self._entries.items()):
            if entry.room_seen_at is not None and about not in by_class:
                self._put(about, entry, room_seen_at=None)
        concluded = 0
        used = Counter(pool for pool, *_ in self._entries)
        for about, rooms in sorted(by_class.items(), key=lambda item: _waiting_since(item[1][0].pod)):
            entry = self._entries.get(about)
            if entry is None and used[about[0]] >= MOST_PLACEMENTS:
                continue
            used[about[0]] += entry is None
            if concluded < _AT_ONCE and self._is_refused(entry, rooms):
                concluded += 1
                self._lose_nodes(about, rooms, places)
            elif entry is None or not self._is_awaited(entry, rooms):
                first = rooms[0].pod
                self._put(about, entry, pod=first.name, pod_uid=first.uid, room_seen_at=self.snapshot.now)

    def _learn_of(self, request: NodeRequest, pods: Mapping[str, Pod]) -> None:
        machine = self.machines[request.metadata.name]
        ready_at, released_at = request.status.ready_at, request.status.released_at
        if machine.node is None or ready_at is None or released_at is None:
            return
        if not machine.node.takes_pods or machine.is_to_go_now:
            # Whoever closed it is why the scheduler sends no pod there, and no other machine of the type is closed.
            # One that goes for want of pods is heeded: until it went, nothing else kept them from it.
            return
        bound = {(pod.namespace, self.keys.of(pod)) for pod in machine.residents}
        waiting: dict[tuple[str, str], Pod] = {}
        for seat in request.spec.reserved_for:
            pod = pods.get(seat.uid)
            if pod is not None and is_demand(pod):
                waiting.setdefault((pod.namespace, self.keys.of(pod)), pod)
        for (namespace, pod_class), pod in waiting.items():
            about = (request.spec.pool, namespace, pod_class, request.spec.server_type.lower())
            known = self._entries.get(about)
            is_known = known is not None and known.last_refused_at is not None and released_at <= known.last_refused_at
            if (namespace, pod_class) in bound or is_known:
                continue
            if self._attempts.was_tried(pod, ready_at, [machine.node]):
                self._conclude(about, pod, [machine.node.name], at=released_at)
                self._conclude((*about[:3], None), pod, [machine.node.name], is_told=False)

    def _is_refused(self, entry: RefusedPlacement | None, rooms: Sequence[RoomSeen]) -> bool:
        if entry is None or entry.room_seen_at is None or not self._is_awaited(entry, rooms):
            return False
        pod = next(room.pod for room in rooms if room.pod.uid == entry.pod_uid)
        waited = self.snapshot.now - entry.room_seen_at
        nodes = [room.place.machine.node for room in rooms if room.place.machine.node is not None]
        if waited >= WITHOUT_A_SIGN:
            return not self._attempts.is_silent(pod)
        return waited >= ROOM_SEEN_FOR and self._attempts.was_tried(pod, entry.room_seen_at, nodes)

    def _is_awaited(self, entry: RefusedPlacement, rooms: Sequence[RoomSeen]) -> bool:
        """Return whether the pod of the entry is one of those that wait: others have begun to wait later."""
        return entry.room_seen_at is not None and any(room.pod.uid == entry.pod_uid for room in rooms)

    def _lose_nodes(self, about: _EntryKey, rooms: Sequence[RoomSeen], places: Sequence[Place]) -> None:
        entry = self._entries[about]
        since = entry.room_seen_at
        room = next(room for room in rooms if room.pod.uid == entry.pod_uid)
        fit = PlaceFit([room.group])
        # The scheduler has tried all Nodes, so that each that has room, and was there, is refused.
        held = [place for place in places if place.rank is Rank.NODE and fit.held(place, ())]
        nodes = [place.machine.node for place in (room.place, *held) if place.machine.node is not None]
        old_enough = [node for node in nodes if since is None or node.ready_since is None or node.ready_since <= since]
        if not old_enough:
            self._put(about, entry, room_seen_at=self.snapshot.now)
            return
        names = list(dict.fromkeys(node.name for node in old_enough))
        self._conclude(about, room.pod, names)
        pool, namespace, pod_class, _ = about
        for node in old_enough:
            machine = self.machines[node.name]
            # A machine that came while the pod waited tells as much of its type as one that was kept for it.
            if machine.pool == pool and machine.server_type and _came_for(node, room.pod):
                self._conclude((pool, namespace, pod_class, machine.server_type), room.pod, [node.name], is_told=False)

    def _conclude(
        self, about: _EntryKey, pod: Pod, nodes: Sequence[str], *, at: datetime | None = None, is_told: bool = True
    ) -> None:
        now = self.snapshot.now
        known = self._entries.get(about)
        before = () if known is None else known.nodes
        names = tuple(dict.fromkeys((*before, *nodes)))
        changes: dict[str, Any] = {
            "pod": pod.name,
            "pod_uid": pod.uid,
            "nodes": names[-MOST_NODES:],
            "room_seen_at": None,
            "last_refused_at": max(now, at or now),
            "message": pod.scheduled.message,
            "pool_generation": self._generations[about[0]] if about[3] is not None else None,
        }
        if len(names) > MOST_NODES and about[3] is None:
            changes["nodes_before"] = now
        if known is None or known.until is None or now >= known.until:
            # What was under way together met the same refusal, and counts once.
            failures = 1 if known is None else known.failures + 1
            changes |= {"failures": failures, "until": now + _wait(failures)}
        entry = self._put(about, known, **changes)
        if is_told:
            message = sentence(about[0], entry)
            self.events.append(
                PlannedEvent(
                    "Pod",
                    pod.name,
                    pod.namespace,
                    pod.uid,
                    PLACEMENT_REFUSED,
                    message,
                    warning=True,
                    machine=entry.nodes[-1] if entry.nodes else "",
                )
            )

    def _forget_what_was_bound(self) -> None:
        for about, entry in list(self._entries.items()):
            if entry.last_refused_at is None or not any(self._were_bound(about, entry)):
                continue
            waits = any(pod.uid == entry.pod_uid and is_demand(pod) for pod in self.snapshot.pods)
            if not waits:
                del self._entries[about]
            elif entry.failures == 1 and entry.until is not None:
                # Another pod of its class was bound: it may be tried once more. After that, only it itself tells more.
                self._put(about, entry, until=min(entry.until, self.snapshot.now))

    def _were_bound(self, about: _EntryKey, entry: RefusedPlacement) -> Iterator[bool]:
        pool, namespace, pod_class, server_type = about
        for machine in self.machines.values():
            if machine.node is None or not _is_about(entry, machine, machine.node, pool, server_type):
                continue
            for pod in machine.residents:
                since = pod.scheduled.since
                is_later = since is not None and entry.last_refused_at is not None and since > entry.last_refused_at
                yield is_later and pod.namespace == namespace and self.keys.of(pod) == pod_class

    def _put(self, about: _EntryKey, known: RefusedPlacement | None, **changes: Any) -> RefusedPlacement:
        _, namespace, pod_class, server_type = about
        new = {"namespace": namespace, "class": pod_class, "serverType": server_type}
        base = known or RefusedPlacement.model_validate(new)
        entry = base.model_copy(update=changes)
        if entry.until is None and entry.room_seen_at is None:
            self._entries.pop(about, None)
        else:
            self._entries[about] = entry
        return entry


def _is_over(entry: RefusedPlacement, now: datetime) -> bool:
    return entry.room_seen_at is None and (entry.until is None or now >= entry.until + REMEMBERED_FOR)


def _as_it_is_now(
    entry: RefusedPlacement, nodes: Collection[str], generation: int | None, now: datetime
) -> RefusedPlacement:
    """Return the entry without Nodes that are gone, and over where its pool was edited or a clock was ahead."""
    if entry.until is not None and is_to_come(entry.last_refused_at, now):
        entry = entry.model_copy(update={"until": now, "last_refused_at": now})
    if is_to_come(entry.room_seen_at, now):
        entry = entry.model_copy(update={"room_seen_at": now})
    if entry.server_type is None:
        return entry.model_copy(update={"nodes": tuple(name for name in entry.nodes if name in nodes)})
    if entry.pool_generation == generation or entry.until is None:
        return entry
    return entry.model_copy(update={"until": min(entry.until, now), "pool_generation": generation})


def _is_about(entry: RefusedPlacement, machine: Machine, node: Node, pool: str, server_type: str | None) -> bool:
    if server_type is not None:
        return machine.pool == pool and machine.server_type == server_type
    return node.name in entry.nodes or (
        entry.nodes_before is not None and node.created_at is not None and node.created_at < entry.nodes_before
    )


def _has_ended_late(request: NodeRequest) -> bool:
    """Return whether its reservation ended because its time was over: its pods had it all, on a Ready Node."""
    status = request.status
    return (
        status.phase is RequestPhase.READY
        and bool(request.spec.reserved_for)
        and request.metadata.deletion_timestamp is None
        and status.reason != _NOT_TRIED
        and status.released_at is not None
        and status.release_by is not None
        and status.released_at >= status.release_by
    )


def _came_for(node: Node, pod: Pod) -> bool:
    since = pod.scheduled.since
    return since is not None and node.created_at is not None and node.created_at > since


def _waiting_since(pod: Pod) -> tuple[float, str]:
    since = pod.scheduled.since or pod.created_at
    return 0.0 if since is None else since.timestamp(), pod.key


def _wait(failures: int) -> timedelta:
    return min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(failures - 1, 10))


def _bounded(entries: Sequence[RefusedPlacement]) -> tuple[RefusedPlacement, ...]:
    """Return as many as a status has room for: the namespace with the most entries gives up those that end first."""
    left = list(entries)
    while len(left) > MOST_PLACEMENTS:
        numbers = Counter(entry.namespace for entry in left)
        largest = max(numbers, key=lambda name: (numbers[name], name))
        left.remove(min((e for e in left if e.namespace == largest), key=_ends))
    return tuple(left)


def _ends(entry: RefusedPlacement) -> float:
    return 0.0 if entry.until is None else entry.until.timestamp()
