"""What a command that only looks has before it: a snapshot, and what a round would decide on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from activities.cluster import Object
from api.v1alpha1.node_pool import NodePool
from planner.fleet import Machine, machines
from planner.model import Plan, Snapshot
from planner.plan import plan
from planner.report import PriceList, price_list
from worker.packer import packer


@dataclass(frozen=True, slots=True)
class Sight:
    """A cluster at one moment."""

    snapshot: Snapshot
    plan: Plan
    """What a round would do; the back-offs of earlier rounds are not known to it."""
    fleet: Mapping[str, Machine]
    """By name of the server; nodes that are not Growth's included."""
    nodes: Mapping[str, Object]
    """Nodes by name, as the API has them."""
    prices: PriceList

    def pool(self, name: str) -> NodePool | None:
        """Return the pool of that name, None if there is none that can be read."""
        return next((pool for pool in self.snapshot.pools if pool.metadata.name == name), None)

    def price(self, machine: Machine) -> tuple[Decimal, str] | None:
        """Return price per hour and currency of a machine, None if its class does not tell."""
        pool = self.pool(machine.pool)
        ref = machine.class_ref or (None if pool is None else pool.spec.template.class_ref)
        return self.prices.get((str(ref), machine.server_type, machine.location))


def sight_of(snapshot: Snapshot, nodes: Mapping[str, Object]) -> Sight:
    """Return the snapshot with the plan for it; nothing is written. `nodes` are its Nodes by name."""
    return Sight(snapshot, plan(snapshot, packer()), machines(snapshot), nodes, price_list(snapshot))


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """A Kubernetes Event that Growth wrote."""

    at: str
    """As the API has it, RFC 3339."""
    reason: str
    note: str
