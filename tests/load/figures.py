"""What a scene has cost, as a table for people and within bounds that hold whatever the scene."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, Self

from planner.model.round import STARTS_PER_ROUND
from tests.chaos.table import keep
from tests.load.histories import Left, left, percentile
from tests.load.processes import MEBIBYTE, Used
from tests.load.stage import Stage
from workflows.messages import PLANNER
from workflows.policies import PLAN, PLAN_ROUND

KEPT_IN: Final = "GROWTH_LOAD_TABLE"
"""Environment variable: the document whose tables are written anew."""

MOST_EVENTS: Final = 4096 + 3 * STARTS_PER_ROUND + 20
"""Of one run. Temporal asks for a new run at 4,096 events, and the planner then finishes its round."""
MOST_BYTES: Final = 4 * MEBIBYTE
"""Of one run. Temporal asks for a new run at 4 MiB, warns at 10 MiB and ends a run at 50 MiB."""
MOST_EVENT_BYTES: Final = 256 * 1024
"""Temporal refuses payloads above 2 MiB and warns from 512 KiB on; a round's answer shall stay far from both."""
MOST_EVICTED: Final = 20
"""A life is also forgotten after a task of its workflow failed or came too late; a full memory forgets thousands."""
_EVICTIONS: Final = re.compile(r"^temporal_sticky_cache_total_forced_eviction_total{.*} (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one scene, from its first object to its end."""

    cpu_seconds: tuple[float, float]
    """Of the worker and of its Temporal server."""
    used: Used
    """At the end; a process's peak of memory includes its start."""
    left: Left
    evicted: int
    """Lives that the worker had no memory for, and so had to read again from their histories."""

    @classmethod
    async def since(cls, before: Used, on: Stage) -> Self:
        """Return what the scene has cost since `before`."""
        used = Used.by(on.growth)
        evicted = sum(map(int, _EVICTIONS.findall(on.growth.fetch("metrics"))))
        return cls(used.cpu_since(before), used, await left(on.temporal), evicted)

    def check(self) -> None:
        """Fail when a history, a payload or a round is too large, or something failed on the way."""
        for kind, of in self.left.kinds.items():
            assert of.events <= MOST_EVENTS, kind
            assert of.size <= MOST_BYTES, kind
            assert of.largest_event <= MOST_EVENT_BYTES, kind
        assert set(self.left.ended) <= {"COMPLETED", "CONTINUED_AS_NEW"}
        assert self.left.kinds[PLANNER].count == 1 + self.left.ended["CONTINUED_AS_NEW"]
        assert self.evicted <= MOST_EVICTED
        assert max(self.left.rounds) < PLAN.start_to_close.total_seconds()

    def rows(self) -> dict[str, str]:
        """Return what is told of it, by what it is."""
        rounds = self.left.rounds
        worker, temporal = self.cpu_seconds
        return {
            "CPU time of the worker": f"{worker:.0f} s",
            "CPU time of its Temporal server": f"{temporal:.0f} s",
            "Most memory of the worker": f"{self.used.worker.peak_memory / MEBIBYTE:.0f} MiB",
            "Most memory of its Temporal server": f"{self.used.temporal.peak_memory / MEBIBYTE:.0f} MiB",
            "Lives forgotten and read again": str(self.evicted),
            f"Rounds (`{PLAN_ROUND}`)": str(len(rounds)),
            "Time of a round": spread(rounds),
            **{
                f"Histories of {kind}": (
                    f"{of.count} runs; at most {of.events} events and {of.size / 1024:.0f} KiB in one, "
                    f"largest event {of.largest_event / 1024:.1f} KiB, {of.failures} failed tasks"
                )
                for kind, of in sorted(self.left.kinds.items())
            },
        }


def tell(name: str, rows: Mapping[str, str]) -> None:
    """Print a scene's table, and keep it where it is read."""
    lines = ["| measured | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows.items())]
    keep(name, "\n".join(lines), kept_in=KEPT_IN)


def spread(seconds: list[float]) -> str:
    """Return how long many things took."""
    return f"p50 {median(seconds):.2f} s, p95 {percentile(seconds, 0.95):.2f} s, longest {max(seconds):.2f} s"
