"""Checks a packing before anything is bought by it: an optimiser may err, and compiled code checks no index."""

from collections import Counter
from collections.abc import Sequence

from planner.packing.problem import PackedNode, Packing, PackingProblem


def fault_of(problem: PackingProblem, packing: Packing) -> str:
    """Return the rule that the packing breaks, in a few words; empty if it keeps every rule.

    Only the rules are looked at, not the cost. It shares no code with the packers.
    """
    seen: Counter[int] = Counter()
    left = list(problem.limits)
    for node in packing.nodes:
        fault = _fault_of_node(problem, node)
        if fault:
            return fault
        seen.update(node.counts)
        for limit, amount in problem.bins[node.bin].taken:
            left[limit] -= amount
    if min(left, default=0) < 0:
        return f"limit {left.index(min(left))} is exceeded"
    if not all(_is_number(n) for n in packing.unplaced.values()):
        return "a number of pods without a place is no number above 0"
    seen.update(packing.unplaced)
    asked = {i: group.count for i, group in enumerate(problem.groups) if group.count}
    return "" if asked == seen else "pods are missing or too many"


def _fault_of_node(problem: PackingProblem, node: PackedNode) -> str:
    if not _is_index(node.bin, problem.bins) or not node.counts:
        return "a machine is of no kind, or has no pods"
    if not all(_is_index(i, problem.groups) and _is_number(n) for i, n in node.counts.items()):
        return f"a machine of kind {node.bin} holds pods of no group, or no number of them"
    held = [(problem.groups[i], n) for i, n in node.counts.items()]
    for r, capacity in enumerate(problem.bins[node.bin].capacity):
        if sum(group.demand[r] * n for group, n in held) > capacity:
            return f"resource {r} of a machine of kind {node.bin} is overfilled"
    for group, n in held:
        if node.bin not in group.bins or (group.per_node is not None and n > group.per_node):
            return f"pods are on a machine of kind {node.bin} that may not hold them, or not so many"
        if not group.apart.isdisjoint(node.counts):
            return f"pods share a machine of kind {node.bin} that keep apart"
    return ""


def _is_index(i: object, positions: Sequence[object]) -> bool:
    return isinstance(i, int) and 0 <= i < len(positions)


def _is_number(n: object) -> bool:
    # No other type of number, numpy's among them: the plan becomes JSON and money.
    return isinstance(n, int) and n > 0
