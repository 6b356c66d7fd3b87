"""The use of each machine: one that has been used little for the whole of a window goes.

By what pods request; for usage there is `planner.policies.triggers.node_usage`. Since when it is so without a break
stands on its Node, so that no round must remember it. A round knows what pods ask for now and not what they asked for
before, so the window is whole or not at all. A pod that comes begins it anew.
Source: VPSie's scale-down; Cluster Autoscaler, FAQ, "How does scale-down work?".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from api.keys import ANNOTATION_UNDERUSED_SINCE
from api.meta import format_timestamp, read_moment
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.utilisation import NodeUtilisation
from planner.lifecycle.clocks.future_times import is_to_come
from planner.policies.port import Advice, Candidate, MachineAction, PolicyView, Proposal
from planner.policies.triggers.node_usage import advice_by_usage
from planner.policies.triggers.underused import may_shrink, shrinking_pools, underused
from planner.policies.utilisation.pool_use import is_counted
from planner.policies.utilisation.shares import Amounts, asked_on, capacity_of, is_share_below
from planner.supply.machines import Machine


@dataclass(frozen=True, slots=True)
class LittleUsedMachines:
    """Proposes the machines that are little used themselves, each from the end of its window on."""

    def propose(self, view: PolicyView) -> Advice:
        """Return them, and since when each is so, to be written on Nodes."""
        wishes: dict[str, NodeUtilisation] = {}
        by_usage: list[NodePool] = []
        for pool in shrinking_pools(view):
            if (wanted := pool.spec.scale_down.node) is not None:
                if wanted.is_by_usage:
                    by_usage.append(pool)
                else:
                    wishes[pool.metadata.name] = wanted
        since: dict[str, datetime] = {}
        marks: dict[str, datetime | None] = {}
        for candidate in view.candidates:
            node, wish = candidate.machine.node, wishes.get(candidate.machine.pool)
            if node is None:
                continue
            written = read_moment(node.annotations.get(ANNOTATION_UNDERUSED_SINCE, ""))
            if wish is not None and _is_little_used(candidate, wish, view):
                since[candidate.machine.name] = at = _since(candidate.machine, written, view.now)
                if written != at:
                    marks[node.name] = at
            elif ANNOTATION_UNDERUSED_SINCE in node.annotations:
                marks[node.name] = None
        pools = [pool for pool in view.pools if since and pool.metadata.name in wishes]
        proposals = tuple(each for pool in pools for each in _proposals(pool, view, since))
        if not by_usage:
            return Advice(proposals, underused_since=marks)
        using = advice_by_usage(by_usage, view)
        return replace(using, proposals=(*proposals, *using.proposals), underused_since=marks)


def is_little_used(asked: Amounts, capacity: Amounts, wish: NodeUtilisation) -> bool:
    """Return whether both shares are below what the pool says; equal is not below."""
    return is_share_below("cpu", asked, capacity, wish.cpu_percent) and is_share_below(
        "memory", asked, capacity, wish.memory_percent
    )


def _proposals(pool: NodePool, view: PolicyView, since: dict[str, datetime]) -> Iterator[Proposal]:
    wish = pool.spec.scale_down.node
    for candidate in () if wish is None else may_shrink(pool, view):
        if wish is not None and (began := since.get(candidate.machine.name)) is not None:
            bounds = f"{wish.cpu_percent} % of its cpu and {wish.memory_percent} % of its memory"
            why = f"Its pods have asked for less than {bounds} since {format_timestamp(began)}"
            yield underused(candidate, why, began + wish.window)


def _is_little_used(candidate: Candidate, wish: NodeUtilisation, view: PolicyView) -> bool:
    machine = candidate.machine
    is_kept = (
        candidate.action is not MachineAction.REMOVE
        or machine.name in view.refusals
        or machine.name in view.held
        or not is_counted(machine)
    )
    return not is_kept and is_little_used(asked_on(machine), capacity_of(machine), wish)


def _since(machine: Machine, written: datetime | None, now: datetime) -> datetime:
    """Return since when it is so: from what is written on, or from when its last pod came, if that is later."""
    came = [pod.scheduled.since for pod in machine.residents if not pod.is_of_node and pod.scheduled.since is not None]
    began = now if written is None or is_to_come(written, now) else written
    return max(began, min(now, max(came, default=began))).replace(microsecond=0)
