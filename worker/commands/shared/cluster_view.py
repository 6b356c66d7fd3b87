"""The cluster as a command that only reads sees it: a snapshot, and the plan that a round would make of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.lifecycle.step import Step
from planner.model.plan import Plan, Snapshot
from planner.placement.known_state import KnownState, prepare
from planner.plan import plan_known
from planner.policies.pace.schedule import schedules_in_force
from planner.supply.machines import Cost, Machine, PriceList, machine_price, machines_of, price_list, price_today
from worker.solver.in_process import packer


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step of an object with a lifecycle."""

    word: str
    """For objects of its kind, such as request."""
    name: str
    step: Step
    is_under_way: bool
    """Whether anything is: an object of some kinds may rest."""
    commands: tuple[str, ...]
    """What a person may do about it, with NAME for its name."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster at one moment."""

    snapshot: Snapshot
    known: KnownState
    """The snapshot, laid out for the plan."""
    plan: Plan
    """What a round would do; the back-offs of earlier rounds are not known to it."""
    machines: Mapping[str, Machine]
    """By name of the server; nodes that are not Growth's included."""
    nodes: Mapping[str, Object]
    """Nodes by name, as the API has them."""
    prices: PriceList
    steps: Mapping[str, NextStep]
    """By uid of the object; none where no cluster was read."""

    def pool(self, name: str) -> NodePool | None:
        """Return the pool of that name, None if there is none that can be read."""
        return next((pool for pool in self.snapshot.pools if pool.metadata.name == name), None)

    def price(self, machine: Machine) -> Cost | None:
        """Return price per hour and currency of a machine: what was paid, else what its class asks; None: unknown."""
        return machine_price(machine, self._class_of_pool(machine), self.prices)

    def price_today(self, machine: Machine) -> Cost | None:
        """Return price per hour and currency of one more such machine, None if its class does not tell."""
        return price_today(machine, self._class_of_pool(machine), self.prices)

    def _class_of_pool(self, machine: Machine) -> ClassRef | None:
        pool = self.pool(machine.pool)
        return None if pool is None else pool.spec.template.class_ref


def cluster_view(
    snapshot: Snapshot, nodes: Mapping[str, Object], steps: Mapping[str, NextStep] = MappingProxyType({})
) -> ClusterView:
    """Return the snapshot with the plan for it; nothing is written. `nodes` are its Nodes by name.

    Its pools have the bounds that are in force.
    """
    known = prepare(snapshot)
    made = plan_known(known, packer())
    snapshot = schedules_in_force(snapshot)
    return ClusterView(snapshot, known, made, machines_of(snapshot), nodes, price_list(snapshot), steps)


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """A Kubernetes Event that Growth wrote."""

    at: str
    """As the API has it, RFC 3339."""
    reason: str
    note: str
