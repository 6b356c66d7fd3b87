"""Faults planted in how machines are replaced and renewed, and in the limits of drains."""

from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final

from activities.removals import look as removals_look
from activities.removals import replacement as replacement_look
from activities.requests import template
from activities.round import steps
from planner.lifecycle import removal
from planner.lifecycle.clocks import drain_limits
from planner.policies import remove_now
from planner.policies.triggers import drift, failing_nodes, over_max, rotation
from simulator.campaign.mutations.planting import Change, Mutation


def _drained_before_it_is_replaced() -> list[Change]:
    return [(removal, "not_replaced_yet", _goes_on), (removal, "interrupted", _goes_on)]


def _goes_on(_seen: Any, _now: Any) -> None:
    """Return that there is nothing to wait for."""


def _ready_when_it_is_asked_for() -> list[Change]:
    return [(replacement_look, "_is_there", lambda _request, _node: True)]


def _nobody_waits_for_it() -> list[Change]:
    """Buy machines for a step, and do not name them to its removals."""
    real = steps._together  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return [(steps, "_together", lambda *known: replace(real(*known), replaced_by=()))]


def _waits_for_ever() -> list[Change]:
    """Wait for a machine that does not come as long as it takes."""
    real = removal.not_replaced_yet

    def not_replaced_yet(seen: Any, now: Any) -> Any:
        replacement = seen.replacement
        if replacement is None or replacement.is_ready:
            return real(seen, now)
        lasting = replacement.model_copy(update={"lost": "", "judged_at": now + timedelta(days=1)})
        return real(seen.model_copy(update={"replacement": lasting}), now)

    return [(removal, "not_replaced_yet", not_replaced_yet)]


def _too_young() -> list[Change]:
    return [(rotation, "_SPREAD_OVER", 1)]


def _limits_are_drift() -> list[Change]:
    """Let the hash of what machines are made with change with the bounds of their pool."""
    real = drift.template_hash

    def template_hash(pool: Any, *made_with: Any) -> str:
        text = f"{real(pool, *made_with)} {pool.spec.limits.to_json()}"
        return f"v1:{sha256(text.encode()).hexdigest()[:16]}"

    return [(drift, "template_hash", template_hash), (template, "template_hash", template_hash)]


def _any_status_is_bad() -> list[Change]:
    """Take a Node that has the condition for one that has it as True."""

    def failing_since(node: Any, _condition: Any) -> Any:
        return node.created_at

    return [(failing_nodes, "failing_since", failing_since)]


def _one_too_many() -> list[Change]:
    """Let a pool that is at its max be above it."""
    real = over_max._excess  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def excess(pool: Any, numbers: Any) -> Any:
        of_pool = real(pool, numbers)
        is_full = pool.spec.limits.max is not None and numbers.total() == pool.spec.limits.max
        return replace(of_pool, further=of_pool.further + is_full)

    return [(over_max, "_excess", excess)]


def _forced_without_a_word() -> list[Change]:
    """Force pods to end in drains of pools that give no time for that."""
    real = drain_limits.drain_limits

    def limits(reason: str, status: Any, timings: Any) -> Any:
        graced = timings.model_copy(
            update={"termination_grace_period": timings.termination_grace_period or timedelta(seconds=1)}
        )
        return real(reason, status, graced)

    return [(removals_look, "drain_limits", limits)]


def _not_only_empty_ones() -> list[Change]:
    return [(remove_now, "is_empty", lambda _residents: True)]


MOVED_POD_MUTATIONS: Final = (
    Mutation(
        "pods leave before what replaces their machine is Ready", _drained_before_it_is_replaced, first=130, within=40
    ),
    Mutation("a machine counts as a replacement before it is Ready", _ready_when_it_is_asked_for, first=130, within=40),
    Mutation("removals do not wait for what was bought for them", _nobody_waits_for_it, first=130, within=40),
    Mutation("a replacement that does not come is waited for without end", _waits_for_ever, first=130, within=40),
    Mutation("machines are rotated in the first tenth of their age", _too_young, first=130, within=40),
    Mutation("other limits of a pool are drift", _limits_are_drift, first=130, within=40),
    Mutation("a condition of a Node counts whatever it says", _any_status_is_bad, first=130, within=40),
    Mutation("a pool at its max is above it", _one_too_many, first=130, within=40),
    Mutation("pods are forced to end where nobody said so", _forced_without_a_word, first=130, within=40),
    Mutation("machines with pods are to go now", _not_only_empty_ones, first=130, within=40),
)
"""Each found by histories in which pods are moved."""
