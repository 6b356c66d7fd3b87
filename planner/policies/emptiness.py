"""Empty nodes: since when each is idle, and which cool-offs begin now, whatever the mode but none."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final

from api.keys import ANNOTATION_DO_NOT_REMOVE, ANNOTATION_IDLE_SINCE, LABEL_REQUEST
from api.timestamp import format_timestamp
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model.plan import PlannedRemoval, Snapshot
from planner.objects.kinds import Node, Pod
from planner.supply.machine_price import PriceList, machine_price
from planner.supply.machines import Machine

FOUND_EMPTY: Final = "Empty"
"""Why a machine goes that a round found without pods: such a node is not drained for pods that have come since."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """A node that has been empty for long enough."""

    machine: Machine
    node: Node
    pool: NodePool
    since: datetime

    @property
    def class_ref(self) -> ClassRef:
        return self.machine.class_ref or self.pool.spec.template.class_ref

    def minimums(self) -> dict[tuple[str, ...], int]:
        """Return what the pool keeps, in all and of the machine's type."""
        spec, machine = self.pool.spec, self.machine
        of_type = next((t.min for t in spec.server_types if t.name == machine.server_type), 0)
        return {(machine.pool,): spec.limits.min, (machine.pool, machine.server_type): of_type}


@dataclass(frozen=True, slots=True)
class Idleness:
    """What becomes of empty nodes."""

    removals: tuple[PlannedRemoval, ...] = ()
    idle_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes."""
    wake_at: datetime | None = None
    """When the next node has been idle for long enough."""


def idle_nodes(
    snapshot: Snapshot,
    fleet: Mapping[str, Machine],
    used: Collection[str],
    prices: PriceList,
) -> Idleness:
    """Return the removals that begin now and the idle times to write.

    `used` are machines that this plan puts pods on. Where a minimum keeps some, unready ones go first, then
    the dearest; `prices` are for those of which nothing tells what was paid.
    """
    pools = {
        pool.metadata.name: pool
        for pool in snapshot.pools
        if pool.spec.scale_down.mode != "none" and pool.metadata.deletion_timestamp is None
    }
    idle_since: dict[str, datetime | None] = {}
    ripe: list[_Idle] = []
    wakes: list[datetime] = []
    for machine in fleet.values():
        pool, node = pools.get(machine.pool), machine.node
        if pool is None or node is None or machine.is_leaving:
            continue
        written = _written(node)
        if machine.removal is not None or not _may_go(machine, node, snapshot, used):
            # A removal that is there here was cancelled: the machine is given its idle time anew.
            if ANNOTATION_IDLE_SINCE in node.annotations:
                idle_since[node.name] = None
            continue
        since = snapshot.now if written is None else written
        if written is None:
            idle_since[node.name] = since
        ripe_at = since + pool.spec.scale_down.idle_after
        if ripe_at <= snapshot.now:
            ripe.append(_Idle(machine, node, pool, since))
        else:
            wakes.append(ripe_at)
    removals = tuple(_allowed(ripe, fleet.values(), snapshot.now, prices))
    return Idleness(removals, idle_since, min(wakes, default=None))


def is_empty(residents: Iterable[Pod]) -> bool:
    """Return whether only DaemonSet and mirror pods are left; a terminating pod still counts."""
    return all(pod.is_daemon or pod.is_mirror for pod in residents)


def _may_go(machine: Machine, node: Node, snapshot: Snapshot, used: Collection[str]) -> bool:
    """Return whether the node is empty and nothing keeps it.

    A cordon is a person's tool: whoever set it decides about the node. A node that does not name
    its request was not bought by Growth.
    """
    return (
        is_empty(machine.residents)
        and machine.name not in used
        and not machine.has_open_request
        and node.labels.get(LABEL_REQUEST) == node.name
        and node.name not in snapshot.protected_nodes
        and not node.annotations.get(ANNOTATION_DO_NOT_REMOVE)
        and not node.is_cordoned
        and not node.is_terminating
    )


def _written(node: Node) -> datetime | None:
    """Return since when the node is idle by its annotation; one that cannot be read counts as absent."""
    try:
        since = datetime.fromisoformat(node.annotations.get(ANNOTATION_IDLE_SINCE, ""))
    except ValueError:
        return None
    return since if since.tzinfo is not None else None


def _allowed(
    ripe: Iterable[_Idle],
    fleet: Iterable[Machine],
    now: datetime,
    prices: PriceList,
) -> Iterator[PlannedRemoval]:
    """Yield the removals that leave every minimum its Ready nodes."""
    staying = [m for m in fleet if m.stays and m.node is not None]
    nodes = Counter(key for m in staying for key in _keys(m))
    ready_nodes = Counter(key for m in staying if m.node is not None and m.node.is_ready for key in _keys(m))

    def order(idle: _Idle) -> tuple[object, ...]:
        machine = idle.machine
        cost = machine_price(machine, idle.class_ref, prices)
        return idle.node.is_ready, Decimal(0) if cost is None else -cost[0], idle.since, idle.node.name

    for idle in sorted(ripe, key=order):
        counts = [nodes, ready_nodes] if idle.node.is_ready else [nodes]
        kept = [(key, least) for key, least in idle.minimums().items() if least]
        if any(count[key] - 1 < least for count in counts for key, least in kept):
            continue
        for count in counts:
            count.subtract(_keys(idle.machine))
        yield PlannedRemoval(
            node=idle.node.name,
            server=idle.machine.name,
            provider_id=idle.node.provider_id or None,
            pool=idle.machine.pool,
            server_type=idle.machine.server_type,
            location=idle.machine.location,
            class_ref=idle.class_ref,
            reason=FOUND_EMPTY,
            why=f"Without pods since {format_timestamp(idle.since.replace(microsecond=0))}",
            at=now + idle.pool.spec.scale_down.soft_grace,
        )


def _keys(machine: Machine) -> list[tuple[str, ...]]:
    return [(machine.pool,), (machine.pool, machine.server_type)]
