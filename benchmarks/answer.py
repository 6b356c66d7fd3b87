"""What a program that was given a problem's file answers: one JSON object, the same words from every side."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.packing.problem import PackedNode, Packing
from simulator.peers.problem import PeerProblem, Purchase

_STATUS: Final = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class PackingAnswer:
    """One run of a program."""

    purchase: Purchase
    seconds: float
    """Of the decision alone, without start, reading and writing."""
    peak_bytes: int
    """Largest resident set of the whole process; 0 where the system does not tell."""
    is_cut: bool = False
    """Whether its own limit of time was over before it had looked at all pods."""
    versions: str = ""
    """Of the program and of what it was built with."""


def read_answer(problem: PeerProblem, text: str) -> PackingAnswer:
    """Return the packing in an answer to a problem. Pods that are on none of its machines have no place."""
    document: dict[str, Any] = json.loads(text)
    nodes = tuple(
        PackedNode(one["offering"], {int(i): pods for i, pods in one["counts"].items()}) for one in document["machines"]
    )
    placed: Counter[int] = Counter()
    for node in nodes:
        placed.update(node.counts)
    unplaced = {i: left for i, group in enumerate(problem.packing.groups) if (left := group.count - placed[i])}
    return PackingAnswer(
        purchase=Purchase(problem, Packing(nodes, unplaced, proven=document.get("proven", 0))),
        seconds=document["seconds"],
        peak_bytes=document["peakBytes"],
        is_cut=document.get("isCut", False),
        versions=document["versions"],
    )


def write_answer(packing: Packing, seconds: float, versions: str) -> str:
    """Return the answer of a program that is this process."""
    machines = [{"offering": node.bin, "counts": {str(i): n for i, n in node.counts.items()}} for node in packing.nodes]
    document = {
        "machines": machines,
        "proven": packing.proven,
        "seconds": seconds,
        "peakBytes": peak_bytes(),
        "versions": versions,
    }
    return json.dumps(document)


def peak_bytes() -> int:
    """Return the largest resident set of this program alone; what getrusage tells may be that of its parent."""
    try:
        lines = _STATUS.read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
