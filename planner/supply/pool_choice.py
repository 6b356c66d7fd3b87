"""Which pools may buy machines for a pod: the four cases of the seed, and required affinity.

A pod that names pools, by nodeSelector or required node affinity on growth.dev/pool, may use those
of them that exist. One that names none may use every pool that takes such pods.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from api.keys import LABEL_POOL
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Reason
from planner.objects.kinds import Pod, Requirement
from planner.objects.predicates import holds


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """Pools for a pod, or the reason why there is none."""

    pools: tuple[str, ...] = ()
    obstacle: Reason | None = None


def choose_pools(pod: Pod, pools: Sequence[NodePool]) -> PoolChoice:
    """Return the pools that may buy machines for this pod, in the order of their names."""
    existing = sorted(pool.metadata.name for pool in pools)
    allowed = [name for name in existing if _allows(pod, name)]
    named = _named_pools(pod)
    if named is not None:
        if allowed:
            return PoolChoice(tuple(allowed))
        return PoolChoice(obstacle=_not_found(named, existing))
    takers = [p.metadata.name for p in pools if p.takes_unselected_pods and p.metadata.name in allowed]
    if takers:
        return PoolChoice(tuple(sorted(takers)))
    message = (
        f"the pod selects no pool, and no pool takes such pods: add a nodeSelector {LABEL_POOL}, "
        "make a pool named default, or set matchUnselectedPods on a pool"
    )
    return PoolChoice(obstacle=Reason("NoPool", message))


def _not_found(named: Collection[str], existing: Sequence[str]) -> Reason:
    there = f"there are {', '.join(existing)}" if existing else "there is no pool"
    what = f"pool {' or '.join(sorted(named))} does not exist" if named else "no pool meets its requirements"
    return Reason("PoolNotFound", f"{what}: {there}")


def _allows(pod: Pod, pool: str) -> bool:
    labels = {LABEL_POOL: pool}
    terms = pod.node_affinity
    return _may_hold(pod.node_selector, labels) and (not terms or any(_may_hold(term, labels) for term in terms))


def _may_hold(requirements: Sequence[Requirement], labels: dict[str, str]) -> bool:
    return all(holds(r, labels) for r in requirements if r.key == LABEL_POOL)


def _named_pools(pod: Pod) -> frozenset[str] | None:
    """Return the names that the pod gives, or None if some way of placing it leaves the pool open."""
    selector = _names_in(pod.node_selector)
    if selector is not None:
        return selector
    terms = [_names_in(term) for term in pod.node_affinity]
    if not terms or any(names is None for names in terms):
        return None
    return frozenset(name for names in terms if names is not None for name in names)


def _names_in(requirements: Sequence[Requirement]) -> frozenset[str] | None:
    about = [r for r in requirements if r.key == LABEL_POOL and r.operator in {"In", "Exists"}]
    return frozenset(value for r in about for value in r.values) if about else None
