"""Rotation: machines that are older than their pool allows go, the oldest first.

Machines that were bought together would all be too old at one moment. So each has a moment of its own in the last tenth
of the age, by its name: none grows older than the pool says, budgets and blockers aside.
Source: atlassian/escalator, docs/configuration/nodegroup.md, `max_node_age`; Karpenter docs, "Disruption: Expiration".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import Node
from planner.policies.port import Advice, PolicyView, Quota
from planner.policies.triggers.worn_out import DueMachine, Wear, advice, open_pools, own_machines
from planner.report.pool_report import TOO_OLD
from planner.supply.machines import Machine

ROTATION: Final = "Rotation"
_SPREAD_OVER: Final = 10
"""The last of so many parts of the age."""
_WEAR: Final = Wear(ROTATION, TOO_OLD, "Machines that have reached the age at which they are replaced")


@dataclass(frozen=True, slots=True)
class OldMachines:
    """Proposes the machines that are too old, now or later."""

    def propose(self, view: PolicyView) -> Advice:
        """Return them, the oldest first, and a report for each pool that has some."""
        return advice(view, _WEAR, _due(view))


def rotates_at(node: Node, max_age: timedelta) -> datetime | None:
    """Return from when on a Node is too old, None if it does not tell its age."""
    if node.created_at is None:
        return None
    number = int.from_bytes(sha256(f"{node.name}/{node.uid}".encode()).digest()[:4])
    early = max_age / _SPREAD_OVER * (number / 2**32)
    return (node.created_at + max_age - early).replace(microsecond=0)


def _due(view: PolicyView) -> Iterator[tuple[NodePool, DueMachine, Quota | None]]:
    rotating = [pool for pool in open_pools(view) if pool.spec.rotation is not None]
    by_pool = own_machines(view) if rotating else {}
    for pool in rotating:
        rotation, machines = pool.spec.rotation, by_pool.get(pool.metadata.name, [])
        if rotation is None or (rotation.only_at_min and not _is_at_min(pool, view)):
            continue
        quota = Quota(f"{ROTATION}/{pool.metadata.name}", 1) if rotation.only_at_min else None
        for each in _oldest_first(machines, rotation.max_node_age):
            yield pool, each, quota


def _oldest_first(machines: Sequence[Machine], max_age: timedelta) -> list[DueMachine]:
    due: list[tuple[datetime, str, DueMachine]] = []
    for machine in machines:
        node = machine.node
        if node is None or node.created_at is None or (at := rotates_at(node, max_age)) is None:
            continue
        born = format_timestamp(node.created_at.replace(microsecond=0))
        why = f"Here since {born}: it is replaced before it is older than rotation.maxNodeAge"
        due.append((node.created_at, node.name, DueMachine(machine, at, why)))
    return [each for _, _, each in sorted(due, key=lambda entry: entry[:2])]


def _is_at_min(pool: NodePool, view: PolicyView) -> bool:
    """Return whether the pool has no machine above its minimum, and none that goes."""
    own = [machine for machine in view.machines if machine.pool == pool.metadata.name]
    return sum(m.stays for m in own) <= pool.spec.minimum and not any(m.is_leaving for m in own)
