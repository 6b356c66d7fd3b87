"""Patterns as the linear programme sees them, and the pool of all that are known."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from planner.packing.optimiser.arrays import Floats, Ints, Yard, taken
from planner.packing.optimiser.pattern import Patterns


@dataclass(frozen=True, slots=True)
class Column:
    """One machine with its pods."""

    bin: int
    price: float
    """Per hour, in billionths."""
    groups: tuple[int, ...]
    """Ascending."""
    numbers: tuple[int, ...]
    """Pods of each group."""
    taken: tuple[tuple[int, int], ...]
    """Limits that the machine counts towards, with what it takes of each."""

    def cost(self, limit: Floats) -> float:
        """Return the price, and those of the limits."""
        return self.price + sum(amount * float(limit[k]) for k, amount in self.taken)

    def fits(self, left: Ints) -> int:
        """Return the number of such machines that the remaining pods fill."""
        return min(int(left[i]) // n for i, n in zip(self.groups, self.numbers, strict=True))


@dataclass(slots=True)
class Pool:
    """All patterns that are known, each once."""

    columns: list[Column] = field(default_factory=list)
    _known: set[tuple[int, tuple[int, ...], tuple[int, ...]]] = field(default_factory=set)

    def add(self, columns: Iterable[Column]) -> list[Column]:
        """Add patterns and return those that are new."""
        new: list[Column] = []
        for column in columns:
            key = (column.bin, column.groups, column.numbers)
            if key not in self._known:
                self._known.add(key)
                new.append(column)
        self.columns += new
        return new


def columns_of(yard: Yard, machines: Patterns, rows: int) -> Iterator[Column]:
    """Yield the first `rows` patterns as columns."""
    for q in range(rows):
        m = int(machines.groups[q])
        content = zip(machines.group[q, :m].tolist(), machines.number[q, :m].tolist(), strict=True)
        yield column_of(yard, int(machines.bin[q]), content)


def column_of(yard: Yard, b: int, content: Iterable[tuple[int, int]]) -> Column:
    """Return a machine of bin `b` with so many pods of each group as a column."""
    ordered = sorted(content)
    return Column(
        bin=b,
        price=float(yard.price[b]),
        groups=tuple(i for i, _ in ordered),
        numbers=tuple(n for _, n in ordered),
        taken=tuple(taken(yard, b)),
    )
