"""What the worker and its Temporal server take of the machine, as the kernel counts it."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.e2e.growth_process import GrowthProcess

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one process, since it began."""

    cpu_seconds: float
    peak_memory: int
    """Most resident memory at any time, in bytes."""

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return what the process has used. Source: proc(5), `stat` (utime, stime) and `status` (VmHWM)."""
        # The name of the program, in brackets, may hold spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        peak = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        assert peak is not None
        return cls(ticks / os.sysconf("SC_CLK_TCK"), int(peak[1]) * 1024)


@dataclass(frozen=True, slots=True)
class Used:
    """By both processes."""

    worker: Usage
    temporal: Usage

    @classmethod
    def by(cls, growth: GrowthProcess) -> Self:
        """Return what a worker and its own Temporal server have used."""
        server = json.loads((growth.data_dir / "temporal.json").read_text())
        return cls(Usage.of(growth.pid), Usage.of(server["pid"]))

    def cpu_since(self, before: Self) -> tuple[float, float]:
        """Return the seconds of worker and server since then."""
        return (
            self.worker.cpu_seconds - before.worker.cpu_seconds,
            self.temporal.cpu_seconds - before.temporal.cpu_seconds,
        )
