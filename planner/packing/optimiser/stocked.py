"""Places pods on the machines of a stock, and buys more for those that find no place there.

Which machines are bought is given, so a search can go by how many pods still have no place, which says more on the
way to a good plan than a cost that changes by whole machines.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from planner.packing.optimiser.answer import Answer, answer_of, joined
from planner.packing.optimiser.arrays import NONE, Floats, Ints, Prices
from planner.packing.optimiser.column import Pool
from planner.packing.optimiser.pattern import patterns
from planner.packing.optimiser.place import KINDS, place, place_more
from planner.packing.optimiser.question import Question
from planner.packing.optimiser.start import constructed, sow
from planner.packing.optimiser.stock import Stock, stock_of

_SPARES: Final = (0.0, 0.002, 0.004)
"""Shares of all machines that are left for pods that cannot be cut, one after the other."""
_PARTS: Final = 20
"""Parts of the work, between which the clock is looked at."""
_PATIENCE: Final = 5
"""Parts in which no more pods found a place, after which no more are expected to."""
_EMPTIED: Final = (4, 6)
"""Machines that a move empties at most, in turns."""


def by_stock(question: Question, prices: Prices, answer: Answer, known: Pool) -> tuple[Answer, float]:
    """Return the answer, or a cheaper one for the same pods, and what they cost at least, as far as it is proven.

    All its machines are bought. The first stock has no room to spare; where pods that cannot be cut need some, the
    next one has more.
    """
    yard, pods, room, least = question.yard, answer.pods, answer.before(question.yard), 0.0
    tried: list[Stock] = []
    for spare in _SPARES:
        below = answer.cost(yard)
        if question.is_over() or least >= below:
            break
        stock = stock_of(question, prices, pods, room, below=below, work=question.effort.stock, spare=spare)
        if stock is None:
            break
        least = max(least, stock.bound)
        if not stock.numbers:
            break
        if stock.numbers in [one.numbers for one in tried]:
            continue
        tried.append(stock)
        other = stocked(question, prices, stock, pods, room, known)
        if not other.missing.any() and other.cost(yard) < below:
            other.missing = answer.missing
            answer = other
        if answer.cost(yard) <= stock.cost:
            break
    return answer, least


def stocked(question: Question, prices: Prices, stock: Stock, pods: Ints, room: Ints, known: Pool) -> Answer:
    """Return an answer for the pods that begins with the machines of a stock."""
    yard, own = question.yard, len(room)
    bins = np.array([b for alike in stock.numbers for b in alike], np.int64)
    bins = bins[np.argsort(-yard.price[bins], kind="stable")]
    # Limits more: as many machines as there are in the stock.
    limits = np.full((len(yard.price), 1), NONE, np.int64)
    for n, alike in enumerate(stock.numbers):
        limits[list(alike)] = own + n
    limited = replace(
        question,
        yard=yard._replace(limits=np.hstack([yard.limits, limits])),
        room=np.concatenate([room, np.array(list(stock.numbers.values()), np.int64)]),
    )
    answer = _filled(limited, bins, prices.pod, pods, sum(stock.numbers.values()))
    last, idle = np.inf, 0
    for part in range(_PARTS):
        if question.is_over() or not answer.missing.any() or idle == _PATIENCE:
            break
        answer.count = place_more(
            limited.yard,
            bins,
            prices.pod,
            answer.nodes,
            answer.count,
            answer.missing,
            answer.room,
            question.effort.stocking // _PARTS,
            _EMPTIED[part % len(_EMPTIED)],
            part,
        )
        left = float(prices.pod @ answer.missing)
        last, idle = left, 0 if left < last else idle + 1
    answer.room = answer.room[:own].copy()
    if not answer.missing.any():
        return answer
    return joined(answer, constructed(question, prices, answer.missing, answer.room, known), question.width)


def _filled(question: Question, bins: Ints, worth: Floats, pods: Ints, machines: int) -> Answer:
    """Return an answer that places much worth on machines that are filled in the order of their bins."""
    answers: list[tuple[float, Answer]] = []
    sow(0)
    out = patterns(machines, question.width)
    for kind in range(KINDS):
        left, room = pods.copy(), question.room.copy()
        rows = place(question.yard, bins, worth, left, room, kind, 0.0, out, 0)
        answers.append((float(worth @ left), answer_of([(out, rows)], left, room, question.width)))
    return min(answers, key=lambda one: one[0])[1]
