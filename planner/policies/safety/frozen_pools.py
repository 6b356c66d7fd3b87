"""Frozen pools: while too many of the newest Nodes of a pool are not Ready, it neither grows nor shrinks by itself.

What is wrong with new machines, such as an image or a network that does not come up, would be bought again and again.
Repair goes on, as it is the way out: it has its own guards, and a machine that it takes away is not bought again while
the pool is frozen.
Source: Escalator, pkg/controller/controller.go, `isNodegroupHealthy`: the integer arithmetic, the sample.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from api.keys import LABEL_POOL
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.health import PoolHealth
from planner.model.plan import Reason, Snapshot
from planner.objects.kinds import Node
from planner.policies.port import Candidate, MachineAction
from planner.policies.safety.blocked import BlockedBy
from planner.supply.machine_kind import POOL_FROZEN, PoolKinds

_WHOLE: Final = 100


@dataclass(frozen=True, slots=True)
class Sample:
    """The Nodes of a pool that are judged."""

    size: int = 0
    bad: int = 0
    """Those that are neither Ready nor cordoned."""

    @property
    def bad_percent(self) -> int:
        """The share of bad ones, rounded down; 0 of an empty sample."""
        return _WHOLE * self.bad // self.size if self.size else 0


def sampled(health: PoolHealth, nodes: Iterable[Node], now: datetime) -> Sample:
    """Return the newest of the Nodes that are old enough, so many as the pool asks for, and at least one of any."""
    old = [(node.created_at, node) for node in nodes if node.created_at is not None]
    judged = [(at, node) for at, node in old if now - at >= health.grace]
    judged.sort(key=lambda one: (-one[0].timestamp(), one[1].name))
    newest = [node for _, node in judged[: -(-len(judged) * health.newest_percent // _WHOLE)]]
    return Sample(len(newest), sum(not node.is_ready and not node.is_cordoned for node in newest))


def frozen_pools(snapshot: Snapshot) -> dict[str, Reason]:
    """Return why pools are frozen, by their names: none of those that do not ask for it."""
    frozen: dict[str, Reason] = {}
    nodes = _nodes_by_pool(snapshot)
    for pool in snapshot.pools:
        health = pool.spec.health
        if health is None:
            continue
        name = pool.metadata.name
        sample = sampled(health, nodes[name], snapshot.now)
        if sample.bad_percent > health.max_unhealthy_percent:
            frozen[name] = Reason(
                POOL_FROZEN,
                f"pool {name} is frozen, so it buys nothing and only repairs begin removals: {sample.bad} of the "
                f"{sample.size} newest Nodes that are as old as health.grace are not Ready ({sample.bad_percent} %), "
                f"and {health.max_unhealthy_percent} % may be",
            )
    return frozen


def with_frozen(pool_kinds: Mapping[str, PoolKinds], frozen: Mapping[str, Reason]) -> Mapping[str, PoolKinds]:
    """Return the pools with the obstacle of those that are frozen and have none yet."""
    if not frozen:
        return pool_kinds
    return {
        name: replace(kinds, obstacle=frozen[name]) if name in frozen and kinds.obstacle is None else kinds
        for name, kinds in pool_kinds.items()
    }


def judgements_to_come(snapshot: Snapshot) -> Iterator[datetime]:
    """Yield when Nodes become old enough to be judged."""
    graces = {pool.metadata.name: pool.spec.health.grace for pool in snapshot.pools if pool.spec.health is not None}
    if graces:
        for node in snapshot.nodes:
            grace = graces.get(node.labels.get(LABEL_POOL, ""))
            if grace is not None and node.created_at is not None:
                yield node.created_at + grace


def _nodes_by_pool(snapshot: Snapshot) -> defaultdict[str, list[Node]]:
    by_pool: defaultdict[str, list[Node]] = defaultdict(list)
    if any(pool.spec.health is not None for pool in snapshot.pools):
        for node in snapshot.nodes:
            by_pool[node.labels.get(LABEL_POOL, "")].append(node)
    return by_pool


@dataclass(frozen=True, slots=True)
class FrozenPool:
    """Keeps the machines of frozen pools, but for those that somebody wants to go, and those that may be repaired."""

    by: ClassVar = BlockedBy.POOL_FROZEN
    pools: Collection[str]

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if its pool is frozen; a request that has asked for no server may go."""
        machine, pool = candidate.machine, candidate.pool
        if pool.metadata.name not in self.pools or candidate.action is not MachineAction.REMOVE:
            return None
        return None if machine.is_to_go_now or _may_be_repaired(pool, machine.node) else _why(pool)


def _may_be_repaired(pool: NodePool, node: Node | None) -> bool:
    return pool.spec.scale_down.repair is not None and node is not None and not node.is_ready


def _why(pool: NodePool) -> str:
    return f"pool {pool.metadata.name} is frozen, as too many of its newest Nodes are not Ready"
