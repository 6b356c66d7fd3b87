"""Classes whose kind no provider serves: a pool may name any kind, and is told which there are."""

from collections.abc import Collection, Iterable

from api.v1alpha1.node_pool import NodePool
from planner.model.plan import NodeClass


def unserved(pools: Iterable[NodePool], kinds: Collection[str]) -> tuple[NodeClass, ...]:
    """Return each class that pools name and whose kind is none of `kinds`, with the problem that it has."""
    refs = dict.fromkeys(pool.spec.template.class_ref for pool in pools)
    known = " and ".join(kinds) or "none"
    return tuple(
        NodeClass(ref=ref, offerings=(), problem=f"no provider serves the kind {ref.kind}; known: {known}")
        for ref in refs
        if ref.kind not in kinds
    )
