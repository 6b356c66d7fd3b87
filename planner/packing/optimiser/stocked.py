"""Places pods on the machines of a stock, and buys more for those that find no place there.

Which machines are bought is given, so a search can go by how many pods still have no place, which says more on the
way to a good plan than a cost that changes by whole machines.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from planner.packing.optimiser.answer import Answer, joined
from planner.packing.optimiser.arrays import NONE, Floats, Ints, Prices, Yard
from planner.packing.optimiser.column import Pool
from planner.packing.optimiser.lots import MOST_LOTS
from planner.packing.optimiser.question import Question
from planner.packing.optimiser.start import constructed, filled, search_places
from planner.packing.optimiser.stock import Stock, stock_of

_SPARES: Final = (0.001, 0.002, 0.004)
"""Shares of all machines that are left for pods that cannot be cut, one after the other."""
_MOST_STOCKS: Final = 4
_MOST_FAILURES: Final = 2
"""Stocks that do not make the answer cheaper."""
_OF_PROOF: Final = 3
"""Times the work, where a stock proves what pods cost at least."""
_PARTS: Final = 20
"""Parts of the work, between which the clock is looked at."""
_PATIENCE: Final = 5
"""Parts in which no more pods found a place, after which no more are expected to."""
_TASTES: Final = ((True, (4, 6)), (False, (4, 6)), (True, (3, 5)))
"""Whether a pod without a place counts by the machine that would be bought for it, too, and how many machines a move
empties at most, in turns."""


def by_stock(question: Question, prices: Prices, answer: Answer, known: Pool) -> tuple[Answer, float]:
    """Return the answer, or a cheaper one for the same pods, and what they cost at least, as far as it is proven.

    All its machines are bought. Each stock is cheaper than the best answer so far. The first of few groups has no room
    to spare, so that it proves what they cost at least; where pods do not fit into a stock, the next has more.
    """
    yard, pods, room = question.yard, answer.pods, answer.before(question.yard)
    is_provable = np.count_nonzero(pods) <= MOST_LOTS
    least, spares, before = 0.0, iter(_SPARES), dict[tuple[int, ...], int]()
    spare, work, failures = 0.0 if is_provable else next(spares), question.effort.stock, 0
    for _ in range(_MOST_STOCKS):
        below = answer.cost(yard)
        if question.is_over() or least >= below:
            break
        stock = stock_of(
            question, prices, pods, room, below=below, work=work if spare else _OF_PROOF * work, spare=spare
        )
        if stock is None:
            break
        least = max(least, stock.bound)
        # What is not solved where nothing was taken together has many solutions, of which none is likely to do.
        if not stock.numbers or (is_provable and not stock.is_cheapest) or failures == _MOST_FAILURES:
            break
        if stock.numbers != before:
            other = stocked(question, prices, stock, pods, room, known)
            if not other.missing.any() and other.cost(yard) < below:
                other.missing = answer.missing
                answer = other
            else:
                failures += 1
        before = stock.numbers
        if answer.cost(yard) > stock.cost:
            more = next(spares, None)
            if more is None:
                break
            spare = more
        elif stock.is_cheapest:
            break
    return answer, least


def stocked(question: Question, prices: Prices, stock: Stock, pods: Ints, room: Ints, known: Pool) -> Answer:
    """Return the best of several answers for the pods, each of which begins with the machines of a stock."""
    limited, bins = _limited(question, stock, room)
    answers: list[Answer] = []
    for is_by_machine, most in _TASTES:
        worth = prices.pod * _cheapest(question.yard) if is_by_machine else prices.pod
        answer = _placed(limited, bins, worth, filled(limited, bins, worth, pods, sum(stock.numbers.values())), most)
        answer.room = answer.room[: len(room)].copy()
        if not answer.missing.any():
            return answer
        rest = constructed(question, prices, answer.missing, answer.room, known)
        answers.append(joined(answer, rest, question.width))
    return min(answers, key=lambda one: one.score(question.yard))


def _limited(question: Question, stock: Stock, room: Ints) -> tuple[Question, Ints]:
    """Return the question with no more machines than there are in the stock, and its bins, the dearest first."""
    yard = question.yard
    bins = np.array([b for alike in stock.numbers for b in alike], np.int64)
    limits = np.full((len(yard.price), 1), NONE, np.int64)
    amounts = np.ones_like(limits)
    for n, alike in enumerate(stock.numbers):
        limits[list(alike)] = len(room) + n
    limited = replace(
        question,
        yard=yard._replace(limits=np.hstack([yard.limits, limits]), amounts=np.hstack([yard.amounts, amounts])),
        room=np.concatenate([room, np.array(list(stock.numbers.values()), np.int64)]),
    )
    return limited, bins[np.argsort(-yard.price[bins], kind="stable")]


def _cheapest(yard: Yard) -> Floats:
    """Return what the cheapest machine that may hold a pod costs, `[i]`, in the cheapest of all."""
    price = np.where(yard.allowed[:, yard.paid], yard.price[yard.paid], np.inf).min(axis=1)
    return np.where(np.isfinite(price), price, 0.0) / yard.price[yard.paid].min()


def _placed(question: Question, bins: Ints, worth: Floats, answer: Answer, most: tuple[int, ...]) -> Answer:
    """Place more pods of an answer, and return it."""
    last, idle = np.inf, 0
    for part in range(_PARTS):
        if question.is_over() or not answer.missing.any() or idle == _PATIENCE:
            break
        search_places(question, bins, worth, answer, question.effort.stocking // _PARTS, most[part % len(most)], part)
        left = float(worth @ answer.missing)
        last, idle = left, 0 if left < last else idle + 1
    return answer
