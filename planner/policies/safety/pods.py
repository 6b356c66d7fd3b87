"""Safety checks by what pods are and say: annotations, no controller, local storage, single pods of the system."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from planner.objects.kinds import Pod
from planner.objects.stays import Stay, StayReason, stay_at
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.safety.disruption_budgets import BudgetIndex
from planner.policies.safety.evicted import evicted_pods
from planner.supply.machines import Machine

SYSTEM: Final = "kube-system"
_ORDER: Final = {reason: position for position, reason in enumerate(StayReason)}


@dataclass(frozen=True, slots=True)
class StayingPods:
    """Keeps a machine with a pod that no drain evicts: the judge is the drain's."""

    now: datetime

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine: of several pods, by the first reason, and then the first name."""
        keeps_empty_dirs = candidate.pool.spec.scale_down.empty_dir == "keep"
        staying = [
            (pod, stay)
            for pod in evicted_pods(candidate.machine)
            # Most pods have nothing that keeps them.
            if pod.stays and (stay := stay_at(pod.stays, self.now, keeps_empty_dirs=keeps_empty_dirs)) is not None
        ]
        if not staying:
            return None
        pod, stay = min(staying, key=lambda one: (_ORDER[one[1].reason], one[0].key))
        more = len(staying) - 1
        others = f", and {more} more of its pods must stay" if more else ""
        return Blocked(
            BlockedBy(stay.reason.value), f"pod {pod.key} {stay.why}{others}", _until(one for _, one in staying)
        )


def _until(all_stays: Iterable[Stay]) -> datetime | None:
    """Return when the last of them is over; None where one of them has no end."""
    ends = [stay.until for stay in all_stays]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


class SystemPods:
    """Keeps a machine with the only pod of its kind in kube-system, where no budget says what may go.

    Source: Cluster Autoscaler, FAQ, "How to set PDBs to enable CA to move kube-system pods?"; unlike there, a pod whose
    controller has another Ready one on another machine may go.

    Args:
        machines: all there are.
        budgets: that select pods.
    """

    def __init__(self, machines: Iterable[Machine], budgets: BudgetIndex) -> None:
        self._machines = machines
        self._budgets = budgets
        self._nodes_of_controllers: Mapping[str, set[str]] | None = None

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if such a pod is on it."""
        for pod in evicted_pods(candidate.machine):
            if pod.namespace == SYSTEM and not pod.is_terminating and self._is_single(pod):
                why = f"pod {pod.key} is the only one of its controller, and no PodDisruptionBudget says that it may go"
                return Blocked(BlockedBy.SYSTEM_POD, why)
        return None

    def _is_single(self, pod: Pod) -> bool:
        if pod.is_safe_to_evict or pod.owner is None or self._budgets.of(pod):
            return False
        if self._nodes_of_controllers is None:
            self._nodes_of_controllers = _nodes_of_controllers(self._machines)
        return not self._nodes_of_controllers.get(pod.owner.uid, set()) - {pod.node_name}


def _nodes_of_controllers(machines: Iterable[Machine]) -> Mapping[str, set[str]]:
    """Return the Nodes with a Ready pod that stays, by the uid of its controller in kube-system."""
    nodes: defaultdict[str, set[str]] = defaultdict(set)
    for machine in machines:
        for pod in machine.residents if not machine.is_leaving else ():
            if pod.namespace == SYSTEM and pod.owner is not None and pod.is_ready and not pod.is_terminating:
                nodes[pod.owner.uid].add(pod.node_name)
    return nodes
