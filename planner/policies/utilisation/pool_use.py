"""The use of a pool: what its pods ask for of what its machines have.

Machines that go, that somebody wants to go or that are cordoned count on neither side, and pods that wait count. Where
pods are asked to leave, those on machines that go count, too: they must land on another one.
Source: atlassian/escalator, `pkg/controller/util.go`, and its issues 285 and 288 on pods of tainted Nodes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from api.quantity import parse_amount
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Snapshot
from planner.objects.counted_pods import is_demand
from planner.objects.kinds import Node, Pod
from planner.policies.utilisation.shares import JUDGED, Amounts, asked_on, capacity_of, larger_share, summed
from planner.supply.machines import Machine
from planner.supply.pod_group import choose_pools

SHRINKING_MODES: Final = frozenset({"wait", "drain"})
"""Values of `scaleDown.mode` in which machines with pods may go by themselves."""


@dataclass(frozen=True, slots=True)
class PoolUse:
    """What a pool has, and what is asked for of it."""

    asked: Amounts
    """By pods on the machines that count, by those that wait, and where pods move by those on machines that go."""
    capacity: Amounts
    """Of the machines that count."""
    beside: Amounts
    """By pods on machines that go and are not asked to leave, as those that come after them land elsewhere, and by
    headroom: what else has to find room on machines that stay."""
    ready_capacity: Amounts
    """Of those machines that count and are Ready."""

    @property
    def share(self) -> tuple[Fraction, str]:
        """The larger share, and its resource."""
        return larger_share(self.asked, self.capacity)


def is_kept_open(node: Node) -> bool:
    """Return whether a Node is open to pods as far as people say: for growth and shrinking alike."""
    return not (node.is_cordoned or node.is_terminating) and node.remove_now is None


def is_counted(machine: Machine) -> bool:
    """Return whether a machine counts in the use of its pool: its Node is there to stay, and open to pods."""
    return machine.node is not None and not machine.is_leaving and is_kept_open(machine.node)


class PoolUses:
    """The use of each pool in a round; looked at once somebody asks, as most pools do not.

    Args:
        snapshot: of the round.
        machines: all there are.
    """

    def __init__(self, snapshot: Snapshot, machines: Iterable[Machine]) -> None:
        self._snapshot = snapshot
        self._machines = machines
        self._known: dict[str, PoolUse] = {}

    def machines_of(self, pool: NodePool) -> list[Machine]:
        """Return the machines of the pool, also those that do not count."""
        return self._by_pool[pool.metadata.name]

    def largest_waiting(self, pool: NodePool) -> Amounts:
        """Return the largest request of a pod that waits for the pool, by resource."""
        return self._waiting[pool.metadata.name].largest

    def of(self, pool: NodePool) -> PoolUse:
        """Return the use of the pool."""
        name = pool.metadata.name
        if name not in self._known:
            self._known[name] = self._use(pool)
        return self._known[name]

    def _use(self, pool: NodePool) -> PoolUse:
        own = self._by_pool[pool.metadata.name]
        counted = [machine for machine in own if is_counted(machine)]
        leaving = summed(asked_on(machine) for machine in own if machine.is_leaving)
        moves = pool.spec.scale_down.mode == "drain"
        asked = [*map(asked_on, counted), self._waiting[pool.metadata.name].asked, *([leaving] if moves else [])]
        return PoolUse(
            asked=summed(asked),
            capacity=summed(map(capacity_of, counted)),
            beside=summed([*_headroom(pool), *([] if moves else [leaving])]),
            ready_capacity=summed(capacity_of(m) for m in counted if m.node is not None and m.node.is_ready),
        )

    @cached_property
    def _by_pool(self) -> Mapping[str, list[Machine]]:
        by_pool: defaultdict[str, list[Machine]] = defaultdict(list)
        for machine in self._machines:
            by_pool[machine.pool].append(machine)
        return by_pool

    @cached_property
    def _waiting(self) -> Mapping[str, "_Waiting"]:
        """What waiting pods ask for, by pool: one that may use several counts in each."""
        waiting: defaultdict[str, _Waiting] = defaultdict(_Waiting)
        pools = [pool for pool in self._snapshot.pools if pool.metadata.deletion_timestamp is None]
        # Most pods that wait are alike in what says which pools they may use.
        chosen: dict[tuple[object, ...], tuple[str, ...]] = {}
        for pod in self._snapshot.pods:
            if is_demand(pod) and not pod.is_unreadable:
                key = pod.node_selector, pod.node_affinity
                if key not in chosen:
                    chosen[key] = choose_pools(pod, pools).pools
                for name in chosen[key]:
                    waiting[name].add(pod)
        return waiting


class _Waiting:
    """What the pods that wait for a pool ask for."""

    def __init__(self) -> None:
        self.asked = dict.fromkeys(JUDGED, 0)
        self.largest = dict.fromkeys(JUDGED, 0)

    def add(self, pod: Pod) -> None:
        """Count a pod."""
        for resource in JUDGED:
            amount = pod.requests.get(resource, 0)
            self.asked[resource] += amount
            self.largest[resource] = max(self.largest[resource], amount)


def _headroom(pool: NodePool) -> Iterator[dict[str, int]]:
    for entry in pool.spec.headroom or ():
        asked = {name: entry.requests[name] for name in JUDGED if name in entry.requests}
        yield {name: parse_amount(name, text) * entry.count for name, text in asked.items()}
