"""Pods that pools buy nothing for themselves: too young ones, and those of pools that grow by a threshold alone.

They may use all that is there or coming, as ever.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Reason
from planner.objects.kinds import Pod
from planner.report.pace import below_threshold, too_young
from planner.supply.pod_group import PodGroup


def held_back(groups: Iterable[PodGroup], pools: Sequence[NodePool], now: datetime) -> list[PodGroup]:
    """Return the groups, parted where a pool buys for some of their pods only."""
    wishes = {pool.metadata.name: pool for pool in pools if _holds_back(pool)}
    if not wishes:
        return list(groups)
    parted: list[PodGroup] = []
    for group in groups:
        alike: dict[tuple[tuple[str, Reason], ...], list[Pod]] = {}
        for pod in group.pods:
            alike.setdefault(tuple(_reasons(pod, group.pools, wishes, now)), []).append(pod)
        parted += [replace(group, pods=tuple(pods), held_back=reasons) for reasons, pods in alike.items()]
    return parted


def grown_up_at(pod: Pod, pool: NodePool) -> datetime | None:
    """Return from when on the pool buys for the pod, as far as its age goes; None if at any age, or if that is unknown.

    It waits since it was made: the scheduler does not say when it tried a pod first.
    """
    grace = pool.spec.scale_up.pod_grace
    return None if grace is None or pod.created_at is None else pod.created_at + grace


def is_too_young(pod: Pod, pool: NodePool, now: datetime) -> bool:
    """Return whether the pool buys nothing for the pod yet."""
    at = grown_up_at(pod, pool)
    return at is not None and now < at


def next_grown_up(groups: Iterable[PodGroup], pools: Sequence[NodePool], now: datetime) -> datetime | None:
    """Return when the first of these pods that is too young for one of its pools is old enough."""
    by_name = {pool.metadata.name: pool for pool in pools if pool.spec.scale_up.pod_grace}
    moments = (
        grown_up_at(pod, by_name[name])
        for group in groups
        if group.held_back
        for name in group.pools
        if name in by_name
        for pod in group.pods
    )
    return min((at for at in moments if at is not None and at > now), default=None)


def _holds_back(pool: NodePool) -> bool:
    return bool(pool.spec.scale_up.pod_grace) or not pool.spec.scale_up.packs


def _reasons(
    pod: Pod, names: Sequence[str], wishes: Mapping[str, NodePool], now: datetime
) -> Iterator[tuple[str, Reason]]:
    for name in names:
        pool = wishes.get(name)
        if pool is None:
            continue
        if is_too_young(pod, pool, now):
            yield name, too_young(pool)
        elif not pool.spec.scale_up.packs and not pool.spec.scale_up.starvation:
            yield name, below_threshold(pool)
