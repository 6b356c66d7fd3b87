"""Settles where groups of pods go: assembled, packed, checked, and turned into machines to use and to buy.

Waiting pods and pods that are to leave their machines are settled by the same rules.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from planner.model.plan import PlannedRequest
from planner.model.stages import Stages
from planner.packing.alike import packed_as_one
from planner.packing.arrange import Arrangement, Assembled, arrange
from planner.packing.assemble import Assembly, assemble
from planner.packing.assign import Assignment, assign, requests_of
from planner.packing.choice.in_turns import in_turns
from planner.packing.choice.turns import turns_to_buy
from planner.packing.domains.domains import Ceilings
from planner.packing.domains.levels import Levels
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.problem import Packer, Packing, PackingProblem
from planner.packing.twins import without_twins
from planner.policies.minimum import kept_by_pools, missing_by_type, missing_in_pool
from planner.report.machine_choice import MachineChoices
from planner.supply.limits import Limits
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.machines import Machine
from planner.supply.places import Place
from planner.supply.pod_group import PodGroup


@dataclass(frozen=True, slots=True)
class Supply:
    """Everything that can give a pod a place."""

    places: tuple[Place, ...]
    pool_kinds: Mapping[str, PoolKinds]
    limits: Limits
    """Counted down by what is bought."""
    pod_counts: PodCounts
    machines: Mapping[str, Machine]
    """Those that minimums count on, by name."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """Where the pods of groups go, and what is bought."""

    assembly: Assembly
    packing: Packing
    assignment: Assignment
    minimum: tuple[tuple[MachineKind, int], ...]
    """Machines that minimums of server types lack, with numbers."""
    ahead: tuple[MachineKind, ...]
    """Those of them that no pod is on."""
    top_up: tuple[MachineKind, ...]
    """Machines that the pools' own minimums lack beside those."""
    choice_costs_per_hour: Decimal
    """What priorities cost more than price alone; 0 where that was not asked, or where other pods would be placed."""

    @property
    def bought(self) -> list[MachineKind]:
        """Every machine that is bought."""
        return [*(machine.kind for machine in self.assignment.bought), *self.ahead, *self.top_up]

    def requests(self, supply: Supply) -> tuple[PlannedRequest, ...]:
        """Return the machines to buy, each with its reasons."""
        choices = MachineChoices(self.assembly, supply.pool_kinds, supply.limits)
        return requests_of(self.assignment.bought, [*self.ahead, *self.top_up], choices.explanation)


Trim = Callable[[Assembly, Packing], Packing]
"""Returns the packing without what may not be used or bought."""


def settle(
    groups: Sequence[PodGroup],
    supply: Supply,
    packer: Packer,
    stages: Stages,
    trim: Trim | None = None,
    *,
    compares: bool = False,
) -> Settlement:
    """Return where the pods of these groups go; what is bought for them is taken from the limits of the supply.

    Where priorities decide between kinds, it `compares` what that costs with what price alone would buy.
    """
    pool_kinds, limits, machines = supply.pool_kinds, supply.limits, supply.machines

    def assembled(ceilings: Ceilings, levels: Levels) -> Assembly:
        with stages("assemble"):
            return assemble(
                groups,
                supply.places,
                pool_kinds,
                limits,
                minimum,
                pod_counts=supply.pod_counts,
                ceilings=ceilings,
                levels=levels,
                top_up=top_up_at_most,
            )

    def answered(problem: PackingProblem) -> Packing:
        return packer(without_twins(problem))

    def answered_as_one(problem: PackingProblem) -> Packing:
        # What is trimmed is trimmed by namespace, and groups are parted by it.
        return packed_as_one(problem, answered)

    def packed(problem: PackingProblem) -> Packing:
        with stages("pack"):
            return in_turns(problem, answered if trim is None else answered_as_one)

    with stages("check"):
        minimum = missing_by_type(machines.values(), pool_kinds, limits)
        top_up_at_most = kept_by_pools(machines.values(), pool_kinds, limits, minimum)
        arrangement = arrange(assembled, packed, supply.pod_counts)
        assembly, packing = arrangement.assembly, arrangement.packing
        more_costs = _choice_costs(arrangement, assembled, packed, supply.pod_counts) if compares else Decimal(0)
        if trim is not None:
            packing = trim(assembly, packing)
        assignment = assign(assembly, packing)
        for kind in _paid(assembly, packing):
            limits.take(kind)
        ahead = assembly.unused_minimum(packing)
        more = Counter(kind.pool.metadata.name for kind in (*(each.kind for each in assignment.bought), *ahead))
        more.update(machines[name].pool for name in assignment.used if machines[name].is_leaving)
        top_up = missing_in_pool(machines.values(), pool_kinds, limits, more)
    return Settlement(assembly, packing, assignment, tuple(minimum), tuple(ahead), tuple(top_up), more_costs)


def _choice_costs(made: Arrangement, assembled: Assembled, packer: Packer, pod_counts: PodCounts) -> Decimal:
    """Return by how much priorities make the machines dearer than price alone, per hour."""
    assembly, packing = made.assembly, made.packing
    if len(turns_to_buy(assembly.relaxed)) <= 1 or not _paid(assembly, packing):
        return Decimal(0)
    by_price = arrange(lambda most, levels: assembled(most, levels).by_price_alone(), packer, pod_counts)
    if by_price.assembly.placed(by_price.packing.unplaced) != assembly.placed(packing.unplaced):
        return Decimal(0)
    return max(Decimal(0), _price(made) - _price(by_price))


def _price(made: Arrangement) -> Decimal:
    kinds = [made.assembly.given.kinds[node.bin] for node in made.packing.nodes]
    new = [kind for kind in kinds if not isinstance(kind, Place)]
    bought = (*new, *made.assembly.idle_machines(made.packing))
    return sum((kind.offering.price_per_hour for kind in bought), Decimal(0))


def _paid(assembly: Assembly, packing: Packing) -> list[MachineKind]:
    return [kind for node in packing.nodes if (kind := assembly.priced(node.bin)) is not None]
