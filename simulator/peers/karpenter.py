"""What Karpenter's rule for packing pods would buy. Its rule as published, not its program.

Karpenter looks at prices last: a machine in the making keeps every type that can still hold its
pods, so it is filled until the largest type is all that is left.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from planner.packing.problem import GroupRow, PackedNode, Packing
from simulator.peers.problem import PeerProblem, Purchase


@dataclass(slots=True)
class _Claim:
    """A machine in the making: its pods and the offerings that can still hold them."""

    bins: tuple[int, ...]
    load: list[int]
    counts: dict[int, int] = field(default_factory=dict)

    def take(self, problem: PeerProblem, group: int, allowed: frozenset[int]) -> bool:
        """Add a pod of this group, and return whether there was a place for it."""
        pod, present = problem.packing.groups[group], self.counts.get(group, 0)
        if (pod.per_node is not None and present >= pod.per_node) or not pod.apart.isdisjoint(self.counts):
            return False
        load = [have + more for have, more in zip(self.load, pod.demand, strict=True)]
        large_enough = tuple(
            b
            for b in self.bins
            if b in allowed
            and all(amount <= most for amount, most in zip(load, problem.packing.bins[b].capacity, strict=True))
        )
        if not large_enough:
            return False
        self.bins, self.load, self.counts[group] = large_enough, load, present + 1
        return True


def karpenter(problem: PeerProblem, *, preferred: tuple[str, ...] = ()) -> Purchase:
    """Return the purchase of Karpenter's rule.

    Pods come by cpu, then memory, largest first. Each goes to the open machine with the fewest pods
    that has an offering left for it, else to a new one; at the end each machine is the cheapest of
    its offerings. Bounds on the number of machines are not looked at, nor are priorities.

    Source: Karpenter v1.14, pkg/controllers/provisioning/scheduling: queue.go (byCPUAndMemoryDescending),
    scheduler.go (addToInflightNode), nodeclaim.go (filterInstanceTypesByRequirements).

    Args:
        problem: what waits and what can be bought.
        preferred: beginnings of names of offerings, such as "cx", as an operator who knows prices
            would write them into a pool: pods that fit one of these use no other.
    """
    packing = problem.packing
    first_choice = frozenset(b for b, name in enumerate(problem.offerings) if preferred and name.startswith(preferred))
    claims: list[_Claim] = []
    unplaced: dict[int, int] = {}
    for i in sorted(
        range(len(packing.groups)), key=lambda i: (-problem.demand(i, "cpu"), -problem.demand(i, "memory"))
    ):
        group = packing.groups[i]
        allowed = group.bins & first_choice or group.bins
        if allowed:
            _place(problem, i, allowed, claims)
        else:
            unplaced[i] = group.count
    nodes = tuple(PackedNode(_cheapest(problem, claim), claim.counts) for claim in claims)
    return Purchase(problem, Packing(nodes, unplaced))


def _place(problem: PeerProblem, group: int, allowed: frozenset[int], claims: list[_Claim]) -> None:
    """Place all pods of a group. A machine that refuses one of them refuses all later ones: it only gets fuller."""
    queue = [(sum(claim.counts.values()), age) for age, claim in enumerate(claims)]
    heapify(queue)
    for _ in range(problem.packing.groups[group].count):
        while queue:
            pods, age = heappop(queue)
            if claims[age].take(problem, group, allowed):
                heappush(queue, (pods + 1, age))
                break
        else:
            claims.append(_opened(problem.packing.groups[group], group, allowed))
            heappush(queue, (1, len(claims) - 1))


def _opened(pod: GroupRow, group: int, allowed: frozenset[int]) -> _Claim:
    return _Claim(tuple(sorted(allowed)), list(pod.demand), {group: 1})


def _cheapest(problem: PeerProblem, claim: _Claim) -> int:
    return min(claim.bins, key=lambda b: problem.packing.bins[b].price)
