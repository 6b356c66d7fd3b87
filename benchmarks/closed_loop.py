"""The closed loop: plan, let the machines come, let the scheduler bind the pods, and plan again for those left over."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Final

from api.keys import TAINT_RESERVED
from benchmarks.default_scheduler import DefaultScheduler
from planner.model.plan import PlannedRequest, Snapshot
from planner.objects.kinds import Node, Pod, Taint, Toleration
from planner.packing.problem import Packer
from planner.plan import plan
from planner.scheduling.site import sites_of
from planner.supply.node_template import node_labels, pool_taints

_MOST_ROUNDS: Final = 50
"""More would mean that planner and scheduler disagree on what fits."""


class LeftOver(Exception):
    """Pods have no place in the end; the text says how many, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoopRun:
    """How machines and pods come together."""

    reserves: bool
    """Whether each machine is kept for the pods that it was bought for, as Growth does by taint and tolerations."""
    together: bool
    """Whether all machines of a plan turn Ready at the same moment; else one after the other, and the scheduler has
    tried every waiting pod before the next one does."""
    seed: int = 0
    """Decides which machine turns Ready first, which pod comes up first, and between nodes that score alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realised:
    """What came of a plan."""

    planned_per_hour: Decimal
    """What the first plan costs."""
    cost_per_hour: Decimal
    """What the machines cost that have pods in the end."""
    bought_per_hour: Decimal
    """The same with those that stand empty."""
    planned_machines: int
    machines: int
    """That have pods in the end."""
    empty: int
    """Machines that were bought, too, and that no pod is on in the end: they would go again."""
    astray: int
    """Pods that are not where the first plan has them."""
    left_over: int
    """Pods that the scheduler had no place for when all machines of the first plan were Ready."""
    rounds: int
    """How often something was bought."""

    @property
    def ratio(self) -> Decimal:
        """What came of the plan over what it costs."""
        return self.cost_per_hour / self.planned_per_hour


def realise(snapshot: Snapshot, packer: Packer, course: ClosedLoopRun) -> Realised:
    """Return the outcome of a plan for a snapshot with pods that wait and no machine.

    Raises:
        LeftOver: no plan has a machine for some pods, or they get no place whatever is bought.
    """
    loop = _Loop(snapshot, packer, course)
    planned = loop.grow()
    landed = loop.landed()
    first = list(loop.bought.values())
    while loop.waiting:
        if loop.rounds == _MOST_ROUNDS:
            raise LeftOver(f"{len(loop.waiting)} pods have no place after {_MOST_ROUNDS} rounds")
        loop.grow()
    used = [loop.bought[name] for name in set(loop.landed().values())]
    return Realised(
        planned_per_hour=_cost(first),
        cost_per_hour=_cost(used),
        bought_per_hour=_cost(list(loop.bought.values())),
        planned_machines=len(first),
        machines=len(used),
        empty=len(loop.bought) - len(used),
        astray=sum(landed.get(uid) != machine for uid, machine in planned.items()),
        left_over=len(snapshot.pods) - len(landed),
        rounds=loop.rounds,
    )


class _Loop:
    """A cluster that grows."""

    def __init__(self, snapshot: Snapshot, packer: Packer, course: ClosedLoopRun) -> None:
        self.snapshot = snapshot
        self.bought: dict[str, PlannedRequest] = {}
        """By the name of the machine."""
        self.rounds = 0
        self._packer = packer
        self._course = course

    @property
    def waiting(self) -> list[Pod]:
        return [pod for pod in self.snapshot.pods if not pod.node_name]

    def landed(self) -> dict[str, str]:
        """Return the machine of each bound pod by the pod's uid."""
        return {pod.uid: pod.node_name for pod in self.snapshot.pods if pod.node_name}

    def grow(self) -> dict[str, str]:
        """Plan for all that wait, let machines come and pods go, and return the plan: the machine by each pod's uid."""
        made = plan(self.snapshot, self._packer)
        if made.unplaced or not made.requests:
            raise LeftOver(f"no plan has a machine for {len(made.unplaced) or len(self.waiting)} pods")
        self.rounds += 1
        planned: dict[str, str] = {}
        nodes: list[Node] = []
        for request in made.requests:
            node = _node(self.snapshot, request, f"machine-{self.rounds}-{request.ordinal}")
            nodes.append(node)
            self.bought[node.name] = request
            planned.update((seat.uid, node.name) for seat in request.seats)
        bound = self._bound(nodes, planned)
        pods = (
            replace(pod, node_name=bound[pod.uid], phase="Running") if pod.uid in bound else pod
            for pod in self.snapshot.pods
        )
        # All machines of a plan are released together, when the last of them has its pods: there is no moment at
        # which a planned pod could go to another one.
        self.snapshot = replace(self.snapshot, pods=tuple(pods), nodes=(*self.snapshot.nodes, *nodes))
        return planned

    def _bound(self, nodes: Sequence[Node], planned: Mapping[str, str]) -> dict[str, str]:
        """Return the node of each pod that the scheduler binds, by the pod's uid, while these turn Ready."""
        scheduler = DefaultScheduler(self._course.seed + self.rounds)
        for site in sites_of(self.snapshot.nodes, self.snapshot.pods):
            scheduler.open(site)
        waiting = self.waiting
        if self._course.reserves:
            nodes = [_reserved(node) for node in nodes]
            waiting = [_let_onto(pod, planned[pod.uid]) if pod.uid in planned else pod for pod in waiting]
        bound: dict[str, str] = {}
        for ready in self._order(nodes):
            for site in sites_of(ready, ()):
                scheduler.open(site)
            bound |= scheduler.bind(pod for pod in waiting if pod.uid not in bound)
        return bound

    def _order(self, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        order = list(nodes)
        Random(self._course.seed).shuffle(order)  # noqa: S311 - it is to be repeatable, not secret
        if self._course.together:
            yield order
        else:
            yield from ([node] for node in order)


def _node(snapshot: Snapshot, request: PlannedRequest, name: str) -> Node:
    pool = next(pool for pool in snapshot.pools if pool.metadata.name == request.pool)
    offering = next(
        offering
        for node_class in snapshot.classes
        for offering in node_class.offerings
        if (node_class.ref, offering.server_type, offering.location)
        == (request.class_ref, request.server_type, request.location)
    )
    return Node(
        name=name,
        uid=name,
        allocatable=offering.allocatable,
        labels=node_labels(pool, offering, name),
        taints=pool_taints(pool),
        is_ready=True,
    )


def _reserved(node: Node) -> Node:
    return replace(node, taints=(*node.taints, Taint(TAINT_RESERVED, node.name)))


def _let_onto(pod: Pod, machine: str) -> Pod:
    toleration = Toleration(TAINT_RESERVED, value=machine, effect="NoSchedule")
    return replace(pod, tolerations=(*pod.tolerations, toleration))


def _cost(bought: Sequence[PlannedRequest]) -> Decimal:
    return sum((request.price_per_hour for request in bought), Decimal(0))
