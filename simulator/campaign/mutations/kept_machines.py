"""Faults planted in what keeps machines from being emptied, and in the pace at which they go."""

from typing import Any, Final

from api.v1alpha1.removal_budget import EVICTING_REASONS, RemovalBudget
from planner.policies.pace import budgets, pace
from planner.policies.safety import pauses, pods
from planner.policies.safety.annotations import WordOnNode
from planner.policies.safety.disruption_budgets import ExhaustedBudgets
from planner.policies.safety.evictions import EvictionSafety
from planner.policies.safety.purchases import PurchaseInFlight
from simulator.campaign.mutations.planting import Change, Mutation


def _nothing_keeps(_check: Any, _candidate: Any) -> None:
    """Return that nothing keeps the machine."""


def _no_check_is_asked() -> list[Change]:
    return [(EvictionSafety, "blocker", lambda safety, candidate: safety.refused.get(candidate.machine.name))]


def _words_ignored() -> list[Change]:
    return [(WordOnNode, "blocks", _nothing_keeps)]


def _pod_budgets_ignored() -> list[Change]:
    return [(ExhaustedBudgets, "blocks", _nothing_keeps)]


def _purchases_ignored() -> list[Change]:
    return [(PurchaseInFlight, "blocks", _nothing_keeps)]


def _disks_go() -> list[Change]:
    real = pods.stay_at
    return [(pods, "stay_at", lambda stays, now, **_more: real(stays, now, keeps_empty_dirs=False))]


def _tried_again_at_once() -> list[Change]:
    return [(pauses.Paused, "blocks", _nothing_keeps)]


def _cancels_forgotten() -> list[Change]:
    return [(pace, "held_until", lambda _annotations, _now: None)]


def _nobody_goes_already() -> list[Change]:
    return [(budgets, "counted_reason", lambda _removal: None)]


def _never_open() -> list[Change]:
    """Take each budget with a window for one that is not open."""
    return [(budgets, "is_open", lambda budget, _at: budget.start is None)]


def _all_at_once() -> list[Change]:
    """Let all go where no budget is open."""
    return [(budgets, "USUAL", RemovalBudget(nodes="100%", reasons=EVICTING_REASONS))]


def _weakest_holds() -> list[Change]:
    """Let the budget with the most room hold."""

    def limit(self: Any, reason: str, more: Any) -> Any:
        holding = self._holding_for(reason)
        limits = [budgets.Limit(budget, most, self._used(reasons, more)) for budget, most, reasons in holding]
        return max(limits, key=lambda one: one.left, default=None)

    return [(budgets.PoolBudgets, "limit", limit)]


KEPT_MACHINE_MUTATIONS: Final = (
    Mutation("policies ask for nothing that keeps a machine", _no_check_is_asked, within=60),
    Mutation("words of others on Nodes are not read", _words_ignored, within=60),
    Mutation("machines are emptied under a budget that lets no pod go", _pod_budgets_ignored, within=60),
    Mutation("machines are emptied while one of their pool is on its way", _purchases_ignored, within=60),
    Mutation("pods that write to their disks move in pools that keep them", _disks_go, within=60),
    Mutation("what was given up is begun again at once", _tried_again_at_once, within=60),
    Mutation("a person's cancel holds for one removal alone", _cancels_forgotten, within=60),
    Mutation("budgets do not count the machines that go", _nobody_goes_already, within=60),
    Mutation("the windows of budgets are never open", _never_open, within=60),
    Mutation("without a budget all machines go at once", _all_at_once, within=60),
    Mutation("of several budgets the weakest holds", _weakest_holds, within=60),
)
"""Each found by histories in which pods are moved."""
