"""The check by locks: while a pool's lock is closed after a purchase, no removal begins by itself.

What a person orders goes on: the taint growth.dev/remove-now, and removals that are made by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.lifecycle.removal import REMOVE_NOW
from planner.policies.port import Candidate, MachineAction, Proposal
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.supply.machine_kind import PoolKinds
from planner.supply.purchase_gates.lock import LockState


@dataclass(frozen=True, slots=True)
class ClosedLocks:
    """Keeps the machines of pools whose lock is closed.

    A request that has asked for no server may be taken back: that removes nothing.
    """

    locks: Mapping[str, LockState]
    """Those that are closed, by pool."""
    closing: frozenset[str] = frozenset()
    """Pools with a lock that this round buys in: by that it closes."""

    def keeps(self, candidate: Candidate, proposal: Proposal) -> Blocked | None:
        """Return what keeps the machine, None if no lock does."""
        pool = candidate.pool.metadata.name
        if candidate.action is not MachineAction.REMOVE or proposal.reason == REMOVE_NOW:
            return None
        lock = self.locks.get(pool)
        if lock is not None and lock.obstacle is not None:
            return Blocked(BlockedBy.LOCK, lock.obstacle.message, lock.wake_at)
        if pool in self.closing:
            return Blocked(BlockedBy.LOCK, f"this round buys for pool {pool}, which closes its lock")
        return None


NO_LOCKS = ClosedLocks({})


def closed_locks(pool_kinds: Mapping[str, PoolKinds], buying: frozenset[str]) -> ClosedLocks:
    """Return the check for a round that buys in these pools."""
    locks = {name: lock for name, found in pool_kinds.items() if (lock := found.gates.lock) is not None}
    locked = {name for name, found in pool_kinds.items() if found.pool.spec.scale_up.lock is not None}
    return ClosedLocks({name: lock for name, lock in locks.items() if lock.obstacle is not None}, buying & locked)
