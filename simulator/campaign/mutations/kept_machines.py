"""Faults planted in what keeps machines from being emptied, and in the pace at which they go."""

from typing import Any, Final

from api.v1alpha1.removal_budget import EVICTING_REASONS, RemovalBudget
from planner.policies.pace import budgets, pace
from planner.policies.safety import pods
from planner.policies.safety.evictions import EvictionSafety
from planner.policies.safety.purchases import PurchaseInFlight
from simulator.campaign.mutations.planting import Change, Mutation


def _nothing_keeps(_check: Any, _candidate: Any) -> None:
    """Return that nothing keeps the machine."""


def _no_check_is_asked() -> list[Change]:
    return [(EvictionSafety, "blocker", lambda safety, candidate: safety.refused.get(candidate.machine.name))]


def _purchases_ignored() -> list[Change]:
    return [(PurchaseInFlight, "blocks", _nothing_keeps)]


def _disks_go() -> list[Change]:
    real = pods.stay_at
    return [(pods, "stay_at", lambda stays, now, **_more: real(stays, now, keeps_empty_dirs=False))]


def _cancels_forgotten() -> list[Change]:
    return [(pace, "held_until", lambda _annotations, _now: None)]


def _nobody_goes_already() -> list[Change]:
    return [(budgets, "counted_reason", lambda _removal: None)]


def _all_at_once() -> list[Change]:
    """Let all go where no budget is open."""
    return [(budgets, "USUAL", RemovalBudget(nodes="100%", reasons=EVICTING_REASONS))]


KEPT_MACHINE_MUTATIONS: Final = (
    Mutation("policies ask for nothing that keeps a machine", _no_check_is_asked, first=130, within=40),
    Mutation("machines are emptied while one of their pool is on its way", _purchases_ignored, first=130, within=40),
    Mutation("pods that write to their disks move in pools that keep them", _disks_go, first=130, within=40),
    Mutation("a person's cancel holds for one removal alone", _cancels_forgotten, first=190, within=30),
    Mutation("budgets do not count the machines that go", _nobody_goes_already, first=130, within=40),
    Mutation("without a budget all machines go at once", _all_at_once, first=130, within=40),
)
"""Each found by histories in which pods are moved."""
