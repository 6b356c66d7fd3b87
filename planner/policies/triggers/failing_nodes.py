"""Repair of Nodes that still run: Ready, and with a condition that their pool names as bad for long enough.

Their pods can leave in order, so another machine is bought first. Like dead ones they are few at a time, at most 20 %
of a pool or one, both together; and none goes while most Nodes of the cluster have the condition: then the fault is in
what all of them run on, or in the program that reports it.
Source: Karpenter docs, "Disruption: Node Auto Repair"; kubernetes/node-problem-detector, README, "Remedy Systems".
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from api.meta import format_timestamp, read_moment
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.scale_down import RepairCondition
from planner.lifecycle.step import shortened
from planner.model.plan import DueMachines, Reason
from planner.objects.dead_nodes import are_most, judged_at
from planner.objects.kinds import Node
from planner.policies.port import Advice, MachineAction, PolicyView, Quota
from planner.policies.repair import PERCENT_AT_ONCE, REPAIR, is_under_repair, read_spared_at
from planner.policies.triggers.worn_out import DueMachine, Wear, advice, open_pools, own_machines
from planner.report.pool_report import FAILING_NODES
from planner.supply.machines import Machine

MOST_FAIL: Final = "MostNodesFail"
"""Reason of the condition while it is the cluster that fails."""
_WEAR: Final = Wear(REPAIR, FAILING_NODES, "Machines whose Node has a condition of scaleDown.repair", waits_idle=False)


@dataclass(frozen=True, slots=True)
class FailingNodes:
    """Proposes the machines whose Nodes run and have a bad condition, the longest first."""

    def propose(self, view: PolicyView) -> Advice:
        """Return them, now or later, and a report for each pool that has some, also where none may go."""
        named = {pool.metadata.name: _conditions(pool) for pool in open_pools(view) if _conditions(pool)}
        if not named:
            return Advice()
        nodes = [machine.node for machine in view.machines if machine.node is not None]
        of_all = Counter((c.type, c.status) for node in nodes for c in node.conditions)
        common = {kind for kind, number in of_all.items() if are_most(number, len(nodes))}
        proposed = advice(view, _WEAR, _due(view, named, common))
        held = {name: tuple(_held(each, named[name], common) for each in due) for name, due in proposed.due.items()}
        return replace(proposed, due=held)


def failing_since(node: Node, condition: RepairCondition) -> datetime | None:
    """Return since when the Node has the condition without a break, None if it has not, or does not tell."""
    since = next((c.since for c in node.conditions if (c.type, c.status) == (condition.type, condition.status)), "")
    return read_moment(since)


def _due(
    view: PolicyView, named: Mapping[str, tuple[RepairCondition, ...]], common: Collection[tuple[str, str]]
) -> Iterator[tuple[NodePool, DueMachine, Quota | None]]:
    by_pool = own_machines(view)
    for pool in view.pools:
        name = pool.metadata.name
        rare = [c for c in named.get(name, ()) if (c.type, c.status) not in common]
        quotas = Quota(f"{REPAIR}/{name}", _left(name, view)), Quota(f"{REPAIR}/{name} of most", 0)
        failing: list[tuple[DueMachine, Quota]] = []
        for machine in by_pool.get(name, ()):
            if (each := _failing(machine, rare, view)) is not None:
                failing.append((each, quotas[0]))
            elif (each := _failing(machine, named.get(name, ()), view)) is not None:
                failing.append((each, quotas[1]))
        for each, quota in sorted(failing, key=lambda entry: (entry[0].at, entry[0].machine.name)):
            yield pool, each, quota


def _held(due: DueMachines, named: Sequence[RepairCondition], common: Collection[tuple[str, str]]) -> DueMachines:
    """Return the report, with the conditions for which none goes as most Nodes of the cluster have them."""
    held = [f"{c.type}={c.status}" for c in named if (c.type, c.status) in common]
    if not held:
        return due
    why = f"None goes for what most Nodes of the cluster have: {', '.join(held)}"
    return replace(due, report=Reason(MOST_FAIL, shortened(f"{due.report.message}. {why}")))


def _conditions(pool: NodePool) -> tuple[RepairCondition, ...]:
    repair = pool.spec.scale_down.repair
    return () if repair is None else repair.conditions or ()


def _failing(machine: Machine, conditions: Sequence[RepairCondition], view: PolicyView) -> DueMachine | None:
    node = machine.node
    if node is None or not node.is_ready:
        return None
    bad: list[tuple[datetime, DueMachine]] = []
    for condition in conditions:
        since = failing_since(node, condition)
        if since is None:
            continue
        spared_at = read_spared_at(node.annotations)
        at = judged_at(since, condition.after, watched_since=view.watched_since, spared_at=spared_at)
        began = format_timestamp(since.replace(microsecond=0))
        why = f"Its Node says {condition.type}={condition.status} since {began}"
        bad.append((at, DueMachine(machine, at, why)))
    return min(bad, key=lambda entry: entry[0])[1] if bad else None


def _left(pool: str, view: PolicyView) -> int:
    """Return how many more of the pool may be repaired at once, dead ones that go in this round counted."""
    own = [machine for machine in view.machines if machine.pool == pool]
    open_to_all: Mapping[str, MachineAction] = {each.machine.name: each.action for each in view.candidates}
    size = sum(machine.node is not None for machine in own)
    gone = sum(map(is_under_repair, own))
    # An earlier policy of this round has taken those that are no candidates any more.
    gone += sum(m.node is not None and not m.is_leaving and m.name not in open_to_all for m in own)
    return max(0, max(1, size * PERCENT_AT_ONCE // 100) - gone)
