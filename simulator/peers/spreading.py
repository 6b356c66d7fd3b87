"""Pods that are spread over zones and host names, as Cluster Autoscaler counts them: by the machines it has bought.

A zone is a domain from its first machine on. While there are fewer zones than `minDomains`, none takes more than
`maxSkew` of a class. So the first loops buy for a few pods of a class each, and later ones go on zone by zone.
Source: Cluster Autoscaler 1.36, simulator/scheduling (the scheduler's own plugin PodTopologySpread on the snapshot with
the machines of the loop), core/filteroutschedulable (pods that fit on machines that come are taken out of a loop).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from planner.packing.problem import GroupRow, PackedNode
from simulator.peers.problem import PeerProblem


class ZoneCounts:
    """Pods of spread classes by zone, and the zones with machines that count for them."""

    def __init__(self, problem: PeerProblem) -> None:
        self._problem, self._zones = problem, len(set(problem.zones))
        self._pods: dict[int, Counter[str]] = {i: Counter() for i in problem.spreads}

    def buy(self, nodes: Iterable[PackedNode]) -> None:
        """Count new machines and their pods."""
        zones = self._problem.zones
        for node in nodes:
            for i, spread in self._problem.spreads.items():
                if node.bin in spread.counted:
                    self._pods[i][zones[node.bin]] += node.counts.get(i, 0)

    def add(self, i: int, offering: int) -> None:
        """Count one more pod of a class on a machine that is there."""
        if i in self._pods:
            self._pods[i][self._problem.zones[offering]] += 1

    def room(self, i: int, offering: int) -> int | None:
        """Return how many more pods of a class the zone of an offering takes; None: as many as want."""
        spread = self._problem.spreads.get(i)
        if spread is None or spread.zone_skew is None or self._zones == 1:
            return None
        zone, pods = self._problem.zones[offering], self._pods[i]
        others = [number for other, number in pods.items() if other != zone]
        fewest = min(others) if len(others) + 1 >= self._zones else 0
        return max(0, fewest + spread.zone_skew - pods[zone])


def per_machine(problem: PeerProblem) -> tuple[GroupRow, ...]:
    """Return the groups with at most `maxSkew` pods on a machine where they are spread over host names.

    So the estimator counts while a machine is there without a pod of the class, which is nearly always.
    """
    return tuple(
        _capped(group, spread.host_skew)
        if (spread := problem.spreads.get(i)) is not None and spread.host_skew is not None
        else group
        for i, group in enumerate(problem.packing.groups)
    )


def _capped(group: GroupRow, skew: int) -> GroupRow:
    most = skew if group.per_node is None else min(group.per_node, skew)
    return GroupRow(group.demand, group.count, group.bins, group.tier, most, group.apart)


def refill(problem: PeerProblem, nodes: list[PackedNode], left: list[int], counts: ZoneCounts) -> None:
    """Put pods that are left onto machines that are bought, first fit, one class after the other.

    `nodes`, `left` and `counts` are changed.
    """
    if not any(left[i] for i in problem.spreads):
        return
    groups, bins = problem.packing.groups, problem.packing.bins
    free = [
        [most - taken for most, taken in zip(bins[node.bin].capacity, _taken(groups, node), strict=True)]
        for node in nodes
    ]
    for i in sorted((i for i in problem.spreads if left[i]), key=lambda i: (-problem.demand(i, "cpu"), i)):
        group, has_moved = groups[i], True
        while left[i] and has_moved:
            has_moved = False
            for k, node in enumerate(nodes):
                if not left[i]:
                    break
                if counts.room(i, node.bin) != 0 and _takes(group, i, node, free[k]):
                    nodes[k] = PackedNode(node.bin, {**node.counts, i: node.counts.get(i, 0) + 1})
                    free[k] = [have - amount for have, amount in zip(free[k], group.demand, strict=True)]
                    counts.add(i, node.bin)
                    left[i] -= 1
                    has_moved = True


def _taken(groups: Sequence[GroupRow], node: PackedNode) -> list[int]:
    loads = [[amount * number for amount in groups[i].demand] for i, number in node.counts.items()]
    return [sum(column) for column in zip(*loads, strict=True)]


def _takes(group: GroupRow, i: int, node: PackedNode, free: Sequence[int]) -> bool:
    is_full = group.per_node is not None and node.counts.get(i, 0) >= group.per_node
    return (
        not is_full
        and node.bin in group.bins
        and group.apart.isdisjoint(node.counts)
        and all(amount <= have for amount, have in zip(group.demand, free, strict=True))
    )
