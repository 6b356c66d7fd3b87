"""What a limit leaves is given in turn: of equal priority, the namespace with the least so far gets the next place.

A pod counts as the largest share that it takes of what a machine of these pools has (its dominant share), so that big
pods win nothing over small ones. Namespaces differ in the end by one pod's size at most, but for what no other pod
fits into.
Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4.1: progressive filling by whole tasks.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace
from typing import Final

from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly
from planner.placement.settle import Settlement
from planner.scheduling.attachments import is_attachments
from planner.supply.limits import Limits
from planner.supply.machine_kind import MachineKind
from planner.supply.pod_group import PodGroup

_WHOLE: Final = 1_000_000
"""Share of a pod that takes all that a machine has of a resource."""


@dataclass(frozen=True, slots=True)
class Contention:
    """Pods of one priority and several namespaces that want more of some pools than limits allow."""

    pools: frozenset[str]
    priority: int
    pods: tuple[Pod, ...]
    """In the order in which each namespace's own come."""
    share: Mapping[str, int]
    """What a pod takes, by uid, in millionths of a machine."""
    placed: frozenset[str]
    """Uids of those that have a place."""

    @property
    def room(self) -> int:
        """What those with a place take together."""
        return sum(self.share[uid] for uid in self.placed)

    def room_without(self, left: Collection[str], first: Sequence[Pod]) -> int:
        """Return what pods with a place take together in a plan that has none for those `left`, by uid.

        Where any of the `first` are left, only what others of these take: there was less room for them.
        """
        is_short = any(pod.uid in left for pod in first)
        return sum(self.share[pod.uid] for pod in (first if is_short else self.pods) if pod.uid not in left)

    @property
    def waiting(self) -> Counter[str]:
        """The number of pods without a place by namespace."""
        return Counter(pod.namespace for pod in self.pods if pod.uid not in self.placed)

    def is_in_turn(self, has: Mapping[str, int]) -> bool:
        """Return whether no namespace with waiting pods was passed over: see `in_turn` for `has`.

        That is so where another one without its largest pod would still have more, or as much and had more before.
        """
        got, largest = Counter[str](), Counter[str]()
        for pod in self.pods:
            if pod.uid in self.placed:
                got[pod.namespace] += self.share[pod.uid]
                largest[pod.namespace] = max(largest[pod.namespace], self.share[pod.uid])
        latest = max(((n - largest[name], has.get(name, 0)) for name, n in got.items()), default=(0, 0))
        return all((got[name], has.get(name, 0)) >= latest for name in self.waiting)

    def in_turn(self, has: Mapping[str, int], room: int) -> list[Pod]:
        """Return the pods in the order of turns; of namespaces with equal shares, who `has` least goes first.

        A pod that takes more than all the `room` has its turn after the others of its namespace: they would have none.
        """
        queues: dict[str, list[Pod]] = defaultdict(list)
        for pod in sorted(self.pods, key=lambda pod: self.share[pod.uid] > room):
            queues[pod.namespace].append(pod)
        heap = [(0, has.get(name, 0), name, 0) for name in queues]
        heapify(heap)
        order: list[Pod] = []
        while heap:
            share, had, name, position = heap[0]
            pod = queues[name][position]
            order.append(pod)
            if position + 1 < len(queues[name]):
                heapreplace(heap, (share + self.share[pod.uid], had, name, position + 1))
            else:
                heappop(heap)
        return order


def contentions(groups: Sequence[PodGroup], settled: Settlement, limits: Limits) -> list[Contention]:
    """Return who contends, once for each priority and each set of pools that pods tie together.

    `limits` are what the plan leaves of them. A limit on machines that are only tried is none.
    """
    left = settled.assignment.left
    reach = _Reach(settled.assembly, limits)
    short = [i for i in left if i not in settled.assembly.split.unplaceable and reach.limited(i)]
    bought = {machine.kind.pool.metadata.name for machine in settled.assignment.bought}
    limited = frozenset[str]().union(*(reach.limited(i) for i in short))
    if not limited:
        return []
    contended: list[Contention] = []
    members = [i for i in range(len(groups)) if reach.pools(i) & limited]
    for pools in _components(reach.pools(i) & limited for i in members):
        # Where nothing is bought, there is nothing to give out.
        for priority in sorted({groups[i].example.priority for i in short if reach.pools(i) & pools & bought}):
            of_tier = [i for i in members if groups[i].example.priority == priority and reach.pools(i) & pools]
            if len({pod.namespace for i in of_tier for pod in groups[i].pods}) > 1:
                contended.append(_contention(groups, of_tier, left, pools, reach.largest(pools)))
    return contended


def with_turns(groups: Sequence[PodGroup], contended: Iterable[tuple[Sequence[Pod], int]]) -> list[PodGroup]:
    """Return the groups with those pods first whose turn comes in what there is room for, the others after them.

    Args:
        groups: those that contend and others.
        contended: pods in the order of turns, and how many of them come first.
    """
    position: dict[str, int] = {}
    first: set[str] = set()
    for order, number in contended:
        position |= {pod.uid: n for n, pod in enumerate(order)}
        first |= {pod.uid for pod in order[:number]}
    turned: list[PodGroup] = []
    for group in groups:
        if group.example.uid not in position:
            turned.append(group)
            continue
        pods = sorted(group.pods, key=lambda pod: position[pod.uid])
        parts = [p for p in pods if p.uid in first], [p for p in pods if p.uid not in first]
        turned += [replace(group, pods=tuple(part), turn=turn) for turn, part in enumerate(parts) if part]
    return turned


def number_in(order: Sequence[Pod], share: Mapping[str, int], room: int) -> int:
    """Return how many of the pods, the first ones, take no more than `room` together."""
    for n, pod in enumerate(order):
        room -= share[pod.uid]
        if room < 0:
            return n
    return len(order)


def _contention(
    groups: Sequence[PodGroup],
    members: Sequence[int],
    left: Mapping[int, Sequence[Pod]],
    pools: frozenset[str],
    largest: Mapping[str, int],
) -> Contention:
    share: dict[str, int] = {}
    for i in members:
        of_one = max(
            (n * _WHOLE // largest[r] for r, n in groups[i].example.requests.items() if largest.get(r)), default=0
        )
        share.update((pod.uid, max(1, of_one)) for pod in groups[i].pods)
    pods = sorted((pod for i in members for pod in groups[i].pods), key=_age)
    waiting = {pod.uid for i in members for pod in left.get(i, ())}
    return Contention(pools, groups[members[0]].example.priority, tuple(pods), share, frozenset(share.keys() - waiting))


def _age(pod: Pod) -> tuple[bool, float, str]:
    born = pod.created_at
    return born is None, 0.0 if born is None else born.timestamp(), pod.key


def _components(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the sets joined where they share an element."""
    joined: list[frozenset[str]] = []
    for pools in dict.fromkeys(sets):
        touching = [other for other in joined if other & pools]
        joined = [other for other in joined if not other & pools]
        joined.append(pools.union(*touching))
    return joined


class _Reach:
    """The machines that groups could be bought, as the problem has them: thousands of groups have a few such sets."""

    def __init__(self, assembly: Assembly, limits: Limits) -> None:
        self._holders = assembly.given.holders
        self._kinds = {b: kind for b in range(len(assembly.given.kinds)) if (kind := assembly.priced(b)) is not None}
        self._at_limit = {
            b for b, kind in self._kinds.items() if any(key[0] != "probe" for key in limits.exhausted(kind))
        }
        self._pools: dict[int, tuple[frozenset[str], frozenset[str]]] = {}

    def pools(self, i: int) -> frozenset[str]:
        """Return the pools with a machine for group `i`."""
        return self._of(i)[0]

    def limited(self, i: int) -> frozenset[str]:
        """Return those of them of which a limit allows no more such machine."""
        return self._of(i)[1]

    def largest(self, pools: frozenset[str]) -> Mapping[str, int]:
        """Return the most that a machine of these pools has, by resource."""
        most: Counter[str] = Counter()
        for kind in self._kinds.values():
            if kind.pool.metadata.name in pools:
                most |= Counter({name: n for name, n in kind.usable.items() if not is_attachments(name)})
        return most

    def _of(self, i: int) -> tuple[frozenset[str], frozenset[str]]:
        key = id(self._holders[i])
        if key not in self._pools:
            bins = [b for b in self._holders[i] if b in self._kinds]
            self._pools[key] = _names(self._kinds, bins), _names(self._kinds, [b for b in bins if b in self._at_limit])
        return self._pools[key]


def _names(kinds: Mapping[int, MachineKind], bins: Collection[int]) -> frozenset[str]:
    return frozenset(kinds[b].pool.metadata.name for b in bins)
