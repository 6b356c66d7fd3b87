"""First answers: free machines filled, and the rest bought by several constructions, of which the best counts."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.packing.optimiser.answer import Answer, answer_of, score_of
from planner.packing.optimiser.arrays import Floats, Ints, Prices
from planner.packing.optimiser.build import build
from planner.packing.optimiser.column import Pool, columns_of
from planner.packing.optimiser.kernel import kernel
from planner.packing.optimiser.pattern import patterns
from planner.packing.optimiser.place import KINDS, place, place_more
from planner.packing.optimiser.question import Question

_SHARPNESS: Final = (6.0, 20.0, 60.0, 2.0)
_NOISE: Final = 0.1
"""How much more each four constructions vary than those before."""
_FEWEST_STARTS: Final = 2
_GROUPS: Final = 800
"""Above so many groups, constructions become fewer."""
_LANES: Final = 10
_EMPTIED: Final = 6
_PARTS: Final = 10
"""Parts of the work, between which the clock is looked at."""
_TIER: Final = 1000.0
"""How many pods of a tier one of the next higher outweighs, where not all can have a place."""
_TIERS: Final = 4
"""Steps of worth; all tiers below the last step are worth as much."""
_DEARER: Final = 10.0
"""What a pod that nothing can be bought for outweighs, in dearest machines."""


@kernel
def sow(seed: int) -> None:
    """Set the seed of what the kernels draw."""
    np.random.seed(seed)


def filled_free(question: Question, prices: Prices) -> Answer:
    """Return an answer that uses what costs nothing, so that the rest of the pods cost least."""
    yard = question.yard
    dearest = max(1.0, float(yard.price.max()))
    worth = np.where(np.isfinite(prices.alone), prices.pod + 1, _DEARER * dearest)
    answer = filled(question, yard.free, worth, question.counts, _rows(question.counts))
    return _with_more(question, yard.free, worth, answer)


def constructed(question: Question, prices: Prices, left: Ints, room: Ints, known: Pool) -> Answer:
    """Return the best of several constructions for `left` pods; all their patterns become known."""
    yard, best, score = question.yard, None, None
    sow(1)
    out = patterns(_rows(left), question.width)
    starts = min(
        question.effort.starts, max(_FEWEST_STARTS, question.effort.starts * _GROUPS // max(1, np.count_nonzero(left)))
    )
    for k in range(starts):
        if best is not None and question.is_over():
            break
        trial_left, trial_room = left.copy(), room.copy()
        noise = _NOISE * (k // len(_SHARPNESS))
        rows, _, _ = build(
            yard, prices, trial_left, trial_room, _SHARPNESS[k % len(_SHARPNESS)], noise, _LANES, np.inf, out, 0
        )
        known.add(columns_of(yard, out, rows))
        prices_paid, copies = yard.price[out.bin[:rows]], out.copies[:rows]
        trial = score_of(yard, trial_left, float(prices_paid @ copies), int(copies.sum()))
        if score is None or trial < score:
            best, score = answer_of([(out, rows)], trial_left, trial_room, question.width), trial
    if best is None:
        raise AssertionError
    return best


def placed(question: Question, answers: Sequence[Answer]) -> Answer:
    """Return an answer that places as many pods as it can, those of higher tiers first: for when limits bind.

    It begins with each of the answers, and with all machines filled anew.
    """
    yard = question.yard
    worth = _worth_of_tiers(yard.tier)
    bins = np.concatenate([yard.free, yard.paid[np.argsort(-yard.price[yard.paid], kind="stable")]])
    afresh = filled(question, bins, worth, question.counts, _rows(question.counts))
    starts = [answers[0], afresh, *answers[1:]]
    return min((_with_more(question, bins, worth, start) for start in starts), key=lambda one: one.score(yard))


def filled(question: Question, bins: Ints, worth: Floats, pods: Ints, rows: int) -> Answer:
    """Return an answer that places much worth of the pods on machines of `bins`, filled in their order.

    It has at most so many `rows` of machines that are alike.
    """
    best = None
    sow(0)
    out = patterns(rows, question.width)
    for kind in range(KINDS):
        left, room = pods.copy(), question.room.copy()
        used = place(question.yard, bins, worth, left, room, kind, 0.0, out, 0)
        value = float(worth @ (pods - left))
        if best is None or value > best[0]:
            best = value, answer_of([(out, used)], left, room, question.width)
        if not left.any():
            break
    if best is None:
        raise AssertionError
    return best[1]


def _with_more(question: Question, bins: Ints, worth: Floats, answer: Answer) -> Answer:
    """Place more pods of an answer, and return it."""
    for part in range(_PARTS):
        if question.is_over() or not answer.missing.any():
            break
        search_places(question, bins, worth, answer, question.effort.placing // _PARTS, _EMPTIED, part)
    return answer


def search_places(
    question: Question, bins: Ints, worth: Floats, answer: Answer, work: int, most: int, seed: int
) -> None:
    """Place more pods of an answer for so much work, by moves that empty so many machines at most."""
    answer.count = place_more(
        question.yard, bins, worth, answer.nodes, answer.count, answer.missing, answer.room, work, most, seed
    )


def _worth_of_tiers(tier: Ints) -> Floats:
    """Return the worth of a place to a pod, `[i]`: one more of a tier outweighs many of those below."""
    tiers = sorted(set(tier.tolist()), reverse=True)
    steps = {one: _TIER ** max(0, _TIERS - 1 - k) for k, one in enumerate(tiers)}
    return np.array([steps[one] for one in tier.tolist()], dtype=np.float64)


def _rows(left: Ints) -> int:
    """Return room for so many patterns: each uses up a group, or nearly, but where limits or pairs end it early."""
    return int(min(left.sum(), 4 * len(left) + 4000)) + 1
