"""The optimiser: constructions, column generation with a dive, and improvement, each better than the last.

A valid plan exists after the first construction. It is a `planner.packing.problem.Packer`, and deterministic:
budgets count work, and `is_over` is the guard of a clock for those who have one.
Source: the ladder of this project's study of packing.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from planner.packing.fallback.pack import pack
from planner.packing.optimiser.answer import Answer, answer_from, joined, parted
from planner.packing.optimiser.arrays import Ints, Prices, Yard
from planner.packing.optimiser.bound import NEAR, proven
from planner.packing.optimiser.column import Column, Pool
from planner.packing.optimiser.effort import ROUND, Effort
from planner.packing.optimiser.improve import improve
from planner.packing.optimiser.joint_stocked import by_joint_stock
from planner.packing.optimiser.neighbourhood import improved
from planner.packing.optimiser.nodes import trim
from planner.packing.optimiser.proof import SAFE
from planner.packing.optimiser.question import Question, prices_of, question_of
from planner.packing.optimiser.relax import relaxed
from planner.packing.optimiser.rules import by_rules
from planner.packing.optimiser.shares import shares_of
from planner.packing.optimiser.start import constructed, filled_free, placed
from planner.packing.optimiser.stocked import by_stock
from planner.packing.optimiser.threes import full_threes
from planner.packing.optimiser.whole import whole
from planner.packing.problem import BinRow, GroupRow, Packing, PackingProblem

_STEPS: Final = 120
"""Of the prices; more change the bound by less than 0.1 %."""
_PARTS: Final = 20
"""Parts of the work of improving, between which the clock is looked at."""
_PATIENCE: Final = 8
"""Parts without any gain, after which no more is expected."""
_EMPTIED: Final = 16
_CANDIDATES: Final = 3
_BEFORE: Final = 0.25
"""Of the work of improving, what goes into the best construction before the relaxation."""
_AFTER: Final = 0.5
"""Of the work of improving, what is left for an answer that begins with a stock of machines."""
_HOPELESS: Final = 1.1
"""So many times what another costs: no way to begin that is worth its time."""
_MOST_FOR_RULES: Final = 2000
"""Up to so many pods, the rules of the peers take some 0.1 s; with more, the bound alone tells that they are dearer."""
_FEW_MACHINES: Final = 300
"""Up to so many, which to buy says most of how to pack; with more, parts of machines are few beside whole ones."""
_FEW_PODS: Final = 300
"""Up to so many, the fallback takes some 0.1 s, and its answer is one more to begin with."""
_FEW_OF_AMOUNTS: Final = 2000
"""The same where machines take different amounts of a limit: measured, it is 10 % cheaper where that just binds."""


def never() -> bool:
    """Return that there is no clock."""
    return False


def solve(problem: PackingProblem, effort: Effort = ROUND, is_over: Callable[[], bool] = never) -> Packing:
    """Return a packing: as many pods as possible by tier, then the least cost that the effort finds."""
    pods = sum(group.count for group in problem.groups)
    if problem.known is not None:
        # A round without pods may have rules between those that run, and a minimum to buy for.
        return _jointly(problem, problem.known, effort, is_over) if pods else problem.known
    if not pods or not any(group.bins for group in problem.groups):
        return Packing(unplaced={i: g.count for i, g in enumerate(problem.groups) if g.count})
    has_amounts = any(row.amounts for row in problem.bins)
    fallback = pack(problem) if pods <= (_FEW_OF_AMOUNTS if has_amounts else _FEW_PODS) else None
    if fallback is not None and fallback.proven and fallback.proven == problem.cost(fallback.nodes):
        return fallback
    question = question_of(problem, effort, is_over)
    known = Pool()
    answer = _answered(question, fallback, known)
    packing = _packing(answer)
    if problem.relaxed is None and not packing.unplaced and answer.least >= problem.cost(packing.nodes):
        return replace(packing, proven=problem.cost(packing.nodes))
    exact_search = whole(problem, packing, effort.whole, is_over) if effort.whole else None
    if exact_search is None:
        return replace(packing, proven=proven(problem, packing, question, known, answer.least))
    # The exact search knows no order among equally dear bins.
    exact = answer_from(exact_search.packing, question.counts, question.room, question.yard, question.width)
    trim(question.yard, exact.nodes, exact.count, exact.room)
    packing = _packing(exact)
    if problem.relaxed is not None:
        # So few pods that the wider problem is solved, too.
        return replace(packing, proven=0 if packing.unplaced else solve(problem.relaxed, effort, is_over).proven)
    if exact_search.is_optimal:
        return replace(packing, proven=problem.cost(packing.nodes))
    return replace(packing, proven=proven(problem, packing, question, known, answer.least))


def _jointly(problem: PackingProblem, known: Packing, effort: Effort, is_over: Callable[[], bool]) -> Packing:
    """Return the best packing found of a problem with rules between machines, at least as good as the known one."""
    exact = whole(problem, known, effort.joint, is_over) if effort.joint else None
    if exact is None:
        # Where several answers are wanted, the one that begins with a stock did not do.
        start = by_joint_stock(problem, known, effort, is_over) if problem.answers == 1 else known
        if problem.cost(start.nodes) <= NEAR * start.proven:
            return start
        question = question_of(problem, effort, is_over)
        prices = _prices(question, question.counts, question.room)
        answer = improved(problem, start, prices.pod.tolist(), effort.moves, is_over)
        is_step = start is not known and answer.nodes != start.nodes
        return replace(answer, others=(*answer.others, start)) if is_step else answer
    proven_cost = problem.cost(exact.packing.nodes) if exact.is_optimal and not exact.packing.unplaced else 0
    return replace(exact.packing, proven=proven_cost)


@lru_cache(maxsize=1)
def warm() -> None:
    """Compile or load all kernels, so that the first problem does not wait for them."""
    bins = (BinRow((4, 4), 4), BinRow((8, 8), 7, limits=(0,)), BinRow((2, 2), 0, limits=(1,)))
    few = (GroupRow((1, 2), 8, frozenset({0, 1, 2}), per_node=3), GroupRow((2, 1), 9, frozenset({0, 1})))
    many = tuple(GroupRow((1 + i % 3, 1 + i % 2), 200, frozenset({0, 1})) for i in range(3))
    scarce = tuple(GroupRow((1, i), 200, frozenset({1})) for i in range(1, 4))
    single = tuple(GroupRow((1 + i % 2, 1 + i // 2), 1, frozenset({0, 1})) for i in range(4))
    effort = Effort(4, 10_000, 2, 10_000, 10_000, 0.01, 1, stock=0.01, stocking=10_000)
    for groups in (few, many, scarce, single):
        solve(PackingProblem(groups, bins, (2, 1)), effort)


def _answered(question: Question, fallback: Packing | None, known: Pool) -> Answer:
    """Return the best answer of the searches that suit any number of pods."""
    yard = question.yard
    prices = _prices(question, question.counts, question.room)
    answer = filled_free(question, prices)
    if question.is_paid and answer.missing.any():
        if answer.count:
            prices = _prices(question, answer.missing, answer.room)
        left, room = answer.missing, answer.room
        paid = constructed(question, prices, left, room, known)
        if int(left.sum()) <= _MOST_FOR_RULES:
            paid = min([paid, *by_rules(question, prices, left, room)], key=lambda one: one.score(yard))
        answer = joined(answer, paid, question.width)
    answers = [answer]
    if fallback is not None:
        answers.append(answer_from(fallback, question.counts, question.room, yard, question.width))
    if min(answers, key=lambda one: one.score(yard)).missing[yard.allowed.any(axis=1)].any():
        best = placed(question, answers)
        answers = [best, *_afresh(question, best, known)]
    # Two ways to begin end at different optima, where there are few machines.
    first, *others = _hopeful(yard, answers)
    best = _cheaper(question, prices, first, known, has_stock=True)
    for start in others:
        if best.cost(yard) > NEAR * best.least:
            other = _cheaper(question, prices, start, known, has_stock=False)
            other.least = best.least if (other.missing == best.missing).all() else 0.0
            best = min(best, other, key=lambda one: one.score(yard))
    return best


def _hopeful(yard: Yard, answers: list[Answer]) -> list[Answer]:
    """Return the answers without those that cost much more than another which places as many pods."""
    return [
        one
        for one in answers
        if not any(
            other.score(yard)[0] == one.score(yard)[0] and one.cost(yard) > _HOPELESS * other.cost(yard)
            for other in answers
        )
    ]


def _afresh(question: Question, answer: Answer, known: Pool) -> list[Answer]:
    """Return an answer for the very pods that have a place in this one, if one is found without regard to it.

    What places as many as it can buys what it can get; who has to be placed once known, it is bought for anew.
    """
    pods = answer.pods
    same = replace(question, counts=pods)
    prices = _prices(same, pods, question.room)
    free = filled_free(same, prices)
    paid = constructed(same, prices, free.missing, free.room, known)
    again = joined(free, paid, question.width)
    if again.missing.any():
        again = placed(same, [again])
    if again.missing.any():
        return []
    again.missing = answer.missing.copy()
    return [again]


def _prices(question: Question, left: Ints, room: Ints) -> Prices:
    return prices_of(question.yard, shares_of(question.yard, left, room, _STEPS))


def _cheaper(question: Question, prices: Prices, answer: Answer, known: Pool, *, has_stock: bool) -> Answer:
    """Return an answer that places the same pods for less; `prices` are right where all pods have a place."""
    yard, width = question.yard, question.width
    free, paid = parted(yard, answer, width)
    if not paid.count:
        return answer
    pods, room = paid.pods, paid.before(yard)
    if answer.missing.any():
        prices = _prices(question, pods, room)
    least = _least(question, prices, pods)
    enough = 0.0 if free.count else NEAR * least
    work = min(question.effort.improving, paid.count * question.effort.improving_a_machine)
    is_many = paid.count >= np.count_nonzero(pods)
    is_few = has_stock and question.effort.stock > 0 and paid.count <= _FEW_MACHINES
    if is_many or is_few:
        _improve(question, prices, paid, int(_BEFORE * work), 0, enough)
    of_shares = prices
    # With fewer machines than groups, nearly all of a relaxation is parts of machines, but for those that are full.
    threes = full_threes(question, prices, pods) if is_few and not is_many else []
    if is_many or threes:
        paid, prices = _by_relaxation(question, prices, paid, threes, known)
    last = paid.cost(yard)
    if is_few and last > enough:
        paid, of_stock = by_stock(question, of_shares, paid, known)
        least = max(least, of_stock)
        enough = 0.0 if free.count else NEAR * least
    if paid.cost(yard) < last:
        work = int(_AFTER * work)
    elif not is_many:
        work *= 2
    answer = joined(free, paid, width)
    # Where a free machine may hold any of the pods, others might be bought for less: it also counts towards limits.
    answer.least = 0.0 if yard.allowed[answer.pods > 0][:, yard.free].any() else least
    _improve(question, prices, answer, work, 1, enough)
    trim(yard, answer.nodes, answer.count, answer.room)
    return answer


def _by_relaxation(
    question: Question, prices: Prices, paid: Answer, more: list[Column], known: Pool
) -> tuple[Answer, Prices]:
    """Return bought machines, or cheaper ones made of the parts that a relaxation buys, and prices that know of it."""
    yard = question.yard
    known.add([*paid.columns(yard), *more])
    relaxation = relaxed(question, prices, paid.pods, paid.before(yard), known)
    if relaxation is None:
        return paid, prices
    other, generated = relaxation
    if not other.missing.any() and other.cost(yard) < paid.cost(yard):
        other.missing = paid.missing
        paid = other
    return paid, prices._replace(pod=(prices.pod + generated.relaxed.pod) / 2)


def _least(question: Question, prices: Prices, pods: Ints) -> float:
    """Return what bought machines for the pods cost at least; 0 where limits have prices, which are paid back."""
    yard = question.yard
    return 0.0 if np.any(prices.cost > yard.price) else SAFE * float(prices.pod @ pods)


def _improve(question: Question, prices: Prices, answer: Answer, work: int, seed: int, enough: float) -> None:
    """Improve an answer until its cost is `enough`, or no more is expected."""
    yard, last, idle = question.yard, answer.cost(question.yard), 0
    for part in range(_PARTS):
        if question.is_over() or idle == _PATIENCE or last <= enough:
            break
        answer.count = improve(
            yard,
            prices,
            answer.nodes,
            answer.count,
            answer.room,
            work // _PARTS,
            _EMPTIED,
            _CANDIDATES,
            seed * _PARTS + part,
        )
        cost = answer.cost(yard)
        last, idle = cost, 0 if cost < last else idle + 1


def _packing(answer: Answer) -> Packing:
    missing = answer.missing
    return Packing(tuple(answer.packed()), {i: int(missing[i]) for i in np.flatnonzero(missing).tolist()})
