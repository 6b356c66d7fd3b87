"""The rest of a pool: a machine that goes as too little is used leaves the others with no more than they may carry.

Else the pool would have to grow again. What is predicted counts all machines that go, by this round or by earlier ones.
Source: VPSie's scale-down, which refuses what would leave more than 85 % in use.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from api.v1alpha1.node_pool import NodePool
from planner.model.pool_figures import shown
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.utilisation.pool_use import PoolUses, is_counted
from planner.policies.utilisation.shares import JUDGED, capacity_of, is_above, larger_share, summed
from planner.supply.machines import Machine

USUAL_MOST: Final = 85
"""In percent, where the pool says nothing."""


def most_remaining(pool: NodePool) -> int:
    """Return how much of the machines that remain may be used, in percent: never more than what makes the pool grow."""
    wish = pool.spec.scale_down.max_remaining_percent
    threshold = pool.spec.scale_up.threshold
    most = USUAL_MOST if wish is None else wish
    return most if threshold is None else min(most, threshold)


class RemainingUse:
    """What remains of pools in a round. Counts down with each machine that goes, so policies share it."""

    def __init__(self, uses: PoolUses) -> None:
        self._uses = uses
        self._gone: dict[str, dict[str, int]] = {}
        """What the machines had that go in this round, by pool."""

    @property
    def uses(self) -> PoolUses:
        """The use of each pool before any machine of this round goes."""
        return self._uses

    def refuses(self, pool: NodePool, machine: Machine) -> Blocked | None:
        """Return what keeps the machine if the others would be used too much without it."""
        return self._refusal(pool, summed((self._gone.get(pool.metadata.name, {}), _ready_capacity(machine))))

    def spend(self, machine: Machine) -> None:
        """Count a machine that goes, for whatever reason."""
        self._gone[machine.pool] = summed((self._gone.get(machine.pool, {}), _ready_capacity(machine)))

    def number_fitting(self, pool: NodePool, machines: Iterable[Machine], most: int) -> int:
        """Return how many of the machines could go one after the other, in the given order and at most so many."""
        gone, number = self._gone.get(pool.metadata.name, {}), 0
        for machine in machines:
            if number == most:
                break
            without = summed((gone, _ready_capacity(machine)))
            if self._refusal(pool, without) is None:
                gone, number = without, number + 1
        return number

    def _refusal(self, pool: NodePool, gone: Mapping[str, int]) -> Blocked | None:
        use, most, name = self._uses.of(pool), most_remaining(pool), pool.metadata.name
        asked = summed((use.asked, use.beside))
        rest = {resource: use.ready_capacity[resource] - gone[resource] for resource in JUDGED}
        if not is_above(asked, rest, most):
            return None
        if any(asked[resource] and rest[resource] <= 0 for resource in JUDGED):
            return Blocked(BlockedBy.REMAINING, f"nothing of pool {name} would remain for the pods that need it")
        share, resource = larger_share(asked, rest)
        why = f"of the {resource} that would remain in pool {name}, {shown(share)} % would be asked for, above {most} %"
        return Blocked(BlockedBy.REMAINING, why)


def _ready_capacity(machine: Machine) -> Mapping[str, int]:
    """Return what the rest of the pool loses with the machine: nothing, if it does not count or is not Ready."""
    is_ready = is_counted(machine) and machine.node is not None and machine.node.is_ready
    return capacity_of(machine) if is_ready else {}
