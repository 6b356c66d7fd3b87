"""Headroom as pods that do not exist: so many of a size, of one pool, and of less priority than any pod may have."""

from collections.abc import Iterable, Iterator
from typing import Final

from api.keys import LABEL_POOL
from api.quantity import parse_amount
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.headroom import Headroom
from planner.objects.kinds import Pod, Requirement, Toleration
from planner.supply.pod_group import PodGroup

BELOW_ALL: Final = -(2**31) - 1
"""Priority of headroom. Source: Kubernetes API, PodSpec.priority is an int32."""


def headroom_groups(pools: Iterable[NodePool]) -> tuple[PodGroup, ...]:
    """Return the groups of pods that headroom stands for, one for each entry of each pool that is not being deleted."""
    return tuple(
        PodGroup(f"headroom/{pool.metadata.name}/{position}", tuple(_pods(pool, position, entry)), _only(pool))
        for pool in pools
        if pool.metadata.deletion_timestamp is None
        for position, entry in enumerate(pool.spec.headroom or ())
    )


def position_of(group: PodGroup) -> int:
    """Return the position of the entry in its pool's headroom."""
    return int(group.key.rpartition("/")[2])


def _only(pool: NodePool) -> tuple[str, ...]:
    return (pool.metadata.name,)


def _pods(pool: NodePool, position: int, entry: Headroom) -> Iterator[Pod]:
    name = pool.metadata.name
    requests = {resource: parse_amount(resource, text) for resource, text in entry.requests.items()} | {"pods": 1}
    selector = (Requirement(LABEL_POOL, "In", (name,)),)
    taints = pool.spec.template.taints
    tolerations = tuple(Toleration(key=t.key, value=t.value, effect=t.effect) for t in taints)
    for number in range(entry.count):
        yield Pod(
            namespace="",
            name=f"headroom-{name}-{position}-{number}",
            uid=f"headroom/{name}/{position}/{number}",
            requests=requests,
            node_selector=selector,
            tolerations=tolerations,
            priority=BELOW_ALL,
            is_unschedulable=True,
        )
