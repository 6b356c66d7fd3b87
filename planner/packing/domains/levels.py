"""Spread over host names where many pods share a machine: machines that fill together stay even.

A machine of a plan is empty when it opens, but so are the others. What the scheduler lets onto it depends on
how full the emptiest of them is, so a plan that has as many pods of a group on each machine, within the skew, can
be bound to the end. How many that are, the level of a group, is chosen before pods are packed.
Source: kube-scheduler's plugin PodTopologySpread, for the topology key kubernetes.io/hostname.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import takewhile
from math import ceil
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.predicates import NEW_HOST
from planner.packing.domains.domain_counts import SpreadCount
from planner.packing.domains.domains import NO_LIMIT, PackingInput, Split
from planner.packing.problem import PackedNode, Packing, PackingProblem
from planner.scheduling.affinity import Namespaces, term_matches
from planner.scheduling.spread import own_count
from planner.supply.places import Place

Levels = Mapping[int, int]
"""Pods that each machine with pods of a group gets at least, by group; 0 where nothing is promised."""
_MOST_TRIED: Final = 4
_MORE_MACHINES: Final = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
"""Of what the amounts need: tried one after the other."""


def hosts_at_least(given: PackingInput, bins: Sequence[int], *, is_any_there: bool) -> int:
    """Return the number of hosts below which pods are not spread over hosts: on a single one there is no skew.

    Where no machine is there, two are bought, if limits allow: the scheduler would take one, and nobody means that.
    """
    return 2 if not is_any_there and given.may_be_two(bins) else 1


def wishing_apart(given: PackingInput, namespaces: Namespaces) -> Levels:
    """Return the groups whose pods rather have machines of their own, though they need not."""
    return {
        i: 0
        for i, pod in enumerate(group.example for group in given.groups)
        if any(
            one.term.topology_key == LABEL_HOSTNAME and term_matches(one.term, pod, namespaces)
            for one in pod.preferences.apart
        )
        or any(one.topology_key == LABEL_HOSTNAME and own_count(pod, one) for one in pod.preferences.spread)
    }


def levels_of(given: PackingInput, split: Split) -> Iterator[tuple[Levels, int]]:
    """Yield levels that are worth a try, those of the first turn and the cheapest machines first.

    Each stands for a plan that has machines of one kind only, evenly filled: the bin of such a machine comes with it.
    """
    spread = list(_spread_over_machines(given, split))
    if not spread:
        return
    seen: list[Levels] = [{}]
    for _, _, b, machines in sorted(_sorts_of_machines(given)):
        levels = {
            i: level
            for i, at_least, highest in spread
            if (level := min(highest, given.groups[i].count // max(machines, at_least), _fitting(given, i, b))) > 0
        }
        if levels not in seen:
            seen.append(levels)
            yield levels, b
        if len(seen) > _MOST_TRIED:
            return


def _spread_over_machines(given: PackingInput, split: Split) -> Iterator[tuple[int, int, int]]:
    """Yield groups that are spread over machines, the number of those at least, and the highest level."""
    if split.domain_counts is None:
        return
    for i, group_counts in enumerate(split.domain_counts.group_counts):
        counts = [one for one in group_counts.spreads if _is_over_machines(one)]
        if counts:
            highest = min(_least_there(one) for one in counts)
            at_least = hosts_at_least(given, given.holders[i], is_any_there=highest < NO_LIMIT)
            if at_least > 1:
                # So that the skew does not make room for all of them on one.
                highest = min(highest, given.groups[i].count - 1 - min(one.spread.max_skew for one in counts))
            yield i, at_least, highest


def _is_over_machines(count: SpreadCount) -> bool:
    return count.spread.topology_key == LABEL_HOSTNAME and bool(count.own)


def _least_there(count: SpreadCount) -> int:
    return min((n for value, n in count.counts.items() if value != NEW_HOST), default=NO_LIMIT)


def _sorts_of_machines(given: PackingInput) -> Iterator[tuple[int, int, int, int]]:
    """Yield a kind's turn, what it costs to have all pods on machines of it, the kind, and the number of these."""
    total = [
        sum(d * g.count for d, g in zip(column, given.groups, strict=True))
        for column in zip(*given.demands, strict=True)
    ]
    held_by: list[list[int]] = [[] for _ in given.bins]
    for i, holders in enumerate(given.holders):
        for b in takewhile(given.is_new, reversed(holders)):
            held_by[b].append(i)
    for b, row in enumerate(given.bins):
        if row.price and all(row.capacity[r] for r, amount in enumerate(total) if amount):
            machines = max((-(-amount // row.capacity[r]) for r, amount in enumerate(total) if amount), default=1)
            machines = max(
                [machines, *(-(-given.groups[i].count // max(1, _fitting(given, i, b))) for i in held_by[b])]
            )
            yield row.turn, machines * row.price, b, machines


def _fitting(given: PackingInput, i: int, b: int) -> int:
    return min(
        (have // d for have, d in zip(given.bins[b].capacity, given.demands[i], strict=True) if d), default=NO_LIMIT
    )


def too_small(given: PackingInput, levels: Levels) -> frozenset[int]:
    """Return the bins of which a machine could not have as many pods of a group as the others have at least."""
    return frozenset(
        b
        for i, level in levels.items()
        for b in given.holders[i]
        if given.is_new(b) and given.bins[b].price and _fitting(given, i, b) < level
    )


def evened(given: PackingInput, problem: PackingProblem, split: Split, packing: Packing, levels: Levels) -> Packing:
    """Return the packing with the pods of these groups as even as its machines have room for, share by share."""
    shares_of: dict[int, list[int]] = {i: [] for i in sorted(levels, key=lambda i: (-given.groups[i].count, i))}
    for k, share in enumerate(split.shares):
        if share.group in levels:
            shares_of[share.group].append(k)
    # Pods that share a machine with others stay where they are.
    alone = {i: shares for i, shares in shares_of.items() if all(split.shares[k].pods == ((i, 1),) for k in shares)}
    dealing = _Dealing(given, problem, split, packing)
    # All at once, as each may be in the way of the others; where not all have room then, one group after the other.
    if not dealing.deals_again(alone):
        for i, shares in alone.items():
            dealing.deals_again({i: shares})
    return Packing(dealing.nodes(), packing.unplaced, packing.proven)


def homogeneous(
    given: PackingInput, problem: PackingProblem, split: Split, levels: Levels, b: int
) -> Iterator[Packing]:
    """Yield packings with machines of one kind only, in the locations that pods need, all pods dealt evenly.

    The first has as many machines as the amounts need, each further one some more, as pods seldom fill them to the
    brim. None comes where some pods may not be on such machines.
    """
    kin = [a for a, row in enumerate(given.bins) if row.price == given.bins[b].price and _is_kin(given, a, b)]
    open_to = [sorted(row.bins.intersection(kin)) for row in problem.groups]
    if not all(open_to) or any(share.pods != ((share.group, 1),) for share in split.shares):
        return
    load: dict[int, list[int]] = {}
    for row, bins in zip(problem.groups, open_to, strict=True):
        # Where pods may be in several locations, one is enough.
        amounts = load.setdefault(b if b in bins else bins[0], [0] * len(row.demand))
        for r, d in enumerate(row.demand):
            amounts[r] += d * row.count
    least = {
        a: max((x / max(1, problem.bins[a].capacity[r]) for r, x in enumerate(xs) if x), default=0)
        for a, xs in load.items()
    }
    by_size = sorted(
        {share.group for share in split.shares}, key=lambda i: (i not in levels, -given.groups[i].count, i)
    )
    numbers = {i: {k: share.count for k, share in enumerate(split.shares) if share.group == i} for i in by_size}
    for more in _MORE_MACHINES:
        machines = [a for a, number in sorted(least.items()) for _ in range(ceil(number * (1 + more)))]
        dealing = _Dealing(given, problem, split, Packing(tuple(PackedNode(a, {}) for a in machines)))
        if dealing.deals(numbers):
            yield Packing(dealing.nodes())


def _is_kin(given: PackingInput, a: int, b: int) -> bool:
    """Return whether two bins differ in their locations only."""
    kind, other = given.kinds[a], given.kinds[b]
    if isinstance(kind, Place) or isinstance(other, Place):
        return False
    return kind.pool is other.pool and kind.offering.server_type == other.offering.server_type


class _Dealing:
    """The machines of a packing, onto which pods are dealt anew."""

    def __init__(self, given: PackingInput, problem: PackingProblem, split: Split, packing: Packing) -> None:
        self._given, self._problem, self._split = given, problem, split
        self._bins = [node.bin for node in packing.nodes]
        self._counts = [Counter(node.counts) for node in packing.nodes]
        self._free = [list(problem.bins[b].capacity) for b in self._bins]
        self._on: dict[int, Counter[int]] = {}
        """Pods of a share by machine."""
        for n, node in enumerate(packing.nodes):
            for k, number in node.counts.items():
                self._on.setdefault(k, Counter())[n] = number
                self._use(n, k, number)

    def nodes(self) -> tuple[PackedNode, ...]:
        """Return the machines that have pods."""
        return tuple(PackedNode(b, dict(+one)) for b, one in zip(self._bins, self._counts, strict=True) if +one)

    def deals(self, numbers: Mapping[int, Mapping[int, int]]) -> bool:
        """Deal pods, by group and share; return whether all had room."""
        return all(self._deal(i, of_share) for i, of_share in numbers.items())

    def deals_again(self, shares_of: Mapping[int, Sequence[int]]) -> bool:
        """Deal the pods of these groups anew, each to the machine with the fewest; return whether all had room.

        Where they had not, they stay where they were.
        """
        before = {k: self._take_off(k) for shares in shares_of.values() for k in shares}
        if self.deals({i: {k: before[k].total() for k in shares} for i, shares in shares_of.items()}):
            return True
        for k, machines in before.items():
            self._take_off(k)
            for n, number in machines.items():
                self._put(n, k, number)
        return False

    def _deal(self, i: int, numbers: Mapping[int, int]) -> bool:
        held = [self._present(i, b) for b in self._bins]
        for k, number in numbers.items():
            row = self._problem.groups[k]
            # Of equally full ones, the machine with the most room: those that others need are left to them.
            open_ = [
                (held[n], [-have for have in self._free[n]], n)
                for n, b in enumerate(self._bins)
                if b in row.bins and (not row.apart or row.apart.isdisjoint(+self._counts[n]))
            ]
            heapify(open_)
            left = number
            while left and open_:
                n = open_[0][2]
                is_full = row.per_node is not None and self._counts[n][k] >= row.per_node
                if is_full or any(have < d for have, d in zip(self._free[n], row.demand, strict=True)):
                    heappop(open_)
                    continue
                self._put(n, k, 1)
                held[n] += 1
                left -= 1
                heapreplace(open_, (held[n], [-have for have in self._free[n]], n))
            if left:
                return False
        return True

    def _present(self, i: int, b: int) -> int:
        """Return the number of pods that the group counts on a machine that is there."""
        counts = self._split.domain_counts
        if self._given.is_new(b) or counts is None:
            return 0
        name = self._given.kinds[b].labels.get(LABEL_HOSTNAME, "")
        return max(
            (one.counts.get(name, 0) for one in counts.group_counts[i].spreads if _is_over_machines(one)), default=0
        )

    def _take_off(self, k: int) -> Counter[int]:
        machines = self._on.pop(k, Counter())
        for n, number in machines.items():
            self._use(n, k, -number)
            self._counts[n][k] -= number
        return machines

    def _put(self, n: int, k: int, number: int) -> None:
        self._use(n, k, number)
        self._counts[n][k] += number
        self._on.setdefault(k, Counter())[n] += number

    def _use(self, n: int, k: int, number: int) -> None:
        for r, d in enumerate(self._problem.groups[k].demand):
            self._free[n][r] -= number * d
