"""The budget of departures: how many machines may go before a pool falls below its minimum, or below that of a type."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum

from api.v1alpha1.node_pool import NodePool
from planner.policies.port import Candidate
from planner.supply.machines import Machine


class _Standing(IntEnum):
    """How far a machine is. A minimum is kept by machines that are at least as far as the one that goes."""

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
        self._counts = Counter(row for machine in machines if machine.stays for row in _rows(machine))

    def refuses(self, candidate: Candidate) -> str | None:
        """Return which minimum keeps the machine, or None if it may go."""
        machine, standing = candidate.machine, _standing(candidate.machine)
        of_pool, of_type = minimums(candidate.pool, machine.server_type)
        least = {(machine.pool, standing): of_pool, (machine.pool, machine.server_type, standing): of_type}
        is_kept = any(self._counts[row] <= number for row, number in least.items())
        return kept_by_minimum(candidate.pool, machine.server_type) if is_kept else None

    def spend(self, candidate: Candidate) -> None:
        """Count a machine that goes."""
        self._counts.subtract(_rows(candidate.machine))


def minimums(pool: NodePool, server_type: str) -> tuple[int, int]:
    """Return how many machines the pool keeps, in all and of a server type."""
    of_type = next((t.min for t in pool.spec.server_types if t.name == server_type), 0)
    return pool.spec.limits.min, of_type


def kept_by_minimum(pool: NodePool, server_type: str) -> str:
    """Return that a minimum keeps a machine of this type, as the rest of a sentence."""
    of_pool, of_type = minimums(pool, server_type)
    return f"kept by a minimum: pool {pool.metadata.name} keeps {of_pool} machines, {of_type} of type {server_type}"


def _standing(machine: Machine) -> _Standing:
    if machine.node is None:
        return _Standing.COMING
    return _Standing.READY if machine.node.is_ready else _Standing.JOINED


def _rows(machine: Machine) -> Iterator[tuple[str | int, ...]]:
    for standing in _Standing:
        if standing <= _standing(machine):
            yield machine.pool, standing
            yield machine.pool, machine.server_type, standing
