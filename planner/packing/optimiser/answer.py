"""A plan in the making: machines one a row, and the pods that have no place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.packing.optimiser.arrays import NONE, Ints, Yard, taken
from planner.packing.optimiser.column import Column, columns_of
from planner.packing.optimiser.nodes import copy
from planner.packing.optimiser.pattern import Patterns, patterns
from planner.packing.problem import PackedNode, Packing

_SPARE = 64
"""Rows beyond the machines there are: on its way to a better plan, a search may need more machines."""


Score = tuple[tuple[int, ...], float, int]
"""Pods without a place by tier, the highest first; then the cost, and the number of machines."""


@dataclass(slots=True)
class Answer:
    """Searches change it in place."""

    nodes: Patterns
    count: int
    """Rows of `nodes` that count."""
    missing: Ints
    """Pods without a place, `[i]`."""
    room: Ints
    """What the limits still allow, `[k]`."""
    least: float = 0.0
    """What machines for its pods cost at least where all are bought, as far as it is proven."""

    def cost(self, yard: Yard) -> float:
        """Return the price of all machines, per hour in billionths."""
        return float(yard.price[self.nodes.bin[: self.count]].sum())

    def score(self, yard: Yard) -> Score:
        """Return the score of the answer: the smaller, the better."""
        return score_of(yard, self.missing, self.cost(yard), self.count)

    @property
    def pods(self) -> Ints:
        """Pods that have a place, `[i]`."""
        pods, nodes = np.zeros_like(self.missing), self.nodes
        # What stands behind a row's groups is from machines that were there before.
        is_on = np.arange(nodes.group.shape[1]) < nodes.groups[: self.count, None]
        np.add.at(pods, nodes.group[: self.count][is_on], nodes.number[: self.count][is_on])
        return pods

    def before(self, yard: Yard) -> Ints:
        """Return what each limit left before these machines, `[k]`."""
        room = self.room.copy()
        bins = self.nodes.bin[: self.count]
        limits = yard.limits[bins]
        np.add.at(room, limits[limits != NONE], yard.amounts[bins][limits != NONE])
        return room

    def columns(self, yard: Yard) -> Iterable[Column]:
        """Return the machines as patterns."""
        return columns_of(yard, self.nodes, self.count)

    def packed(self) -> Iterable[PackedNode]:
        """Yield the machines."""
        nodes = self.nodes
        for n in range(self.count):
            m = int(nodes.groups[n])
            content = zip(nodes.group[n, :m].tolist(), nodes.number[n, :m].tolist(), strict=True)
            yield PackedNode(int(nodes.bin[n]), dict(sorted(content)))


def score_of(yard: Yard, missing: Ints, cost: float, machines: int) -> Score:
    """Return the score of an answer with these figures."""
    tiers = sorted(set(yard.tier.tolist()), reverse=True)
    return tuple(int(missing[yard.tier == tier].sum()) for tier in tiers), cost, machines


def answer_of(parts: Sequence[tuple[Patterns, int]], missing: Ints, room: Ints, width: int) -> Answer:
    """Return an answer with the machines of some patterns, each given with how many of its rows count."""
    machines = sum(int(group.copies[:rows].sum()) for group, rows in parts)
    nodes, count = patterns(machines + _SPARE, width), 0
    for group, rows in parts:
        for q in range(rows):
            for _ in range(int(group.copies[q])):
                copy(group, q, nodes, count)
                count += 1
    return Answer(nodes, count, missing, room)


def patterns_of(bought: Sequence[tuple[Column, int]], width: int) -> Patterns:
    """Return bought columns as patterns."""
    rows = patterns(max(1, len(bought)), width)
    for q, (column, copies) in enumerate(bought):
        m = len(column.groups)
        rows.bin[q], rows.copies[q], rows.groups[q] = column.bin, copies, m
        rows.group[q, :m], rows.number[q, :m] = column.groups, column.numbers
    return rows


def answer_from(packing: Packing, counts: Ints, room: Ints, yard: Yard, width: int) -> Answer:
    """Return a packing as an answer; `counts` and `room` are those of the problem."""
    nodes = patterns(len(packing.nodes) + _SPARE, width)
    answer = Answer(nodes, len(packing.nodes), counts.copy(), room.copy())
    for n, node in enumerate(packing.nodes):
        nodes.bin[n], nodes.copies[n], nodes.groups[n] = node.bin, 1, len(node.counts)
        for p, (i, number) in enumerate(sorted(node.counts.items())):
            nodes.group[n, p], nodes.number[n, p] = i, number
            answer.missing[i] -= number
        for k, amount in taken(yard, node.bin):
            answer.room[k] -= amount
    return answer


def joined(first: Answer, second: Answer, width: int) -> Answer:
    """Return the machines of both; pods and room are what the other left."""
    return answer_of([(first.nodes, first.count), (second.nodes, second.count)], second.missing, second.room, width)


def parted(yard: Yard, answer: Answer, width: int) -> tuple[Answer, Answer]:
    """Return the free machines of an answer, and those that are bought."""
    is_free = yard.price[answer.nodes.bin[: answer.count]] == 0
    parts = [Patterns(*(part[: answer.count][wanted] for part in answer.nodes)) for wanted in (is_free, ~is_free)]
    free, paid = (answer_of([(part, len(part.bin))], answer.missing, answer.room, width) for part in parts)
    return free, paid
