"""Growth in a churn: rounds of its planner, and their plans carried out as its lifecycles do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.keys import ANNOTATION_IDLE_SINCE, ANNOTATION_PODS_SINCE
from api.meta import ObjectMeta, OwnerReference, format_timestamp
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_request import NodeRequest, NodeRequestSpec, NodeRequestStatus, RequestPhase, Seat
from benchmarks.churn.removing import Removing
from benchmarks.churn.view import EPOCH, ChurnView, moment
from benchmarks.churn.world import TICK, ChurnWorld
from planner.lifecycle.arrival.reservation import RELEASE_AFTER_READY
from planner.lifecycle.clocks.drain_limits import DRAIN_TIMEOUT
from planner.model.plan import Plan, PlannedRequest, PlannerMemory, Snapshot
from planner.objects.counted_pods import is_demand
from planner.packing.fallback.quick import is_proven, quick_answer
from planner.packing.optimiser.solve import solve
from planner.packing.problem import Packing, PackingProblem
from planner.parsing.objects import Json
from planner.plan import POLICIES, plan
from planner.policies.next_round import QUIET_PERIOD
from planner.policies.port import Policy
from planner.supply.unavailable import with_miss
from simulator.peers.fleet import FleetMachine

_FORGETS_EVERY: Final = 100
"""Rounds."""
_SOLD_OUT_FOR: Final = timedelta(minutes=2)
"""The first time; then twice as long, as `unavailableTTL` of a class has it."""


def packer(problem: PackingProblem) -> Packing:
    """Return the answer of a worker: the quick one where it is proven, else the optimiser's, with no clock in it."""
    quick = quick_answer(problem)
    return quick if quick is not None and is_proven(problem, quick) else solve(problem)


@dataclass(slots=True)
class _Coming:
    """A machine with its request, until its reservation ends."""

    machine: FleetMachine
    request: NodeRequest


class GrowthSide:
    """The planner's rounds, and what a worker does of their plans.

    Args:
        world: to act in.
        scale_down: `spec.scaleDown` of its pool.
        policies: by which machines go.
        every: seconds between two rounds that only time asks for; a worker's come when they are due.
    """

    def __init__(
        self,
        world: ChurnWorld,
        scale_down: Json | None = None,
        policies: Sequence[Policy] = POLICIES,
        every: int = TICK,
    ) -> None:
        self._world = world
        self._policies = policies
        self._every = every
        self._view = ChurnView(world, scale_down or {})
        self._coming: dict[str, _Coming] = {}
        self._removing = Removing(world, self._view.pool.spec.scale_down.drain_timeout or DRAIN_TIMEOUT)
        self._annotations: dict[str, dict[str, str]] = {}
        """Of Nodes, by name."""
        self._status = NodeClassStatus()
        self._memory = PlannerMemory()
        self._seen: set[int] = set()
        self._wake: int | None = 0
        self._last = 0
        self._version = 0
        self.rounds = 0
        self.unexplained: set[str] = set()
        """Uids of pods that waited in a round and of which its plan said nothing."""

    def look(self) -> int | None:
        """Do what is due now, and return when time alone next asks for a look."""
        world = self._world
        self._release()
        self._removing.go_on()
        news = not self._seen.issuperset(world.waiting)
        is_due = self._wake is not None and world.now >= self._wake
        is_quiet_over = world.version != self._version and world.now >= self._quiet_until()
        if news or is_due or is_quiet_over:
            self._round()
        moments = [self._removing.next_at(), self._wake, self._next_release()]
        if world.version != self._version:
            moments.append(self._quiet_until())
        return min((one for one in moments if one is not None), default=None)

    def _quiet_until(self) -> int:
        return self._on_beat(self._last + QUIET_PERIOD.seconds)

    def _on_beat(self, moment: int) -> int:
        return -(-moment // self._every) * self._every

    def _round(self) -> None:
        world = self._world
        self._seen = set(world.waiting)
        self._last = world.now
        self.rounds += 1
        snapshot = self._view.snapshot(
            requests=tuple(coming.request for coming in self._coming.values()),
            removals=self._removing.objects(),
            annotations=self._annotations,
            status=self._status,
            memory=self._memory,
        )
        made = plan(snapshot, packer, policies=self._policies)
        self._memory = made.memory
        self._wake = None if made.wake_at is None else self._on_beat(_seconds(made.wake_at))
        self._explain(snapshot, made)
        self._carry_out(made, {pod.key: pod.owner.uid for pod in snapshot.pods if pod.owner is not None})
        self._version = world.version
        if not self.rounds % _FORGETS_EVERY:
            self._view.forget()

    def _explain(self, snapshot: Snapshot, made: Plan) -> None:
        told_of = {placed.pod for placed in made.placed} | {
            unplaced.pod for unplaced in made.unplaced if unplaced.reasons
        }
        told_of |= {f"{seat.namespace}/{seat.name}" for request in made.requests for seat in request.seats}
        self.unexplained |= {pod.uid for pod in snapshot.pods if is_demand(pod) and pod.key not in told_of}

    def _carry_out(self, made: Plan, owners: Mapping[str, str]) -> None:
        world = self._world
        for node, since in made.idle_since.items():
            self._annotate(node, ANNOTATION_IDLE_SINCE, None if since is None else format_timestamp(since))
        for node, mark in made.pods_since.items():
            self._annotate(node, ANNOTATION_PODS_SINCE, mark)
        for report in made.pools:
            self._view.report(report.status)
        for cancel in made.removal_cancels:
            self._removing.cancel(cancel.removal)
        for name, seats in made.reservations.items():
            if name in self._coming:
                self._reserve(self._coming[name], seats)
        bought = {request.ordinal: self._buy(request) for request in made.requests}
        for removal in made.removals:
            self._removing.begin(removal, [bought[k] for k in removal.replacement], owners)
        if any(machine is None for machine in bought.values()):
            self._wake = world.now + TICK

    def _annotate(self, node: str, key: str, value: str | None) -> None:
        annotations = self._annotations.setdefault(node, {})
        if value is None:
            annotations.pop(key, None)
        else:
            annotations[key] = value

    def _buy(self, request: PlannedRequest) -> FleetMachine | None:
        world = self._world
        now = moment(world.now)
        machine = world.buy(self._view.offering_of[request.server_type, request.location])
        if machine is None:
            missed = with_miss(
                self._status.unavailable, request.server_type, request.location, ttl=_SOLD_OUT_FOR, now=now
            )
            self._status = self._status.model_copy(update={"unavailable": missed})
            return None
        deadline = now + timedelta(minutes=10)
        owner = OwnerReference(api_version="growth.dev/v1alpha1", kind="NodePool", name=request.pool, uid=request.pool)
        made = NodeRequest(
            metadata=ObjectMeta(name=machine.name, uid=machine.name, creation_timestamp=now, owner_references=(owner,)),
            spec=NodeRequestSpec(
                pool=request.pool,
                server_type=request.server_type,
                location=request.location,
                class_ref=request.class_ref,
                reserved_for=request.seats if request.reserve else (),
            ),
            status=NodeRequestStatus(
                phase=RequestPhase.PROVISIONING,
                attempts=1,
                create_attempt_at=now,
                price_per_hour=request.price_per_hour,
                currency="EUR",
                provisioning_deadline=deadline,
                join_deadline=deadline,
                running_at=now,
            ),
        )
        self._coming[machine.name] = _Coming(machine, made)
        machine.reserved = {int(seat.uid) for seat in request.seats}
        return machine

    def _reserve(self, coming: _Coming, seats: Sequence[Seat]) -> None:
        spec = coming.request.spec.model_copy(update={"reserved_for": tuple(seats)})
        coming.request = coming.request.model_copy(update={"spec": spec})
        if coming.machine.reserved is not None:
            coming.machine.reserved = {int(seat.uid) for seat in seats}

    def _release(self) -> None:
        """Let requests be Ready, and reservations end: of all machines together when no planned pod waits."""
        world = self._world
        is_awaited = False
        for coming in self._coming.values():
            machine, request = coming.machine, coming.request
            if machine.is_ready and request.status.phase is RequestPhase.PROVISIONING:
                now = moment(world.now)
                update = {"phase": RequestPhase.READY, "ready_at": now, "release_by": now + RELEASE_AFTER_READY}
                status = request.status.model_copy(update=update)
                coming.request = request.model_copy(update={"status": status})
            is_awaited = is_awaited or any(uid in world.waiting for uid in machine.reserved or ())
        awaited = self._removing.awaited()
        for name, coming in list(self._coming.items()):
            release_by = coming.request.status.release_by
            if name not in world.fleet.machines:
                del self._coming[name]
            elif name in awaited:
                continue
            elif release_by is not None and (not is_awaited or moment(world.now) >= release_by):
                coming.machine.reserved = None
                world.version += 1
                del self._coming[name]

    def _next_release(self) -> int | None:
        ends = (by for one in self._coming.values() if (by := one.request.status.release_by) is not None)
        return min((_seconds(by) for by in ends if _seconds(by) > self._world.now), default=None)


def _seconds(at: datetime) -> int:
    return -int(-(at - EPOCH).total_seconds() // 1)
