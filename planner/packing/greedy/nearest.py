"""A quick way to buy for very many classes of pods: each onto machines of the kind where it costs least alone.

All other constructions compare classes with each other, which takes minutes where every pod is one of its own.
"""

from typing import Final

from planner.packing.greedy.construct import Work
from planner.packing.greedy.index import Counts, ProblemIndex

MOST_CLASSES: Final = 1500
"""Up to so many classes, the other constructions take seconds at most."""


def by_nearest(index: ProblemIndex, work: Work) -> None:
    """Buy machines for all pods, kind by kind, the largest pods first; again for those that limits left out."""
    has_bought = True
    while has_bought:
        has_bought = False
        for b, groups in _nearest(index, work).items():
            capacity = index.capacity[b]
            rest = sorted(
                groups, key=lambda i: (-index.tier[i], -max((d / capacity[r] for r, d in index.demand[i]), default=0.0))
            )
            while rest and index.is_allowed(b, work.limits_left):
                counts: Counts = {}
                index.fill(rest, work.left, counts, list(capacity))
                copies = min(index.most(b, work.limits_left), *(work.left[i] // n for i, n in counts.items()))
                work.buy(index, b, counts, copies)
                rest = [i for i in rest if work.left[i]]
                has_bought = True


def _nearest(index: ProblemIndex, work: Work) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for i, left in enumerate(work.left):
        allowed = [b for b in index.paid_bins[i] if left and index.is_allowed(b, work.limits_left)]
        if allowed:
            found.setdefault(min(allowed, key=lambda b: index.price[b] / index.fitting(i, b)), []).append(i)
    return found
