"""Settles where groups of pods go: assembled, packed, checked, and turned into machines to use and to buy.

Waiting pods and pods that are to leave their machines are settled by the same rules.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planner.model.plan import PlannedRequest
from planner.model.stages import Stages
from planner.packing.arrange import arrange
from planner.packing.assemble import Assembly, assemble
from planner.packing.assign import Assignment, assign, requests_of
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
    groups: Sequence[PodGroup], supply: Supply, packer: Packer, stages: Stages, trim: Trim | None = None
) -> Settlement:
    """Return where the pods of these groups go; what is bought for them is taken from the limits of the supply."""
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

    def packed(problem: PackingProblem) -> Packing:
        with stages("pack"):
            return packer(without_twins(problem))

    with stages("check"):
        minimum = missing_by_type(machines.values(), pool_kinds, limits)
        top_up_at_most = kept_by_pools(machines.values(), pool_kinds, limits, minimum)
        arrangement = arrange(assembled, packed, supply.pod_counts)
        assembly, packing = arrangement.assembly, arrangement.packing
        if trim is not None:
            packing = trim(assembly, packing)
        assignment = assign(assembly, packing)
        for kind in _paid(assembly, packing):
            limits.take(kind)
        ahead = assembly.unused_minimum(packing)
        more = Counter(kind.pool.metadata.name for kind in (*(each.kind for each in assignment.bought), *ahead))
        more.update(machines[name].pool for name in assignment.used if machines[name].is_leaving)
        top_up = missing_in_pool(machines.values(), pool_kinds, limits, more)
    return Settlement(assembly, packing, assignment, tuple(minimum), tuple(ahead), tuple(top_up))


def _paid(assembly: Assembly, packing: Packing) -> list[MachineKind]:
    return [kind for node in packing.nodes if (kind := assembly.priced(node.bin)) is not None]
