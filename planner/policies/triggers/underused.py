"""What the triggers by little use have in common: which machines may go by them, and how these are proposed.

Where pods are asked to leave (`scaleDown.mode: drain`), each needs another place that is there; with `wait`, a machine
is only closed, and goes once its pods have ended. In other modes they propose nothing: empty machines go by themselves.
"""

from collections.abc import Sequence
from datetime import datetime

from api.v1alpha1.node_pool import NodePool
from planner.policies.checks import Budget
from planner.policies.emptiness import is_empty
from planner.policies.pace.budgets import UNDERUSED
from planner.policies.port import Candidate, MachineAction, PolicyView, Proposal, Quota
from planner.policies.triggers.worn_out import open_pools
from planner.policies.utilisation.pool_use import SHRINKING_MODES, is_counted
from planner.policies.utilisation.removal_order import in_order
from planner.supply.machines import Machine


def shrinking_pools(view: PolicyView) -> list[NodePool]:
    """Return the pools in whose mode machines with pods may go by themselves."""
    return [pool for pool in open_pools(view) if pool.spec.scale_down.mode in SHRINKING_MODES]


def may_shrink(pool: NodePool, view: PolicyView) -> list[Candidate]:
    """Return the machines of the pool that may go as too little is used, in the order in which they do.

    Those that a minimum needs, that no check would let go or that stay for headroom are not among them.
    """
    budget = Budget(view.machines)
    able = {
        candidate.machine.name: candidate
        for candidate in view.candidates
        if candidate.machine.pool == pool.metadata.name
        and candidate.action is MachineAction.REMOVE
        and candidate.machine.name not in view.refusals
        and candidate.machine.name not in view.held
        and is_counted(candidate.machine)
        and _can_leave(candidate)
        and budget.refuses(candidate) is None
    }
    ordered = in_order(pool, [candidate.machine for candidate in able.values()], view.prices)
    return [able[machine.name] for machine in ordered]


def number_fitting(pool: NodePool, ordered: Sequence[Candidate], view: PolicyView, most: int) -> int:
    """Return how many of the machines could go one after the other: minimums and what remains let no more."""
    budget = Budget(view.machines)
    able: list[Machine] = []
    for candidate in ordered:
        if budget.refuses(candidate) is None:
            budget.spend(candidate)
            able.append(candidate.machine)
    return min(most, len(able)) if view.remaining is None else view.remaining.number_fitting(pool, able, most)


def underused(candidate: Candidate, why: str, at: datetime, quota: Quota | None = None) -> Proposal:
    """Return the proposal that a machine goes as too little is used."""
    drains = candidate.pool.spec.scale_down.mode == "drain"
    return Proposal(
        machine=candidate.machine.name,
        action=MachineAction.REMOVE,
        reason=UNDERUSED,
        why=why,
        at=at,
        evicts=drains and not is_empty(candidate.machine.residents),
        quota=quota,
        shrinks=True,
    )


def _can_leave(candidate: Candidate) -> bool:
    """Return whether pods can leave in order, where they must: not where no kubelet is."""
    machine = candidate.machine
    is_ready = machine.node is not None and machine.node.is_ready
    return is_ready or candidate.pool.spec.scale_down.mode == "wait" or is_empty(machine.residents)
