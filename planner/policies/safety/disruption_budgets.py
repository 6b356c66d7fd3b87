"""The safety check by PodDisruptionBudgets: none of a machine's pods is under one that lets no pod go.

As the eviction API judges: budgets of the pod's namespace whose selector matches its labels; two of them always refuse;
a pod that has finished, terminates or never ran is under none. Budgets count down as pods go and up as their successors
are Ready, and a drain waits for that, so one that lets a single pod go lets all go, one after the other.
Source: kubernetes/kubernetes, pkg/registry/core/pod/storage/eviction.go; docs, "Specifying a Disruption Budget".
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from planner.objects.disruption_budget import DisruptionBudget
from planner.objects.kinds import Pod
from planner.objects.predicates import selects
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.safety.evicted import evicted_pods

_ENOUGH: Final = 2
"""More budgets over one pod say nothing new: two refuse already."""
_UNREAD: Final = "PodDisruptionBudgets may not be read: grant list and watch of them, as deploy/kustomize/base does"
_Labels = tuple[tuple[str, str], ...]


class _OfNamespace:
    """The budgets of a namespace, by a label that their pods must have."""

    def __init__(self) -> None:
        self._by_pair: defaultdict[tuple[str, str], list[DisruptionBudget]] = defaultdict(list)
        self._by_key: defaultdict[str, list[DisruptionBudget]] = defaultdict(list)
        self._others: list[DisruptionBudget] = []
        self._keys: set[str] = set()
        """All that selectors ask for: other labels make no difference."""
        self._known: dict[_Labels, tuple[DisruptionBudget, ...]] = {}

    def add(self, budget: DisruptionBudget) -> None:
        selector = budget.selector or ()
        self._keys.update(requirement.key for requirement in selector)
        asked = {requirement.operator: requirement for requirement in reversed(selector)}
        if "In" in asked:
            for value in dict.fromkeys(asked["In"].values):
                self._by_pair[asked["In"].key, value].append(budget)
        elif "Exists" in asked:
            self._by_key[asked["Exists"].key].append(budget)
        else:
            self._others.append(budget)

    def of(self, labels: Mapping[str, str]) -> tuple[DisruptionBudget, ...]:
        asked = tuple(sorted((key, labels[key]) for key in labels.keys() & self._keys))
        known = self._known.get(asked)
        if known is None:
            known = self._known[asked] = tuple(islice(self._matching(dict(asked)), _ENOUGH))
        return known

    def _matching(self, labels: Mapping[str, str]) -> Iterable[DisruptionBudget]:
        for pair in labels.items():
            yield from (budget for budget in self._by_pair.get(pair, ()) if _is_over(budget, labels))
        for key in labels:
            yield from (budget for budget in self._by_key.get(key, ()) if _is_over(budget, labels))
        yield from (budget for budget in self._others if _is_over(budget, labels))


def _is_over(budget: DisruptionBudget, labels: Mapping[str, str]) -> bool:
    return budget.selector is not None and selects(budget.selector, labels)


class BudgetIndex:
    """The budgets of a cluster, found by the pods that are under them."""

    def __init__(self, budgets: Iterable[DisruptionBudget]) -> None:
        self._of_namespace: defaultdict[str, _OfNamespace] = defaultdict(_OfNamespace)
        for budget in budgets:
            if budget.selector is not None:
                self._of_namespace[budget.namespace].add(budget)

    def of(self, pod: Pod) -> tuple[DisruptionBudget, ...]:
        """Return the budgets that the pod is under, the first two of them."""
        budgets = self._of_namespace.get(pod.namespace)
        return () if budgets is None else budgets.of(pod.labels)


class ExhaustedBudgets:
    """Keeps a machine with a pod that the eviction API would not let go.

    Args:
        budgets: of the cluster.
        are_read: whether they may be read; where not, nobody knows which pods may go.
    """

    def __init__(self, budgets: BudgetIndex, *, are_read: bool) -> None:
        self._budgets = budgets
        self._are_read = are_read

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if a pod on it may not be evicted now."""
        for pod in evicted_pods(candidate.machine):
            if not self._are_read:
                return Blocked(BlockedBy.BUDGETS_UNREAD, _UNREAD)
            why = _refusal(pod, self._budgets.of(pod))
            if why:
                return Blocked(BlockedBy.BUDGET, f"pod {pod.key} is under {why}")
        return None


def _refusal(pod: Pod, budgets: tuple[DisruptionBudget, ...]) -> str:
    """Return which budget does not let the pod go now, and why; empty if the eviction API would let it go."""
    if not budgets or pod.is_terminating or pod.phase == "Pending":
        return ""
    budget, others = budgets[0], budgets[1:]
    if others:
        names = " and ".join(sorted(budget.name for budget in budgets))
        return f"PodDisruptionBudgets {names}, and the eviction API refuses a pod with more than one"
    # One that is not Ready takes nothing from those that are.
    if not pod.is_ready and (budget.lets_unready_go or 0 < budget.needed <= budget.healthy):
        return ""
    if budget.problem and not budget.allowed:
        return f"PodDisruptionBudget {budget.name}, which lets none go as it cannot be counted: {budget.problem}"
    if not budget.is_counted:
        return f"PodDisruptionBudget {budget.name}, which is not counted yet"
    if budget.allowed:
        return ""
    return f"PodDisruptionBudget {budget.name}, which lets none go now: {budget.healthy} Ready, {budget.needed} needed"
