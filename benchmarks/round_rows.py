"""Rounds whose time is measured, and what was measured of them: in a committed file, so that versions compare."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

KNOWN: Final = Path(__file__).with_name("round_time.json")
SHAPES: Final = 500
"""Different pods that wait, or as many as wait."""


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A cluster and its target, on an idle core in a warm process."""

    waiting: int
    nodes: int
    running: int
    """Pods that are asked for; each node has a pod of five DaemonSets in any case."""
    seconds: float | None = None
    """Of a round, all stages together; None where there is no target."""
    mebibytes: int | None = None
    """Of memory, the objects as the API server gives them included."""
    namespaces: int = 1
    """In which as many pods wait in each; where there are more, each may have one machine."""

    def __str__(self) -> str:
        """Return its name in tables and in the file."""
        waiting, nodes = (f"{number:,}" if number else "none" for number in (self.waiting, self.nodes))
        of_namespaces = f" of {self.namespaces:,} namespaces" if self.namespaces > 1 else ""
        running = f" ({self.running:,})" if self.nodes else ""
        return f"{waiting}{of_namespaces} x {nodes}{running}"


ROWS: Final = (
    RoundRow(0, 1_000, 10_000, 0.15),
    RoundRow(0, 5_000, 10_000, 0.4),
    RoundRow(1_000, 2_000, 1_000, 2.0),
    RoundRow(10_000, 1_000, 10_000, 2.5),
    RoundRow(10_000, 5_000, 10_000, 5.0, 1536),
    RoundRow(50_000, 0, 0),
    RoundRow(1_000, 10_000, 50_000, 10.0, 3072),
    RoundRow(10_000, 0, 0, 4.0, namespaces=1_000),
)
"""Waiting pods, nodes, running pods: in each direction, so that growth of the cost shows."""


@dataclass(frozen=True, slots=True)
class RoundCost:
    """What a round cost."""

    running: int
    """Pods that ran, those of DaemonSets included."""
    start: float
    """CPU seconds in which all objects that were there before are read, as after a start: no part of a round."""
    collection: float
    """CPU seconds in which the collector of garbage looks at all objects: once in some rounds, and not in this one."""
    seconds: Mapping[str, float]
    """CPU seconds by stage."""
    mebibytes: int
    """The most memory that the process had."""
    placed: int
    """Pods that go to nodes."""
    bought: int
    """Machines."""
    look: float = 0.0
    """CPU seconds in which it is looked at what would be saved by consolidation: in no round but one in ten minutes."""

    @property
    def total(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True)
class RoundTable:
    """What one version cost."""

    date: str
    version: str
    cores: int
    rows: Mapping[str, RoundCost]
    """By name of the row."""


def read_tables(path: Path = KNOWN) -> list[RoundTable]:
    """Return what was measured, the oldest first; nothing where there is no file yet."""
    if not path.exists():
        return []
    return [
        RoundTable(**{**table, "rows": {name: RoundCost(**cost) for name, cost in table["rows"].items()}})
        for table in json.loads(path.read_text())
    ]


def write_tables(tables: Sequence[RoundTable], path: Path = KNOWN) -> None:
    """Write what was measured."""
    path.write_text(json.dumps([asdict(table) for table in tables], indent=2) + "\n")


def with_table(tables: Sequence[RoundTable], new: RoundTable) -> list[RoundTable]:
    """Return the tables with a new one; of the same version, it takes the place of the rows that it has again."""
    before = next((table for table in tables if table.version == new.version), None)
    others = [table for table in tables if table is not before]
    return [*others, new if before is None else replace(new, rows={**before.rows, **new.rows})]
