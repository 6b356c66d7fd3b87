"""Tiers: which machines are bought before others, whatever they cost. Within one, the price decides.

Source: Karpenter's weight of a NodePool and Cluster Autoscaler's priority expander, for the choice between pools.
"""

from api.v1alpha1.node_pool import NodePool

Tier = tuple[int, int]
"""The pool's priority and, where the pool chooses by priority, the type's: the higher one goes first."""


def tier_of(pool: NodePool, type_priority: int) -> Tier:
    """Return the tier of a type of this priority in the pool."""
    of_type = type_priority if pool.spec.scale_up.choose == "priority" else 0
    return pool.spec.priority or 0, of_type
