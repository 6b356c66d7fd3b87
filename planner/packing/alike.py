"""Rows of pods that are alike to a packer are one row to it, and what it plans for that is dealt to them afterwards.

Where machines are counted by namespace, groups are parted by it: of each row, a thousand namespaces make a thousand,
and a packer that looked at all of them would find less in more time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.packing.problem import GroupRow, PackedNode, Packer, Packing, PackingProblem


@dataclass(frozen=True, slots=True)
class AsOne:
    """A problem in which rows that are alike are one."""

    problem: PackingProblem
    members: tuple[tuple[int, ...], ...]
    """Positions of the rows of the problem before, by position of the row that they are now, ascending."""


def as_one(problem: PackingProblem) -> AsOne:
    """Return the problem in which rows are one that differ in their number of pods alone.

    Those that share machines by rules of their own stay: how many of two rows are on a machine is not how many of one.
    """
    alike: dict[object, list[int]] = {}
    for i, row in enumerate(problem.groups):
        is_ruled = row.per_node is not None or bool(row.apart)
        alike.setdefault(i if is_ruled else (row.demand, row.bins, row.tier), []).append(i)
    members = tuple(map(tuple, alike.values()))
    position = {i: k for k, rows in enumerate(members) for i in rows}
    groups = tuple(_joined(problem.groups, rows, position) for rows in members)
    wider = None if problem.relaxed is None else as_one(problem.relaxed).problem
    return AsOne(replace(problem, groups=groups, relaxed=wider), members)


def packed_as_one(problem: PackingProblem, packer: Packer) -> Packing:
    """Return the packing of a problem in which rows that are alike were one to the packer.

    A problem with rules between machines is packed as it is: its rules name its rows.
    """
    if problem.known is not None:
        return packer(problem)
    joined = as_one(problem)
    made = packer(joined.problem)
    return replace(_dealt(problem, joined, made), others=tuple(_dealt(problem, joined, one) for one in made.others))


def _joined(groups: Sequence[GroupRow], rows: Sequence[int], position: Mapping[int, int]) -> GroupRow:
    first = groups[rows[0]]
    return replace(first, count=sum(groups[i].count for i in rows), apart=frozenset(position[i] for i in first.apart))


def _dealt(problem: PackingProblem, joined: AsOne, made: Packing) -> Packing:
    """Return the packing with the pods of each row dealt to those that it was: all of the first ones come first."""
    left = [row.count for row in problem.groups]
    turn = [0] * len(joined.members)
    nodes: list[PackedNode] = []
    for node in made.nodes:
        counts: dict[int, int] = {}
        for k, number in node.counts.items():
            rest = number
            while rest:
                i = joined.members[k][turn[k]]
                dealt = min(rest, left[i])
                if dealt:
                    counts[i] = dealt
                rest -= dealt
                left[i] -= dealt
                turn[k] += not left[i]
        nodes.append(PackedNode(node.bin, counts))
    return replace(made, nodes=tuple(nodes), unplaced={i: n for i, n in enumerate(left) if n})
