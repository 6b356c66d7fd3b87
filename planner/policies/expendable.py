"""Expendable pods: of so low a priority that no machine is bought for them, and none is kept.

They run where room is free. A pod is expendable where each pool that it may use says so; a pod that may use none is
not, as something else keeps it waiting.
Source: Cluster Autoscaler, FAQ, "How does Cluster Autoscaler work with Pod Priority and Preemption?" and its flag
`expendable-pods-priority-cutoff`: pods below it "don't trigger scale-ups" and "don't prevent scale-downs".
"""

from collections.abc import Sequence

from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Reason
from planner.objects.kinds import Pod
from planner.supply.pod_group import choose_pools

EXPENDABLE = "Expendable"


class Expendables:
    """Tells which pods are expendable.

    Args:
        pools: all there are.
    """

    def __init__(self, pools: Sequence[NodePool]) -> None:
        self._pools = pools
        self._cutoffs = {
            pool.metadata.name: pool.spec.scale_up.expendable_priority
            for pool in pools
            if pool.spec.scale_up.expendable_priority is not None
        }
        self._highest = max(self._cutoffs.values(), default=None)

    def __contains__(self, pod: Pod) -> bool:
        """Return whether the pod is expendable in each pool that it may use."""
        # Most pods are above each cutoff, and most pools have none.
        if self._highest is None or pod.priority >= self._highest:
            return False
        pools = choose_pools(pod, self._pools).pools
        return bool(pools) and not self.buying(pod, pools)

    def buying(self, pod: Pod, pools: Sequence[str]) -> tuple[str, ...]:
        """Return those of these pools that buy for the pod."""
        return tuple(name for name in pools if name not in self._cutoffs or pod.priority >= self._cutoffs[name])

    def reason(self, pod: Pod, pools: Sequence[str]) -> Reason:
        """Return why the pod waits for free room, with the pools and their fields."""
        cutoffs = ", ".join(f"pool {name}: scaleUp.expendablePriority {self._cutoffs[name]}" for name in pools)
        message = f"no machine is bought for its priority {pod.priority}, so it waits for free room ({cutoffs})"
        return Reason(EXPENDABLE, message)
