"""The order in which machines of a pool go that might: those that are not Ready, then as `scaleDown.order` says.

Source: atlassian/escalator, `pkg/controller/sort.go` (the oldest first); VPSie's order by what is used.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from api.v1alpha1.node_pool import NodePool
from planner.policies.utilisation.shares import used_share
from planner.supply.machines import Machine, PriceList, machine_price

_LAST: Final = Fraction(2**63)
"""Of a Node that does not tell its age."""


def removal_rank(pool: NodePool, machine: Machine, prices: PriceList) -> tuple[bool, Fraction]:
    """Return the first part of a sort key: what is not Ready first, then the dearest unless the pool says otherwise."""
    node = machine.node
    is_ready = node is not None and node.is_ready
    match pool.spec.scale_down.order:
        case "oldest":
            born = None if node is None else node.created_at
            return is_ready, _LAST if born is None else Fraction(born.timestamp())
        case "leastUtilised":
            return is_ready, used_share(machine)
        case _:
            cost = machine_price(machine, pool.spec.template.class_ref, prices)
            return is_ready, Fraction(0) if cost is None else -Fraction(cost[0])


def in_order(pool: NodePool, machines: Sequence[Machine], prices: PriceList) -> list[Machine]:
    """Return the machines of a pool in the order in which they go; of equal ones, the first by name."""
    return sorted(machines, key=lambda machine: (*removal_rank(pool, machine, prices), machine.name))
