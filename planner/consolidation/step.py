"""Steps: what a displacement comes to, cut into the smallest parts that each save by themselves and keep every rule.

Machines whose pods only go to room that is there go one by one. Those that share a new machine go together, as it pays
only if all of them go. Where rules between pods of different machines are looked at, or headroom is bought for, nothing
is cut.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from planner.consolidation.fleet import Member
from planner.consolidation.terms import strictest
from planner.displacement.displaced import Displacement
from planner.objects.tiers import tier_of
from planner.packing.assign import NewMachine


@dataclass(frozen=True, slots=True)
class ConsolidationStep:
    """Machines that go together, and new ones in their place."""

    members: tuple[Member, ...]
    displacement: Displacement
    new: tuple[NewMachine, ...]
    """Those that are bought for their pods."""
    saving_per_hour: Decimal
    net_per_hour: Decimal
    """The saving less what the moves cost."""

    @property
    def names(self) -> frozenset[str]:
        """Of the machines that go."""
        return frozenset(member.machine.name for member in self.members)

    @property
    def moved(self) -> int:
        """Pods that move."""
        return sum(len(member.pods) for member in self.members)


def steps_of(displacement: Displacement, members: Mapping[str, Member], currency: str) -> tuple[ConsolidationStep, ...]:
    """Return the steps that are worth it, the one that brings most first.

    There are none where a pod would move to a machine that is bought though its pool or type has a lower priority than
    the one that it is on: what was bought for its priority is not given up for its price.
    """
    if displacement.currencies - {currency} or _is_lower(displacement, members):
        return ()
    steps = [
        step
        for going, new in _parts(displacement)
        if (step := _step(displacement, [members[name] for name in sorted(going)], new)) is not None
    ]
    return tuple(sorted(steps, key=lambda step: (-step.net_per_hour, sorted(step.names))))


def net(steps: Iterable[ConsolidationStep]) -> Decimal:
    """Return what the steps bring together."""
    return sum((step.net_per_hour for step in steps), Decimal(0))


def _is_lower(displacement: Displacement, members: Mapping[str, Member]) -> bool:
    pool_kinds = displacement.supply.pool_kinds
    homes = {pod.uid: members[pod.lands_on].machine for pod in displacement.pods}
    for machine in displacement.settled.assignment.bought:
        for placed in machine.pods:
            home = homes.get(placed.pod.uid)
            if home is None:
                # Headroom is nowhere, and never a reason to keep a dearer machine.
                continue
            allowed = pool_kinds[home.pool].allowed if home.pool in pool_kinds else None
            position = None if allowed is None else allowed.holder(home.server_type)
            if allowed is None or position is None:
                continue
            if machine.kind.tier < tier_of(allowed.pool, allowed.entry(position).priority):
                return True
    return False


def _parts(displacement: Displacement) -> Iterator[tuple[frozenset[str], tuple[NewMachine, ...]]]:
    settled = displacement.settled
    new = settled.assignment.bought
    holds_headroom = any(placed.pod.is_headroom for machine in new for placed in machine.pods)
    if settled.assembly.is_related or holds_headroom or len(new) < displacement.bought:
        yield displacement.machines, tuple(new)
        return
    homes = {pod.uid: pod.lands_on for pod in displacement.pods}
    part_of = {name: name for name in displacement.machines}

    def first(name: str) -> str:
        while part_of[name] != name:
            name = part_of[name]
        return name

    for machine in new:
        leader, *others = {homes[placed.pod.uid] for placed in machine.pods}
        for other in others:
            part_of[first(other)] = first(leader)
    parts: dict[str, tuple[set[str], list[NewMachine]]] = {}
    for name in sorted(displacement.machines):
        parts.setdefault(first(name), (set(), []))[0].add(name)
    for machine in new:
        parts[first(homes[machine.pods[0].pod.uid])][1].append(machine)
    for going, own in parts.values():
        yield frozenset(going), tuple(own)


def _step(
    displacement: Displacement, members: Sequence[Member], new: tuple[NewMachine, ...]
) -> ConsolidationStep | None:
    is_whole = len(members) == len(displacement.machines)
    price = sum((member.price for member in members), Decimal(0))
    cost = sum((machine.kind.offering.price_per_hour for machine in new), Decimal(0))
    saving = price - (displacement.cost_per_hour if is_whole else cost)
    brings = saving - sum((member.cost_of_moves for member in members), Decimal(0))
    bought = displacement.bought if is_whole else len(new)
    moved = sum(len(member.pods) for member in members)
    refused = strictest(member.settings for member in members).refuses(saving, price, moved, bought)
    if refused or brings <= 0:
        return None
    return ConsolidationStep(tuple(members), displacement, new, saving, brings)
