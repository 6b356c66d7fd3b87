"""Random packing problems with everything that a problem may have."""

import random

from planner.packing.problem import BinRow, GroupRow, PackingProblem


def random_problem(seed: int, *, most_groups: int = 8, most_pods: int = 12) -> PackingProblem:
    """Return a problem: free and paid bins, limits, tiers, caps and groups that stay apart, some hopeless."""
    draw = random.Random(seed)
    resources = draw.randint(1, 4)
    limits = tuple(draw.choice((0, 1, 2, 3, 8)) for _ in range(draw.randint(0, 3)))
    bins: list[BinRow] = []
    for _ in range(draw.randint(1, 7)):
        size = draw.choice((4, 8, 16, 32))
        capacity = tuple(max(0, size * draw.randint(1, 4) - draw.randint(0, 3)) for _ in range(resources))
        price = 0 if draw.random() < 0.3 else size * draw.randint(5, 9) + draw.randint(0, 9)
        own = {k for k in range(len(limits)) if draw.random() < 0.3}
        if not price and not own and limits:
            own = {draw.randrange(len(limits))}
        bins.append(BinRow(capacity, price, tuple(sorted(own)), rank=draw.randint(0, 3)))
    groups: list[GroupRow] = []
    for _ in range(draw.randint(1, most_groups)):
        demand = tuple(draw.choice((0, 1, 1, 2, 3, 5, 8, 13)) for _ in range(resources))
        if not any(demand):
            demand = (1, *demand[1:])
        fits = [b for b, one in enumerate(bins) if all(d <= c for d, c in zip(demand, one.capacity, strict=True))]
        kept = frozenset(b for b in fits if draw.random() < 0.8)
        per_node = draw.choice((None, None, None, 1, 2, 3))
        tier = draw.choice((0, 0, 0, 10, 2_000_000_000))
        groups.append(GroupRow(demand, draw.randint(1, most_pods), kept, tier, per_node))
    apart: list[set[int]] = [set() for _ in groups]
    for _ in range(draw.randint(0, 3)):
        one, other = draw.randrange(len(groups)), draw.randrange(len(groups))
        if one != other:
            apart[one].add(other)
            apart[other].add(one)
    groups = [
        GroupRow(g.demand, g.count, g.bins, g.tier, g.per_node, frozenset(apart[i])) for i, g in enumerate(groups)
    ]
    return PackingProblem(tuple(groups), tuple(bins), limits)
