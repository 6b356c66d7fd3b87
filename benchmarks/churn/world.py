"""The world of a churn in virtual time: workloads and their controllers, pods, machines that boot, and the bill."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from benchmarks.churn.binder import Binder
from benchmarks.churn.stream import ChurnChange, Stream
from benchmarks.churn.tally import ChurnTally
from benchmarks.instance import InstanceShape
from simulator.peers.fleet import Amounts, FleetKind, FleetMachine, FleetOffering, FleetPod, PeerFleet

TICK: Final = 5
"""Seconds between two moments of the world."""
DAEMON: Final[Amounts] = (100, 128, 1)
"""What a DaemonSet's pod takes on each machine, beside those that the catalogue leaves out."""
STARTS_WITHIN: Final = 15
"""Seconds from its binding until a pod is Ready."""
_SURGE: Final = 0.25
_BOOT: Final = (60, 65, 70, 75, 80, 85, 90)
_MISSING: Final = 1
"""How many pods of a workload a budget lets be missing."""


@dataclass(frozen=True, slots=True)
class ChurnBudget:
    """A PodDisruptionBudget as it is counted now."""

    workload: int
    allowed: int
    """Pods that may be evicted now."""
    healthy: int
    needed: int


class ChurnWorld:
    """Everything but the autoscaler, which acts by `buy`, `close`, `evict` and `remove`."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.now = 0
        self.fleet = PeerFleet(
            tuple(_offerings(stream)), tuple(_kinds(stream)), tuple(sorted({m.zone for m in stream.machines}))
        )
        self.tally = ChurnTally(self.fleet)
        self.waiting: dict[int, FleetPod] = {}
        """Pods that are bound nowhere, by uid, the oldest first."""
        self.of_workload: list[dict[int, FleetPod]] = [{} for _ in stream.workloads]
        self.replicas = [0] * len(stream.workloads)
        self.revisions = [0] * len(stream.workloads)
        self.version = 0
        """Grows with each change of pods and machines."""
        self.replaced_by: dict[str, tuple[FleetMachine, ...]] = {}
        """Machines that must be Ready before pods of one that goes are asked to leave, by its name."""
        self.watchers: list[Callable[[FleetPod], None]] = []
        """Called with each pod just before it is evicted."""
        self._binder = Binder(self.fleet, stream.seed)
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = iter(range(1, 1 << 60))
        for change in stream.changes:
            self.at(change.at, lambda change=change: self._change(change))
        for begin, end, offering in ((s.begin, s.end, s.offering) for s in stream.sold_out):
            self.at(begin, lambda b=offering: self._sell_out(b, by=1))
            self.at(end, lambda b=offering: self._sell_out(b, by=-1))
        self._sold: dict[int, int] = {}

    def at(self, moment: int, action: Callable[[], None]) -> None:
        """Let something happen at a moment, rounded up to the next tick."""
        heapq.heappush(self._queue, (-(-moment // TICK) * TICK, next(self._numbers), action))

    def next_at(self) -> int | None:
        """Return when something happens next."""
        return self._queue[0][0] if self._queue else None

    def step(self, moment: int) -> None:
        """Let everything happen that is due, and then the scheduler try each waiting pod once."""
        self.tally.advance(moment, len(self.waiting))
        self.now = moment
        while self._queue and self._queue[0][0] <= moment:
            heapq.heappop(self._queue)[2]()
        self.schedule()

    def schedule(self) -> None:
        """Let the scheduler try each waiting pod once, the oldest first."""
        if not self.waiting:
            return
        refused: set[int] = set()
        for pod in list(self.waiting.values()):
            # Of equal pods, one that has no reserved place fits nowhere if another one did not.
            if pod.workload in refused and not self._is_expected(pod):
                continue
            machine = self._binder.machine_for(pod)
            if machine is None:
                if not self._is_expected(pod):
                    refused.add(pod.workload)
                continue
            self.bind(pod, machine)

    # What an autoscaler does.

    def buy(self, offering: int) -> FleetMachine | None:
        """Return a machine that boots from now on; None where it is sold out."""
        if offering in self.fleet.sold_out:
            self.tally.refused += 1
            return None
        name = f"machine-{next(self._numbers)}"
        # All sides' machines boot in the same spread of times.
        draw = sha256(f"{self.stream.seed} {self.now} {offering} {len(self.fleet.machines)}".encode()).digest()[0]
        ready = self.now + _BOOT[draw % len(_BOOT)]
        capacity = self.fleet.offerings[offering].capacity
        machine = FleetMachine(name, offering, self.now, ready, list(capacity), touched=self.now)
        self.fleet.machines[name] = machine
        self.tally.purchases += 1
        self.version += 1
        self.at(ready, lambda: self._make_ready(machine))
        return machine

    def close(self, machine: FleetMachine, replaced_by: Sequence[FleetMachine] = ()) -> None:
        """Taint a machine that is to go, once machines that were bought for its pods are Ready."""
        machine.is_closed = True
        self.replaced_by[machine.name] = tuple(replaced_by)
        self.version += 1

    def open(self, machine: FleetMachine) -> None:
        """Take the taint back from a machine that is to stay."""
        machine.is_closed = False
        del self.replaced_by[machine.name]
        self.version += 1

    def may_evict(self, pod: FleetPod) -> bool:
        """Return whether its budget lets a pod go now, as the eviction API would say."""
        return not self.stream.workloads[pod.workload].has_budget or self._budget(pod.workload).allowed > 0

    def budgets(self) -> Iterator[ChurnBudget]:
        """Yield all budgets as the disruption controller counts them now."""
        return (self._budget(i) for i, workload in enumerate(self.stream.workloads) if workload.has_budget)

    def _budget(self, workload: int) -> ChurnBudget:
        healthy, needed = self.healthy(workload), self.replicas[workload] - _MISSING
        is_open = self.stream.workloads[workload].lets_go(self.now)
        return ChurnBudget(workload, max(0, healthy - needed) if is_open else 0, healthy, needed)

    def healthy(self, workload: int) -> int:
        """Return how many pods of a workload are Ready."""
        return sum(
            pod.machine is not None and self.now >= pod.bound + STARTS_WITHIN
            for pod in self.of_workload[workload].values()
        )

    def evict(self, pod: FleetPod) -> bool:
        """Ask a pod to leave; its controller makes another one at once. Return whether its budget let it."""
        if pod.machine is None or not self.may_evict(pod):
            return False
        for watcher in self.watchers:
            watcher(pod)
        self.tally.moved += 1
        self.delete(pod)
        # An old one makes way for a new one that is there, unless too few of either are left.
        if not pod.is_old or len(self.of_workload[pod.workload]) < self.replicas[pod.workload]:
            self.create(pod.workload, lasts=pod.lasts)
        self.version += 1
        return True

    def remove(self, machine: FleetMachine) -> None:
        """Delete a machine that has no pods."""
        if machine.pods:
            raise AssertionError(f"{machine.name} is removed with {len(machine.pods)} pods")
        del self.fleet.machines[machine.name]
        self.replaced_by.pop(machine.name, None)
        self.tally.remove(machine, self.now)
        self.version += 1

    # What controllers do.

    def _change(self, change: ChurnChange) -> None:
        if change.job:
            self.create(change.workload, lasts=change.job)
        elif change.rollout:
            self._roll_out(change.workload)
        else:
            self.replicas[change.workload] = change.replicas
            self._reconcile(change.workload)

    def _reconcile(self, workload: int) -> None:
        pods = self.of_workload[workload]
        surge = self._surge(workload) if any(pod.is_old for pod in pods.values()) else 0
        while len(pods) < self.replicas[workload]:
            self.create(workload)
        while len(pods) > self.replicas[workload] + surge:
            self.delete(self._first_to_go(workload))

    def _first_to_go(self, workload: int) -> FleetPod:
        """Return the pod that a ReplicaSet deletes first: one that waits, then where most are, then the newest."""
        return min(
            self.of_workload[workload].values(),
            key=lambda p: (
                not p.is_old,
                p.machine is not None,
                0 if p.machine is None else -p.machine.counts[workload],
                -p.created,
                -p.uid,
            ),
        )

    def _surge(self, workload: int) -> int:
        return max(1, round(self.replicas[workload] * _SURGE))

    def _roll_out(self, workload: int) -> None:
        self.revisions[workload] += 1
        for pod in self.of_workload[workload].values():
            pod.is_old = True
        for _ in range(self._surge(workload) if self.replicas[workload] else 0):
            self.create(workload)

    def _is_started(self, pod: FleetPod) -> None:
        """Let a rollout go on when a new pod is Ready: an old one goes, and another new one comes."""
        pods = self.of_workload[pod.workload]
        if pods.get(pod.uid) is not pod or pod.is_old:
            return
        old = [one for one in pods.values() if one.is_old]
        if old:
            self.delete(min(old, key=lambda one: (one.machine is not None, one.created, one.uid)))
            if sum(not one.is_old for one in pods.values()) < self.replicas[pod.workload]:
                self.create(pod.workload)

    def create(self, workload: int, lasts: int = 0) -> None:
        """Make a pod, which waits from now on."""
        pod = FleetPod(next(self._numbers), workload, self.now, lasts=lasts)
        self.of_workload[workload][pod.uid] = pod
        self.waiting[pod.uid] = pod
        self.version += 1

    def bind(self, pod: FleetPod, machine: FleetMachine) -> None:
        """Bind a pod that waits."""
        del self.waiting[pod.uid]
        pod.machine, pod.bound, machine.touched = machine, self.now, self.now
        machine.put(pod, self.fleet.kinds[pod.workload].demand)
        self.tally.waits.append(self.now - pod.created)
        self.version += 1
        if pod.lasts:
            self.at(self.now + pod.lasts, lambda: self._end(pod))
        else:
            self.at(self.now + STARTS_WITHIN, lambda: self._is_started(pod))

    def _end(self, pod: FleetPod) -> None:
        if self.of_workload[pod.workload].get(pod.uid) is pod:
            self.delete(pod)

    def delete(self, pod: FleetPod) -> None:
        """Delete a pod, wherever it is."""
        del self.of_workload[pod.workload][pod.uid]
        if pod.machine is None:
            del self.waiting[pod.uid]
        else:
            pod.machine.take_off(pod, self.fleet.kinds[pod.workload].demand)
            pod.machine.touched = self.now
            pod.machine = None
        self.version += 1

    def _make_ready(self, machine: FleetMachine) -> None:
        if machine.name in self.fleet.machines:
            machine.is_ready = True
            self.version += 1

    def _sell_out(self, offering: int, *, by: int) -> None:
        self._sold[offering] = self._sold.get(offering, 0) + by
        self.fleet.sold_out = frozenset(b for b, times in self._sold.items() if times > 0)

    def _is_expected(self, pod: FleetPod) -> bool:
        return any(m.reserved is not None and pod.uid in m.reserved for m in self.fleet.machines.values())


def _offerings(stream: Stream) -> Iterator[FleetOffering]:
    for machine in stream.machines:
        room = (machine.cpu - DAEMON[0], machine.memory - DAEMON[1], machine.pods - DAEMON[2])
        yield FleetOffering(machine.name, machine.zone, float(machine.price_per_hour), room, DAEMON)


def _kinds(stream: Stream) -> Iterator[FleetKind]:
    rooms = [offering.capacity for offering in _offerings(stream)]
    for workload in stream.workloads:
        demand = (workload.cpu, workload.memory, 1)
        shape = InstanceShape(count=1, cpu=demand[0], memory=demand[1], disk=0, architecture=workload.architecture)
        yield FleetKind(
            demand=demand,
            bins=frozenset(
                b
                for b, machine in enumerate(stream.machines)
                if shape.suits(machine) and all(a <= most for a, most in zip(demand, rooms[b], strict=True))
            ),
            zone_skew=workload.zone_skew,
            host_skew=workload.host_skew,
            is_local=workload.has_empty_dir,
            stays=workload.is_job,
        )
