"""Headroom as pods that do not exist: so many of a size, and of less priority than any pod may have.

Those of a pool's headroom are for that pool. Those of a CapacityBuffer may be on any machine that suits its template.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from api.keys import LABEL_POOL
from api.quantity import parse_amount
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.headroom import Headroom
from planner.model.plan import Snapshot
from planner.objects.capacity_buffer import CapacityBuffer
from planner.objects.kinds import Owner, Pod, Requirement, Toleration
from planner.supply.pod_group import PodGroup, choose_pools

BELOW_ALL: Final = -(2**31) - 1
"""Priority of headroom. Source: Kubernetes API, PodSpec.priority is an int32."""
_BUFFER: Final = "CapacityBuffer"


def headroom_groups(snapshot: Snapshot) -> tuple[PodGroup, ...]:
    """Return the groups of pods that headroom stands for, those of pools first.

    One for each entry of each pool that is not being deleted, and one for each buffer that some pool may serve.
    """
    of_pools = (
        PodGroup(f"headroom/{pool.metadata.name}/{position}", tuple(_pods(pool, position, entry)), _only(pool))
        for pool in snapshot.pools
        if pool.metadata.deletion_timestamp is None
        for position, entry in enumerate(pool.spec.headroom or ())
    )
    return (*of_pools, *_of_buffers(snapshot.buffers, snapshot.pools))


def position_of(group: PodGroup) -> int:
    """Return the position of the entry in its pool's headroom."""
    return int(group.key.rpartition("/")[2])


def buffer_of(group: PodGroup) -> str | None:
    """Return the buffer that it is for, as namespace/name; None of a pool's headroom."""
    owner = group.example.owner
    return None if owner is None else owner.name


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


def _of_buffers(buffers: Iterable[CapacityBuffer], pools: Sequence[NodePool]) -> Iterator[PodGroup]:
    open_pools = [pool for pool in pools if pool.metadata.deletion_timestamp is None]
    for buffer in buffers:
        if buffer.template is None or not buffer.count:
            continue
        key, owner = f"buffer/{buffer.key}", Owner(_BUFFER, buffer.key, buffer.uid)
        shared = replace(buffer.template, owner=owner, priority=BELOW_ALL)
        pods = tuple(replace(shared, name=f"{key}/{n}", uid=f"{key}/{n}") for n in range(buffer.count))
        yield PodGroup(key, pods, choose_pools(buffer.template, open_pools).pools)
