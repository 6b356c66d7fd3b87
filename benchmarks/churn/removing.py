"""Machines that Growth removes: cool-off, waiting for what replaces them, drain by the eviction API, deletion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from api.meta import ObjectMeta
from api.v1alpha1.node_removal_request import (
    NodeRemovalRequest,
    NodeRemovalRequestSpec,
    NodeRemovalRequestStatus,
    PodMove,
    RemovalPhase,
)
from benchmarks.churn.view import EPOCH, moment
from benchmarks.churn.world import TICK, ChurnWorld
from planner.lifecycle.clocks.drain_limits import DRAIN_TIMEOUT
from planner.model.plan import PlannedRemoval
from planner.policies.emptiness import FOUND_EMPTY
from simulator.peers.fleet import FleetMachine

_ASK_AGAIN_AFTER: Final = 10
"""Seconds between two tries to evict pods, as planner/lifecycle/drain.py has it."""
_ARRIVES_WITHIN: Final = 1500
"""Provisioning and join timeout: how long a replacement is waited for."""


@dataclass(slots=True)
class _Leaving:
    """A machine under removal."""

    machine: FleetMachine
    removal: PlannedRemoval
    replacement: tuple[FleetMachine, ...]
    moves: tuple[PodMove, ...]
    begun: int
    due: int
    """When there is something to do next."""
    drained: int | None = None
    """Since when its pods are asked to leave."""
    asked: int | None = None
    """When the last of them began to leave."""


class Removing:
    """All machines under removal.

    Args:
        world: whose machines they are.
        drain_timeout: after which a drain is given up.
    """

    def __init__(self, world: ChurnWorld, drain_timeout: timedelta = DRAIN_TIMEOUT) -> None:
        self._world = world
        self._drain_timeout = int(drain_timeout.total_seconds())
        self._leaving: dict[str, _Leaving] = {}
        self.cancelled = 0

    def begin(
        self, removal: PlannedRemoval, replacement: Sequence[FleetMachine | None], owners: Mapping[str, str]
    ) -> None:
        """Begin a removal; it is not begun if a machine that should replace it could not be had.

        `owners` are the uids of the controllers of pods, by namespace/name.
        """
        world = self._world
        machine = world.fleet.machines[removal.server]
        if any(leaving is None for leaving in replacement):
            return
        due = -(-int((removal.at - EPOCH).total_seconds()) // 1)
        came = tuple(leaving for leaving in replacement if leaving is not None)
        moves = tuple(PodMove(pod=move.pod, node=move.node, owner=owners.get(move.pod)) for move in removal.moves)
        self._leaving[machine.name] = _Leaving(machine, removal, came, moves, world.now, max(due, world.now + TICK))
        world.close(machine, came)

    def cancel(self, name: str) -> None:
        """Let a machine stay."""
        if name in self._leaving:
            self._world.open(self._leaving.pop(name).machine)
            self.cancelled += 1

    def next_at(self) -> int | None:
        """Return when something is due."""
        return min((leaving.due for leaving in self._leaving.values()), default=None)

    def awaited(self) -> frozenset[str]:
        """Return the machines, by name, whose reservation lasts as the machines that they replace still have pods."""
        return frozenset(new.name for leaving in self._leaving.values() for new in leaving.replacement)

    def objects(self) -> tuple[NodeRemovalRequest, ...]:
        """Return the removals as a round sees them."""
        return tuple(_object(leaving) for leaving in self._leaving.values())

    def go_on(self) -> None:
        """Do what is due."""
        for leaving in list(self._leaving.values()):
            if leaving.machine.name in self._leaving and self._world.now >= leaving.due:
                self._go_on(leaving)

    def _go_on(self, leaving: _Leaving) -> None:
        world, machine = self._world, leaving.machine
        if not machine.pods:
            del self._leaving[machine.name]
            world.remove(machine)
            return
        if leaving.removal.reason == FOUND_EMPTY:
            self.cancel(machine.name)
            return
        leaving.due = world.now + _ASK_AGAIN_AFTER
        if leaving.drained is None:
            if any(new.name not in world.fleet.machines for new in leaving.replacement):
                self.cancel(machine.name)
            elif self.have_come(leaving) and self._is_turn(leaving):
                leaving.drained = world.now
            elif world.now >= leaving.begun + _ARRIVES_WITHIN:
                self.cancel(machine.name)
        if leaving.drained is None or machine.name not in self._leaving:
            return
        if world.now >= leaving.drained + self._drain_timeout:
            self.cancel(machine.name)
            return
        for pod in list(machine.pods.values()):
            if not world.fleet.kinds[pod.workload].stays and world.evict(pod):
                leaving.asked = world.now

    def have_come(self, leaving: _Leaving) -> bool:
        """Return whether the machines that replace it are Ready."""
        return all(new.is_ready for new in leaving.replacement)

    def _is_turn(self, leaving: _Leaving) -> bool:
        """Return whether its drain may begin: onto room that is there, one machine of a step goes at a time."""
        step = leaving.removal.step
        if not leaving.moves or not step:
            return True
        others = (o for o in self._leaving.values() if o is not leaving and o.moves and o.removal.step == step)
        return not any(o.drained is not None or o.machine.name < leaving.machine.name for o in others)


def _object(leaving: _Leaving) -> NodeRemovalRequest:
    removal, machine = leaving.removal, leaving.machine
    return NodeRemovalRequest(
        metadata=ObjectMeta(name=machine.name, uid=f"removal-{machine.name}", creation_timestamp=moment(leaving.begun)),
        spec=NodeRemovalRequestSpec(
            server_name=machine.name,
            node_name=removal.node,
            providerID=removal.provider_id,
            pool=removal.pool,
            server_type=removal.server_type,
            location=removal.location,
            class_ref=removal.class_ref,
            reason=removal.reason,
            replaced_by=tuple(new.name for new in leaving.replacement),
            moves=leaving.moves or None,
        ),
        status=NodeRemovalRequestStatus(
            phase=RemovalPhase.PENDING if leaving.drained is None else RemovalPhase.DRAINING,
            tainted_at=moment(leaving.begun),
            scale_down_at=removal.at,
            drain_started_at=None if leaving.drained is None else moment(leaving.drained),
            evict_attempted_at=None if leaving.asked is None else moment(leaving.asked),
        ),
    )
