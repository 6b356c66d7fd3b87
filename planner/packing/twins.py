"""Kinds of machines that differ in nothing that matters are one to a packer: only the first of them is bought.

Where no pod asks for a zone, a type is the same in each. A packer that looked at all of them would do the same work
several times over, and find less in the time of a round the more zones there are.
"""

from dataclasses import replace

from planner.packing.problem import BinRow, PackingProblem


def without_twins(problem: PackingProblem) -> PackingProblem:
    """Return the problem in which groups use the first of bins that are alike in numbers and in who may use them.

    Bins keep their indexes. A problem with rules between machines is returned as it is: domains tell bins apart.
    """
    if problem.known is not None:
        return problem
    # Thousands of groups have a few such sets: who may use a bin is told by those that it is in.
    sets = dict.fromkeys(group.bins for group in problem.groups)
    users: list[list[int]] = [[] for _ in problem.bins]
    for n, bins in enumerate(sets):
        for b in bins:
            users[b].append(n)
    # Of a problem with fewer rules, bins have other users.
    wider = None if problem.relaxed is None else without_twins(problem.relaxed)
    first: dict[tuple[BinRow, tuple[int, ...], tuple[bool, ...]], int] = {}
    distinct: set[int] = set()
    for b, row in enumerate(problem.bins):
        if users[b]:
            counted = tuple(b in top_up.bins for top_up in problem.top_ups)
            if first.setdefault((row, tuple(users[b]), counted), b) == b:
                distinct.add(b)
    left = {bins: bins & distinct for bins in sets}
    groups = tuple(replace(group, bins=left[group.bins]) for group in problem.groups)
    return replace(problem, groups=groups, relaxed=wider)
