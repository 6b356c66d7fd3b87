"""The gain of one machine more where a limit leaves pods out: it is tried, not estimated.

The plan stays as it is, and one machine of a kind under the limit is filled with pods that were
left out. A plan made anew under the higher limit may do better, so the number is a least one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from planner.packing.assemble import Assembly
from planner.packing.domains.landing import check_landing
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.index import ProblemIndex
from planner.packing.problem import PackedNode, Packing
from planner.supply.limits import LimitKey, Limits, is_pace
from planner.supply.machine_kind import MachineKind
from planner.supply.sums.pool_sums import limit_written

_LIMITS: Final = 3
"""Tried in a round: who raises one looks again, and a round must stay short."""
_CHECKS: Final = 3
"""Machines of one limit whose pods are let land, the best first: most land at once."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of one machine more."""

    kind: MachineKind
    pods: Mapping[int, int]
    """That get a place, by group."""
    is_all: bool
    """Whether they are all that such machines could take."""


class RaisedLimits:
    """Tries each limit once, and only the first few that are asked for.

    Args:
        assembly: the problem that was packed.
        packing: the answer, checked.
        limits: as they are left after the plan.
        pod_counts: the pods that are there.
    """

    def __init__(self, assembly: Assembly, packing: Packing, limits: Limits, pod_counts: PodCounts) -> None:
        self._assembly, self._packing = assembly, packing
        self._limits, self._pod_counts = limits, pod_counts
        self._index: ProblemIndex | None = None
        self._tried: dict[LimitKey, Gain | None] = {}

    def sentence(self, i: int, key: LimitKey) -> str:
        """Return the gain of one machine more under the limit, as the end of a sentence about a pod of group `i`."""
        gain = self.gain(key)
        if gain is None:
            return ""
        number = sum(gain.pods.values())
        others = "" if gain.pods.get(i) else "other "
        least = "" if gain.is_all else "at least "
        on = "" if key[0] == "type" else f", on a {gain.kind.offering.server_type}"
        more, noun = self._more(gain.kind, key), "pod" if number == 1 else "pods"
        # A plan made anew may split pods over domains in another way, so there is room, but no promise.
        places = f"places {least}" if not self._assembly.is_related else "makes room for "
        return f"; raising it by {more} {places}{number} {others}{noun}{on}"

    def gain(self, key: LimitKey) -> Gain | None:
        """Return the gain of one machine more under the limit; None if there is none, or if too many were tried."""
        standing = self._limits.standing(key)
        if key[0] == "probe" or is_pace(key) or (standing is not None and standing.of.unknown):
            # One machine is tried first, whatever a person does; and what is not known, no higher limit is enough for.
            return None
        if key not in self._tried:
            if len(self._tried) >= _LIMITS:
                return None
            self._tried[key] = self._try(key)
        return self._tried[key]

    def _try(self, key: LimitKey) -> Gain | None:
        bins = [(b, kind) for b, kind in self._priced() if self._limits.exhausted(kind) == (key,)]
        if not bins or not self._packing.unplaced:
            return None
        if self._index is None:
            self._index = ProblemIndex(self._assembly.problem)
        index = self._index
        filled = [(self._filled(index, b), b, kind) for b, kind in bins]
        tiers = sorted({index.tier[k] for k in self._packing.unplaced}, reverse=True)

        def usefulness(entry: tuple[dict[int, int], int, MachineKind]) -> tuple[object, ...]:
            counts, b, _ = entry
            by_tier = [sum(n for k, n in counts.items() if index.tier[k] == tier) for tier in tiers]
            return [-number for number in by_tier], index.price[b], b

        could = self._pods(
            {k: n for k, n in self._packing.unplaced.items() if any(b in self._bins(k) for b, _ in bins)}
        )
        for counts, b, kind in sorted(filled, key=usefulness)[:_CHECKS]:
            pods = self._landed(PackedNode(b, counts)) if counts else {}
            if pods:
                return Gain(kind, pods, is_all=sum(pods.values()) == could)
        return None

    def _more(self, kind: MachineKind, key: LimitKey) -> str:
        """Return by how much the limit has to be raised for one machine of the kind."""
        more, standing = self._limits.raise_for_one(kind, key), self._limits.standing(key)
        return str(more) if standing is None else limit_written(replace(standing.of, most=more))

    def _priced(self) -> Iterator[tuple[int, MachineKind]]:
        for b in range(len(self._assembly.problem.bins)):
            if (kind := self._assembly.priced(b)) is not None:
                yield b, kind

    def _bins(self, k: int) -> frozenset[int]:
        return self._assembly.problem.groups[k].bins

    def _filled(self, index: ProblemIndex, b: int) -> dict[int, int]:
        """Return the pods without a place that a machine takes: high tiers first, of those the small pods."""
        left = [self._packing.unplaced.get(k, 0) for k in range(len(index.demand))]
        capacity, counts = index.capacity[b], dict[int, int]()

        def size(k: int) -> tuple[int, float, int]:
            return -index.tier[k], max((d / max(1, capacity[r]) for r, d in index.demand[k]), default=0.0), k

        index.fill(sorted((k for k in index.members[b] if left[k]), key=size), left, counts, list(capacity))
        return counts

    def _landed(self, node: PackedNode) -> dict[int, int]:
        """Return the number of pods of each group that get a place if the plan gets this machine too."""
        left = Counter(self._packing.unplaced)
        left.subtract(node.counts)
        tried = Packing((*self._packing.nodes, node), +left)
        made = self._assembly
        if made.is_related:
            tried, _ = check_landing(made.given, made.split, tried, self._pod_counts, made.idle_machines(tried))
        before, after = (self._assembly.placed(packing.unplaced) for packing in (self._packing, tried))
        gained = {i: n - m for i, (n, m) in enumerate(zip(after, before, strict=True)) if n != m}
        # Where others would have to give way, nothing is promised.
        return gained if all(n > 0 for n in gained.values()) else {}

    def _pods(self, items: Mapping[int, int]) -> int:
        shares = self._assembly.split.shares
        return sum(n * sum(number for _, number in shares[k].pods) for k, n in items.items())
