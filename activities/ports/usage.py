"""The samples of usage that a worker keeps: the last ones of each Node that is there."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from planner.model.usage import ObservedUsage, UsageSample

KEPT: Final = 50
"""Samples of a Node: with one a minute, those of the last 49 min."""


class UsageSamples:
    """Keeps samples, `KEPT` of each Node that is there."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[UsageSample]] = {}
        self.observed = ObservedUsage()
        """What is known now."""

    def take(self, samples: Iterable[tuple[str, UsageSample]], nodes: Iterable[str]) -> None:
        """Keep what an answer tells of these Nodes, and forget all others; one that it leaves out keeps what it has."""
        names = frozenset(nodes)
        self._samples = {name: known for name, known in self._samples.items() if name in names}
        for name, sample in samples:
            if name not in names:
                continue
            known = self._samples.setdefault(name, deque(maxlen=KEPT))
            # Between two answers metrics-server may not have asked the Node anew.
            if not known or sample.at > known[-1].at:
                known.append(sample)
        self.observed = ObservedUsage({name: tuple(known) for name, known in self._samples.items()})

    def fail(self, why: str) -> str:
        """Take why there are no new ones: the rest of a sentence about usage. Return it."""
        self.observed = replace(self.observed, problem=why)
        return why
