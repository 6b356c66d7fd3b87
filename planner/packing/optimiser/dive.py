"""Makes whole machines of the parts of a relaxation: what is whole is bought, then what is nearly so, and so on."""

from typing import Final

import numpy as np

from planner.packing.optimiser.arrays import Floats, Ints, Prices
from planner.packing.optimiser.column import Column, Pool
from planner.packing.optimiser.generate import BOX, Generated, generate
from planner.packing.optimiser.question import Question

_LEVELS: Final = 10
_TURNS: Final = 1
"""Turns of column generation at each level; measured: more make it slower and no better."""
_WELL_USED: Final = 0.97
"""Value over price from which a machine is bought although its pattern was bought in part only."""
_STILL_GOOD: Final = 0.9
"""Value over price, of what is left for it, from which a pattern is kept for the next level."""
_PART: Final = 0.25
"""How much of what is bought in parts is made whole in one level."""
_WHOLE: Final = 1e-6

Bought = list[tuple[Column, int]]
"""Patterns and how often each is bought."""


def dive(question: Question, prices: Prices, generated: Generated, known: Pool, left: Ints, room: Ints) -> Bought:
    """Return machines for many of the pods; `left` and `room` are counted down to what remains."""
    bought: Bought = []
    for _ in range(_LEVELS):
        level = _commit(generated, left, room)
        bought += level
        if not level or not left.any() or question.is_over():
            break
        pool = _useful(generated, left)
        most = np.maximum(BOX * prices.pod, generated.relaxed.pod)
        again = generate(question, prices, pool, known, left, room, most=most, turns=_TURNS)
        if again is None:
            break
        generated = again
    return bought


def _commit(generated: Generated, left: Ints, room: Ints) -> Bought:
    columns, times = generated.columns, generated.relaxed.times
    bought: Bought = []
    for q in np.flatnonzero(times >= 1 - _WHOLE):
        _buy(columns[q], int(times[q] + _WHOLE), left, room, bought)
    parts = times - np.floor(times + _WHOLE)
    some = np.flatnonzero(parts > _WHOLE)
    goal, done = _PART * parts[some].sum(), 0.0
    for q in some[np.argsort(-parts[some], kind="stable")]:
        if done >= goal:
            break
        column = columns[q]
        if _worth(column, generated.relaxed.pod, left) >= _WELL_USED * column.cost(generated.relaxed.limit) and _buy(
            column, 1, left, room, bought
        ):
            done += parts[q]
    return bought


def _buy(column: Column, copies: int, left: Ints, room: Ints, bought: Bought) -> bool:
    """Buy as many copies as there are pods and room for; the last one may have content pods."""
    copies = min([copies, *(int(room[k]) // amount for k, amount in column.taken)])
    whole = min(copies, column.fits(left))
    if whole > 0:
        bought.append((column, whole))
        _take(column, whole, left, room)
        return True
    content = [(i, min(n, int(left[i]))) for i, n in zip(column.groups, column.numbers, strict=True) if left[i] > 0]
    if copies <= 0 or not content:
        return False
    part = Column(column.bin, column.price, tuple(i for i, _ in content), tuple(n for _, n in content), column.taken)
    bought.append((part, 1))
    _take(part, 1, left, room)
    return True


def _take(column: Column, copies: int, left: Ints, room: Ints) -> None:
    for i, n in zip(column.groups, column.numbers, strict=True):
        left[i] -= copies * n
    for k, amount in column.taken:
        room[k] -= copies * amount


def _useful(generated: Generated, left: Ints) -> list[Column]:
    relaxed = generated.relaxed
    return [
        column
        for column in generated.columns
        if _worth(column, relaxed.pod, left) >= _STILL_GOOD * column.cost(relaxed.limit)
    ]


def _worth(column: Column, pod: Floats, left: Ints) -> float:
    """Return the worth of the pods that are left for a machine."""
    return sum(float(pod[i]) * min(n, int(left[i])) for i, n in zip(column.groups, column.numbers, strict=True))
