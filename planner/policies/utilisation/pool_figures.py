"""The figures of pools in a round: of the same sums that decisions are made by."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from api.keys import TAINT_SCALE_DOWN
from api.v1alpha1.node_pool import NodePool
from planner.model.pool_figures import NodeState, PoolFigures, Use, UseBounds
from planner.objects.kinds import Node
from planner.policies.utilisation.pool_use import SHRINKING_MODES, PoolUses, is_counted
from planner.policies.utilisation.shares import JUDGED
from planner.supply.machines import Machine


def figures_of(pool: NodePool, uses: PoolUses, growth: Mapping[str, Use], now: datetime) -> PoolFigures:
    """Return the figures of a pool, with the bounds that are in force; `growth` is what thresholds go by, by pool."""
    use, own = uses.of(pool), uses.machines_of(pool)
    return PoolFigures(
        use=Use(use.asked, use.capacity),
        growth=growth.get(pool.metadata.name),
        bounds=_bounds(pool),
        nodes=_states(own, now),
        largest_pending=uses.largest_waiting(pool),
        largest_free=_largest_free(own),
        limits=_limits(pool),
        has_lock=pool.spec.scale_up.lock is not None,
    )


def node_state(machine: Machine, node: Node, now: datetime) -> NodeState:
    """Return the first state that holds of the machine's Node."""
    if node.is_cordoned:
        return NodeState.CORDONED
    if node.remove_now is not None:
        return NodeState.FORCED
    if machine.is_leaving or node.is_terminating or any(taint.key == TAINT_SCALE_DOWN for taint in node.taints):
        return NodeState.TAINTED
    if node.is_ready:
        return NodeState.UNTAINTED
    return NodeState.STARTING if machine.is_in_flight(now) else NodeState.UNHEALTHY


def _states(machines: Iterable[Machine], now: datetime) -> dict[NodeState, int]:
    counts = Counter(node_state(machine, machine.node, now) for machine in machines if machine.node is not None)
    return {state: counts[state] for state in NodeState}


def _largest_free(machines: Iterable[Machine]) -> dict[str, int]:
    """Return the most that is free on one machine, of each resource on its own; 0 where all have more than they can."""
    largest = dict.fromkeys(JUDGED, 0)
    for machine in machines:
        node = machine.node
        if node is None or not node.is_ready or not is_counted(machine):
            continue
        free = {name: node.allocatable.get(name, 0) for name in JUDGED}
        for pod in machine.residents:
            for name in JUDGED:
                free[name] -= pod.requests.get(name, 0)
        for name in JUDGED:
            largest[name] = max(largest[name], free[name])
    return largest


def _limits(pool: NodePool) -> dict[str, int]:
    spec = pool.spec
    of_types = [each.max for each in spec.server_types if each.max is not None]
    most = [] if spec.limits.max is None else [spec.limits.max]
    if len(of_types) == len(spec.server_types):
        most.append(sum(of_types))
    return {"min": spec.minimum, "max": min(most)} if most else {"min": spec.minimum}


def _bounds(pool: NodePool) -> UseBounds:
    # In other modes no machine goes for its use.
    group = pool.spec.scale_down.group if pool.spec.scale_down.mode in SHRINKING_MODES else None
    return UseBounds(
        threshold=pool.spec.scale_up.threshold,
        lower=None if group is None else group.lower_percent,
        upper=None if group is None else group.upper_percent,
    )
