"""Machines that headroom gives up so that limits let one be bought for a pod that waits: real pods come first.

A pod may need another machine than the empty one that headroom keeps, and the pool may have no limit left for both. The
empty one then goes as if there were no headroom. Nothing is given up in vain: the pod must be one for which a machine
could be bought but for limits, and which one could be bought once the machine is gone. As long as it waits, headroom
is bought in no pool that gives machines up for it, as that would take again what was given up.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from planner.packing.assign import Assignment
from planner.placement.known_state import KnownState
from planner.placement.spare_machines import was_idle
from planner.policies.checks import minimums
from planner.supply.limits import Limits, limits_left
from planner.supply.machine_kind import MachineKind
from planner.supply.machines import Machine

_MOST_TRIED: Final = 50
"""Machines that may be given up, and looks at what limits leave, in a round: each goes over all machines."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Pods that wait, and the kinds of machines that could be bought for one of them but for limits."""

    kinds: tuple[MachineKind, ...]


@dataclass(slots=True)
class _Trial:
    known: KnownState
    assignment: Assignment
    going: frozenset[str]
    """Machines that go in any case."""
    released: list[str] = field(default_factory=list)
    promised: list[MachineKind] = field(default_factory=list)
    """One for each of the pods that something is given up for."""
    looks: int = 0

    def limits(self, more: Iterable[str] = ()) -> Limits:
        """Return what limits leave once all of those are gone, and what is bought or promised is there."""
        self.looks += 1
        gone = {*self.going, *self.released, *more}
        staying = [machine for name, machine in self.known.machines.items() if name not in gone]
        limits = limits_left(staying, self.known.pool_kinds)
        for kind in (*(bought.kind for bought in self.assignment.bought), *self.promised):
            limits.take(kind)
        return limits


def released_machines(
    known: KnownState,
    assignment: Assignment,
    stopped: Iterable[Stopped],
    held: Collection[str],
    costs: Mapping[str, Decimal],
) -> frozenset[str]:
    """Return the machines that headroom gives up, by name.

    Args:
        known: the state of the round.
        assignment: where it puts the pods that wait, and what it buys for them.
        stopped: pods that wait for limits, the first to be served first.
        held: machines that stay for headroom alone.
        costs: what spare machines cost per hour; 0 for those that stay in any case.
    """
    going = {name for name, cost in costs.items() if cost and name not in held}
    going |= {name for name, machine in known.machines.items() if machine.is_leaving and name not in held}
    trial = _Trial(known, assignment, frozenset(going))
    candidates = sorted(
        (known.machines[name] for name in held if costs.get(name)),
        key=lambda machine: (not machine.is_leaving, not was_idle(machine), -costs[machine.name], machine.name),
    )[:_MOST_TRIED]
    most = trial.limits(machine.name for machine in candidates)
    for each in stopped:
        if len(trial.released) == len(candidates) or trial.looks >= _MOST_TRIED:
            break
        # Most pods that wait do so for want of more than headroom could give up.
        if any(most.left(kind, 1) > 0 for kind in each.kinds):
            _give_up(trial, each.kinds, candidates)
    return frozenset(trial.released)


def _give_up(trial: _Trial, kinds: Sequence[MachineKind], candidates: Sequence[Machine]) -> None:
    """Give up the first machines with which one of these kinds can be bought; none if all of them are too few."""
    more: list[str] = []
    pools = {kind.pool.metadata.name for kind in kinds}
    for machine in (None, *_leaving(trial, candidates, pools)):
        if trial.looks >= _MOST_TRIED:
            return
        more += () if machine is None else (machine.name,)
        limits = trial.limits(more)
        kind = next((kind for kind in kinds if limits.left(kind, 1) > 0), None)
        if kind is not None:
            trial.released += more
            trial.promised.append(kind)
            return


def _leaving(trial: _Trial, candidates: Sequence[Machine], pools: Collection[str]) -> Iterator[Machine]:
    """Yield the machines that may go, as far as minimums of these pools let them."""
    specs = {pool.metadata.name: pool for pool in trial.known.snapshot.pools}
    number = dict.fromkeys(pools, 0)
    for name, machine in trial.known.machines.items():
        if machine.pool in number and machine.stays and name not in trial.going and name not in trial.released:
            number[machine.pool] += 1
    for machine in candidates:
        if machine.pool not in pools or machine.name in trial.released:
            continue
        least, _ = minimums(specs[machine.pool], machine.server_type)
        if machine.is_leaving or number[machine.pool] > least:
            number[machine.pool] -= machine.stays
            yield machine
