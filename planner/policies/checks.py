"""Safety checks: reasons to keep a machine, whichever policy proposes to remove it; and the budget of pool minimums.

The budget counts how many machines may go before a pool falls below its minimum, or below that of a server type.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import ClassVar

from api.keys import ANNOTATION_DO_NOT_REMOVE, FORCED, LABEL_REQUEST
from api.v1alpha1.node_pool import NodePool
from planner.objects.local_volume import LocalVolumes, VolumeHost, named
from planner.policies.port import Candidate, MachineAction, SafetyCheck
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.safety.dry_run import DryPool
from planner.policies.safety.frozen_pools import FrozenPool
from planner.supply.machines import Machine


def safety_checks(
    wanted: Collection[str],
    protected_nodes: Collection[str],
    local_volumes: LocalVolumes,
    now: datetime,
    frozen: Collection[str] = (),
) -> tuple[SafetyCheck, ...]:
    """Return the checks in the order in which they are asked.

    Args:
        wanted: machines that pods are planned onto, by name.
        protected_nodes: nodes that carry the worker or its Temporal.
        local_volumes: those of the cluster.
        now: of the round.
        frozen: pools that are frozen, by name.
    """
    return (
        PausedPool(now),
        DryPool(),
        FrozenPool(frozen),
        WantedByPods(wanted),
        CancelledRemoval(),
        OpenRequest(),
        ForeignMachine(),
        ProtectedNode(protected_nodes),
        AnnotatedNode(),
        CordonedNode(),
        TerminatingNode(),
        HoldsData(local_volumes),
    )


def refusals(candidate: Candidate, checks: Iterable[SafetyCheck]) -> Iterator[str]:
    """Yield everything that keeps the machine, in the order of the checks."""
    for check in checks:
        refused = check.refuses(candidate)
        if refused is not None:
            yield refused


def first_refusal(candidate: Candidate, checks: Iterable[SafetyCheck]) -> Blocked | None:
    """Return the first thing that keeps the machine, None if nothing does."""
    for check in checks:
        refused = check.refuses(candidate)
        if refused is not None:
            return Blocked(check.by, refused)
    return None


@dataclass(frozen=True, slots=True)
class PausedPool:
    """Keeps the machines of a pool that a person has paused; a request that has asked for no server may go."""

    by: ClassVar = BlockedBy.POOL_PAUSED
    now: datetime

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if its pool is paused."""
        pause = candidate.pool.pause_at(self.now) if candidate.action is MachineAction.REMOVE else None
        return None if pause is None else pause.sentence(candidate.pool.metadata.name)


@dataclass(frozen=True, slots=True)
class WantedByPods:
    """Keeps a machine that this round plans pods onto, or that is kept for pods of an earlier one."""

    by: ClassVar = BlockedBy.WANTED
    machines: Collection[str]

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if pods are planned onto the machine."""
        return "waiting pods are planned onto it" if candidate.machine.name in self.machines else None


@dataclass(frozen=True, slots=True)
class CancelledRemoval:
    """Keeps a machine whose removal was cancelled, until that removal has ended: there is one a server."""

    by: ClassVar = BlockedBy.REMOVAL_CANCELLED

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if its removal still exists."""
        return None if candidate.machine.removal is None else "its removal was cancelled and has not ended yet"


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """Keeps a machine whose request still works on its node."""

    by: ClassVar = BlockedBy.REQUEST_OPEN

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if its request still works on the node; a request to cancel goes with its machine."""
        is_open = candidate.action is MachineAction.REMOVE and candidate.machine.has_open_request
        return "its request is not done with it" if is_open else None


@dataclass(frozen=True, slots=True)
class ForeignMachine:
    """Keeps machines that no round has bought: nodes that do not name their request, and requests of people."""

    by: ClassVar = BlockedBy.FOREIGN

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if the machine is not one that a round has bought."""
        node, request = candidate.machine.node, candidate.machine.request
        if candidate.action is MachineAction.REMOVE:
            is_own = node is not None and node.labels.get(LABEL_REQUEST) == node.name
            return None if is_own else "it bears no request of Growth's"
        is_own = request is not None and any(owner.kind == "NodePool" for owner in request.metadata.owner_references)
        return None if is_own else "a person asked for it"


@dataclass(frozen=True, slots=True)
class ProtectedNode:
    """Keeps the nodes that carry Growth itself."""

    by: ClassVar = BlockedBy.CARRIES_GROWTH
    nodes: Collection[str]

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if the node carries Growth itself."""
        node = candidate.machine.node
        is_protected = node is not None and node.name in self.nodes
        return "it carries the worker or its Temporal" if is_protected else None


@dataclass(frozen=True, slots=True)
class AnnotatedNode:
    """Keeps a node that a person annotated; an empty value keeps nothing, nor does any where the taint says `force`."""

    by: ClassVar = BlockedBy.ANNOTATION

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if a person annotated the node."""
        node = candidate.machine.node
        if node is None or node.remove_now == FORCED:
            return None
        is_kept = bool(node.annotations.get(ANNOTATION_DO_NOT_REMOVE))
        return f"a person annotated it {ANNOTATION_DO_NOT_REMOVE}" if is_kept else None


@dataclass(frozen=True, slots=True)
class CordonedNode:
    """Keeps a cordoned node: a cordon is a person's tool. Who sets remove-now has said what shall become of it."""

    by: ClassVar = BlockedBy.CORDON

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if the node is cordoned."""
        node = candidate.machine.node
        is_cordoned = node is not None and node.is_cordoned and node.remove_now is None
        return "it is cordoned, and whoever did that decides about it" if is_cordoned else None


@dataclass(frozen=True, slots=True)
class TerminatingNode:
    """Keeps away from a Node that somebody deletes: its machine is decided about when it is gone."""

    by: ClassVar = BlockedBy.NODE_TERMINATING

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if its Node is being deleted."""
        node = candidate.machine.node
        return "its Node is being deleted already" if node is not None and node.is_terminating else None


@dataclass(frozen=True, slots=True)
class HoldsData:
    """Keeps a machine that has data which is nowhere else, also while no pod uses it."""

    by: ClassVar = BlockedBy.LOCAL_DATA
    volumes: LocalVolumes

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if a local volume is on the node."""
        node = candidate.machine.node
        if node is None:
            return None
        volumes = self.volumes.on(VolumeHost(node.name, node.labels, candidate.pool.spec.template.labels))
        return f"data is on it that would go with it: {', '.join(named(volumes))}" if volumes else None


class _MachineState(IntEnum):
    """The progress of a machine. A minimum is kept by machines that are at least as far as the one that goes."""

    COMING = 0
    JOINED = 1
    """Its Node is not Ready."""
    READY = 2


class Budget:
    """The last safety check. Counts down with each machine that goes, so policies share it.

    A Ready node goes only if Ready nodes keep the minimum: neither nodes that are not Ready nor machines that are
    coming make up for it. A node that is not Ready may go where nodes keep it, a request where any machine does.
    Source: docs/design.md#departures.
    """

    def __init__(self, machines: Iterable[Machine]) -> None:
        self._counts = Counter(row for machine in machines if machine.stays for row in _budget_rows(machine))

    def refuses(self, candidate: Candidate) -> str | None:
        """Return a sentence on the minimum that keeps the machine, or None if it may go."""
        is_kept = any(self.lacks(candidate))
        return kept_by_minimum(candidate.pool, candidate.machine.server_type) if is_kept else None

    def lacks(self, candidate: Candidate) -> tuple[bool, bool]:
        """Return whether the machine is one of the last that its pool's minimum needs, and that of its type."""
        machine, standing = candidate.machine, _state_of(candidate.machine)
        of_pool, of_type = minimums(candidate.pool, machine.server_type)
        return (
            self._counts[machine.pool, standing] <= of_pool,
            self._counts[machine.pool, machine.server_type, standing] <= of_type,
        )

    def spend(self, candidate: Candidate) -> None:
        """Count a machine that goes."""
        self._counts.subtract(_budget_rows(candidate.machine))

    def refund(self, candidates: Iterable[Candidate]) -> None:
        """Count machines no more that stay after all."""
        for candidate in candidates:
            self._counts.update(_budget_rows(candidate.machine))


def minimums(pool: NodePool, server_type: str) -> tuple[int, int]:
    """Return the numbers of machines that the pool keeps, in all and of a server type."""
    of_type = next((t.min for t in pool.spec.server_types if t.name == server_type), 0)
    return pool.spec.limits.min, of_type


def kept_by_minimum(pool: NodePool, server_type: str) -> str:
    """Return the rest of a sentence on the minimum that keeps a machine of this type."""
    of_pool, of_type = minimums(pool, server_type)
    return f"kept by a minimum: pool {pool.metadata.name} keeps {of_pool} machines, {of_type} of type {server_type}"


def _state_of(machine: Machine) -> _MachineState:
    if machine.node is None:
        return _MachineState.COMING
    return _MachineState.READY if machine.node.is_ready else _MachineState.JOINED


def _budget_rows(machine: Machine) -> Iterator[tuple[str | int, ...]]:
    for standing in _MachineState:
        if standing <= _state_of(machine):
            yield machine.pool, standing
            yield machine.pool, machine.server_type, standing
