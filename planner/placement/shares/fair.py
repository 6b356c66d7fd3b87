"""Settles where pods go so that no namespace takes what is left under a limit, and none more than its own bound.

Packed once, and no more where nothing is short: only where a limit leaves pods of several namespaces out, or a
namespace has come to its bound, are the pods put into an order and packed again, a few times at most.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.model.plan import Reason
from planner.model.stages import Stages
from planner.objects.kinds import Pod
from planner.packing.problem import Packer
from planner.placement.known_state import KnownState
from planner.placement.settle import Settlement, Supply, settle
from planner.placement.shares.namespace_bounds import NamespaceBounds
from planner.placement.shares.namespace_use import namespace_use
from planner.placement.shares.turns import Contention, contentions, number_in, with_turns
from planner.supply.pod_group import PodGroup

LIMIT_SHARED: Final = "LimitShared"
"""Reason of pods that wait while the room under a limit is given to others in turn."""
_TRIES_OF_BOUNDS: Final = 2
"""Packings while machines are taken off that are above a namespace's bound: others get a place in their stead."""
_TRIES_OF_TURNS: Final = 3
"""There is about as much room as the packing before has found: mostly the first try is right."""


@dataclass(frozen=True, slots=True)
class Fair:
    """Where pods go, and what pods without a place are told of other namespaces and their own."""

    groups: tuple[PodGroup, ...]
    """As they were packed last: some are parts of those that were given."""
    settled: Settlement
    bounds: NamespaceBounds
    shared: Mapping[str, Reason]
    """By uid of a pod that waits while others have their turn."""

    def told_apart(
        self, group: PodGroup, pods: Iterable[Pod]
    ) -> Iterator[tuple[PodGroup, tuple[Reason, ...], tuple[Pod, ...]]]:
        """Yield pods of a group without a place, those alike together, with the reasons that lie with namespaces.

        The group has those pools again that buy nothing for these pods.
        """
        alike: dict[tuple[tuple[str, ...], tuple[Reason, ...]], list[Pod]] = defaultdict(list)
        for pod in pods:
            shared = self.shared.get(pod.uid)
            reasons = (*self.bounds.reasons(pod), *(() if shared is None else (shared,)))
            alike[self.bounds.unbarred(group, pod).pools, reasons].append(pod)
        for (pools, reasons), of_one in alike.items():
            yield replace(group, pools=pools), reasons, tuple(of_one)


def settle_fairly(
    groups: Sequence[PodGroup], supply: Supply, packer: Packer, stages: Stages, known: KnownState
) -> Fair:
    """Return where the pods of these groups go; what is bought for them is taken from the limits of the supply."""
    bounds, saved = NamespaceBounds(known), supply.limits.saved()
    bounds.bar_by_cpu(groups)
    bounds.bar_by_machines(groups)

    def packed(turns: Sequence[tuple[Sequence[Pod], int]]) -> tuple[list[PodGroup], Settlement]:
        tries = 0
        while True:
            tries, barred = tries + 1, bounds.number_barred
            supply.limits.restore(saved)
            parted = with_turns(bounds.applied(groups), turns)
            settled = settle(parted, supply, packer, stages, bounds.trim_of_machines, compares=True)
            if bounds.number_barred == barred or tries == _TRIES_OF_BOUNDS:
                return parted, settled

    parted, settled = packed(())
    contended, has = contentions(parted, settled, supply.limits), _Has(known)
    late = [each for each in contended if not each.is_in_turn(has.of(each.pools))]
    rooms = [each.room for each in late]
    for _ in range(_TRIES_OF_TURNS if late else 0):
        orders = [each.in_turn(has.of(each.pools), room) for each, room in zip(late, rooms, strict=True)]
        numbers = [number_in(o, each.share, room) for o, each, room in zip(orders, late, rooms, strict=True)]
        parted, settled = packed(list(zip(orders, numbers, strict=True)))
        contended = contentions(parted, settled, supply.limits)
        if all(each.is_in_turn(has.of(each.pools)) for each in contended):
            break
        left = {pod.uid for pods in settled.assignment.left.values() for pod in pods}
        rooms = [each.room_without(left, o[:n]) for each, o, n in zip(late, orders, numbers, strict=True)]
    return Fair(tuple(parted), settled, bounds, _shared(contended))


class _Has:
    """What namespaces have of sets of pools, counted once for each: all pods of these pools are looked at."""

    def __init__(self, known: KnownState) -> None:
        self._known = known
        self._of: dict[frozenset[str], Counter[str]] = {}

    def of(self, pools: frozenset[str]) -> Counter[str]:
        """Return the cpu that pods of each namespace request in these pools, in millicores."""
        if pools not in self._of:
            use = namespace_use(self._known.machines.values(), self._known.seating.seated, pools)
            cpu_by_namespace: Counter[str] = Counter()
            for (_, namespace), cpu in use.cpu.items():
                cpu_by_namespace[namespace] += cpu
            self._of[pools] = cpu_by_namespace
        return self._of[pools]


def _shared(contended: Iterable[Contention]) -> dict[str, Reason]:
    """Return what is told to each pod without a place where others got one in turn."""
    shared: dict[str, Reason] = {}
    for each in contended:
        wanted = Counter(pod.namespace for pod in each.pods)
        got = wanted - each.waiting
        number = got.total()
        for pod in each.pods:
            if pod.uid not in each.placed and number > got[pod.namespace]:
                shared[pod.uid] = Reason(
                    LIMIT_SHARED,
                    f"what limits of pool {' and '.join(sorted(each.pools))} leave is given in turn between "
                    f"{len(wanted)} namespaces whose pods have this priority: {got[pod.namespace]} of "
                    f"{wanted[pod.namespace]} pods of namespace {pod.namespace} got a place",
                )
    return shared
