"""What triggers have in common: which machines they may speak of, and how those that are due are proposed and told of.

A machine with pods is emptied only where its pool says `scaleDown.mode: drain`. Elsewhere one goes when it has been
without pods for as long as the pool asks for, and its pool's condition says how many wait for that.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.keys import LABEL_REQUEST
from api.v1alpha1.node_pool import NodePool
from planner.lifecycle.step import shortened
from planner.model.plan import DueMachines, Reason
from planner.policies.emptiness import is_empty, read_idle_since
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal, Quota
from planner.supply.machines import Machine

GOES: Final = "Replaced"
WAITS_FOR_PODS: Final = "WaitsForPodsToLeave"
STAYS: Final = "ModeNone"
"""Reasons of conditions of a pool: what becomes of machines that are due."""
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class DueMachine:
    """A machine that should go, from some time on."""

    machine: Machine
    at: datetime
    why: str
    """One sentence, without a full stop."""


@dataclass(frozen=True, slots=True)
class Wear:
    """A reason for which machines go, as it is told."""

    trigger: str
    """The reason of their removals."""
    condition: str
    """Type of the pool's condition."""
    subject: str
    """Which machines they are, as people are told."""
    waits_idle: bool = True
    """Whether one without pods stays for the pool's idle time where pods are not asked to leave."""
    renews: bool = True
    """Whether another machine may take its place."""


def own_machines(view: PolicyView) -> dict[str, list[Machine]]:
    """Return by pool the machines that Growth has bought, whose Nodes are there and that nothing removes yet."""
    by_pool: defaultdict[str, list[Machine]] = defaultdict(list)
    for machine in view.machines:
        node = machine.node
        if node is not None and node.labels.get(LABEL_REQUEST) == node.name and not machine.is_leaving:
            by_pool[machine.pool].append(machine)
    return by_pool


def open_pools(view: PolicyView) -> list[NodePool]:
    """Return the pools that are not being deleted."""
    return [pool for pool in view.pools if pool.metadata.deletion_timestamp is None]


def advice(
    view: PolicyView,
    wear: Wear,
    due: Iterable[tuple[NodePool, DueMachine, Quota | None]],
    numbers: Mapping[str, int] | None = None,
) -> Advice:
    """Return the proposals in the given order, and what each pool reports of those that are due now.

    `numbers` says how many of a pool shall go, where that is not all of them.
    """
    candidates = {each.machine.name for each in view.candidates if each.action is MachineAction.REMOVE}
    proposals: list[Proposal] = []
    now_due: defaultdict[str, list[DueMachine]] = defaultdict(list)
    waiting: defaultdict[str, int] = defaultdict(int)
    pools: dict[str, NodePool] = {}
    for pool, each, quota in due:
        name = pool.metadata.name
        pools[name] = pool
        if each.at <= view.now:
            now_due[name].append(each)
        proposal = _proposal(pool, each, wear, quota, view.now) if each.machine.name in candidates else None
        if proposal is not None:
            proposals.append(proposal)
        elif each.at <= view.now and not is_empty(each.machine.residents):
            waiting[name] += 1
    reports: dict[str, tuple[DueMachines, ...]] = {}
    for name, machines in now_due.items():
        number = len(machines) if numbers is None else numbers[name]
        report = _report(wear, pools[name], machines[:number], min(number, waiting[name]))
        reports[name] = (DueMachines(wear.trigger, wear.condition, number, report),)
    return Advice(tuple(proposals), due=reports)


def _proposal(pool: NodePool, due: DueMachine, wear: Wear, quota: Quota | None, now: datetime) -> Proposal | None:
    machine, node = due.machine, due.machine.node
    mode, empty = pool.spec.scale_down.mode, is_empty(machine.residents)
    # One that is replaced goes when the other is there, which nobody can say of pods that end in their own time.
    drains, waits = mode == "drain", mode == "wait" and not wear.renews
    at = due.at
    if not empty and (not (drains or waits) or node is None or not node.is_ready):
        # No pod can leave in order where no kubelet is: that is a dead Node's case.
        return None
    if empty and not drains and wear.waits_idle:
        idle_since = None if node is None else read_idle_since(node)
        if idle_since is None:
            return None
        at = max(at, idle_since + pool.spec.scale_down.idle_after)
    return Proposal(
        machine=machine.name,
        action=MachineAction.REMOVE,
        reason=wear.trigger,
        why=due.why,
        at=max(at, now) if at <= now else at,
        evicts=drains and not empty,
        renews=wear.renews,
        quota=quota,
    )


def _report(wear: Wear, pool: NodePool, due: Sequence[DueMachine], waiting: int) -> Reason:
    names = ", ".join(each.machine.name for each in due[:_NAMED])
    listed = f"{names}, …" if len(due) > _NAMED else names
    subject = f"{wear.subject}: {len(due)} ({listed})"
    mode = pool.spec.scale_down.mode
    if mode == "none":
        return Reason(STAYS, shortened(f"{subject}. scaleDown.mode is none, so none of them goes"))
    if waiting and mode != "drain":
        wait = f"scaleDown.mode is {mode}, so {waiting} with pods stay until these have gone by themselves"
        return Reason(WAITS_FOR_PODS, shortened(f"{subject}. {wait}"))
    return Reason(GOES, shortened(subject))
