"""A part of a joint problem: some machines of a plan are emptied, the others stay, and every rule counts what stays."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from planner.packing.problem import PackedNode, Packing, PackingProblem
from planner.packing.topology import NO_DOMAIN, NearRow, SpreadRow, Topology

_MOST_PLACES: Final = 20
"""Machines that are there and without pods of the plan, to which pods may go, too."""


def part_of(problem: PackingProblem, nodes: Sequence[PackedNode], emptied: Collection[int]) -> PackingProblem | None:
    """Return the problem of the pods on some machines of a plan; the same groups, bins and limits by position.

    Machines that stay take no more pods, so that none of the answers is in another's way. None where pods that stay
    are beside those of an emptied machine because they look for them.

    Args:
        problem: with rules between pods of different machines, without machines that come in any case.
        nodes: a plan that keeps all rules.
        emptied: positions of machines in it.
    """
    return _Part(problem, nodes, emptied).problem()


class _Part:
    def __init__(self, problem: PackingProblem, nodes: Sequence[PackedNode], emptied: Collection[int]) -> None:
        self._whole = problem
        self._emptied = [nodes[n] for n in sorted(emptied)]
        # Counters, in which groups that are not on a machine have no pods.
        self._stay = [PackedNode(node.bin, Counter(node.counts)) for n, node in enumerate(nodes) if n not in emptied]
        self._free: Counter[int] = Counter()
        for node in self._emptied:
            self._free.update(node.counts)
        used = {node.bin for node in nodes}
        unused = [
            b
            for b, one in enumerate(problem.bins)
            if not one.price and b not in used and any(b in problem.groups[i].bins for i in self._free)
        ]
        self._places = frozenset([*unused[:_MOST_PLACES], *(node.bin for node in self._emptied)])
        """Bins that may take pods, beside those that can be bought."""

    def problem(self) -> PackingProblem | None:
        whole, used = self._whole, Counter[int]()
        for node in self._stay:
            for k, amount in whole.bins[node.bin].taken:
                used[k] += amount
        if any(self._is_left(row) for row in whole.topology.near):
            return None
        bins = self._places.union(b for b, one in enumerate(whole.bins) if one.price)
        closed = self._closed()
        groups = tuple(
            replace(row, count=self._free[i], bins=(row.bins & bins) - closed.get(i, frozenset()))
            if self._free[i]
            else replace(row, count=0, bins=frozenset())
            for i, row in enumerate(whole.groups)
        )
        topology = Topology(
            spread=tuple(self._spread()),
            near=tuple(self._near(row) for row in whole.topology.near if self._free[row.group]),
            apart=tuple(row for row in whole.topology.apart if all(self._free[i] for i in row.groups)),
        )
        return PackingProblem(
            groups,
            whole.bins,
            tuple(most - used[k] for k, most in enumerate(whole.limits)),
            topology=topology,
            known=Packing(tuple(self._emptied)),
        )

    def _closed(self) -> dict[int, frozenset[int]]:
        """Return the bins by group in domains of pods that stay and that it may not share a domain with."""
        closed: dict[int, frozenset[int]] = {}
        for row in self._whole.topology.apart:
            i, j = row.groups
            for here, other in ((i, j), (j, i)):
                domains = self._domains_of(other, row.domain_of)
                bins = frozenset(b for b, d in enumerate(row.domain_of) if d in domains)
                closed[here] = closed.get(here, frozenset()) | bins
        return closed

    def _domains_of(self, i: int, domain_of: Sequence[int]) -> set[int]:
        return {domain_of[one.bin] for one in self._stay if one.counts[i]} - {NO_DOMAIN}

    def _spread(self) -> Iterator[SpreadRow]:
        for row in self._whole.topology.spread:
            if self._free[row.group] or any(self._free[j] for j in row.counted):
                yield self._by_machine(row) if row.domain_of is None else self._by_domain(row, row.domain_of)

    def _by_domain(self, row: SpreadRow, domain_of: Sequence[int]) -> SpreadRow:
        present, later, held = list(row.present), [0] * len(row.present), set(row.held)
        for stay in self._stay:
            d = domain_of[stay.bin]
            if d == NO_DOMAIN:
                continue
            if stay.counts[row.group]:
                held.add(d)
            if row.counts[stay.bin]:
                present[d] += sum(stay.counts[j] for j in row.before)
                later[d] += sum(stay.counts[j] for j in row.counted - row.before)
        return replace(row, present=tuple(present), later=tuple(later), held=frozenset(held))

    def _by_machine(self, row: SpreadRow) -> SpreadRow:
        """Return the row of a spread over host names with the machines that stay as such that no bin belongs to."""
        standing = self._whole.topology.standing
        on: Counter[int] = Counter()
        least = [] if row.least is None else [row.least]
        fullest = 0
        new = 0
        for stay in self._stay:
            counted = sum(stay.counts[j] for j in row.counted)
            if stay.bin in standing:
                on[stay.bin] += counted
                counted = row.present[stay.bin] + on[stay.bin]
            elif row.counts[stay.bin]:
                least.append(counted)
                new += 1
            if stay.counts[row.group] and row.counts[stay.bin]:
                before = sum(stay.counts[j] for j in row.before)
                fullest = max(fullest, before + (row.present[stay.bin] if stay.bin in standing else 0))
        least += [row.present[b] + on[b] for b in standing - self._places if row.counts[b]]
        return replace(
            row, least=min(least, default=None), missing=max(0, row.missing - new), fullest=max(row.fullest, fullest)
        )

    def _near(self, row: NearRow) -> NearRow:
        met_by = row.met_by | row.alike
        may_begin = row.may_begin and not any(one.counts[j] for one in self._stay for j in met_by)
        if row.domain_of is None:
            return replace(row, may_begin=may_begin)
        domains = {d for j in row.met_by for d in self._domains_of(j, row.domain_of)}
        present = tuple(there or d in domains for d, there in enumerate(row.present))
        return replace(row, may_begin=may_begin, present=present)

    def _is_left(self, row: NearRow) -> bool:
        """Return whether pods of the row's group stay, and what they look for is on an emptied machine."""
        if row.domain_of is None or not any(self._free[j] for j in row.met_by - {row.group}):
            return False
        domains = self._domains_of(row.group, row.domain_of)
        met = {d for j in row.met_by for d in self._domains_of(j, row.domain_of)}
        return any(not row.present[d] and d not in met for d in domains)


def is_divisible(problem: PackingProblem) -> bool:
    """Return whether parts of the problem can be solved alone: nothing comes beside the machines for pods."""
    return not problem.top_ups and not problem.topology.minimums
