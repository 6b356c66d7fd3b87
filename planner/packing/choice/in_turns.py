"""Packs in turns: machines that are there, then those of the first turn for as many pods as they hold, then the next.

Pods come first: a machine of a later turn is bought for what earlier ones cannot hold or cannot get, and so that no pod
is left out for a priority. Of plans that place as many, the one is chosen that costs least of the last turn, then of
the one before. Mostly the first turn is enough, and then its answer is proven as any other.
"""

from collections import Counter
from dataclasses import replace

from planner.packing.choice.further import further, merged
from planner.packing.choice.turns import by_price_alone, costs_by_turn, last_turn, turns_to_buy, up_to
from planner.packing.choice.weights import weighed
from planner.packing.problem import Packer, Packing, PackingProblem


def in_turns(problem: PackingProblem, packer: Packer) -> Packing:
    """Return the packing of a problem whose bins may have turns.

    At most one answer a turn is asked for, and one more where a later turn is needed. What is proven is proven of the
    machines up to the last turn that is used, and nothing is where that is not the first one.
    """
    turns = turns_to_buy(problem)
    if len(turns) <= 1:
        return packer(problem)
    if problem.known is not None:
        return _as_one(problem, problem.known, packer)
    made = packer(up_to(problem, turns[0]))
    if not made.unplaced:
        return made
    for turn in turns[1:]:
        rest = further(problem, made, turn)
        if any(group.bins for group in rest.groups):
            made = merged(problem, made, packer(rest))
        if not made.unplaced:
            break
    return min(made, _again(problem, made, packer), key=lambda one: _score(problem, one))


def _again(problem: PackingProblem, made: Packing, packer: Packer) -> Packing:
    """Return a packing of all turns at once: by weights, or where these are too large and pods are left, by price."""
    asked = weighed(problem if made.unplaced else up_to(problem, last_turn(problem, made.nodes)))
    if asked is None and made.unplaced:
        asked = replace(by_price_alone(problem), relaxed=None)
    return made if asked is None else replace(packer(asked), proven=0, others=())


def _as_one(problem: PackingProblem, known: Packing, packer: Packer) -> Packing:
    """Return a packing at least as good as the known one, where rules between machines make all turns one problem."""
    asked = problem if known.unplaced else up_to(problem, last_turn(problem, known.nodes))
    if len(turns_to_buy(asked)) <= 1:
        return packer(asked)
    weights = weighed(asked)
    if weights is None:
        return known
    answer = packer(weights)
    return replace(answer, proven=0, others=tuple(replace(other, proven=0) for other in answer.others))


def _score(problem: PackingProblem, packing: Packing) -> tuple[object, ...]:
    """Return the score of a packing, the smaller the better: pods left out by priority, then cost by turn."""
    missing = Counter[int]()
    for i, number in packing.unplaced.items():
        missing[problem.groups[i].tier] += number
    tiers = sorted({group.tier for group in problem.groups}, reverse=True)
    return [missing[tier] for tier in tiers], costs_by_turn(problem, packing.nodes)
