"""The last check of a packing: pods land one after the other, and one that may not is taken out of the plan.

The promises of the split are checked again with all machines of the plan, host by host. That a pod
fits its machine by labels, taints, room, ports and volumes is the packer's part and not repeated.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.predicates import FIELD_NAME, NEW_HOST
from planner.packing.domains.domain_counts import DomainCounts
from planner.packing.domains.domains import PackingInput, Share, Split, host_of
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.packing.problem import PackedNode, Packing
from planner.scheduling.conflicts import looks_at
from planner.supply.machine_kind import MachineKind

_MOST_PODS: Final = 100
"""Up to so many, orders of binding are searched where those that are tried first leave pods out."""
_MOST_STEPS: Final = 3_000
"""Pods bound in such a search: some 30 ms."""


@dataclass(slots=True)
class _Load:
    """Pods of one group of one share on one machine."""

    node: int
    share: int
    group: int
    of_item: int
    left: int
    machine: Host
    counted: frozenset[int] | None = None


def check_landing(
    given: PackingInput, split: Split, packing: Packing, pod_counts: PodCounts, idle: Iterable[MachineKind] = ()
) -> tuple[Packing, Mapping[int, int]]:
    """Return the packing without the pods that no order of binding lets land, and those by share, as items.

    A machine that nothing is left on is not in it: it is never bought. `idle` are machines that are bought all the
    same, without pods.
    """
    pods = [group.example for group in given.groups]
    machines = machines_of(given, packing.nodes)
    new = [m for m, node in zip(machines, packing.nodes, strict=True) if given.is_new(node.bin)]
    new += [_named(host_of(kind), len(machines) + k) for k, kind in enumerate(idle)]
    shares, known = split.shares, None if split.domain_counts is None else split.domain_counts.known
    more = [new if pod.spread else () for pod in pods]
    daemons = {pod.uid: pod for machine in new for pod in machine.pods}.values()
    if any(looks_at(pod, daemon, pod_counts.namespaces) for pod in pods for daemon in daemons):
        # Such DaemonSet pods count as soon as their machine is there.
        pod_counts, more = PodCounts((*pod_counts.hosts, *new), pod_counts.namespaces), [()] * len(pods)

    def loads() -> list[_Load]:
        every = [
            _Load(n, k, group, of_item, items * of_item, machines[n])
            for n, node in enumerate(packing.nodes)
            for k, items in node.counts.items()
            for group, of_item in shares[k].pods
        ]
        return sorted(every, key=lambda load: load.share)

    def refused(rank: Callable[[Share], int]) -> Counter[tuple[int, int]]:
        domain_counts = DomainCounts(pods, pod_counts, more, effects=known)
        waiting = loads()
        ranks = [rank(shares[load.share]) for load in waiting]
        groups = [[load for load, r in zip(waiting, ranks, strict=True) if r == each] for each in sorted(set(ranks))]
        while any([_all_land(domain_counts, group) for group in groups]):  # noqa: C419 - all, each time
            pass
        lost: Counter[tuple[int, int]] = Counter()
        for load in waiting:
            # An item goes whole.
            lost[load.node, load.share] = max(lost[load.node, load.share], -(-load.left // load.of_item))
        return +lost

    turns = {share.group: turn for turn, share in reversed(list(enumerate(shares)))}

    def class_by_class(share: Share) -> int:
        return turns[share.group] if share.is_first else len(shares)

    def together(share: Share) -> int:
        return 0 if share.is_first else 1

    def spread_and_affinity_first(share: Share) -> int:
        pod = pods[share.group]
        return 0 if pod.spread or pod.pod_affinity else 1 + together(share)

    lost_items = refused(class_by_class)
    for rank in (together, spread_and_affinity_first):
        if lost_items:
            lost_items = min(lost_items, refused(rank), key=lambda counts: counts.total())
    if lost_items and sum(load.left for load in loads()) <= _MOST_PODS:
        domain_counts = DomainCounts(pods, pod_counts, more, effects=known)
        if _Order(domain_counts, loads()).exists():
            return packing, {}
    return (packing, {}) if not lost_items else _without(packing, lost_items)


def machines_of(given: PackingInput, nodes: Sequence[PackedNode]) -> list[Host]:
    """Return the machines of a plan: those to buy have names of their own."""
    models = {node.bin: given.host(node.bin) for node in nodes}
    return [_named(models[node.bin], k) if given.is_new(node.bin) else models[node.bin] for k, node in enumerate(nodes)]


def _named(host: Host, k: int) -> Host:
    name = f"{NEW_HOST} {k}"
    return Host({**host.labels, LABEL_HOSTNAME: name, FIELD_NAME: name}, host.taints, host.pods, model=host)


def _all_land(domain_counts: DomainCounts, loads: Sequence[_Load]) -> bool:
    """Let pods land, one of each load after the other, while any may, and return whether any did."""
    has_moved, moves = False, True
    while moves:
        moves = any([load.left and _land(domain_counts, load) for load in loads])  # noqa: C419 - all
        has_moved |= moves
    return has_moved


def _land(domain_counts: DomainCounts, load: _Load) -> bool:
    """Let one pod of the load land, if it may; all of it where it is nobody's business."""
    group = load.group
    if domain_counts.obstacle(group, load.machine.labels) is not None:
        return False
    if not domain_counts.effects(group):
        load.left = 0
        return True
    if load.counted is None:
        load.counted = domain_counts.counting(group, load.machine)
    load.left -= 1
    domain_counts.add(group, load.machine.labels, load.counted)
    return True


class _Order:
    """Searches an order of binding in which all pods land: each is bound, and taken back where no order goes on."""

    def __init__(self, domain_counts: DomainCounts, loads: Sequence[_Load]) -> None:
        self._domain_counts, self._loads = domain_counts, loads
        self._dead: set[tuple[int, ...]] = set()
        self._steps = 0

    def exists(self) -> bool:
        """Return whether one was found; where the search is too long, it was not."""
        left = tuple(load.left for load in self._loads)
        if not any(left):
            return True
        if left in self._dead:
            return False
        # Most left first: where a machine gets most pods, they have to be spread over the whole of the order.
        for load in sorted((load for load in self._loads if load.left), key=lambda load: -load.left):
            if self._steps >= _MOST_STEPS:
                return False
            before = load.left
            if _land(self._domain_counts, load):
                self._steps += 1
                if self.exists():
                    return True
                if self._domain_counts.effects(load.group):
                    self._domain_counts.remove(load.group, load.machine.labels, load.counted)
                load.left = before
        self._dead.add(left)
        return False


def _without(packing: Packing, refused: Mapping[tuple[int, int], int]) -> tuple[Packing, Mapping[int, int]]:
    nodes: list[PackedNode] = []
    unplaced = Counter(packing.unplaced)
    lost: Counter[int] = Counter()
    for n, node in enumerate(packing.nodes):
        counts = {k: items - refused.get((n, k), 0) for k, items in node.counts.items()}
        for k in node.counts:
            lost[k] += refused.get((n, k), 0)
        left = {k: items for k, items in counts.items() if items}
        if left:
            nodes.append(PackedNode(node.bin, left))
    unplaced.update(lost)
    without = Packing(
        tuple(nodes),
        {k: n for k, n in unplaced.items() if n},
        # What is proven is proven of the pods that have a place.
        proven=0 if any(lost.values()) else packing.proven,
    )
    return without, {k: n for k, n in lost.items() if n}
