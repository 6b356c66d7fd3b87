"""Emptiness: a node without pods goes when the pool's `idleAfter` is over, in every mode but `none`.

Since when it is empty stands on the node, so that no round must remember it. Where pods may be asked to leave, one with
none but expendable pods counts as empty; one that headroom needs never does.
Source: Cluster Autoscaler, FAQ: pods below `expendable-pods-priority-cutoff` "don't prevent scale-downs".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.keys import ANNOTATION_IDLE_SINCE
from api.meta import format_timestamp, read_moment
from api.v1alpha1.node_pool import NodePool
from planner.lifecycle.clocks.future_times import is_to_come
from planner.objects.kinds import Node, Pod
from planner.policies.expendable import Expendables
from planner.policies.pace.billing import goes_at
from planner.policies.port import Advice, Candidate, MachineAction, PolicyView, Proposal
from planner.policies.utilisation.removal_order import removal_rank
from planner.supply.machines import Machine

FOUND_EMPTY: Final = "Empty"
"""Why a machine goes that a round found without pods: such a node is not drained for pods that have come since."""
_EVICTED: Final = "Consolidation"
"""Why one goes that has expendable pods: these are asked to leave, within the budgets for machines that go to save."""


@dataclass(frozen=True, slots=True)
class Emptiness:
    """Proposes the machines without pods, each from the end of its idle time on."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the idle machines, in the order of their pools; and the idle times to write."""
        expendables = Expendables(view.pools)
        idle_since: dict[str, datetime | None] = {}
        idle: list[tuple[tuple[object, ...], Proposal]] = []
        for candidate in view.candidates:
            node = candidate.machine.node
            if node is None:
                continue
            written = read_idle_since(node)
            if is_to_come(written, view.now):
                written = None
            if not _is_idle(candidate, view, expendables):
                # A machine whose removal was cancelled is here, too: it is given its idle time anew.
                if ANNOTATION_IDLE_SINCE in node.annotations:
                    idle_since[node.name] = None
                continue
            since = view.now if written is None else written
            if written is None:
                idle_since[node.name] = since
            moment = format_timestamp(since.replace(microsecond=0))
            has_pods = not is_empty(candidate.machine.residents)
            proposal = Proposal(
                machine=candidate.machine.name,
                action=MachineAction.REMOVE,
                reason=_EVICTED if has_pods else FOUND_EMPTY,
                why=f"Without {'other than expendable ' if has_pods else ''}pods since {moment}",
                at=_goes_at(candidate, since, view),
                evicts=has_pods,
            )
            rank = removal_rank(candidate.pool, candidate.machine, view.prices)
            idle.append(((*rank, since, node.name), proposal))
        return Advice(tuple(proposal for _, proposal in sorted(idle, key=lambda one: one[0])), idle_since)


def is_spare(machine: Machine, pool: NodePool, expendables: Expendables) -> bool:
    """Return whether no pod keeps the machine: it has none, or where pods may be asked to leave, expendable ones."""
    drains = pool.spec.scale_down.mode == "drain"
    return all(pod.is_of_node or (drains and pod in expendables) for pod in machine.residents)


def is_empty(residents: Iterable[Pod]) -> bool:
    """Return whether only pods are left that belong to the node; a terminating pod still counts."""
    return all(pod.is_of_node for pod in residents)


def read_idle_since(node: Node) -> datetime | None:
    """Return the start of the idle time by the annotation of the node; a value that cannot be read counts as absent."""
    return read_moment(node.annotations.get(ANNOTATION_IDLE_SINCE, ""))


def _is_idle(candidate: Candidate, view: PolicyView, expendables: Expendables) -> bool:
    machine = candidate.machine
    is_kept = candidate.action is not MachineAction.REMOVE or machine.name in view.refusals or machine.name in view.held
    return not is_kept and is_spare(machine, candidate.pool, expendables)


def _goes_at(candidate: Candidate, since: datetime, view: PolicyView) -> datetime:
    wish, period = candidate.pool.spec.scale_down, view.billing_periods.get(str(candidate.class_ref))
    ripe_at = since + wish.idle_after
    if period is None:
        return ripe_at
    return goes_at(candidate.machine, period, wish.soft_grace, ripe_at=ripe_at, now=view.now)
