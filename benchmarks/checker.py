"""Judges a purchase by the words of its problem, whoever made it: no rule, packer or program of any side is asked."""

from collections import Counter
from collections.abc import Iterator, Mapping

from simulator.peers.problem import Purchase


class WrongPurchase(Exception):
    """A plan does what its problem forbids; the text says what."""


def check(purchase: Purchase, whose: str = "") -> None:
    """Do nothing for a purchase that keeps all rules; `whose` it is begins the text of what it breaks.

    Raises:
        WrongPurchase: it breaks some; the text names the first of them.
    """
    broken = list(violations(purchase))
    if broken:
        begin = f"{whose}: " if whose else ""
        raise WrongPurchase(f"{begin}{len(broken)} rules are broken, first: {broken[0]}")


def violations(purchase: Purchase) -> Iterator[str]:
    """Yield every rule that the purchase breaks, as a sentence; nothing is a clean bill."""
    problem, packing = purchase.problem, purchase.problem.packing
    placed: Counter[int] = Counter()
    bought: Counter[int] = Counter()
    for number, machine in enumerate(purchase.packing.nodes):
        where = f"machine {number}, {problem.offerings[machine.bin]}"
        placed.update(machine.counts)
        bought.update(dict(packing.bins[machine.bin].taken))
        for resource in problem.resources:
            capacity = problem.capacity(machine.bin, resource)
            taken = sum(pods * problem.demand(i, resource) for i, pods in machine.counts.items())
            if taken > capacity:
                yield f"{where}: {taken} of {resource} is taken, and {capacity} is there"
        for i, pods in machine.counts.items():
            most = packing.groups[i].per_node
            if pods < 1:
                yield f"{where}: {pods} pods of class {i}"
            if machine.bin not in packing.groups[i].bins:
                yield f"{where}: class {i} may not run there"
            if most is not None and pods > most:
                yield f"{where}: {pods} pods of class {i}, of which {most} may share a machine"
            for other in sorted(packing.groups[i].apart.intersection(machine.counts)):
                yield f"{where}: classes {i} and {other} may not share a machine"
    for i, group in enumerate(packing.groups):
        left = purchase.packing.unplaced.get(i, 0)
        if left < 0 or placed[i] + left != group.count:
            yield f"class {i} has {group.count} pods; {placed[i]} are placed and {left} are not"
    yield from _spread_violations(purchase)
    for limit, number in bought.items():
        if number > packing.limits[limit]:
            yield f"machines take {number} of bound {limit}, which is {packing.limits[limit]}"


def _spread_violations(purchase: Purchase) -> Iterator[str]:
    """Yield what breaks a spread once all machines are there and all pods are on them.

    Counts only grow while pods are bound, so one order at least binds pods whose final counts keep the skew: the
    emptiest machine first. Source: Kubernetes docs, "Pod Topology Spread Constraints".
    """
    zones = purchase.problem.zones
    for i, spread in purchase.problem.spreads.items():
        counted = [machine for machine in purchase.packing.nodes if machine.bin in spread.counted]
        by_zone: Counter[str] = Counter()
        for machine in counted:
            by_zone[zones[machine.bin]] += machine.counts.get(i, 0)
        by_host = {f"machine {k}": machine.counts.get(i, 0) for k, machine in enumerate(counted)}
        if spread.zone_skew is not None:
            fewest = min(by_zone.values(), default=0) if len(by_zone) == len(set(zones)) else 0
            yield from _skew(i, by_zone, fewest, spread.zone_skew)
        if spread.host_skew is not None:
            yield from _skew(i, by_host, min(by_host.values(), default=0), spread.host_skew)


def _skew(i: int, pods: Mapping[str, int], fewest: int, skew: int) -> Iterator[str]:
    for domain, number in pods.items():
        if number - fewest > skew:
            yield f"class {i}: {number} pods in {domain} and {fewest} in the emptiest domain, maxSkew {skew}"
