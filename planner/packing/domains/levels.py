"""Spread over host names where many pods share a machine: machines that fill together stay even.

A machine of a plan is empty when it opens, but so are the others. What the scheduler lets onto it depends on
how full the emptiest of them is, so a plan that has as many pods of a group on each machine, within the skew, can
be bound to the end. How many that are, the level of a group, is chosen before pods are packed.
Source: kube-scheduler's plugin PodTopologySpread, for the topology key kubernetes.io/hostname.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.predicates import NEW_HOST
from planner.packing.domains.domain_counts import SpreadCount
from planner.packing.domains.domains import PackingInput, Split
from planner.packing.problem import PackedNode, Packing, PackingProblem

Levels = Mapping[int, int]
"""Pods that each machine with pods of a group gets at least, by group; 0 where nothing is promised."""
_MOST_TRIED: Final = 4


def levels_of(given: PackingInput, split: Split) -> Iterator[Levels]:
    """Yield levels that are worth a try, those of the cheapest machines first.

    Each stands for a plan that has machines of one kind only, evenly filled.
    """
    spread = dict(_spread_over_machines(given, split))
    seen: list[Levels] = [{}]
    for _, b, machines in sorted(_sorts_of_machines(given)):
        levels = {
            i: level
            for i, highest in spread.items()
            if (level := min(highest, given.groups[i].count // machines, _fitting(given, i, b))) > 0
        }
        if levels not in seen:
            seen.append(levels)
            yield levels
        if len(seen) > _MOST_TRIED:
            return


def _spread_over_machines(given: PackingInput, split: Split) -> Iterator[tuple[int, int]]:
    """Yield groups that are spread over machines, and the highest level that those which are there allow."""
    if split.domain_counts is None:
        return
    for i, group_counts in enumerate(split.domain_counts.group_counts):
        counts = [one for one in group_counts.spreads if _is_over_machines(one)]
        if counts:
            yield i, min((_least_there(one) for one in counts), default=0)


def _is_over_machines(count: SpreadCount) -> bool:
    return count.spread.topology_key == LABEL_HOSTNAME and bool(count.own)


def _least_there(count: SpreadCount) -> int:
    there = [n for value, n in count.counts.items() if value != NEW_HOST]
    return min(there) if there else 1 << 30


def _sorts_of_machines(given: PackingInput) -> Iterator[tuple[int, int, int]]:
    """Yield what it costs to have all pods on machines of one kind, the kind, and the number of such machines."""
    total = [sum(d * g.count for d, g in zip(column, given.groups, strict=True)) for column in zip(*given.demands, strict=True)]
    for b, row in enumerate(given.bins):
        if row.price and all(row.capacity[r] for r, amount in enumerate(total) if amount):
            machines = max((-(-amount // row.capacity[r]) for r, amount in enumerate(total) if amount), default=1)
            held = [i for i in range(len(given.groups)) if b in given.holders[i]]
            machines = max([machines, *(-(-given.groups[i].count // max(1, _fitting(given, i, b))) for i in held)])
            yield machines * row.price, b, machines


def _fitting(given: PackingInput, i: int, b: int) -> int:
    return min(
        (have // d for have, d in zip(given.bins[b].capacity, given.demands[i], strict=True) if d), default=1 << 30
    )


def too_small(given: PackingInput, levels: Levels) -> frozenset[int]:
    """Return the bins of which a machine could not have as many pods of a group as the others have at least."""
    return frozenset(
        b
        for i, level in levels.items()
        for b in given.holders[i]
        if given.is_new(b) and given.bins[b].price and _fitting(given, i, b) < level
    )


def evened(
    given: PackingInput, problem: PackingProblem, split: Split, packing: Packing, levels: Levels
) -> Packing:
    """Return the packing with the pods of these groups as even as its machines have room for, share by share."""
    nodes = [Counter(node.counts) for node in packing.nodes]
    bins = [node.bin for node in packing.nodes]
    free = [_free(problem, b, counts) for b, counts in zip(bins, nodes, strict=True)]
    shares_of: dict[int, list[int]] = {i: [] for i in levels}
    for k, share in enumerate(split.shares):
        if share.group in levels:
            shares_of[share.group].append(k)
    for i in sorted(levels, key=lambda i: (-given.groups[i].count, i)):
        shares = shares_of[i]
        if any(split.shares[k].pods != ((i, 1),) for k in shares):
            # Pods that share a machine with others stay where they are.
            continue
        before = [(Counter(one), list(amounts)) for one, amounts in zip(nodes, free, strict=True)]
        there = [_present(given, split, i, b) for b in bins]
        if not _even(problem, shares, nodes, bins, free, there):
            nodes, free = [one for one, _ in before], [amounts for _, amounts in before]
    kept = [PackedNode(b, dict(+counts)) for b, counts in zip(bins, nodes, strict=True) if +counts]
    return Packing(tuple(kept), packing.unplaced, packing.proven)


def _present(given: PackingInput, split: Split, i: int, b: int) -> int:
    """Return the number of pods that the group counts on a machine that is there."""
    if given.is_new(b) or split.domain_counts is None:
        return 0
    name = given.kinds[b].labels.get(LABEL_HOSTNAME, "")
    counts = (one.counts for one in split.domain_counts.group_counts[i].spreads if _is_over_machines(one))
    return max((one.get(name, 0) for one in counts), default=0)


def _free(problem: PackingProblem, b: int, counts: Mapping[int, int]) -> list[int]:
    loads = [[d * n for d in problem.groups[k].demand] for k, n in counts.items()]
    return [have - sum(column) for have, *column in zip(problem.bins[b].capacity, *loads, strict=True)]


def _even(
    problem: PackingProblem,
    shares: Sequence[int],
    nodes: Sequence[Counter[int]],
    bins: Sequence[int],
    free: Sequence[list[int]],
    there: Sequence[int],
) -> bool:
    """Deal the pods of a group's shares out again, each to the machine with the fewest; return whether all have one."""
    numbers = {k: sum(counts[k] for counts in nodes) for k in shares}
    for counts, amounts in zip(nodes, free, strict=True):
        for k in shares:
            for r, d in enumerate(problem.groups[k].demand):
                amounts[r] += d * counts[k]
            del counts[k]
    held = list(there)
    for k in shares:
        row = problem.groups[k]
        # Of equally full ones, the machine with the most room: those that others need are left to them.
        open_ = [
            (held[n], [-have for have in free[n]], n)
            for n, b in enumerate(bins)
            if b in row.bins and row.apart.isdisjoint(nodes[n])
        ]
        heapify(open_)
        left = numbers[k]
        while left and open_:
            n = open_[0][2]
            if any(have < d for have, d in zip(free[n], row.demand, strict=True)):
                heappop(open_)
                continue
            held[n] += 1
            nodes[n][k] += 1
            left -= 1
            for r, d in enumerate(row.demand):
                free[n][r] -= d
            heapreplace(open_, (held[n], [-have for have in free[n]], n))
        if left:
            return False
    return True
