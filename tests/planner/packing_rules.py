"""The rules that every packing must keep, checked one by one, whoever made it."""

from planner.packing.problem import Packing, PackingProblem


def broken_rules(problem: PackingProblem, packing: Packing) -> list[str]:
    """Return what the packing does that the problem forbids."""
    found = []
    placed = dict.fromkeys(range(len(problem.groups)), 0)
    used = [0] * len(problem.limits)
    for node in packing.nodes:
        made_of = problem.bins[node.bin]
        for position, limit in enumerate(made_of.limits):
            used[limit] += made_of.amounts[position] if made_of.amounts else 1
        for r, capacity in enumerate(made_of.capacity):
            if sum(problem.groups[i].demand[r] * n for i, n in node.counts.items()) > capacity:
                found.append(f"{node} is overfilled")
        for i, n in node.counts.items():
            group = problem.groups[i]
            placed[i] += n
            if n < 1 or node.bin not in group.bins or n > (group.per_node or n):
                found.append(f"{node} may not hold {n} of {i}")
            if group.apart & set(node.counts):
                found.append(f"{node} holds pods that keep apart")
    found += [f"limit {k} is exceeded" for k, most in enumerate(problem.limits) if used[k] > most]
    for i, group in enumerate(problem.groups):
        if placed[i] + packing.unplaced.get(i, 0) != group.count:
            found.append(f"group {i} is not complete")
    return found
