"""Why pods wait for their pool to buy again, or to buy for them: its pace, a pod's age, a threshold."""

from typing import Final

from api.duration import format_duration
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Reason
from planner.supply.limits import BATCH, IN_FLIGHT, LimitKey
from planner.supply.purchase_gates.breaker import BREAKER_OPEN
from planner.supply.purchase_gates.cooldown import COOLDOWN
from planner.supply.purchase_gates.lock import LOCK_CLOSED

BATCH_MAX: Final = "BatchMax"
MAX_IN_FLIGHT: Final = "MaxInFlight"
TOO_YOUNG: Final = "TooYoung"
BELOW_THRESHOLD: Final = "BelowThreshold"
PACED: Final = frozenset({LOCK_CLOSED, COOLDOWN, BREAKER_OPEN, BATCH_MAX, MAX_IN_FLIGHT, TOO_YOUNG, BELOW_THRESHOLD})
"""Further rounds with one of these do not tell that no machine can take the pod."""


def pace_reached(pool: NodePool, key: LimitKey) -> Reason:
    """Return the reason that a limit on how fast the pool buys allows no more now."""
    name, wish = pool.metadata.name, pool.spec.scale_up
    if key[-1] == BATCH:
        number = "1 machine" if wish.batch_max == 1 else f"{wish.batch_max} machines"
        return Reason(BATCH_MAX, f"pool {name} asks for at most {number} a round: scaleUp.batchMax")
    if key[-1] == IN_FLIGHT:
        most = f"at most {wish.max_in_flight} may be on their way at a time: scaleUp.maxInFlight"
        return Reason(MAX_IN_FLIGHT, f"pool {name} waits for machines that are coming, as {most}")
    return Reason(BREAKER_OPEN, f"purchases of pool {name} failed several times in a row: one machine is tried first")


def too_young(pool: NodePool) -> Reason:
    """Return the reason that the pool buys nothing for a pod yet: the same for all such pods."""
    grace = pool.spec.scale_up.pod_grace
    age = "" if grace is None else format_duration(grace)
    return Reason(TOO_YOUNG, f"pool {pool.metadata.name} buys for pods that have waited {age}: scaleUp.podGrace")


def below_threshold(pool: NodePool) -> Reason:
    """Return the reason that the pool buys nothing for a single pod."""
    name, threshold = pool.metadata.name, pool.spec.scale_up.threshold
    message = f"pool {name} buys when more than {threshold} % of what it has is requested, not for single pods"
    return Reason(BELOW_THRESHOLD, f"{message}: scaleUp.estimators")
