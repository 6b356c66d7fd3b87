"""A packing problem laid out for speed, and the few moves that every construction is made of: in plain Python."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from planner.packing.problem import PackedNode, PackingProblem

Counts = dict[int, int]
"""Pods by group on one machine."""


class ProblemIndex:
    """The problem as plain lists."""

    def __init__(self, problem: PackingProblem) -> None:
        groups, bins = problem.groups, problem.bins
        self.problem = problem
        self.demand = [tuple((r, d) for r, d in enumerate(g.demand) if d) for g in groups]
        """(resource, amount) of each group, amounts of zero left out."""
        self.counts = [g.count for g in groups]
        self.tier = [g.tier for g in groups]
        self.apart = [g.apart for g in groups]
        # At least 1: a group without pods divides nothing by zero.
        self.per_node = [max(1, g.count if g.per_node is None else min(g.per_node, g.count)) for g in groups]
        self.capacity = [b.capacity for b in bins]
        self.price = [b.price for b in bins]
        self.taken = [tuple(b.taken) for b in bins]
        """(limit, amount) of one machine of each bin."""
        self.paid = sorted((b for b in range(len(bins)) if bins[b].price), key=lambda b: (bins[b].price, bins[b].rank))
        """Bins that cost something, the cheapest first."""
        self.free = sorted((b for b in range(len(bins)) if not bins[b].price), key=lambda b: bins[b].rank)
        """Bins that cost nothing, in the order in which they are filled."""
        self.paid_bins = [tuple(b for b in self.paid if b in g.bins) for g in groups]
        self.alone = [self._alone(i) for i in range(len(groups))]
        """What one pod of each group costs on machines of its own kind only: large and awkward ones cost most."""

    @cached_property
    def members(self) -> list[list[int]]:
        """Groups that each bin may hold: with thousands of Nodes millions, so that it is made when it is asked for."""
        members: list[list[int]] = [[] for _ in self.problem.bins]
        for i, group in enumerate(self.problem.groups):
            for b in group.bins:
                members[b].append(i)
        return members

    def fitting(self, i: int, b: int) -> int:
        """Return the number of pods of group `i` that an empty machine of bin `b` holds."""
        capacity = self.capacity[b]
        return min((self.per_node[i], *(capacity[r] // d for r, d in self.demand[i])))

    def _alone(self, i: int) -> float:
        return min((self.price[b] / self.fitting(i, b) for b in self.paid_bins[i]), default=0.0)

    def is_allowed(self, b: int, limits_left: Sequence[int]) -> bool:
        """Return whether one more machine of bin `b` is allowed."""
        return all(limits_left[limit] >= amount for limit, amount in self.taken[b])

    def most(self, b: int, limits_left: Sequence[int]) -> int:
        """Return the number of further machines of bin `b` that limits allow."""
        return min((limits_left[limit] // amount for limit, amount in self.taken[b]), default=1 << 40)

    def use(self, b: int, limits_left: list[int], machines: int = 1) -> None:
        """Count machines of bin `b` against its limits."""
        for limit, amount in self.taken[b]:
            limits_left[limit] -= amount * machines

    def limits_after(self, nodes: Iterable[PackedNode], limits_left: Sequence[int]) -> list[int]:
        """Return what limits still leave after these machines; negative where they are too many."""
        left = list(limits_left)
        for node in nodes:
            self.use(node.bin, left)
        return left

    def fill(self, order: Iterable[int], left: Sequence[int], counts: Counts, free: list[int]) -> None:
        """Add to `counts` as many pods as fit, group by group in this order; `free` is what is left."""
        demand, apart, per_node = self.demand, self.apart, self.per_node
        for i in order:
            most = left[i]
            if not most:
                continue
            for r, d in demand[i]:
                if (fits := free[r] // d) < most:
                    most = fits
                    if most <= 0:
                        break
            if most <= 0:
                continue
            number = counts.get(i, 0)
            most = min(most, left[i] - number, per_node[i] - number)
            if most <= 0 or (apart[i] and not apart[i].isdisjoint(counts)):
                continue
            counts[i] = number + most
            for r, d in demand[i]:
                free[r] -= d * most

    def load(self, counts: Mapping[int, int]) -> list[int]:
        """Return the amounts that these pods take together, by resource."""
        total = [0] * len(self.capacity[0])
        for i, n in counts.items():
            for r, d in self.demand[i]:
                total[r] += d * n
        return total

    def cheapest(self, counts: Mapping[int, int], limits_left: Sequence[int]) -> int | None:
        """Return the cheapest paid bin that holds these pods and is allowed, of equally dear ones the lowest rank."""
        load = self.load(counts)
        groups = self.problem.groups
        for b in self.paid:
            capacity = self.capacity[b]
            if (
                all(capacity[r] >= amount for r, amount in enumerate(load))
                and all(b in groups[i].bins for i in counts)
                and self.is_allowed(b, limits_left)
            ):
                return b
        return None

    def cost(self, nodes: Iterable[PackedNode]) -> int:
        """Return the cost of these machines per hour, in billionths."""
        return sum(self.price[node.bin] for node in nodes)
