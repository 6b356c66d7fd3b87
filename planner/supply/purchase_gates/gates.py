"""All that holds back the purchases of one pool now, and what its status says of that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest
from planner.model.plan import Reason
from planner.supply.purchase_gates.breaker import BreakerState, breaker_state
from planner.supply.purchase_gates.cooldown import COOLDOWN, cooldown, last_growth
from planner.supply.purchase_gates.lock import LOCK_CLOSED, LockState, closed_by, lock_state
from planner.supply.purchase_gates.purchases import Purchases, purchases_by_pool

PACE: Final = frozenset({LOCK_CLOSED, COOLDOWN})
"""Obstacles that are part of buying: a pool that has one of them is Ready all the same."""


@dataclass(frozen=True, slots=True)
class PurchaseGates:
    """What holds back the purchases of a pool."""

    in_flight: int = 0
    """Machines that are asked for and not Ready."""
    lock: LockState | None = None
    breaker: BreakerState | None = None
    waits: tuple[Reason, datetime] | None = None
    """The cool-down, and its end."""
    last_growth_at: datetime | None = None

    @property
    def obstacle(self) -> Reason | None:
        """Why nothing is bought; None if nothing holds it back."""
        if self.breaker is not None and self.breaker.obstacle is not None:
            return self.breaker.obstacle
        if self.lock is not None and self.lock.obstacle is not None:
            return self.lock.obstacle
        return None if self.waits is None else self.waits[0]

    @property
    def is_half_open(self) -> bool:
        """Whether only one machine is tried."""
        return self.breaker is not None and self.breaker.is_half_open

    @property
    def wake_at(self) -> datetime | None:
        """When time alone changes something."""
        ends = [
            None if self.lock is None else self.lock.wake_at,
            None if self.breaker is None else self.breaker.wake_at,
            None if self.waits is None else self.waits[1],
        ]
        return min((end for end in ends if end is not None), default=None)

    def status_after(self, pool: NodePool, bought: int, now: datetime) -> dict[str, Any]:
        """Return the fields of the pool's status on purchases, after a round that buys so many machines."""
        grown_at = now.replace(microsecond=0) if bought else self.last_growth_at
        lock = closed_by(bought, now) if bought else None if self.lock is None else self.lock.status
        return {
            "lock": lock if pool.spec.scale_up.lock is not None else None,
            "breaker": None if self.breaker is None else self.breaker.status,
            "last_growth_at": grown_at if _waits_after_growth(pool) else None,
        }


def gates_by_pool(
    pools: Sequence[NodePool], requests: Iterable[NodeRequest], now: datetime
) -> dict[str, PurchaseGates]:
    """Return what holds back the purchases of each pool now, by its name; most pools have no field for that."""
    gates = {pool.metadata.name: PurchaseGates() for pool in pools}
    paced = [pool for pool in pools if _is_paced(pool)]
    purchases = purchases_by_pool(requests) if paced else {}
    return gates | {
        pool.metadata.name: gates_of(pool, purchases.get(pool.metadata.name, Purchases()), now) for pool in paced
    }


def gates_of(pool: NodePool, bought: Purchases, now: datetime) -> PurchaseGates:
    """Return what holds back the purchases of one pool now."""
    grown_at = last_growth(pool, bought)
    return PurchaseGates(
        in_flight=bought.in_flight,
        lock=lock_state(pool, bought, now),
        breaker=breaker_state(pool, bought, now),
        waits=cooldown(pool, grown_at, now),
        last_growth_at=grown_at,
    )


def _is_paced(pool: NodePool) -> bool:
    wish = pool.spec.scale_up
    return bool(wish.lock or wish.breaker or wish.max_in_flight) or _waits_after_growth(pool)


def _waits_after_growth(pool: NodePool) -> bool:
    waits = (pool.spec.scale_up.cooldown, pool.spec.scale_down.cooldown_after_scale_up)
    return any(wait is not None and wait > timedelta() for wait in waits)
