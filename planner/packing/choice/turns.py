"""Turns: the tiers of a round's kinds as numbers, of those kinds that pods may choose between.

The kinds of the highest tier have turn 0. Where no pod may be on kinds of two tiers, no priority decides anything, and
all turns are 0: what no pod chooses is packed as one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from planner.objects.tiers import Tier
from planner.packing.problem import BinRow, PackedNode, PackingProblem
from planner.supply.machine_kind import MachineKind
from planner.supply.places import Place


def with_turns(
    bins: Sequence[BinRow], kinds: Sequence[MachineKind | Place], groups: Iterable[Collection[int]]
) -> tuple[BinRow, ...]:
    """Return the bins with their turns.

    Args:
        bins: without them.
        kinds: what the bins stand for: only those to buy have a tier.
        groups: the bins that may hold a pod, for each group.
    """
    tiers: dict[int, Tier] = {
        b: kind.tier for b, kind in enumerate(kinds) if not isinstance(kind, Place) and not kind.is_minimum
    }
    if len(set(tiers.values())) <= 1:
        return tuple(bins)
    turns = _turns({frozenset(tiers[b] for b in held if b in tiers) for held in groups})
    return tuple(replace(one, turn=turns.get(tiers[b], 0)) if b in tiers else one for b, one in enumerate(bins))


def _turns(together: Iterable[frozenset[Tier]]) -> Mapping[Tier, int]:
    """Return the turn of each tier, the highest first among those that some pods choose between."""
    parts: list[frozenset[Tier]] = []
    for tiers in together:
        linked = [part for part in parts if part & tiers]
        parts = [part for part in parts if not part & tiers]
        parts.append(tiers.union(*linked))
    return {tier: turn for part in parts for turn, tier in enumerate(sorted(part, reverse=True))}


def by_price_alone(problem: PackingProblem) -> PackingProblem:
    """Return the problem in which all kinds have the same turn."""
    relaxed = None if problem.relaxed is None else by_price_alone(problem.relaxed)
    return replace(problem, bins=tuple(replace(one, turn=0) for one in problem.bins), relaxed=relaxed)


def turns_to_buy(problem: PackingProblem) -> list[int]:
    """Return the turns of what can be bought for the pods, in order."""
    used = {b for group in problem.groups if group.count for b in group.bins}
    return sorted({problem.bins[b].turn for b in used if problem.bins[b].price or problem.bins[b].turn})


def last_turn(problem: PackingProblem, nodes: Iterable[PackedNode]) -> int:
    """Return the last turn that these machines are of."""
    return max((problem.bins[node.bin].turn for node in nodes), default=0)


def up_to(problem: PackingProblem, turn: int) -> PackingProblem:
    """Return the problem without the machines of later turns; bins keep their indexes."""
    later = frozenset(b for b, row in enumerate(problem.bins) if row.turn > turn)
    if not later:
        return problem
    relaxed = None if problem.relaxed is None else up_to(problem.relaxed, turn)
    groups = tuple(replace(group, bins=group.bins - later) for group in problem.groups)
    return replace(problem, groups=groups, relaxed=relaxed)


def costs_by_turn(problem: PackingProblem, nodes: Sequence[PackedNode]) -> tuple[int, ...]:
    """Return the cost per hour of machines by turn, the last one first, in billionths: the smaller is chosen.

    What is bought without pods is bought in any case, and counts to the first turn.
    """
    costs = [0] * (1 + max((one.turn for one in problem.bins), default=0))
    for node in nodes:
        costs[problem.bins[node.bin].turn] += problem.bins[node.bin].price
    costs[0] += problem.cost(nodes) - sum(costs)
    return tuple(reversed(costs))
