"""The rules of the peers as ways to begin, so that no plan is dearer than what they would buy.

`by_claims` is Karpenter's: a machine in the making keeps every type that still holds its pods, pods join
the one with the fewest, and the cheapest type is bought at the end. `by_type` is Cluster Autoscaler's: all
pods are put onto machines of one type at a time, and the type that gives most for its money is bought.
Source: this project's study of packing, from the published code of both.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

from typing import Final

import numpy as np

from planner.packing.optimiser.answer import Answer, answer_of
from planner.packing.optimiser.arrays import NONE, Ints, Prices, Yard
from planner.packing.optimiser.fill import room_for, take_room
from planner.packing.optimiser.kernel import borrowing, kernel
from planner.packing.optimiser.pattern import Patterns, patterns
from planner.packing.optimiser.place import BY_SUM, place
from planner.packing.optimiser.question import Question

_FEW_CLAIMS: Final = 4_000
"""Machines in the making at most; with more, the rule has no answer."""


def by_rules(question: Question, prices: Prices, left: Ints, room: Ints) -> list[Answer]:
    """Return the answers of the peers' rules for `left` pods."""
    answers: list[Answer] = []
    yard, width = question.yard, question.width
    for order in _large_first(yard, left):
        out = patterns(int(min(left.sum(), _FEW_CLAIMS)), width)
        rest, rest_room = left.copy(), room.copy()
        rows = by_claims(yard, order, rest, rest_room, out)
        if rows != NONE:
            answers.append(answer_of([(out, rows)], rest, rest_room, width))
    answers.append(_by_type(question, prices, left.copy(), room.copy()))
    return answers


def _large_first(yard: Yard, left: Ints) -> list[Ints]:
    """Return orders of the groups, the largest first: by the two resources that are wanted most, either one first."""
    most = yard.capacity[yard.paid].max(axis=0)
    wanted = np.argsort(-((left @ yard.demand) / np.maximum(1, most)), kind="stable")[:2]
    orders = [np.lexsort([-yard.demand[:, r] for r in keys]) for keys in (wanted[::-1], wanted)]
    return [order[left[order] > 0] for order in orders]


def _by_type(question: Question, prices: Prices, left: Ints, room: Ints) -> Answer:
    """Buy the type that gives most value for its money for all pods that it can hold, then the next."""
    yard, bought = question.yard, []
    worth = np.ones(len(left))
    while left.any():
        best = None
        for b in yard.paid:
            trial, trial_room = left.copy(), room.copy()
            if not (trial[yard.allowed[:, b]].any() and room_for(yard, b, room)):
                continue
            out = patterns(int(min(left.sum(), 2 * len(left) + 100)), question.width)
            rows = place(yard, np.array([b]), worth, trial, trial_room, BY_SUM, 0.0, out, 0)
            machines = int(out.copies[:rows].sum())
            if machines:
                value = float(prices.pod @ (left - trial)) / (machines * yard.price[b])
                if best is None or value > best[0]:
                    best = value, out, rows, trial, trial_room
        if best is None:
            break
        _, out, rows, left, room = best
        bought.append((out, rows))
    return answer_of(bought, left, room, question.width)


@kernel
def by_claims(yard: Yard, order: Ints, left: Ints, room: Ints, out: Patterns) -> int:
    """Write what the rule of claims buys; return how many machines, NONE if they are too many.

    `left` and `room` are counted down; a claim for which limits leave no type is given up.
    """
    most, width = out.group.shape
    bins, resources = yard.capacity.shape
    load = np.zeros((most, resources), np.int64)
    pods = np.zeros(most, np.int64)
    may = np.zeros((most, bins), np.bool_)
    claims = 0
    for i in order:
        for _ in range(left[i]):
            best = NONE
            for m in range(claims):
                if (best == NONE or pods[m] < pods[best]) and _accepts(yard, i, out, m, load[m], may[m], width):
                    best = m
            if best == NONE:
                if claims == most:
                    return NONE
                best = claims
                claims += 1
                for b in yard.paid:
                    may[best, b] = True
            _join(yard, i, out, best, load[best], may[best])
            pods[best] += 1
    rows = 0
    for m in range(claims):
        chosen = NONE
        for b in yard.paid:
            if may[m, b] and room_for(yard, b, room) > 0 and (chosen == NONE or yard.price[b] < yard.price[chosen]):
                chosen = b
        if chosen == NONE:
            continue
        take_room(yard, chosen, room, 1)
        out.bin[rows], out.copies[rows], out.groups[rows] = chosen, 1, out.groups[m]
        for p in range(out.groups[m]):
            out.group[rows, p], out.number[rows, p] = out.group[m, p], out.number[m, p]
            left[out.group[m, p]] -= out.number[m, p]
        rows += 1
    return rows


@borrowing
def _accepts(yard: Yard, i: int, out: Patterns, m: int, load: Ints, may: Ints, width: int) -> bool:
    is_there = False
    for p in range(out.groups[m]):
        j = out.group[m, p]
        if j == i:
            is_there = True
            if out.number[m, p] >= yard.per_node[i]:
                return False
        for q in range(yard.apart_start[i], yard.apart_start[i + 1]):
            if yard.apart[q] == j:
                return False
    if not is_there and out.groups[m] == width:
        return False
    return _holds(yard, i, load, may, may, False)


@borrowing
def _holds(yard: Yard, i: int, load: Ints, may: Ints, after: Ints, is_kept: bool) -> bool:  # noqa: FBT001 - by position
    """Return whether a type is left that holds one more pod; with `is_kept`, write which ones into `after`."""
    is_held = False
    for b in yard.paid:
        holds = may[b] and yard.allowed[i, b]
        for r in range(load.shape[0]):
            if holds and load[r] + yard.demand[i, r] > yard.capacity[b, r]:
                holds = False
        if is_kept:
            after[b] = holds
        is_held = is_held or holds
    return is_held


@borrowing
def _join(yard: Yard, i: int, out: Patterns, m: int, load: Ints, may: Ints) -> None:
    _holds(yard, i, load, may, may, True)
    for r in range(load.shape[0]):
        load[r] += yard.demand[i, r]
    for p in range(out.groups[m]):
        if out.group[m, p] == i:
            out.number[m, p] += 1
            return
    p = out.groups[m]
    out.group[m, p], out.number[m, p] = i, 1
    out.groups[m] += 1
