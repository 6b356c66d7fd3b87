"""A quick way to buy for very many classes of pods: each onto machines of the kind where it costs least alone.

All other constructions compare classes with each other, which takes minutes where every pod is one of its own.
"""

from typing import Final

from planner.packing.greedy.construct import Work
from planner.packing.greedy.index import Arena, Counts

MOST_CLASSES: Final = 1500
"""Up to so many classes, the other constructions take seconds at most."""


def by_nearest(arena: Arena, work: Work) -> None:
    """Buy machines for all pods, kind by kind, the largest pods first; again for those that limits left out."""
    has_bought = True
    while has_bought:
        has_bought = False
        for b, groups in _nearest(arena, work).items():
            capacity = arena.capacity[b]
            rest = sorted(
                groups, key=lambda i: (-arena.tier[i], -max((d / capacity[r] for r, d in arena.demand[i]), default=0.0))
            )
            while rest and arena.has_room(b, work.room):
                counts: Counts = {}
                arena.fill(rest, work.left, counts, list(capacity))
                copies = min(arena.most(b, work.room), *(work.left[i] // n for i, n in counts.items()))
                work.buy(arena, b, counts, copies)
                rest = [i for i in rest if work.left[i]]
                has_bought = True


def _nearest(arena: Arena, work: Work) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for i, left in enumerate(work.left):
        allowed = [b for b in arena.paid_bins[i] if left and arena.has_room(b, work.room)]
        if allowed:
            found.setdefault(min(allowed, key=lambda b: arena.price[b] / arena.fitting(i, b)), []).append(i)
    return found
