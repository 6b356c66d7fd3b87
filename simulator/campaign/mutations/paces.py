"""Faults planted in how fast pools grow and shrink: `simulator.campaign.mutations.planting`."""

from datetime import timedelta
from typing import Any, Final

from activities.removals import look
from api.v1alpha1.node_pool import NodePool
from planner.lifecycle.departure.waiting import see_pods_awaited
from planner.model.plan import Reason
from planner.placement import known_state
from planner.policies.pace import pace
from planner.policies.safety import frozen_pools
from planner.policies.safety.frozen_pools import Sample
from planner.supply import limits, machine_kind
from planner.supply.purchase_gates import gates, lock
from simulator.campaign.history import PACED
from simulator.campaign.mutations.planting import Change, Mutation


def _lock_stays_open() -> list[Change]:
    """Let no purchase close the lock."""
    return [(gates, "lock_state", lambda *_: None)]


def _lock_opens_early() -> list[Change]:
    """Open the lock at its min, whatever is still coming."""
    return [(lock, "is_coming", lambda _request: False)]


def _wait_from_another_time() -> list[Change]:
    """Count hardGrace as if the Node had been closed when its cool-off ends at the latest: a minute ago."""
    early = timedelta(minutes=1)

    def awaited(status: look.NodeRemovalRequestStatus, timings: look.RemovalTimings) -> look.PodsAwaited:
        began = None if status.tainted_at is None else status.tainted_at - early
        return see_pods_awaited(status, timings.hard_grace, began=began)

    return [(look, "_awaited", awaited)]


def _no_cool_down() -> list[Change]:
    return [(pace, "cool_down", lambda *_: None)]


def _no_pause_between_purchases() -> list[Change]:
    return [(gates, "cooldown", lambda *_: None)]


def _no_schedule() -> list[Change]:
    """Plan with the bounds of pools at all times."""
    return [(known_state, "schedules_in_force", lambda snapshot: snapshot)]


def _dry_runs_buy() -> list[Change]:
    """Buy for pools in dry run as for others."""
    of_pool = vars(machine_kind)["_obstacle"]

    def obstacle(pool: NodePool, *others: Any) -> Reason | None:
        return of_pool(pool.model_copy(update={"spec": pool.spec.model_copy(update={"dry_run": None})}), *others)

    return [(machine_kind, "_obstacle", obstacle)]


def _none_is_unhealthy() -> list[Change]:
    return [(frozen_pools, "sampled", lambda *_: Sample())]


def _batches_unbounded() -> list[Change]:
    """Let a round buy what it wants of a pool with batchMax."""
    of_pool = vars(limits)["_pace"]

    def unbounded(kinds: limits.PoolKinds) -> dict[limits.LimitKey, int]:
        return {key: 10**6 if key[-1] == limits.BATCH else left for key, left in of_pool(kinds).items()}

    return [(limits, "_pace", unbounded)]


PACE_MUTATIONS: Final = (
    Mutation("no purchase closes a lock", _lock_stays_open, first=18, within=3, provider=PACED),
    Mutation("a lock opens while its machines are coming", _lock_opens_early, first=18, within=3, provider=PACED),
    Mutation("hardGrace counts from before the taint", _wait_from_another_time, first=31, within=10, provider=PACED),
    Mutation("no cool-down holds a removal", _no_cool_down, first=32, within=18, provider=PACED),
    Mutation("a purchase follows the other at once", _no_pause_between_purchases, first=17, within=3, provider=PACED),
    Mutation("windows of a schedule change nothing", _no_schedule, first=3, within=3, provider=PACED),
    Mutation("pools in dry run buy", _dry_runs_buy, first=15, within=3, provider=PACED),
    Mutation("no pool freezes", _none_is_unhealthy, first=52, within=3, provider=PACED),
    Mutation("batchMax bounds nothing", _batches_unbounded, first=10, within=3, provider=PACED),
)
"""Each found by histories of pools that pace how they grow and shrink."""
