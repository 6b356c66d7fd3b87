"""Exchanges machines to buy for equally dear ones that their pods prefer.

A preference chooses between machines of one price. It never adds a machine, leaves a pod out or
breaks a rule, and what a pool prefers goes first: only machines of the same rank are exchanged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from planner.packing.assemble import Assembly
from planner.packing.assign import PlacedPod, assigned_pods
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.packing.domains.preference_scores import PodPreference, PreferenceScores
from planner.packing.problem import PackedNode, Packing
from planner.supply.machine_kind import MachineKind
from planner.supply.places import Place


def preferred(assembly: Assembly, packing: Packing, pod_counts: PodCounts) -> Packing:
    """Return the packing with bins of equal price and rank in the place of others where their pods prefer those.

    The pods of a machine stay together, and all of them fit. Where nothing is better, it is the same object.

    Args:
        assembly: the problem.
        packing: its answer.
        pod_counts: the pods that are there, near which or away from which others may want to be.
    """
    scores = PreferenceScores(assembly.given.groups, _hosts(assembly), pod_counts)
    return _Exchange(assembly, packing, scores).run()


@dataclass(slots=True)
class _Machine:
    position: int
    bin: int
    choices: tuple[int, ...]
    """Bins that it may be of."""
    preferences: Sequence[tuple[PodPreference, int]]
    """Of its pods, with numbers."""

    @property
    def is_fixed(self) -> bool:
        return len(self.choices) <= 1


class _Exchange:
    def __init__(self, assembly: Assembly, packing: Packing, scores: PreferenceScores) -> None:
        self._assembly, self._packing, self._scores = assembly, packing, scores
        self._problem = assembly.problem
        self._left = list(self._problem.limits)
        for node in packing.nodes:
            self._take(node.bin)
        self._tight = _tight(assembly, packing)
        self._twins: dict[object, list[int]] = {}
        for b in range(len(self._problem.bins)):
            if (kind := assembly.priced(b)) is not None:
                self._twins.setdefault(self._alike(b, kind), []).append(b)
        self._choices: dict[object, tuple[int, ...]] = {}

    def run(self) -> Packing:
        machines = self._machines()
        # Those that stay are known from the start, the others one after the other.
        for machine in machines:
            if machine.is_fixed:
                self._scores.count(machine.preferences, machine.bin)
        nodes = list(self._packing.nodes)
        has_changed = False
        for machine in machines:
            if not machine.is_fixed and (chosen := self._choose(machine)) != machine.bin:
                nodes[machine.position] = replace(nodes[machine.position], bin=chosen)
                has_changed = True
        return replace(self._packing, nodes=tuple(nodes)) if has_changed else self._packing

    def _alike(self, b: int, kind: MachineKind) -> object:
        """Return a key that bins share which may stand for each other as far as price, priority and limits go."""
        row, pool, server_type = self._problem.bins[b], kind.pool, kind.offering.server_type.lower()
        has_minimum = any(entry.min for entry in pool.spec.server_types if entry.name == server_type)
        return (
            row.price,
            row.turn,
            row.rank,
            # A machine that the minimum of its type counts would have to be bought again.
            (pool.metadata.name, server_type) if has_minimum else None,
            # What waits for a limit shall find it as the packer left it.
            frozenset(one for one in row.taken if one[0] in self._tight),
        )

    def _machines(self) -> list[_Machine]:
        queues = [list(group.pods) for group in self._assembly.given.groups]
        return [self._machine(n, pods) for n, pods in assigned_pods(self._assembly, self._packing, queues)]

    def _machine(self, n: int, pods: Iterable[PlacedPod]) -> _Machine:
        node = self._packing.nodes[n]
        preferences: dict[PodPreference, int] = {}
        for placed_pod in pods:
            preference = self._scores.preference_of(placed_pod.key, placed_pod.pod)
            preferences[preference] = preferences.get(preference, 0) + 1
        choices = self._may_be(node) if any(preference.prefers for preference in preferences) else ()
        return _Machine(n, node.bin, choices, list(preferences.items()))

    def _may_be(self, node: PackedNode) -> tuple[int, ...]:
        """Return the bins that this machine may be of, limits aside, in their order."""
        kind = self._assembly.priced(node.bin)
        if kind is None:
            return ()
        key = (node.bin, frozenset(node.counts.items()))
        if key not in self._choices:
            allowed = [self._problem.groups[k].bins for k in node.counts]
            self._choices[key] = tuple(
                b
                for b in self._twins[self._alike(node.bin, kind)]
                if all(b in bins for bins in allowed) and self._fits(node, b)
            )
        return self._choices[key]

    def _fits(self, node: PackedNode, b: int) -> bool:
        """Return whether the pods of the machine fit into one of another bin."""
        bins, groups = self._problem.bins, self._problem.groups
        if bins[b].capacity == bins[node.bin].capacity:
            return True
        loads = ([amount * number for amount in groups[k].demand] for k, number in node.counts.items())
        return all(sum(column) <= most for *column, most in zip(*loads, bins[b].capacity, strict=True))

    def _choose(self, machine: _Machine) -> int:
        """Return the bin that its pods prefer for the machine, and count them there."""
        chosen = machine.bin
        self._take(chosen, -1)
        bins = tuple(b for b in machine.choices if b == chosen or self._is_left(b))
        if len(bins) > 1:
            scores = self._scores.scores(machine.preferences, bins)
            if max(scores) > scores[bins.index(chosen)]:
                chosen = bins[scores.index(max(scores))]
        self._scores.count(machine.preferences, chosen)
        self._take(chosen)
        return chosen

    def _is_left(self, b: int) -> bool:
        return all(self._left[limit] >= amount for limit, amount in self._problem.bins[b].taken)

    def _take(self, b: int, number: int = 1) -> None:
        for limit, amount in self._problem.bins[b].taken:
            self._left[limit] -= amount * number


def _tight(assembly: Assembly, packing: Packing) -> frozenset[int]:
    """Return the limits that matter to others: pods without a place, and the minimums of pools.

    All machines of a pool count towards some limit, so that those of a pool with a minimum stay its own.
    """
    bins, classes = assembly.problem.bins, assembly.relaxed.groups
    placed = assembly.placed(packing.unplaced)
    wanted = {b for one, number in zip(classes, placed, strict=True) if number < one.count for b in one.bins}
    for b, kind in enumerate(assembly.given.kinds):
        if not isinstance(kind, Place) and kind.pool.spec.limits.min:
            wanted.add(b)
    return frozenset(limit for b in wanted for limit in bins[b].limits)


def _hosts(assembly: Assembly) -> list[Host]:
    return [Host(kind.labels, kind.taints) for kind in assembly.given.kinds]
