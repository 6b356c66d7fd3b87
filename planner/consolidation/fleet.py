"""The fleet that consolidation looks at: machines whose pods may be moved now, their prices, and what moving costs."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from api.keys import LABEL_REQUEST
from api.v1alpha1.consolidation import Consolidation
from planner.consolidation.quiet import quiet_since
from planner.consolidation.terms import CONSOLIDATED, cost_of_moves
from planner.displacement.displace import movable
from planner.model.plan import BlockedMachine
from planner.objects.kinds import Node, Pod
from planner.policies.port import Candidate, MachineAction, PolicyView
from planner.supply.machines import Machine, machine_price

_PRICED: Final = ("cpu", "memory")
_AT_REST: Final = timedelta(days=1)
"""How long a machine is taken to have been quiet where nobody marks since when it is."""


@dataclass(frozen=True, slots=True)
class Member:
    """A machine whose pods may be moved."""

    machine: Machine
    settings: Consolidation
    price: Decimal
    """Per hour, what it really costs."""
    pods: tuple[Pod, ...]
    """Those that would have to move: none on a machine that only headroom keeps."""
    cost_of_moves: Decimal
    """As saving per hour that their moves must bring."""


@dataclass(frozen=True, slots=True)
class _Priced:
    """A machine with pods and a known price."""

    machine: Machine
    settings: Consolidation
    price: tuple[Decimal, str]
    """Per hour, and its currency."""
    pods: tuple[Pod, ...]
    quiet: timedelta
    """How long it has had these pods."""
    may_go: bool


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines of one currency, and what was seen on the way."""

    members: tuple[Member, ...] = ()
    currency: str = ""
    idle: frozenset[str] = frozenset()
    """Machines without pods that go by themselves: no room to move pods to."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """New values of the annotation that says since when a Node has had its pods."""
    allowances: Mapping[str, int] = field(default_factory=dict)
    """How many of them may go, by pool, where that is bounded."""
    blocked: tuple[BlockedMachine, ...] = ()
    """Machines of which less than half is asked for, and that something keeps from being emptied."""
    wake_at: datetime | None = None
    """When the next machine has been quiet for long enough."""


def fleet_of(view: PolicyView) -> Fleet:
    """Return the machines that may go now: Ready, quiet, refused by no check, of a known price and within budgets.

    Of several currencies, the one of most machines is looked at: there is no saving between two of them.
    """
    priced: list[_Priced] = []
    marks: dict[str, str] = {}
    allowances: dict[str, int | None] = {}
    stuck: list[BlockedMachine] = []
    wakes: list[datetime] = []
    for candidate in view.candidates:
        settings, node = settings_of(candidate), candidate.machine.node
        if settings is None or node is None or not node.is_ready:
            continue
        pods = movable(candidate.machine)
        quiet = quiet_since(node, pods, view.now, settings.after)
        if quiet.mark is not None:
            marks[node.name] = quiet.mark
        price = machine_price(candidate.machine, candidate.class_ref, view.prices)
        # One that a pod is on its way to is no quiet one. One that only headroom keeps may make way for a cheaper one.
        if not (pods or candidate.machine.name in view.held) or price is None or not all(pod.node_name for pod in pods):
            continue
        may_go, pool = False, candidate.machine.pool
        if view.now < quiet.since + settings.after:
            wakes.append(quiet.since + settings.after)
        elif (blocked := view.blocker(candidate)) is not None:
            wakes += [] if blocked.until is None else [blocked.until]
            if _is_half_empty(node, pods):
                stuck.append(candidate.blocked(CONSOLIDATED, blocked.by.value, blocked.why))
        else:
            if pool not in allowances:
                allowances[pool] = view.allowance(pool, CONSOLIDATED)
            may_go = allowances[pool] != 0
        priced.append(_Priced(candidate.machine, settings, price, pods, view.now - quiet.since, may_go))
    currency, members = _members(priced)
    return Fleet(
        members=members,
        currency=currency,
        idle=idle_machines(view.candidates, {*view.refusals, *view.held}, view.machines),
        marks=marks,
        allowances={pool: most for pool, most in allowances.items() if most is not None},
        blocked=tuple(stuck),
        wake_at=min(wakes, default=None),
    )


def _members(priced: Sequence[_Priced]) -> tuple[str, tuple[Member, ...]]:
    """Return the currency of most machines that may go, and these machines of it."""
    numbers = Counter(each.price[1] for each in priced if each.may_go)
    currency = max(numbers, key=lambda name: (numbers[name], name), default="")
    own = [each for each in priced if each.price[1] == currency]
    # Of all that are priced, not only of those that may go now: what a pod costs does not hang on who is quiet.
    average = sum((each.price[0] for each in own), Decimal(0)) / max(1, sum(len(each.pods) for each in own))
    return currency, tuple(
        Member(
            each.machine,
            each.settings,
            each.price[0],
            each.pods,
            cost_of_moves(each.pods, each.settings, average, each.quiet),
        )
        for each in own
        if each.may_go
    )


def _is_half_empty(node: Node, pods: Iterable[Pod]) -> bool:
    """Return whether pods ask for less than half of what the Node has of each resource that counts for its price.

    Source: Cluster Autoscaler, "scale-down-utilization-threshold", 0.5: of fuller ones nobody asks why they stay.
    """
    asked = Counter[str]()
    for pod in pods:
        asked.update({name: pod.requests.get(name, 0) for name in _PRICED})
    return all(2 * asked[name] < node.allocatable.get(name, 0) for name in _PRICED)


def fleet_if(view: PolicyView, settings: Consolidation) -> Fleet:
    """Return the machines that could go if the pools that do not consolidate did so, whatever their mode."""
    pools = {pool.metadata.name: pool for pool in view.pools if pool.metadata.deletion_timestamp is None}
    priced: list[_Priced] = []
    for machine in view.machines:
        pool, pods = pools.get(machine.pool), movable(machine)
        if pool is None or not pods or not _may_go(machine) or machine.name in view.refusals:
            continue
        price = machine_price(machine, machine.class_ref or pool.spec.template.class_ref, view.prices)
        if price is not None and not pool.consolidates:
            priced.append(_Priced(machine, settings, price, pods, _AT_REST, may_go=True))
    currency, members = _members(priced)
    return Fleet(
        members=members,
        currency=currency,
        idle=idle_machines(view.candidates, {*view.refusals, *view.held}, view.machines),
    )


def settings_of(candidate: Candidate) -> Consolidation | None:
    """Return how the pool of a machine consolidates, None if it does not."""
    is_removable = candidate.action is MachineAction.REMOVE and candidate.pool.consolidates
    return candidate.pool.spec.scale_down.consolidate if is_removable else None


def _may_go(machine: Machine) -> bool:
    """Return whether the machine is Ready, Growth's own, and nothing is under way with it."""
    node = machine.node
    is_own = node is not None and node.takes_pods and node.labels.get(LABEL_REQUEST) == node.name
    return is_own and machine.removal is None and not machine.has_open_request


def idle_machines(
    candidates: Iterable[Candidate], kept_machines: Collection[str], machines: Iterable[Machine]
) -> frozenset[str]:
    """Return the machines without pods that will go by themselves, those that a minimum may keep left out.

    What checks refuse, or headroom needs, is `kept_machines`.
    """
    staying: dict[str, int] = {}
    for machine in machines:
        staying[machine.pool] = staying.get(machine.pool, 0) + machine.stays
    idle: set[str] = set()
    for candidate in candidates:
        machine, limits = candidate.machine, candidate.pool.spec.limits
        own_minimum = max([limits.min, sum(each.min for each in candidate.pool.spec.server_types)])
        is_idle = candidate.action is MachineAction.REMOVE and not movable(machine)
        if is_idle and machine.name not in kept_machines and staying[machine.pool] > own_minimum:
            staying[machine.pool] -= 1
            idle.add(machine.name)
    return frozenset(idle)
