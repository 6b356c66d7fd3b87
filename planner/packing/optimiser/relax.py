"""An answer from the linear relaxation: column generation, a dive, and what remains built as at the start."""

from typing import Final

import numpy as np

from planner.packing.optimiser.answer import Answer, answer_of, joined, patterns_of
from planner.packing.optimiser.arrays import Ints, Prices
from planner.packing.optimiser.column import Pool
from planner.packing.optimiser.dive import dive
from planner.packing.optimiser.generate import BOX, Generated, generate
from planner.packing.optimiser.question import Question
from planner.packing.optimiser.start import constructed

_MORE: Final = 2
"""Times the turns, as many more where patterns are missing."""


def relaxed(question: Question, prices: Prices, left: Ints, room: Ints, known: Pool) -> tuple[Answer, Generated] | None:
    """Return an answer for `left` pods and the relaxation it is made of; None where there is none."""
    generated = generate(
        question,
        prices,
        known.columns,
        known,
        left,
        room,
        most=BOX * prices.pod,
        turns=question.effort.turns,
        more=_MORE * question.effort.turns,
    )
    if generated is None:
        return None
    rest, rest_room = left.copy(), room.copy()
    bought = dive(question, prices, generated, known, rest, rest_room)
    whole = answer_of([(patterns_of(bought, question.width), len(bought))], rest, rest_room, question.width)
    if not rest.any():
        return whole, generated
    mixed = prices._replace(pod=np.maximum(prices.pod, (prices.pod + generated.relaxed.pod) / 2))
    return joined(whole, constructed(question, mixed, rest, rest_room, known), question.width), generated
